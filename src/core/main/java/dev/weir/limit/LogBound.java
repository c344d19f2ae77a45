package dev.weir.limit;

import dev.weir.limit.LogSearch.EntryPosition;
import dev.weir.limit.SlidingWindowLog.Log;
import dev.weir.limit.segment.LogSegment;

/**
 * Bounds the segments of a log that has more entries than its limit has tokens: of denied requests, or of charges that
 * were corrected to 0. It drops the oldest entries, and adds their cost to the first one that is left, which leaves the
 * window later. So a dropped cost never frees tokens too early.
 */
final class LogBound {

    /** How many segments a log holds beyond those of its limit. */
    static final int EXCESS_SEGMENTS = 1_000;

    private LogBound() {}

    /** Returns a log with a new segment, without the oldest one if most of its entries cost nothing. */
    static Log withoutIdle(Log log) {
        return excess(log, log.liveCost()) <= 0
                ? log
                : new Log(
                        log.id(),
                        log.segments(),
                        log.headNumber() + 1,
                        log.expiredSum(),
                        log.segment(log.headNumber() + 1).timeMs(0),
                        log.tail());
    }

    /**
     * Returns a log that counts denied requests, without the oldest entries if the others still fill the limit. That
     * changes no result, except what a refund or a raised limit would have left of them.
     *
     * @param cost the cost of the newest entry
     */
    static Log withoutDenied(Log log, long limit, long cost) {
        if (excess(log, limit) <= 0 || log.liveCost() - cost < limit) {
            return log;
        }
        EntryPosition oldest = LogSearch.ofCost(log, log.liveCost() - limit + 1);
        long expiredSum = oldest.sumBefore() + log.segments().correction(oldest.number());
        long kept = Math.min(limit, expiredSum - log.expiredSum()); // no refund can exceed the limit
        return new Log(log.id(), log.segments(), oldest.number(), expiredSum - kept, oldest.timeMs(), log.tail());
    }

    private static long excess(Log log, long entries) {
        return log.segments().end() - log.headNumber() - entries / LogSegment.CAPACITY - EXCESS_SEGMENTS;
    }
}
