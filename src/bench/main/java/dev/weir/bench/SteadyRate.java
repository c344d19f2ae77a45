package dev.weir.bench;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;

/** Requests that come due at a steady rate, whatever becomes of those before them: an open loop. */
record SteadyRate(long perSecond) {

    private static final long NANOS_PER_SECOND = 1_000_000_000;

    SteadyRate {
        if (perSecond <= 0) {
            throw new IllegalArgumentException("a rate is 1 a second at least: " + perSecond);
        }
    }

    /** How many come due in such a time. */
    long requestsIn(Duration time) {
        return perSecond * time.toMillis() / 1_000;
    }

    /**
     * Sends each when it is due or, while that was held up, as soon as it can; it is told when it was due in both
     * cases.
     */
    void run(long fromNanos, long count, LongConsumer sender) {
        for (long number = 0; number < count; number++) {
            long dueNanos = fromNanos + number * NANOS_PER_SECOND / perSecond;
            for (long early = dueNanos - System.nanoTime(); early > 0; early = dueNanos - System.nanoTime()) {
                LockSupport.parkNanos(early);
            }
            sender.accept(dueNanos);
        }
    }
}
