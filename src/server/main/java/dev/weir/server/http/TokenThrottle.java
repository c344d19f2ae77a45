package dev.weir.server.http;

import dev.weir.fault.SafeText;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts requests with a wrong token, logs a warning at most once a minute, and delays the responses. Each wrong token
 * of an address within a minute adds {@value #DELAY_MS} ms, up to {@value #MAX_DELAY_MS} ms. Requests with a right
 * token are never delayed.
 */
public final class TokenThrottle {

    static final long DELAY_MS = 100;
    static final long MAX_DELAY_MS = 2_000;

    private static final long WINDOW_MS = 60_000;

    /** The maximum number of addresses that are tracked. The oldest is dropped first. */
    private static final int MAX_ADDRESSES = 1_000;

    private static final Logger LOG = LoggerFactory.getLogger(TokenThrottle.class);

    /** How many threads of a port may be delayed at the same time, so that others are free for requests. */
    public static final int MAX_WAITING = 4;

    private record Failures(int count, long lastMs) {}

    private final Map<String, Failures> byAddress = new LinkedHashMap<>(); // oldest first
    private final Semaphore waiting;
    private long total;
    private long sinceWarning;
    private long warnedMs = -WINDOW_MS;

    /** @param maxWaiting how many threads may be delayed at the same time; further responses are not delayed */
    public TokenThrottle(int maxWaiting) {
        waiting = new Semaphore(maxWaiting);
    }

    /** Records a wrong token, and waits before its response. */
    void recordAndDelay(String address) {
        long delayMs = recordFailure(address, TimeUnit.NANOSECONDS.toMillis(System.nanoTime()));
        if (delayMs > 0 && waiting.tryAcquire()) {
            try {
                TimeUnit.MILLISECONDS.sleep(delayMs);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } finally {
                waiting.release();
            }
        }
    }

    /** Returns the delay of the response, in ms. */
    synchronized long recordFailure(String address, long nowMs) {
        total++;
        sinceWarning++;
        if (nowMs - warnedMs >= WINDOW_MS) {
            LOG.warn(
                    "Requests with a wrong token since the last warning: {}, the last one from {}",
                    sinceWarning,
                    SafeText.of(address));
            warnedMs = nowMs;
            sinceWarning = 0;
        }
        Failures before = byAddress.remove(address);
        boolean isAgain = before != null && nowMs - before.lastMs < WINDOW_MS;
        Failures tries = new Failures(isAgain ? before.count + 1 : 1, nowMs);
        if (byAddress.size() >= MAX_ADDRESSES) {
            byAddress.remove(byAddress.keySet().iterator().next());
        }
        byAddress.put(address, tries);
        return Math.min(MAX_DELAY_MS, (tries.count - 1) * DELAY_MS);
    }

    /** Returns the number of requests with a wrong token. */
    public synchronized long total() {
        return total;
    }
}
