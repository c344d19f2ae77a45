package dev.weir.audit.shared;

import dev.weir.event.Request;

/**
 * A use of a shared quota: that of one or more decisions of the same time, or that in a client's report.
 *
 * @param sinceMs the earliest time of the first use, ms since the epoch
 * @param timeMs the latest time of the last use, ms since the epoch; equals {@code sinceMs} unless a client
 *     reports several
 * @param cost the total cost
 * @param decisions the number of decisions
 * @param decisionOffset the offset of the last decision or of the report
 * @param requestOffset the offset of its request; that of {@link Request.Source#NONE} for a client's report
 */
record UsageInterval(
        long sinceMs, long timeMs, long cost, long decisions, int partition, long decisionOffset, long requestOffset) {

    boolean isByClient() {
        return requestOffset == Request.Source.NONE.offset();
    }

    UsageInterval withCost(long other) {
        return new UsageInterval(sinceMs, timeMs, other, decisions, partition, decisionOffset, requestOffset);
    }

    /** Returns the length of the interval, in ms. */
    long durationMs() {
        return timeMs - sinceMs;
    }
}
