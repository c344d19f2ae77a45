package dev.weir.shape.total;

import dev.weir.shape.rules.Pacing;
import dev.weir.shape.rules.TotalRate;
import dev.weir.shape.total.TotalReport.LeasedTime;
import dev.weir.time.DueTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The time of a queue's total that was granted to one partition and is not used yet. A request of cost c takes the time
 * of c tokens, at any place in an interval. So the times of two requests never overlap, on whichever partitions: the sum
 * of all releases keeps the pace of the total with a burst of 1.
 *
 * <pre>
 *   granted    ├──────────────────┤         the time of 4 tokens
 *   used       ├────┼╌╌╌╌╌┼────┼──┤         one at the start, one when the pace of another key permits it
 * </pre>
 *
 * <p>Time that is not used within {@value #MAX_LATENESS_MS} ms is lost.
 */
public final class HeldTime {

    /** How long after it has passed leased time can still be used, in milliseconds, since work is done in ticks. */
    static final long MAX_LATENESS_MS = 100;

    /** The most intervals that are kept. The ledger grants fewer. */
    private static final int MAX_INTERVALS = 4_096;

    private static final long MAX_LATENESS_NANOS = MAX_LATENESS_MS * 1_000_000;

    /** An interval of unused time, in which requests keep the pace. */
    private record Interval(Pacing pacing, Pacing.Arrival start, Pacing.Arrival end) {

        /** Returns the end of a request that is released at {@code atNanos}, not before the interval. */
        Pacing.Arrival endOf(long cost, long atNanos) {
            boolean isAtStart = atNanos == start.ceilNanos(); // then the part of a nanosecond before is used as well
            return pacing.after(isAtStart ? start : new Pacing.Arrival(atNanos, 0), cost);
        }

        boolean fits(long cost, long atNanos) {
            return !isBefore(end, endOf(cost, atNanos));
        }
    }

    /** The place of a request in an interval. */
    private record Found(Interval interval, long atNanos) {}

    private final TreeMap<Long, Interval> intervals = new TreeMap<>(); // by the start
    private TotalRate rate; // of the last grant
    private Pacing pacing; // of the last grant

    private static boolean isBefore(Pacing.Arrival one, Pacing.Arrival other) {
        return one.nanos() != other.nanos() ? one.nanos() < other.nanos() : one.part() < other.part();
    }

    /** Adds granted time. */
    public void add(TotalGrant grant) {
        grant.rate().ifPresent(this::setRate);
        for (GrantedRun run : grant.runs()) {
            Interval added = new Interval(pacing, run.start(), pacing.after(run.start(), run.tokens()));
            Map.Entry<Long, Interval> before = intervals.floorEntry(run.start().ceilNanos());
            if (before != null && before.getValue().end.equals(run.start()) && before.getValue().pacing == pacing) {
                intervals.put(before.getKey(), new Interval(pacing, before.getValue().start, added.end));
            } else if (intervals.size() < MAX_INTERVALS) {
                put(added);
            }
        }
    }

    private void setRate(TotalRate newRate) {
        if (newRate.equals(rate)) {
            return;
        }
        if (rate != null && newRate.isFasterThan(rate)) {
            intervals.clear(); // the ledger grants this time again, by the new pace
        }
        rate = newRate;
        pacing = rate.pacing();
    }

    /** Returns the demands that the unused time does not cover. */
    public List<TotalReport.Demand> uncovered(List<TotalReport.Demand> demands, Pacing total, long nowNanos) {
        return TotalReport.uncovered(demands, unused(nowNanos), total);
    }

    private List<LeasedTime> unused(long nowNanos) {
        expireBefore(nowNanos - MAX_LATENESS_NANOS);
        List<LeasedTime> unused = new ArrayList<>(intervals.size());
        for (Interval each : intervals.values()) {
            long fromNanos = Math.max(each.start.ceilNanos(), nowNanos - MAX_LATENESS_NANOS);
            unused.add(new LeasedTime(fromNanos, each.end.ceilNanos()));
        }
        return unused;
    }

    /**
     * Returns the first time from {@code fromNanos} on at which a request of this cost can be released;
     * {@link DueTime#NEVER} if there is none.
     */
    public long firstNanos(long cost, long fromNanos, long nowNanos) {
        Found found = find(cost, Math.max(fromNanos, nowNanos - MAX_LATENESS_NANOS));
        return found == null ? DueTime.NEVER : found.atNanos;
    }

    /** Returns the end of the time that a request takes which is released at what {@link #firstNanos} returned. */
    public long endNanos(long cost, long fromNanos, long nowNanos) {
        Found found = find(cost, Math.max(fromNanos, nowNanos - MAX_LATENESS_NANOS));
        return found.interval.endOf(cost, found.atNanos).ceilNanos();
    }

    /** Uses the time of a request that is released at what {@link #firstNanos} returned. */
    public void take(long cost, long fromNanos, long nowNanos) {
        Found found = find(cost, Math.max(fromNanos, nowNanos - MAX_LATENESS_NANOS));
        Interval all = found.interval;
        Pacing.Arrival end = all.endOf(cost, found.atNanos);
        intervals.remove(all.start.ceilNanos());
        if (isBefore(end, all.end)) {
            put(new Interval(all.pacing, end, all.end));
        }
        if (all.start.ceilNanos() < found.atNanos) {
            put(new Interval(all.pacing, all.start, new Pacing.Arrival(found.atNanos, 0)));
        }
        expireBefore(nowNanos - MAX_LATENESS_NANOS);
    }

    /** Returns the rest of the last interval that is not past; an empty interval if there is none. */
    public LeasedTime last(long nowNanos) {
        if (intervals.isEmpty()) {
            return new LeasedTime(nowNanos, nowNanos);
        }
        Interval last = intervals.lastEntry().getValue();
        return new LeasedTime(Math.max(last.start.ceilNanos(), nowNanos), last.end.ceilNanos());
    }

    /** Removes what lies in the last interval from {@code fromNanos} on, and returns it; empty if nothing does. */
    public Optional<LeasedTime> cut(long fromNanos) {
        if (intervals.isEmpty()) {
            return Optional.empty();
        }
        Interval last = intervals.lastEntry().getValue();
        long startNanos = Math.max(fromNanos, last.start.ceilNanos());
        if (startNanos >= last.end.ceilNanos()) {
            return Optional.empty();
        }
        intervals.pollLastEntry();
        if (last.start.ceilNanos() < startNanos) {
            put(new Interval(last.pacing, last.start, new Pacing.Arrival(startNanos, 0)));
        }
        return Optional.of(new LeasedTime(startNanos, last.end.ceilNanos()));
    }

    /** Gives up the time before {@code nanos}, in which nothing might be released. */
    public void giveUpBefore(long nanos) {
        expireBefore(nanos);
        while (!intervals.isEmpty() && intervals.firstKey() < nanos) {
            Interval first = intervals.pollFirstEntry().getValue();
            if (first.end.ceilNanos() > nanos) {
                put(new Interval(first.pacing, new Pacing.Arrival(nanos, 0), first.end));
            }
        }
    }

    /** Discards all time, because it was wrong. */
    public void clear() {
        intervals.clear();
    }

    /** Of two that start in the same nanosecond, keeps the longer one. */
    private void put(Interval added) {
        intervals.merge(added.start.ceilNanos(), added, (one, other) -> isBefore(one.end, other.end) ? other : one);
    }

    private Found find(long cost, long fromNanos) {
        Long before = intervals.floorKey(fromNanos);
        for (Interval each : (before == null ? intervals : intervals.tailMap(before, true)).values()) {
            long atNanos = Math.max(each.start.ceilNanos(), fromNanos);
            if (each.fits(cost, atNanos)) {
                return new Found(each, atNanos);
            }
        }
        return null;
    }

    private void expireBefore(long nanos) {
        while (!intervals.isEmpty() && intervals.firstEntry().getValue().end.nanos() < nanos) {
            intervals.pollFirstEntry();
        }
    }
}
