package dev.weir.limit;

import dev.weir.limit.SlidingWindowLog.Log;
import dev.weir.limit.segment.LogSegment;

/**
 * Finds entries of a log, from its oldest live entry on.
 *
 * <p>The search gallops over the segments, so it reads O(log n) of them (J. Bentley, A. Yao: An almost optimal
 * algorithm for unbounded searching, 1976).
 */
abstract class LogSearch {

    /** The position of an entry: the number of its segment, its index there, and that segment. */
    record EntryPosition(long number, int index, LogSegment segment) {
        long timeMs() {
            return segment.timeMs(index);
        }

        long sumBefore() {
            return segment.sum(index - 1);
        }

        long cost() {
            return segment.sum(index) - sumBefore();
        }
    }

    /** Returns the first live entry after {@code timeMs}. There must be one. */
    static EntryPosition after(Log log, long timeMs) {
        return new LogSearch() {
            @Override
            boolean isReached(LogSegment segment, int index, long correction) {
                return segment.timeMs(index) > timeMs;
            }

            @Override
            long correction(long number) {
                return 0;
            }
        }.find(log);
    }

    /**
     * Returns the first live entry that has at least {@code liveCost} up to and including it.
     *
     * @param liveCost at most that of the log
     */
    static EntryPosition ofCost(Log log, long liveCost) {
        return new LogSearch() {
            @Override
            boolean isReached(LogSegment segment, int index, long correction) {
                return segment.sum(index) + correction - log.expiredSum() >= liveCost;
            }

            @Override
            long correction(long number) {
                return log.segments().correction(number);
            }
        }.find(log);
    }

    /** Returns whether an entry is the one or a later one. The newest entry is. */
    abstract boolean isReached(LogSegment segment, int index, long correction);

    /** Returns what is added to the sums of a segment. */
    abstract long correction(long number);

    final EntryPosition find(Log log) {
        long low = log.headNumber();
        long step = 1;
        LogSegment segment = log.segment(low);
        while (!isReachedAtEnd(low, segment)) { // gallop
            low++;
            long probe = Math.min(log.segments().end(), low + step);
            LogSegment probed = log.segment(probe);
            if (isReachedAtEnd(probe, probed)) {
                long high = probe;
                while (low < high) { // bisect
                    long middle = low + (high - low) / 2;
                    if (isReachedAtEnd(middle, log.segment(middle))) {
                        high = middle;
                    } else {
                        low = middle + 1;
                    }
                }
                segment = log.segment(low);
            } else {
                low = probe;
                step *= 2;
            }
        }
        int index = 0;
        int high = segment.size() - 1;
        long correction = correction(low);
        while (index < high) {
            int middle = (index + high) >>> 1;
            if (isReached(segment, middle, correction)) {
                high = middle;
            } else {
                index = middle + 1;
            }
        }
        return new EntryPosition(low, index, segment);
    }

    private boolean isReachedAtEnd(long number, LogSegment segment) {
        return isReached(segment, segment.size() - 1, correction(number));
    }
}
