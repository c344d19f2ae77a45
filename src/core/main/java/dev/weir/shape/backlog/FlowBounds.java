package dev.weir.shape.backlog;

import dev.weir.shape.backlog.BucketContents.BoundsSummary;
import dev.weir.shape.backlog.BucketContents.GenerationSummary;
import dev.weir.shape.rules.Pacing;
import dev.weir.time.DueTime;

/**
 * Bounds of the costs and expiries of the requests of a flow behind its head, in constant memory. Requests are counted
 * in two generations: when the last one of the older generation has left, the newer one takes its place. So a request
 * affects the bounds until at most twice as many have left as waited with it.
 *
 * <p>Expiries are kept relative to the tokens of the flow, as latest starts: when the flow would have had to begin with
 * its first token such that, served without a break, it reaches a request in time.
 *
 * <pre>
 *   tokens   0      3          8                       1 token a second, b expires at 12 s
 *            │  a   │    b     │   c …                 b is reached in time:       start at 12 − 3 = 9 s or before
 *                                                      b expires, c leaves next:   as if started at 12 − 8 = 4 s
 * </pre>
 */
final class FlowBounds {

    /** The most tokens that are counted, so that times do not overflow. */
    private static final long MAX_TOKENS = 1L << 60;

    /** A start that is not known, which is earlier than all others. */
    static final long UNKNOWN = Long.MIN_VALUE;

    private static final class Generation {
        long leastCost = Long.MAX_VALUE;
        long largestCost;
        // both are DueTime.NEVER if no request expires
        long inTimeNanos = DueTime.NEVER; // the latest start of the flow by which each request is reached in time
        long afterExpiryNanos = DueTime.NEVER; // the earliest start as if from which those behind an expired one leave

        static Generation of(GenerationSummary summary) {
            Generation generation = new Generation();
            generation.leastCost = summary.leastCost();
            generation.largestCost = summary.largestCost();
            generation.inTimeNanos = summary.inTimeNanos();
            generation.afterExpiryNanos = summary.afterExpiryNanos();
            return generation;
        }

        GenerationSummary summary() {
            return new GenerationSummary(leastCost, largestCost, inTimeNanos, afterExpiryNanos);
        }

        void forgetPace() {
            inTimeNanos = UNKNOWN;
            afterExpiryNanos = UNKNOWN;
        }
    }

    private long tokens;
    private long newerFrom; // the position of the first request of the newer generation
    private Generation older;
    private Generation newer;

    /** Starts with an only request, the head, at a position. */
    FlowBounds(long position, long cost) {
        tokens = cost;
        newerFrom = position + 1;
        older = new Generation();
        newer = new Generation();
    }

    FlowBounds(BoundsSummary summary) {
        tokens = summary.tokens();
        newerFrom = summary.newerFrom();
        older = Generation.of(summary.older());
        newer = Generation.of(summary.newer());
    }

    BoundsSummary summary() {
        return new BoundsSummary(tokens, newerFrom, older.summary(), newer.summary());
    }

    /**
     * Counts a request behind all others.
     *
     * @param cost its cost, capped
     * @param expiryNanos when it expires, {@link DueTime#NEVER} for never
     * @param pacing the pace of the bucket
     */
    void append(long cost, long expiryNanos, Pacing pacing) {
        newer.leastCost = Math.min(newer.leastCost, cost);
        newer.largestCost = Math.max(newer.largestCost, cost);
        newer.inTimeNanos = Math.min(newer.inTimeNanos, inTimeNanos(tokens, cost, expiryNanos, pacing));
        tokens += cost;
        newer.afterExpiryNanos = Math.min(newer.afterExpiryNanos, startNanos(tokens, expiryNanos, pacing));
        if (tokens > MAX_TOKENS) {
            tokens = 0;
            forgetPace();
        }
    }

    private static long inTimeNanos(long before, long cost, long expiryNanos, Pacing pacing) {
        long startNanos = startNanos(before, expiryNanos, pacing);
        return isTime(startNanos) ? startNanos + pacing.freeNanos(cost) : startNanos;
    }

    private static boolean isTime(long startNanos) {
        return startNanos != DueTime.NEVER && startNanos != UNKNOWN;
    }

    private static long startNanos(long before, long expiryNanos, Pacing pacing) {
        if (expiryNanos == DueTime.NEVER) {
            return expiryNanos;
        }
        long spanNanos = pacing.spanNanos(before);
        return Pacing.isSaturated(spanNanos) ? UNKNOWN : expiryNanos - spanNanos;
    }

    /** Removes a request from the middle, or from the end. */
    void removeBehindHead(long cost) {
        tokens = Math.max(0, tokens - cost); // those behind it count too early, so all bounds remain on the safe side
    }

    /**
     * Records that the head has left.
     *
     * @param first the position of the new head
     * @param last the position of the last request
     */
    void headLeft(long first, long last) {
        if (first >= newerFrom) {
            older = newer;
            newer = new Generation();
            newerFrom = last + 1;
        }
    }

    /** Makes expiries so far unknown, because the pace has changed. */
    void forgetPace() {
        older.forgetPace();
        newer.forgetPace();
    }

    long leastCost() {
        return Math.min(older.leastCost, newer.leastCost);
    }

    long largestCost() {
        return Math.max(older.largestCost, newer.largestCost);
    }

    /**
     * Returns whether no request expires if nothing but this flow is served.
     *
     * @param head the head
     * @param waitingTokens the tokens of all requests
     * @param startNanos when the time that the head takes begins at the latest
     * @param pacing the pace of the bucket, by which the requests were counted
     */
    boolean isInTime(FlowHead head, long waitingTokens, long startNanos, Pacing pacing) {
        long before = tokens - waitingTokens;
        long inTimeNanos = Math.min(
                inTimeNanos(before, head.cost(), head.expiryNanos(), pacing),
                Math.min(older.inTimeNanos, newer.inTimeNanos));
        return inTimeNanos == DueTime.NEVER
                || inTimeNanos != UNKNOWN && inTimeNanos >= startNanos - pacing.spanFloorNanos(before);
    }

    /**
     * Returns a lower bound of when a new request leaves if some request ahead of it in the flow expires: while the
     * last one that expires waits, nothing behind it in its flow leaves.
     *
     * @return {@link DueTime#NEVER} if none ever does, {@link #UNKNOWN} if it is unknown
     */
    long afterExpiryNanos(FlowHead head, long waitingTokens, long cost, Pacing pacing) {
        long ofHeadNanos = startNanos(tokens - waitingTokens + head.cost(), head.expiryNanos(), pacing);
        long startNanos = Math.min(ofHeadNanos, Math.min(older.afterExpiryNanos, newer.afterExpiryNanos));
        return isTime(startNanos)
                ? startNanos + pacing.spanFloorNanos(tokens) - pacing.spanNanos(pacing.freeTokens(cost))
                : startNanos;
    }

    /** The head of a flow: its capped cost, and when it expires. */
    record FlowHead(long cost, long expiryNanos) {}
}
