package dev.weir.failure.load;

import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.LongSupplier;

/**
 * Endless jobs for the queue of {@link FailurePolicies#JOBS}, whose workers acknowledge releases, and cancellations of
 * some. The requests depend only on the seed and the clock. Not thread-safe.
 */
final class JobWorkload implements Iterator<Request> {

    private static final int CLIENTS = 6;
    private static final int MAX_COST = 2;
    private static final int RECENT = 20;
    private static final int MIN_DEADLINE_MS = 1_000;
    private static final int MAX_DEADLINE_MS = 20_000;
    private static final String[] TIERS = {"gold", "free", null};
    private static final Request.Source UNSENT = new Request.Source(0, 0);

    private final Random random;
    private final LongSupplier clockMs;
    private final Deque<Request> recent = new ArrayDeque<>();
    private long made;

    JobWorkload(long seed, LongSupplier clockMs) {
        random = new Random(seed * 31 + 13);
        this.clockMs = clockMs;
    }

    @Override
    public boolean hasNext() {
        return true;
    }

    @Override
    public Request next() {
        Request request = random.nextInt(15) == 0 && recent.size() == RECENT ? cancel(recent.removeFirst()) : job();
        return request.toBuilder()
                .timestampMs(clockMs.getAsLong())
                .source(UNSENT)
                .build();
    }

    private Request job() {
        List<String> pools = FailurePolicies.POOLS;
        int deadlineInMs = MIN_DEADLINE_MS + random.nextInt(MAX_DEADLINE_MS - MIN_DEADLINE_MS);
        Request job = Request.builder("j" + made++, "boss-" + random.nextInt(CLIENTS))
                .tier(TIERS[random.nextInt(TIERS.length)])
                .cost(random.nextInt(MAX_COST + 1))
                .attributes(Map.of("endpoint", "/jobs", "pool", pools.get(random.nextInt(pools.size()))))
                .deadlineMs(random.nextInt(10) == 0 ? (Long) (clockMs.getAsLong() + deadlineInMs) : null)
                .payload(new byte[] {(byte) made})
                .build();
        recent.addLast(job);
        if (recent.size() > RECENT) {
            recent.removeFirst();
        }
        return job;
    }

    private static Request cancel(Request job) {
        return Request.builder(job.requestId(), job.client())
                .kind(RequestKind.CANCEL)
                .queue("jobs")
                .attributes(job.attributes())
                .build();
    }
}
