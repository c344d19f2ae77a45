package dev.weir.audit.shared;

import dev.weir.event.Request;

/**
 * What a decision took of a shared quota, several of one time, or what a client tells that it took by itself.
 *
 * @param sinceMs when the first of it came at the earliest, ms since the epoch
 * @param timeMs when the last of it came at the latest, the same unless a client tells of several
 * @param cost in all
 * @param decisions how many
 * @param decisionOffset the offset of the last one
 * @param requestOffset the offset of its request, that of {@link Request.Source#NONE} if a client tells of it
 */
record UsageInterval(
        long sinceMs, long timeMs, long cost, long decisions, int partition, long decisionOffset, long requestOffset) {

    boolean isByClient() {
        return requestOffset == Request.Source.NONE.offset();
    }

    /** In how long a time it came at most. */
    long durationMs() {
        return timeMs - sinceMs;
    }
}
