package dev.weir.shape.total;

import dev.weir.shape.backlog.Pacing;
import java.util.TreeMap;

/**
 * The slots of a queue's total that were granted to one partition. A slot that is not used within
 * {@value #MAX_LATENESS_MS} ms after its time is lost.
 */
public final class LeasedSlots {

    /** How long after its time a slot can still be used, in milliseconds, since work is done in ticks. */
    static final long MAX_LATENESS_MS = 100;

    /** The most runs that are kept. The ledger grants fewer. */
    private static final int MAX_RUNS = 4_096;

    private static final long MAX_LATENESS_NANOS = MAX_LATENESS_MS * 1_000_000;

    /** The slots {@code from} (inclusive) to {@code to} (exclusive), counted from {@code start}. */
    private record SlotRange(Pacing pacing, Pacing.Arrival start, long from, long to) {

        long nanos(long slot) {
            return pacing.after(start, slot).ceilNanos();
        }

        /** Returns the first slot that does not start before {@code nanos}; {@code to} if there is none. */
        long firstFrom(long nanos) {
            if (nanos <= nanos(from)) {
                return from;
            }
            long slot = Math.max(from, pacing.slotsIn(nanos - start.nanos()) - 1);
            while (slot < to && nanos(slot) < nanos) {
                slot++;
            }
            return Math.min(slot, to);
        }
    }

    /** The place of a request in a range of slots. */
    private record Found(SlotRange part, long slot) {}

    private final TreeMap<Long, SlotRange> ranges = new TreeMap<>(); // by the time of the first slot
    private long coveredUntilNanos;

    /** Adds granted slots. */
    public void add(SlotGrant grant) {
        Pacing pacing = Pacing.of(grant.limit(), grant.perMs(), 1);
        for (SlotRun run : grant.runs()) {
            if (ranges.size() < MAX_RUNS) {
                put(new SlotRange(pacing, run.start(), 0, run.slots()));
            }
            coveredUntilNanos = Math.max(
                    coveredUntilNanos, pacing.after(run.start(), run.slots()).ceilNanos());
        }
    }

    /** Returns the end of the last slot granted so far. */
    public long coveredUntilNanos() {
        return coveredUntilNanos;
    }

    /** Returns the number of slots left in runs of at least {@code consecutive} slots. */
    public long left(long consecutive, long nowNanos) {
        expireBefore(nowNanos - MAX_LATENESS_NANOS);
        long left = 0;
        for (SlotRange part : ranges.values()) {
            long ofPart = part.to - part.firstFrom(nowNanos - MAX_LATENESS_NANOS);
            left += ofPart >= consecutive ? ofPart : 0;
        }
        return left;
    }

    /**
     * Returns the start of the first slots that a request of this cost can use from {@code fromNanos} on;
     * {@link Long#MAX_VALUE} if there are none.
     */
    public long firstNanos(long cost, long fromNanos, long nowNanos) {
        Found found = find(cost, Math.max(fromNanos, nowNanos - MAX_LATENESS_NANOS));
        return found == null ? Long.MAX_VALUE : found.part.nanos(found.slot);
    }

    /** Uses the slots that {@link #firstNanos} returned. */
    public void take(long cost, long fromNanos, long nowNanos) {
        Found found = find(cost, Math.max(fromNanos, nowNanos - MAX_LATENESS_NANOS));
        SlotRange part = found.part;
        ranges.remove(part.nanos(part.from));
        if (found.slot + cost < part.to) {
            put(new SlotRange(part.pacing, part.start, found.slot + cost, part.to));
        }
        if (part.from < found.slot) {
            put(new SlotRange(part.pacing, part.start, part.from, found.slot));
        }
        expireBefore(nowNanos - MAX_LATENESS_NANOS);
    }

    /** Discards all slots, because their times were wrong. */
    public void clear() {
        ranges.clear();
        coveredUntilNanos = 0;
    }

    private void put(SlotRange part) {
        ranges.put(part.nanos(part.from), part);
    }

    private Found find(long cost, long fromNanos) {
        Long before = ranges.floorKey(fromNanos);
        for (SlotRange part : (before == null ? ranges : ranges.tailMap(before, true)).values()) {
            if (part.to - part.from >= cost) {
                long slot = part.firstFrom(fromNanos);
                if (part.to - slot >= cost) {
                    return new Found(part, slot);
                }
            }
        }
        return null;
    }

    private void expireBefore(long nanos) {
        while (!ranges.isEmpty()) {
            SlotRange first = ranges.firstEntry().getValue();
            if (first.nanos(first.to - 1) >= nanos) {
                return;
            }
            ranges.pollFirstEntry();
        }
    }
}
