package dev.weir.shape.timer;

import dev.weir.decision.state.KeyValueTable;
import dev.weir.shape.rules.BucketId;
import dev.weir.time.DueTime;
import java.util.Comparator;
import java.util.TreeMap;

/**
 * The timers of the cold buckets of a queue. The timers are entries of a table; the heap holds only the number of
 * entries in each interval of time.
 *
 * <p>This is a hierarchical timing wheel (G. Varghese, T. Lauck: <i>Hashed and hierarchical timing wheels</i>, SOSP
 * 1987, scheme 7). The width of an interval is a power of 4 ns, at least a 256th and at most a 64th of the time until it is
 * due. So there are at most 192 intervals of each width ahead of now and some 5,000 in all, whatever the number of entries.
 * An entry is read when its interval starts, which is early by at most a 64th of its delay. If its bucket is unloaded
 * again, it gets an entry in a narrower interval that has not started yet. So an entry moves at most once for each width,
 * and usually not at all.
 *
 * <pre>
 *   now 0 s   a due at 10 s     interval of 67 ms that starts at  9.999 s
 *             b due at  1 h     interval of 17 s  that starts at  59 min 50.6 s
 * </pre>
 *
 * <p>The entries of an interval are numbered, and the next one is found by counting up, so no iteration passes over
 * deleted entries.
 *
 * <p>When the due times of all buckets change, {@link #startNewEpoch} makes the existing entries stale. They are then
 * set again one by one.
 */
public final class TimingWheel {

    /** The delay of an entry is at least two to this power times the width of its interval. */
    private static final int PRECISION_BITS = 6;

    private record IntervalId(long startNanos, long epoch, int widthBits) {}

    private static final class Interval {
        long next;
        long live;
        long cursor = DueTime.NEVER; // no live entry has a smaller index
    }

    private static final Comparator<IntervalId> BY_START = Comparator.comparingLong(IntervalId::startNanos)
            .thenComparingLong(IntervalId::epoch)
            .thenComparingInt(IntervalId::widthBits);

    private final String queue;
    private final String tier;
    private final KeyValueTable<TimerKey, BucketId> table;
    private final TreeMap<IntervalId, Interval> current = new TreeMap<>(BY_START);
    private final TreeMap<IntervalId, Interval> stale = new TreeMap<>(BY_START); // of earlier epochs
    private long epoch;
    private long size;

    /**
     * Creates a wheel without entries.
     *
     * @param tier see {@link TimerKey#tier}
     * @param epoch the current epoch; restored entries of earlier epochs are stale
     */
    public TimingWheel(String queue, String tier, KeyValueTable<TimerKey, BucketId> table, long epoch) {
        this.queue = queue;
        this.tier = tier;
        this.table = table;
        this.epoch = epoch;
    }

    /** Restores an entry that is in the table. */
    public void restore(TimerKey key) {
        Interval interval = intervals(key).computeIfAbsent(id(key), id -> new Interval());
        interval.next = Math.max(interval.next, key.index() + 1);
        interval.cursor = Math.min(interval.cursor, key.index());
        interval.live++;
        size++;
    }

    /** Adds an entry for a bucket. */
    public TimerKey add(BucketId bucket, long dueNanos, long nowNanos) {
        long due = Math.max(0, dueNanos);
        int bits = widthBits(Math.abs(due - nowNanos));
        long start = due >> bits << bits;
        Interval interval = current.get(new IntervalId(start, epoch, bits));
        TimerKey key = new TimerKey(queue, tier, epoch, start, bits, interval == null ? 0 : interval.next);
        table.put(key, bucket);
        restore(key);
        return key;
    }

    /** Removes an entry. */
    public void remove(TimerKey key) {
        table.delete(key);
        uncount(intervals(key), id(key));
    }

    /** Returns the number of entries. */
    public long size() {
        return size;
    }

    /** Returns the number of intervals with entries. */
    int intervals() {
        return current.size() + stale.size();
    }

    public long epoch() {
        return epoch;
    }

    /** Makes all entries stale. */
    public void startNewEpoch() {
        stale.putAll(current);
        current.clear();
        epoch++;
    }

    public boolean hasStale() {
        return !stale.isEmpty();
    }

    /** Returns a time before which no entry is due; {@link DueTime#NEVER} if there are none. */
    public long dueNanos() {
        return Math.min(start(current), start(stale));
    }

    /** Returns the end of the interval that starts first; {@link DueTime#NEVER} if there are no entries. */
    public long firstEndNanos() {
        if (size == 0) {
            return DueTime.NEVER;
        }
        IntervalId first = earliestIntervals().firstKey();
        return first.startNanos + (1L << first.widthBits);
    }

    /**
     * Returns the bucket of an entry in the first interval, each entry once; null if there are no entries, or if the
     * budget is spent before one is found. An entry counts until it is {@linkplain #remove removed}.
     */
    public BucketId next(WorkBudget budget) {
        return next(earliestIntervals(), budget);
    }

    private TreeMap<IntervalId, Interval> earliestIntervals() {
        return start(stale) <= start(current) ? stale : current;
    }

    /** Like {@link #next}, for stale entries. */
    public BucketId nextStale(WorkBudget budget) {
        return next(stale, budget);
    }

    private BucketId next(TreeMap<IntervalId, Interval> intervals, WorkBudget budget) {
        if (intervals.isEmpty()) {
            return null;
        }
        IntervalId id = intervals.firstKey();
        Interval interval = intervals.get(id);
        while (budget.trySpend()) {
            if (interval.cursor >= interval.next) {
                throw new IllegalStateException(interval.live + " timers of queue " + queue + " are missing");
            }
            BucketId bucket =
                    table.get(new TimerKey(queue, tier, id.epoch, id.startNanos, id.widthBits, interval.cursor++));
            if (bucket != null) {
                return bucket;
            }
        }
        return null;
    }

    private void uncount(TreeMap<IntervalId, Interval> intervals, IntervalId id) {
        size--;
        if (--intervals.get(id).live == 0) {
            intervals.remove(id);
        }
    }

    private TreeMap<IntervalId, Interval> intervals(TimerKey key) {
        return key.epoch() == epoch ? current : stale;
    }

    private static IntervalId id(TimerKey key) {
        return new IntervalId(key.startNanos(), key.epoch(), key.widthBits());
    }

    private static long start(TreeMap<IntervalId, Interval> intervals) {
        return intervals.isEmpty() ? DueTime.NEVER : intervals.firstKey().startNanos;
    }

    /** Returns an even number, so that widths are powers of 4. */
    private static int widthBits(long distanceNanos) {
        int log = Long.SIZE - 1 - Long.numberOfLeadingZeros(distanceNanos | 1);
        return Math.max(0, log - PRECISION_BITS) & ~1;
    }
}
