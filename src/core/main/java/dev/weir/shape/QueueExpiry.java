package dev.weir.shape;

import dev.weir.shape.rules.QueueRules;
import dev.weir.time.DueTime;

/**
 * When a request expires, and by which bound.
 *
 * @param atMs the last time at which it can be released, in milliseconds since the epoch; {@link DueTime#NEVER} for
 *     never
 * @param isDeadline whether its own deadline is the bound
 * @param limitMs the queue's longest wait if that is the bound, else null
 */
record QueueExpiry(long atMs, boolean isDeadline, Long limitMs) {

    private static final long NANOS_PER_MS = 1_000_000;

    /** The latest expiry; a request that would expire later never expires. */
    private static final long MAX_TIME_MS = Shaper.MAX_TIME_MS;

    /** Returns the expiry of a request with this deadline, which can be null. */
    static QueueExpiry of(QueueRules rules, Long deadlineMs, long enqueuedAtMs) {
        long latestMs =
                rules.maxWaitMs() > MAX_TIME_MS - enqueuedAtMs ? DueTime.NEVER : enqueuedAtMs + rules.maxWaitMs();
        return deadlineMs != null && deadlineMs <= Math.min(latestMs, MAX_TIME_MS)
                ? new QueueExpiry(Math.max(0, deadlineMs), true, null)
                : new QueueExpiry(latestMs, false, rules.maxWaitMs());
    }

    String limitedBy() {
        return isDeadline ? "deadline" : "max-wait";
    }

    /** Returns a time in nanoseconds since the epoch; {@link DueTime#NEVER} for never. */
    static long nanos(long ms) {
        return ms > MAX_TIME_MS ? DueTime.NEVER : ms * NANOS_PER_MS;
    }
}
