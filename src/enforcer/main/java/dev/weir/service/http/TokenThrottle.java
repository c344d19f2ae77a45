package dev.weir.service.http;

import dev.weir.fault.SafeText;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts wrong tokens, warns of them at most once a minute, and makes an address that shows them again and again wait:
 * each wrong one of the last minute adds {@value #DELAY_MS} ms, up to {@value #MAX_DELAY_MS} ms. A token that is right
 * never waits.
 */
public final class TokenThrottle {

    static final long DELAY_MS = 100;
    static final long MAX_DELAY_MS = 2_000;

    private static final long WINDOW_MS = 60_000;

    /** More addresses are not told apart. */
    private static final int MAX_ADDRESSES = 1_000;

    /** How many threads may wait at once. */
    private static final int MAX_WAITING = 4;

    private static final Logger LOG = LoggerFactory.getLogger(TokenThrottle.class);

    private record Failures(int count, long lastMs) {}

    private final Map<String, Failures> byAddress = new LinkedHashMap<>(); // the oldest first
    private final Semaphore waiting = new Semaphore(MAX_WAITING);
    private long total;
    private long sinceWarning;
    private long warnedMs = -WINDOW_MS;

    /** Takes note of a wrong token, and waits before it is answered. */
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

    /** Returns how long the answer is to wait, in ms. */
    synchronized long recordFailure(String address, long nowMs) {
        total++;
        sinceWarning++;
        if (nowMs - warnedMs >= WINDOW_MS) {
            LOG.warn("wrong tokens: {}, the last one from {}", sinceWarning, SafeText.of(address));
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

    /** How many there were. */
    public synchronized long total() {
        return total;
    }
}
