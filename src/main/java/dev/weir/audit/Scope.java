package dev.weir.audit;

/**
 * Which requests, and what is known of them otherwise.
 *
 * @param from the offset of the first that is judged; those before are decided for what they used
 * @param to the offset behind the last
 * @param end the offset behind the last that there is
 * @param decidedTo the offset up to which all are decided, null if that is not known
 * @param requestsWhole whether none was deleted
 * @param decisionsWhole whether no decision was deleted
 * @param deadLettersFromMs dead letters up to then may have been deleted, ms since the epoch; least if none was
 * @param queuesDone whether the queues have answered all that was sent to them
 * @param range whence the offsets are
 */
public record Scope(
        int partition,
        long from,
        long to,
        long end,
        Long decidedTo,
        boolean requestsWhole,
        boolean decisionsWhole,
        long deadLettersFromMs,
        boolean queuesDone,
        Audit.Range range) {}
