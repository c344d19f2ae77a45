package dev.weir.audit.shared;

import dev.weir.audit.history.ReservationHistory.Reserved;
import java.util.Comparator;
import java.util.PriorityQueue;

/**
 * The slots of a shared limit of concurrency that are certainly in use at once, on all partitions. Slots are in use from
 * the decision, by the ledger's time, until the last decision said, or until a request freed them. That request has the
 * time of the request topic, so its slots count only until it minus what the clocks can differ by.
 */
final class SlotSum {

    /** The assumed maximum difference between the clocks of brokers. */
    static final long CLOCK_SKEW_MS = 1_000;

    private final PriorityQueue<SlotUse> open = new PriorityQueue<>(Comparator.comparingLong(SlotUse::endMs));
    private long inUse;

    /**
     * Slots that a reservation used.
     *
     * @param use when they were taken, and how many
     * @param requestMs the timestamp of that request
     * @param reserved the reservation
     */
    record SlotUse(UsageInterval use, long requestMs, Reserved<?> reserved) {

        /** Returns until when the slots are certainly in use, when all decisions are read. */
        long endMs() {
            return reserved.isEnded()
                    ? reserved.endMs() - CLOCK_SKEW_MS - Math.abs(use.timeMs() - requestMs)
                    : reserved.endMs();
        }
    }

    /** Adds slots, which must be taken after those before. Returns how many are in use. */
    long add(SlotUse slots) {
        while (!open.isEmpty() && open.peek().endMs() <= slots.use.timeMs()) {
            inUse -= open.remove().use.cost();
        }
        open.add(slots);
        inUse += slots.use.cost();
        return inUse;
    }

    /** Forgets all slots. */
    void clear() {
        open.clear();
        inUse = 0;
    }
}
