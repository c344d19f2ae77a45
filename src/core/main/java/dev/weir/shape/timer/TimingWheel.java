package dev.weir.shape.timer;

import dev.weir.decision.state.KeyValueTable;
import dev.weir.shape.backlog.WorkBudget;
import dev.weir.shape.rules.BucketId;
import dev.weir.time.DueTime;
import java.util.Comparator;
import java.util.TreeMap;

/**
 * The timers of the cold buckets of a queue. The timers are entries of a table; the heap holds only the number of
 * entries in each slot of time.
 *
 * <p>This is a hierarchical timing wheel (G. Varghese, T. Lauck: <i>Hashed and hierarchical timing wheels</i>, SOSP
 * 1987, scheme 7). The width of a slot is a power of 4 ns, at least a 256th and at most a 64th of the time until it is
 * due. So there are at most 192 slots of each width ahead of now and some 5,000 in all, whatever the number of entries.
 * An entry is read when its slot starts, which is early by at most a 64th of its delay. If its bucket is unloaded
 * again, it gets an entry in a narrower slot that has not started yet. So an entry moves at most once for each width,
 * and usually not at all.
 *
 * <pre>
 *   now 0 s   a due at 10 s     slot of 67 ms that starts at  9.999 s
 *             b due at  1 h     slot of 17 s  that starts at  59 min 50.6 s
 * </pre>
 *
 * <p>The entries of a slot are numbered, and the next one is found by counting up, so no iteration passes over
 * deleted entries.
 *
 * <p>When the due times of all buckets change, {@link #startNewEpoch} makes the existing entries stale. They are then
 * set again one by one.
 */
public final class TimingWheel {

    /** The delay of an entry is at least two to this power times the width of its slot. */
    private static final int PRECISION_BITS = 6;

    private record SlotId(long startNanos, long epoch, int widthBits) {}

    private static final class Slot {
        long next;
        long live;
        long cursor = DueTime.NEVER; // no live entry has a smaller index
    }

    private static final Comparator<SlotId> BY_START = Comparator.comparingLong(SlotId::startNanos)
            .thenComparingLong(SlotId::epoch)
            .thenComparingInt(SlotId::widthBits);

    private final String queue;
    private final String tier;
    private final KeyValueTable<TimerKey, BucketId> table;
    private final TreeMap<SlotId, Slot> current = new TreeMap<>(BY_START);
    private final TreeMap<SlotId, Slot> stale = new TreeMap<>(BY_START); // of earlier epochs
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
        Slot slot = slots(key).computeIfAbsent(id(key), id -> new Slot());
        slot.next = Math.max(slot.next, key.index() + 1);
        slot.cursor = Math.min(slot.cursor, key.index());
        slot.live++;
        size++;
    }

    /** Adds an entry for a bucket. */
    public TimerKey add(BucketId bucket, long dueNanos, long nowNanos) {
        long due = Math.max(0, dueNanos);
        int bits = widthBits(Math.abs(due - nowNanos));
        long start = due >> bits << bits;
        Slot slot = current.get(new SlotId(start, epoch, bits));
        TimerKey key = new TimerKey(queue, tier, epoch, start, bits, slot == null ? 0 : slot.next);
        table.put(key, bucket);
        restore(key);
        return key;
    }

    /** Removes an entry. */
    public void remove(TimerKey key) {
        table.delete(key);
        uncount(slots(key), id(key));
    }

    /** Returns the number of entries. */
    public long size() {
        return size;
    }

    /** Returns the number of slots with entries. */
    int slots() {
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

    /** Returns the end of the slot that starts first; {@link DueTime#NEVER} if there are no entries. */
    public long firstEndNanos() {
        if (size == 0) {
            return DueTime.NEVER;
        }
        SlotId first = earliestSlots().firstKey();
        return first.startNanos + (1L << first.widthBits);
    }

    /**
     * Returns the bucket of an entry in the first slot; null if the budget is spent before one is found. There must be
     * entries. The caller must {@linkplain #remove remove} the entry; it is not returned again.
     */
    public BucketId next(WorkBudget budget) {
        return next(earliestSlots(), budget);
    }

    private TreeMap<SlotId, Slot> earliestSlots() {
        return start(stale) <= start(current) ? stale : current;
    }

    /** Like {@link #next}, for stale entries. There must be some. */
    public BucketId nextStale(WorkBudget budget) {
        return next(stale, budget);
    }

    private BucketId next(TreeMap<SlotId, Slot> slots, WorkBudget budget) {
        SlotId id = slots.firstKey();
        Slot slot = slots.get(id);
        while (budget.trySpend()) {
            if (slot.cursor >= slot.next) {
                throw new IllegalStateException(slot.live + " timers of queue " + queue + " are missing");
            }
            BucketId bucket =
                    table.get(new TimerKey(queue, tier, id.epoch, id.startNanos, id.widthBits, slot.cursor++));
            if (bucket != null) {
                return bucket;
            }
        }
        return null;
    }

    private void uncount(TreeMap<SlotId, Slot> slots, SlotId id) {
        size--;
        if (--slots.get(id).live == 0) {
            slots.remove(id);
        }
    }

    private TreeMap<SlotId, Slot> slots(TimerKey key) {
        return key.epoch() == epoch ? current : stale;
    }

    private static SlotId id(TimerKey key) {
        return new SlotId(key.startNanos(), key.epoch(), key.widthBits());
    }

    private static long start(TreeMap<SlotId, Slot> slots) {
        return slots.isEmpty() ? DueTime.NEVER : slots.firstKey().startNanos;
    }

    /** Returns an even number, so that widths are powers of 4. */
    private static int widthBits(long distanceNanos) {
        int log = Long.SIZE - 1 - Long.numberOfLeadingZeros(distanceNanos | 1);
        return Math.max(0, log - PRECISION_BITS) & ~1;
    }
}
