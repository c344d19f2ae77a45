package dev.weir.limit;

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
     * The state of a log, without its full segments.
     *
     * @param id distinguishes this log's segments from those of other logs under the same key
     * @param segments the store of the full segments; null in an {@linkplain #initialState initial} state until
     *     {@link #withSegments} sets it
     * @param firstNumber the number of the oldest segment that was not deleted
     * @param headNumber the number of the segment with the oldest live entry
     * @param expiredSum the sum of all costs before the oldest live entry
     * @param oldestMs the time of the oldest live entry; meaningless if there is none
     * @param tailNumber the number of the newest segment
     * @param tail the newest segment
     */
    public record Log(
            int id,
            SegmentStore segments,
            long firstNumber,
            long headNumber,
            long expiredSum,
            long oldestMs,
            long tailNumber,
            LogSegment tail) {

        /** Returns the cost of the entries that were live at the last charge. */
        long liveCost() {
            return tail.lastSum() - expiredSum;
        }

        /** Returns this log with another id and store for its full segments. */
        public Log withSegments(int newShelf, SegmentStore newSegments) {
            return new Log(newShelf, newSegments, firstNumber, headNumber, expiredSum, oldestMs, tailNumber, tail);
        }

        /** Returns this log for deletion: all of its full segments are garbage. */
        public Log retired() {
            return new Log(id, segments, firstNumber, tailNumber, 0, 0, tailNumber, LogSegment.empty(0));
        }

        /**
         * Returns this log after deleting at most {@link #DELETES_PER_CHARGE} of its dead segments; see
         * {@link #hasGarbage}.
         */
        public Log trimmed() {
            long end = Math.min(headNumber, firstNumber + DELETES_PER_CHARGE);
            for (long number = firstNumber; number < end; number++) {
                segments.delete(number);
            }
            return end == firstNumber
                    ? this
                    : new Log(id, segments, end, headNumber, expiredSum, oldestMs, tailNumber, tail);
        }

        /** Returns whether the store still holds dead segments. */
        public boolean hasGarbage() {
            return firstNumber < headNumber;
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
        return new Log(0, null, 0, 0, 0, 0, 0, LogSegment.empty(0));
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
        return new Log(log.id, log.segments, log.firstNumber, log.tailNumber, tail.lastSum(), 0, log.tailNumber, tail);
    }

    private static Log withOldest(Log log, EntryPosition oldest) {
        return new Log(
                log.id,
                log.segments,
                log.firstNumber,
                oldest.number,
                oldest.sumBefore(),
                oldest.timeMs(),
                log.tailNumber,
                log.tail);
    }

    private Log append(Log log, long cost, long nowMs) {
        if (cost == 0) {
            return log;
        }
        boolean spills = log.tail.isFull() && log.tail.lastTimeMs() != nowMs;
        if (spills) {
            log.segments.put(log.tailNumber, log.tail);
        }
        LogSegment tail = (spills ? LogSegment.empty(log.tail.lastSum()) : log.tail).withEntry(nowMs, cost);
        Log next = new Log(
                log.id,
                log.segments,
                log.firstNumber,
                log.headNumber,
                log.expiredSum,
                log.liveCost() == 0 ? nowMs : log.oldestMs,
                spills ? log.tailNumber + 1 : log.tailNumber,
                tail);
        // Denied requests can accumulate beyond the limit without bound. Above a bound, drop the oldest entries if the
        // remaining ones still fill the limit. That changes no result, except what a refund or a raised limit would
        // have left of them.
        boolean overfull = next.tailNumber - next.headNumber > limit / LogSegment.CAPACITY + EXCESS_SEGMENTS;
        return countDenied && overfull && next.liveCost() - cost >= limit
                ? withOldest(next, find(next, (timeMs, sum) -> tail.lastSum() - sum < limit))
                : next;
    }

    /** Takes the refund from the newest entries, so that the tokens are available at once. */
    private static Log refund(Log log, long credit) {
        if (credit >= log.liveCost()) {
            return emptied(log);
        }
        Log now = log;
        long left = credit;
        while (left > 0) {
            LogSegment tail = now.tail;
            long part = Math.min(left, tail.lastSum() - tail.sum(tail.size() - 2));
            left -= part;
            now = withTail(now, now.tailNumber, tail.reducedBy(part));
            if (now.tail.size() == 0) {
                long number = now.tailNumber - 1;
                now = withTail(now, number, now.segments.get(number));
                now.segments.delete(number);
            }
        }
        return now;
    }

    private static Log withTail(Log log, long number, LogSegment tail) {
        return new Log(
                log.id, log.segments, log.firstNumber, log.headNumber, log.expiredSum, log.oldestMs, number, tail);
    }

    /** Returns the first live entry for which the condition holds. It must hold for the newest entry. */
    private static EntryPosition find(Log log, Condition condition) {
        long low = log.headNumber;
        long step = 1;
        LogSegment segment = segment(log, low);
        while (!holdsAtEnd(segment, condition)) { // gallop
            low++;
            long probe = Math.min(log.tailNumber, low + step);
            LogSegment probed = segment(log, probe);
            if (holdsAtEnd(probed, condition)) {
                long high = probe;
                while (low < high) { // bisect
                    long middle = low + (high - low) / 2;
                    if (holdsAtEnd(segment(log, middle), condition)) {
                        high = middle;
                    } else {
                        low = middle + 1;
                    }
                }
                segment = segment(log, low);
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

    private static LogSegment segment(Log log, long number) {
        return number == log.tailNumber ? log.tail : log.segments.get(number);
    }
}
