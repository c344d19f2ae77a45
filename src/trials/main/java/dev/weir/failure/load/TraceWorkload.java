package dev.weir.failure.load;

import dev.weir.backtest.DemoTrace;
import dev.weir.event.LimitOverride;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * Endless requests: a real trace, mixed with requests of every kind by clients with a Zipf distribution. The requests
 * depend only on the seed, except for their times, which are now, and their deadlines, which count from now.
 *
 * <p>Requests that may wait in a queue have unique ids, except for repeats that a policy with {@code idempotency}
 * answers. Not thread-safe.
 */
public final class TraceWorkload implements Iterator<Request> {

    private static final int CLIENTS = 400;
    private static final double SKEW = 1.1;
    private static final int MAX_COST = 4;
    private static final int RECENT = 500;
    private static final int MAX_OVERRIDE = 40;
    private static final int[] OVERRIDE_WINDOWS_MS = {0, 0, 1_000, 2_000, 2_000, 5_000, 5_000};
    private static final int MIN_DEADLINE_MS = 200;
    private static final int MAX_DEADLINE_MS = 20_000;
    private static final Request.Source UNSENT = new Request.Source(0, 0);

    private static final String[] TIERS = {"free", "academic", "commercial", "gold", "platinum", "staff", null};
    private static final Set<String> OVERRIDING = Set.of("/pages/1", "/pages/2", "/payments");
    private static final Set<String> QUEUED = Set.of("/sms", "/mail", "/images");

    private static final String[] ENDPOINTS = {
        "/calls/a",
        "/calls/b",
        "/steps/1",
        "/hammered/1",
        "/pages/1",
        "/pages/2",
        "/payments",
        "/exports",
        "/sms",
        "/mail",
        "/images"
    };

    private final Random random;
    private final Random overrides;
    private final LongSupplier clockMs;
    private final double[] upTo = new double[CLIENTS];
    private final List<Request> trace;
    private final Deque<Request> recent = new ArrayDeque<>();
    private Iterator<Request> real;
    private String hot;
    private long made;

    /** @param clockMs the current time, ms since the epoch */
    public TraceWorkload(long seed, LongSupplier clockMs) {
        random = new Random(seed);
        overrides = new Random(~seed);
        this.clockMs = clockMs;
        double sum = 0;
        for (int rank = 0; rank < CLIENTS; rank++) {
            sum += 1 / Math.pow(rank + 1, SKEW);
            upTo[rank] = sum;
        }
        try {
            trace = DemoTrace.requests();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        real = trace.iterator();
    }

    /** Sets a client that sends half of the calls from now on, null for none. */
    public void hot(String client) {
        hot = client;
    }

    @Override
    public boolean hasNext() {
        return true;
    }

    @Override
    public Request next() {
        made++;
        Request earlier = recent.isEmpty() ? null : anyRecent();
        int draw = random.nextInt(1_000);
        if (earlier == null || draw < 640) {
            return remember(call(clientOfCall()));
        } else if (draw < 840) {
            return traced();
        } else if (draw < 880) {
            boolean isOther = random.nextInt(4) == 0 && !isQueued(earlier); // denied: the id is in use
            return !isRepeatable(earlier)
                    ? of(earlier, RequestKind.SETTLE, random.nextInt(8) - 4, null)
                    : isOther ? of(earlier, RequestKind.CONSUME, earlier.cost() + 1, null) : earlier;
        } else if (draw < 920) {
            return of(call(clientOfCall()), RequestKind.PEEK, 1, null);
        } else if (draw < 995) {
            return isQueued(earlier)
                    ? of(
                            earlier,
                            RequestKind.CANCEL,
                            1,
                            earlier.field("endpoint").substring(1))
                    : remember(call(clientOfCall()));
        } else {
            return of(earlier, RequestKind.CONSUME, -1, null); // becomes a dead letter
        }
    }

    private String clientOfCall() {
        if (hot != null && random.nextBoolean()) {
            return hot;
        }
        double at = random.nextDouble() * upTo[CLIENTS - 1];
        int rank = 0;
        while (upTo[rank] < at) {
            rank++;
        }
        return (rank % 9 == 4 ? "robot-" : "client-") + rank;
    }

    private Request call(String client) {
        long nowMs = clockMs.getAsLong();
        String endpoint = ENDPOINTS[random.nextInt(ENDPOINTS.length)];
        boolean waits = QUEUED.contains(endpoint);
        int deadlineInMs = MIN_DEADLINE_MS + random.nextInt(MAX_DEADLINE_MS - MIN_DEADLINE_MS);
        boolean hasDeadline = waits && random.nextInt(8) == 0;
        return Request.builder("w" + made, client)
                .tier(TIERS[Math.floorMod(client.hashCode(), TIERS.length)])
                .cost(random.nextInt(4) == 0 ? random.nextInt(MAX_COST + 1) : 1)
                .sizeBytes(random.nextInt(10) == 0 ? (Long) (1_000L + random.nextInt(80_000)) : null)
                .attributes(Map.of("endpoint", endpoint))
                .deadlineMs(hasDeadline ? (Long) (nowMs + deadlineInMs) : null)
                .payload(waits ? new byte[] {(byte) made, (byte) (made >> 8)} : null)
                .limitOverride(OVERRIDING.contains(endpoint) ? override() : null)
                .timestampMs(nowMs)
                .source(UNSENT)
                .build();
    }

    /** Returns a limit for a request, which sometimes has none, or a window that no limit has. */
    private LimitOverride override() {
        int windowMs = OVERRIDE_WINDOWS_MS[overrides.nextInt(OVERRIDE_WINDOWS_MS.length)];
        return windowMs == 0 ? null : new LimitOverride(overrides.nextInt(MAX_OVERRIDE), windowMs);
    }

    /** Returns the next request of the trace, which is repeated endlessly. */
    private Request traced() {
        if (!real.hasNext()) {
            real = trace.iterator();
        }
        Request request = real.next();
        return request.toBuilder()
                .requestId("t" + made)
                .timestampMs(clockMs.getAsLong())
                .source(UNSENT)
                .build();
    }

    /** Returns a request with the id of another one. It does not wait in a queue. */
    private Request of(Request other, RequestKind kind, long cost, String queue) {
        return other.toBuilder()
                .kind(kind)
                .cost(cost)
                .sizeBytes(null)
                .deadlineMs(null)
                .payload(null)
                .queue(queue)
                .timestampMs(clockMs.getAsLong())
                .source(UNSENT)
                .build();
    }

    private Request anyRecent() {
        int skipped = random.nextInt(recent.size());
        Iterator<Request> all = recent.iterator();
        for (int i = 0; i < skipped; i++) {
            all.next();
        }
        return all.next();
    }

    private Request remember(Request request) {
        recent.addLast(request);
        if (recent.size() > RECENT) {
            recent.removeFirst();
        }
        return request;
    }

    private static boolean isQueued(Request request) {
        return QUEUED.contains(request.field("endpoint"));
    }

    /** Returns whether the policy of a request has {@code idempotency}. */
    private static boolean isRepeatable(Request request) {
        return request.field("endpoint").equals("/sms")
                || request.field("endpoint").equals("/payments");
    }
}
