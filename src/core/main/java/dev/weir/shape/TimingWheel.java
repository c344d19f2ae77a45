package dev.weir.shape;

import dev.weir.decision.KeyValueTable;
import dev.weir.shape.backlog.BucketId;
import dev.weir.shape.backlog.WorkBudget;
import java.util.Comparator;
import java.util.TreeMap;

/**
 * When the cold buckets of a queue are due. The buckets are noted in a table; on the heap are the numbers of entries in
 * each slot of time.
 *
 * <p>A hierarchical timing wheel (G. Varghese, T. Lauck: <i>Hashed and hierarchical timing wheels</i>, SOSP 1987,
 * scheme 7). The width of a slot is a power of 4 ns, at least a 256th and at most a 64th of the time until it is due,
 * so there are at most 192 slots of each width ahead of now and some 5,000 in all, whatever the number of entries. An
 * entry is read when its slot begins, which is early by at most a 64th of the time it was noted for; if its bucket is
 * put away again, it goes to a narrower slot that has not begun yet. So an entry moves at most once for each width, and
 * mostly not at all.
 *
 * <pre>
 *   now 0 s   a due at 10 s     slot of 67 ms that begins at  9.999 s
 *             b due at  1 h     slot of 17 s  that begins at  59 min 50.6 s
 * </pre>
 *
 * <p>The entries of a slot are numbered. The next one is found by counting up, so nothing walks over entries that were
 * deleted.
 *
 * <p>When the due times of all buckets change, {@link #startNewEpoch} sets the entries apart that were noted before, to
 * be noted again one by one.
 */
final class TimingWheel {

    /** The time until an entry is due is at least two to this power times the width of its slot. */
    private static final int PRECISION_BITS = 6;

    private record SlotId(long startNanos, long epoch, int widthBits) {}

    private static final class Slot {
        long next;
        long live;
        long cursor = Long.MAX_VALUE; // no entry before it is live
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
     * A wheel without entries.
     *
     * @param tier see {@link TimerKey#tier}
     * @param epoch the current one: of restored entries, those of earlier ones are stale
     */
    TimingWheel(String queue, String tier, KeyValueTable<TimerKey, BucketId> table, long epoch) {
        this.queue = queue;
        this.tier = tier;
        this.table = table;
        this.epoch = epoch;
    }

    /** Counts an entry that is in the table. */
    void restore(TimerKey key) {
        Slot slot = slots(key).computeIfAbsent(id(key), id -> new Slot());
        slot.next = Math.max(slot.next, key.index() + 1);
        slot.cursor = Math.min(slot.cursor, key.index());
        slot.live++;
        size++;
    }

    /** Notes when a bucket is due. */
    TimerKey add(BucketId bucket, long dueNanos, long nowNanos) {
        long due = Math.max(0, dueNanos);
        int bits = widthBits(Math.abs(due - nowNanos));
        long start = due >> bits << bits;
        Slot slot = current.get(new SlotId(start, epoch, bits));
        TimerKey key = new TimerKey(queue, tier, epoch, start, bits, slot == null ? 0 : slot.next);
        table.put(key, bucket);
        restore(key);
        return key;
    }

    /** Forgets an entry. */
    void remove(TimerKey key) {
        table.delete(key);
        uncount(slots(key), id(key));
    }

    /** How many entries there are. */
    long size() {
        return size;
    }

    /** How many slots have entries. */
    int slots() {
        return current.size() + stale.size();
    }

    long epoch() {
        return epoch;
    }

    /** Makes all entries stale. */
    void startNewEpoch() {
        stale.putAll(current);
        current.clear();
        epoch++;
    }

    boolean hasStale() {
        return !stale.isEmpty();
    }

    /** No entry is due before; {@link Long#MAX_VALUE} if there are none. */
    long dueNanos() {
        return Math.min(start(current), start(stale));
    }

    /** When the slot ends that begins first; {@link Long#MAX_VALUE} if there are no entries. */
    long firstEndNanos() {
        if (size == 0) {
            return Long.MAX_VALUE;
        }
        SlotId first = earliestSlots().firstKey();
        return first.startNanos + (1L << first.widthBits);
    }

    /**
     * The bucket of an entry of the first slot, null if the budget is spent before one is found. There must be entries.
     * The caller {@linkplain #remove removes} the entry, which is not returned again.
     */
    BucketId next(WorkBudget budget) {
        return next(earliestSlots(), budget);
    }

    private TreeMap<SlotId, Slot> earliestSlots() {
        return start(stale) <= start(current) ? stale : current;
    }

    /** As {@link #next}, of the stale entries; there must be any. */
    BucketId nextStale(WorkBudget budget) {
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
        return slots.isEmpty() ? Long.MAX_VALUE : slots.firstKey().startNanos;
    }

    /** Even, so that widths are powers of 4. */
    private static int widthBits(long distanceNanos) {
        int log = Long.SIZE - 1 - Long.numberOfLeadingZeros(distanceNanos | 1);
        return Math.max(0, log - PRECISION_BITS) & ~1;
    }
}
