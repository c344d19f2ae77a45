package dev.weir.limit;

import java.util.List;

/**
 * The exact sliding window: at most {@code limit} tokens are permitted in any window {@code (t − per, t]}. An entry
 * whose age is {@code per} no longer counts. The cost of a request does not depend on the limit.
 *
 * @param limit tokens in any window
 * @param perMs the length of the window, in milliseconds
 * @param countDenied whether denied requests are charged too
 */
// The log is a list of entries (time, sum of all costs so far) in segments of 32. The state holds the newest segment
// and a cursor to the oldest live entry. Full segments are in a store, so a request writes the state and, once in 32
// requests, one segment.
//
//      first        head                      tail
//        │ deleted    │ oldest live entry       │ in the state
//   ┌────▼────┬────┬──▼──────┬─────────┬─────┬──▼──────┐        used = lastSum − sum before the oldest live entry
//   │ garbage │  … │ ▒▒│ live │  live   │  …  │ live   │        wait(c): expiry of the first entry that frees enough
//   └─────────┴────┴─────────┴─────────┴─────┴─────────┘
//
// The first live entry is found by a galloping search from the cursor (J. Bentley, A. Yao: An almost optimal algorithm
// for unbounded searching, 1976): O(log n) reads even after a long pause. Each request deletes at most two segments of
// garbage. Requests of the same millisecond share an entry, so the log has at most as many live entries as the window
// has milliseconds, and at most as many as the limit has tokens.
public record SlidingWindowLog(long limit, long perMs, boolean countDenied) implements Limit<SlidingWindowLog.Log> {

    /** The most dead segments that one request deletes. */
    static final int DELETES_PER_CHARGE = 2;

    /** How many segments of denied requests a log holds beyond those of its limit. */
    static final int EXCESS_SEGMENTS = 1_000;

    /** @throws IllegalArgumentException if {@code limit} or {@code perMs} is not positive or too large */
    public SlidingWindowLog {
        Limit.requireCapacity("limit", limit);
        Limit.requirePositive("per", perMs);
    }

    /**
     * The state of a log: an immutable value, like any state. A charge does not change the stored segments that it
     * reads, but returns a log whose {@link #writes} are to be carried out before the log is stored.
     *
     * @param id distinguishes the stored segments of this log from those of other logs under the same key
     * @param segments the full segments, of which those before the head are garbage
     * @param headNumber the number of the segment with the oldest live entry
     * @param expiredSum the sum of all costs before the oldest live entry
     * @param oldestMs the time of the oldest live entry; meaningless if there is none
     * @param tail the newest segment
     */
    public record Log(int id, FullSegments segments, long headNumber, long expiredSum, long oldestMs, LogSegment tail) {

        /** Returns the cost of the entries that were live at the last charge. */
        long liveCost() {
            return tail.lastSum() - expiredSum;
        }

        /** Returns this log with another id. None of its segments may have been stored under the current one. */
        public Log withId(int other) {
            return new Log(other, segments, headNumber, expiredSum, oldestMs, tail);
        }

        /** Returns this log for deletion: all of its full segments are garbage. */
        public Log retired() {
            return new Log(id, segments, segments.end(), 0, 0, LogSegment.empty(0));
        }

        /** Returns this log without up to {@link #DELETES_PER_CHARGE} of its dead segments; see {@link #hasGarbage}. */
        public Log trimmed() {
            return hasGarbage()
                    ? with(segments.from(Math.min(headNumber, segments.first() + DELETES_PER_CHARGE)), tail)
                    : this;
        }

        /** Returns whether the log has dead segments. */
        public boolean hasGarbage() {
            return segments.first() < headNumber;
        }

        /** Returns whether the full segments are those that are stored. If so, there is nothing to write. */
        public boolean isStored() {
            return segments.isStored();
        }

        /** Returns what has to be written to the store of the full segments, and is not yet. */
        public List<SegmentWrite> writes() {
            return segments.writes();
        }

        /**
         * Returns this log after its {@link #writes} were carried out.
         *
         * @param store reads its full segments
         */
        public Log stored(SegmentReader store) {
            return with(FullSegments.stored(store, segments.first(), segments.end()), tail);
        }

        private Log with(FullSegments otherSegments, LogSegment otherTail) {
            return new Log(id, otherSegments, headNumber, expiredSum, oldestMs, otherTail);
        }

        private LogSegment segment(long number) {
            return number == segments.end() ? tail : segments.get(number);
        }
    }

    /** The position of an entry: the number of its segment, its index there, and that segment. */
    private record EntryPosition(long number, int index, LogSegment segment) {
        long timeMs() {
            return segment.timeMs(index);
        }

        long sumBefore() {
            return segment.sum(index - 1);
        }
    }

    /** A monotonic condition: once it holds for an entry, it holds for all that follow. */
    private interface Condition {
        boolean holds(long timeMs, long sum);
    }

    @Override
    public long capacity() {
        return limit;
    }

    @Override
    public long maxUsed() {
        return MAX_LEVEL;
    }

    /**
     * Does not bound denied costs: each is an entry of its own, which leaves the window when it is as old as
     * the window.
     */
    @Override
    public long maxUsedByDenied() {
        return MAX_LEVEL;
    }

    @Override
    public boolean hasSamePeriodAs(Limit<?> other) {
        return other instanceof SlidingWindowLog log && log.perMs == perMs;
    }

    @Override
    public long windowMs(long nowMs) {
        return perMs;
    }

