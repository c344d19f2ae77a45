package dev.weir.bench.measure;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;

/** A steady rate of requests. When a request is due does not depend on the progress of earlier ones (an open loop). */
public record SteadyRate(long perSecond) {

    private static final long NANOS_PER_SECOND = 1_000_000_000;

    public SteadyRate {
        if (perSecond <= 0) {
            throw new IllegalArgumentException("the rate must be at least 1 a second, is " + perSecond);
        }
    }

    /** Returns how many requests are due in a time. */
    public long requestsIn(Duration time) {
        return perSecond * time.toMillis() / 1_000;
    }

    /**
     * Sends each request when it is due, or as soon as possible if the sender is late.
     *
     * @param fromNanos when the first request is due, by {@link System#nanoTime}
     * @param count the number of requests
     * @param sender accepts the time at which a request is due, by {@link System#nanoTime}
     */
    public void run(long fromNanos, long count, LongConsumer sender) {
        for (long number = 0; number < count; number++) {
            long dueNanos = fromNanos + number * NANOS_PER_SECOND / perSecond;
            for (long early = dueNanos - System.nanoTime(); early > 0; early = dueNanos - System.nanoTime()) {
                LockSupport.parkNanos(early);
            }
            sender.accept(dueNanos);
        }
    }
}
