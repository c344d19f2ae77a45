package dev.weir.limit;

import dev.weir.limit.LogSearch.EntryPosition;
import dev.weir.limit.segment.FullSegments;
import dev.weir.limit.segment.LogSegment;
import dev.weir.limit.segment.SegmentReader;
import dev.weir.limit.segment.SegmentWrite;
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
// The first live entry is found by a galloping search from the cursor: O(log n) reads even after a long pause. The
// correction of an entry leaves the sums of later segments as they are (SumCorrections). Each request deletes at most
// two segments of garbage. Requests of the same millisecond share an entry, so the log has at most as many live entries
// as the window has milliseconds, and at most as many as the limit has tokens.
public record SlidingWindowLog(long limit, long perMs, boolean countDenied) implements Limit<SlidingWindowLog.Log> {

    /** The most dead segments that one request deletes. */
    static final int DELETES_PER_CHARGE = 2;

    /** The most entries that one refund reduces. */
    static final int REDUCED_PER_REFUND = 32;

    /** @throws IllegalArgumentException if {@code limit} or {@code perMs} is not positive or too large */
    public SlidingWindowLog {
        Limit.requireCapacity("limit", limit);
        Limit.requirePositive("per", perMs);
    }

    /**
     * The state of a log.
     *
     * @param id distinguishes the stored segments of this log from those of other logs under the same key
     * @param segments the full segments, of which those before the head are garbage
     * @param headNumber the number of the segment with the oldest live entry
     * @param expiredSum the sum of all costs before the oldest live entry, in terms of the sums of the tail
     * @param oldestMs the time of the oldest live entry; meaningless if there is none
     * @param tail the newest segment
     */
    public record Log(int id, FullSegments segments, long headNumber, long expiredSum, long oldestMs, LogSegment tail)
            implements SegmentedState {

        /** Returns the cost of the entries that were live at the last charge. */
        long liveCost() {
            return tail.lastSum() - expiredSum;
        }

        @Override
        public Log withId(int other) {
            return new Log(other, segments, headNumber, expiredSum, oldestMs, tail);
        }

        @Override
        public Log retired() {
            return new Log(id, segments, segments.end(), 0, 0, LogSegment.empty(0));
        }

        @Override
        public Log trimmed() {
            return hasGarbage()
                    ? with(segments.from(Math.min(headNumber, segments.first() + DELETES_PER_CHARGE)), tail)
                    : this;
        }

        @Override
        public boolean hasGarbage() {
            return segments.first() < headNumber;
        }

        @Override
        public boolean isStored() {
            return segments.isStored();
        }

        @Override
        public List<SegmentWrite> writes() {
            return segments.writes();
        }

        @Override
        public Log stored(SegmentReader store) {
            return with(FullSegments.stored(store, segments.first(), segments.end(), segments.correctedEnd()), tail);
        }

        private Log with(FullSegments otherSegments, LogSegment otherTail) {
            return new Log(id, otherSegments, headNumber, expiredSum, oldestMs, otherTail);
        }

        /** Returns this log with another cost of an entry. */
        private Log corrected(EntryPosition entry, long change) {
            if (entry.number() == segments.end()) {
                return with(segments, tail.corrected(entry.index(), change));
            }
            LogSegment segment = entry.segment().corrected(entry.index(), change);
            FullSegments next = segments.corrected(entry.number(), segment, -change);
            return new Log(id, next, headNumber, expiredSum - change, oldestMs, tail);
        }

        LogSegment segment(long number) {
            return number == segments.end() ? tail : segments.get(number);
        }
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
        long lastMs = excess == now.liveCost() && now.tail.lastCost() > 0
                ? now.tail.lastTimeMs()
                : LogSearch.ofCost(now, excess).timeMs();
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

    /** Like a charge. Appends an entry also for a cost of 0, which can be corrected. */
    @Override
    public Log chargeReserved(Log log, Charge charge) {
        long nowMs = charge.atMs();
        return charge.cost() == 0
                ? withEntry(slide(log, nowMs), 0, nowMs).trimmed()
                : charge(log, charge.cost(), nowMs);
    }

    /** Corrects the entry of the millisecond of the charge, and nothing if that has left the window. */
    @Override
    public Log settled(Log log, Charge charge, long actualCost, long nowMs) {
        long change = actualCost - charge.cost();
        if (change == 0 || charge.atMs() <= nowMs - perMs) {
            return log;
        }
        Log now = slide(log, nowMs);
        boolean isGone = now.tail.size() == 0 || now.tail.lastTimeMs() < charge.atMs(); // a refund removed the entry
        if (isGone) {
            return change < 0 ? log : append(now, Math.min(change, MAX_LEVEL - now.liveCost()), nowMs);
        }
        EntryPosition entry = LogSearch.after(now, charge.atMs() - 1);
        if (change < 0) {
            long refund = entry.timeMs() == charge.atMs() ? Math.min(-change, entry.cost()) : 0;
            return refund == 0 ? log : now.corrected(entry, -refund);
        }
        return now.corrected(entry, Math.min(change, MAX_LEVEL - now.liveCost()));
    }

    /**
     * Reduces the entries from the time of the refund on, the first ones first, at most {@value #REDUCED_PER_REFUND} of them;
     * none if that time has left the window.
     */
    // The tokens that were used can still be assigned to entries that are not before them. Let u be the first entry
    // since the time of a refunded token. If u was that of another token, the entry of the refunded one, which is not
    // before u, is now the other's.
    @Override
    public Log refunded(Log log, Charge refund, long nowMs) {
        if (refund.cost() == 0 || refund.atMs() <= nowMs - perMs) {
            return log;
        }
        Log now = slide(log, nowMs);
        long left = refund.cost();
        long beforeMs = refund.atMs() - 1;
        for (int i = 0; i < REDUCED_PER_REFUND && left > 0; i++) {
            if (now.tail.size() == 0 || now.tail.lastTimeMs() <= beforeMs) {
                break;
            }
            EntryPosition entry = LogSearch.after(now, beforeMs);
            long part = Math.min(left, entry.cost());
            now = part > 0 ? now.corrected(entry, -part) : now;
            left -= Math.max(0, part);
            beforeMs = entry.timeMs();
        }
        return left == refund.cost() ? log : now;
    }

    @Override
    public long expiresAtMs(Log log, long nowMs) {
        return slide(log, nowMs).tail.size() == 0 ? nowMs : log.tail.lastTimeMs() + perMs;
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
        if (log.tail.size() == 0 || log.oldestMs > cutoffMs) {
            return log;
        }
        return log.tail.lastTimeMs() <= cutoffMs ? emptied(log) : withOldest(log, LogSearch.after(log, cutoffMs));
    }

    private static Log emptied(Log log) {
        LogSegment tail = LogSegment.empty(log.tail.lastSum());
        return new Log(log.id, log.segments, log.segments.end(), tail.lastSum(), 0, tail);
    }

    private static Log withOldest(Log log, EntryPosition oldest) {
        long expiredSum = oldest.sumBefore() + log.segments.correction(oldest.number());
        return new Log(log.id, log.segments, oldest.number(), expiredSum, oldest.timeMs(), log.tail);
    }

    private Log append(Log log, long cost, long nowMs) {
        return cost == 0 ? log : withEntry(log, cost, nowMs);
    }

    private Log withEntry(Log log, long cost, long nowMs) {
        boolean spills = log.tail.isFull() && log.tail.lastTimeMs() != nowMs;
        LogSegment tail = (spills ? LogSegment.empty(log.tail.lastSum()) : log.tail).withEntry(nowMs, cost);
        Log next = new Log(
                log.id,
                spills ? log.segments.with(log.tail) : log.segments,
                log.headNumber,
                log.expiredSum,
                log.tail.size() == 0 ? nowMs : log.oldestMs,
                tail);
        next = spills ? LogBound.withoutIdle(next) : next;
        return countDenied ? LogBound.withoutDenied(next, limit, cost) : next;
    }

    /** Takes the refund from the newest entries, so that the tokens are available at once. The oldest entry stays. */
    private static Log refund(Log log, long credit) {
        if (credit >= log.liveCost()) {
            return emptied(log);
        }
        FullSegments segments = log.segments;
        LogSegment tail = log.tail;
        long expiredSum = log.expiredSum;
        long left = credit;
        while (left > 0) {
            long part = Math.min(left, tail.lastCost());
            if (tail.lastTimeMs() == log.oldestMs) { // the rest is that of dropped entries
                tail = tail.corrected(tail.size() - 1, -part);
                break;
            }
            left -= part;
            tail = tail.reducedBy(part);
            if (tail.size() == 0) {
                tail = segments.get(segments.end() - 1);
                expiredSum -= segments.correction(segments.end() - 1);
                segments = segments.withoutLast();
            }
        }
        return new Log(log.id, segments, log.headNumber, expiredSum, log.oldestMs, tail);
    }
}