    @Override
    public Log initialState(long nowMs) {
        return new Log(0, FullSegments.NONE, 0, 0, 0, LogSegment.empty(0));
    }

    @Override
    public long available(Log log, long nowMs) {
        return limit - slide(log, nowMs).liveCost();
    }

    @Override
    public long waitMs(Log log, long cost, long nowMs) {
        Log now = slide(log, nowMs);
        long excess = now.liveCost() - (limit - cost); // tokens that must leave the window first
        if (excess <= 0) {
            return 0;
        }
        long lastMs = excess == now.liveCost()
                ? now.tail.lastTimeMs()
                : find(now, (timeMs, sum) -> sum - now.expiredSum >= excess).timeMs();
        return lastMs + perMs - nowMs;
    }

    @Override
    public Log charge(Log log, long cost, long nowMs) {
        Log now = slide(log, nowMs);
        Log charged = cost < 0
                ? refund(now, -Math.max(cost, -MAX_LEVEL))
                : append(now, Math.min(cost, MAX_LEVEL - now.liveCost()), nowMs);
        return charged.trimmed();
    }

    @Override
    public long expiresAtMs(Log log, long nowMs) {
        return slide(log, nowMs).liveCost() == 0 ? nowMs : log.tail.lastTimeMs() + perMs;
    }

    @Override
    public boolean isCompatibleWith(Limit<?> old) {
        return old instanceof SlidingWindowLog;
    }

    @Override
    public Log adopt(LimitAccount<?> old, long mostUsed, long nowMs) {
        return old.limit() instanceof SlidingWindowLog log
                ? log.slide((Log) old.state(), nowMs) // a longer window must not revive entries that have expired
                : charge(initialState(nowMs), old.used(nowMs), nowMs); // all of it expires after one window
    }

    /** Returns the log without the entries that have left the window. */
    private Log slide(Log log, long nowMs) {
        long cutoffMs = nowMs - perMs;
        if (log.liveCost() == 0 || log.oldestMs > cutoffMs) {
            return log;
        }
        return log.tail.lastTimeMs() <= cutoffMs
                ? emptied(log)
                : withOldest(log, find(log, (timeMs, sum) -> timeMs > cutoffMs));
    }

    private static Log emptied(Log log) {
        LogSegment tail = LogSegment.empty(log.tail.lastSum());
        return new Log(log.id, log.segments, log.segments.end(), tail.lastSum(), 0, tail);
    }

    private static Log withOldest(Log log, EntryPosition oldest) {
        return new Log(log.id, log.segments, oldest.number, oldest.sumBefore(), oldest.timeMs(), log.tail);
    }

    private Log append(Log log, long cost, long nowMs) {
        if (cost == 0) {
            return log;
        }
        boolean spills = log.tail.isFull() && log.tail.lastTimeMs() != nowMs;
        LogSegment tail = (spills ? LogSegment.empty(log.tail.lastSum()) : log.tail).withEntry(nowMs, cost);
        Log next = new Log(
                log.id,
                spills ? log.segments.with(log.tail) : log.segments,
                log.headNumber,
                log.expiredSum,
                log.liveCost() == 0 ? nowMs : log.oldestMs,
                tail);
        // Denied requests can accumulate beyond the limit without bound. Above a bound, drop the oldest entries if the
        // remaining ones still fill the limit. That changes no result, except what a refund or a raised limit would
        // have left of them.
        boolean overfull = next.segments.end() - next.headNumber > limit / LogSegment.CAPACITY + EXCESS_SEGMENTS;
        return countDenied && overfull && next.liveCost() - cost >= limit
                ? withOldest(next, find(next, (timeMs, sum) -> tail.lastSum() - sum < limit))
                : next;
    }

    /** Takes the refund from the newest entries, so that the tokens are available at once. */
    private static Log refund(Log log, long credit) {
        if (credit >= log.liveCost()) {
            return emptied(log);
        }
        FullSegments segments = log.segments;
        LogSegment tail = log.tail;
        long left = credit;
        while (left > 0) {
            long part = Math.min(left, tail.lastSum() - tail.sum(tail.size() - 2));
            left -= part;
            tail = tail.reducedBy(part);
            if (tail.size() == 0) {
                tail = segments.get(segments.end() - 1);
                segments = segments.withoutLast();
            }
        }
        return log.with(segments, tail);
    }

    /** Returns the first live entry for which the condition holds. It must hold for the newest entry. */
    private static EntryPosition find(Log log, Condition condition) {
        long low = log.headNumber;
        long step = 1;
        LogSegment segment = log.segment(low);
        while (!holdsAtEnd(segment, condition)) { // gallop
            low++;
            long probe = Math.min(log.segments.end(), low + step);
            LogSegment probed = log.segment(probe);
            if (holdsAtEnd(probed, condition)) {
                long high = probe;
                while (low < high) { // bisect
                    long middle = low + (high - low) / 2;
                    if (holdsAtEnd(log.segment(middle), condition)) {
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
        while (index < high) {
            int middle = (index + high) >>> 1;
            if (condition.holds(segment.timeMs(middle), segment.sum(middle))) {
                high = middle;
            } else {
                index = middle + 1;
            }
        }
        return new EntryPosition(low, index, segment);
    }

    private static boolean holdsAtEnd(LogSegment segment, Condition condition) {
        return condition.holds(segment.lastTimeMs(), segment.lastSum());
    }
}
