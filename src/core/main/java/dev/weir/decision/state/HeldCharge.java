package dev.weir.decision.state;

import dev.weir.event.StateKey;
import dev.weir.lease.holder.LeasePart;
import dev.weir.lease.holder.LentSlots;
import java.util.List;
import java.util.Optional;

/** What a reservation was charged to one key of a policy. */
public sealed interface HeldCharge {

    /** Returns the policy, and the values of its key fields. */
    StateKey key();

    /** Returns whether the policy only observed, so that no answer may depend on its state. */
    boolean observes();

    /**
     * Returns the time of the charge to the limits other than of concurrency, in milliseconds since the epoch; of leases
     * in ledger time.
     */
    long chargedAtMs();

    /**
     * What was charged to limits that are counted in a state.
     *
     * @param slotMs how long the slots are in use if they are not freed, in milliseconds
     * @param origins the origin of the account of each limit: see {@link ReservedUse}
     */
    record Counted(StateKey key, boolean observes, long chargedAtMs, long slotMs, List<Long> origins)
            implements HeldCharge {

        public Counted {
            origins = List.copyOf(origins);
        }
    }

    /**
     * What was taken of the leases of shared limits.
     *
     * @param parts what was taken of each lease; empty if the cost was 0
     * @param slots when the slots end; empty if the limits are not of concurrency
     */
    record Leased(StateKey key, boolean observes, long chargedAtMs, List<LeasePart> parts, Optional<LentSlotsEnd> slots)
            implements HeldCharge {

        public Leased {
            parts = List.copyOf(parts);
        }

        /** Returns this with another end of the slots, if there is one. */
        public Leased until(Optional<Long> endMs) {
            return endMs.isEmpty()
                    ? this
                    : new Leased(
                            key,
                            observes,
                            chargedAtMs,
                            parts,
                            slots.map(end -> new LentSlotsEnd(end.slotMs, endMs.get())));
        }

        /**
         * Returns the slots; there must be some.
         *
         * @param reservation the number of the reservation
         */
        public LentSlots lentSlots(long reservation) {
            return new LentSlots(reservation, parts, chargedAtMs, slots.orElseThrow().endMs);
        }
    }

    /**
     * When slots of a shared limit end.
     *
     * @param slotMs how long they are in use if they are not freed, in milliseconds
     * @param endMs when they end, in ledger time
     */
    record LentSlotsEnd(long slotMs, long endMs) {}
}
