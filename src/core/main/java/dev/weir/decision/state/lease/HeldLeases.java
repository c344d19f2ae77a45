package dev.weir.decision.state.lease;

import dev.weir.event.StateKey;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;

/** The leases of shared limits that a process holds, as decisions read them. */
public interface HeldLeases {

    /** Returns the book of a key, an empty one if it has none. */
    LeaseBook book(StateKey key);

    /** Returns whether requests wait for a lease of the key. */
    boolean hasWaiting(StateKey key);

    /** Returns the timing of leases of the key. */
    LeaseTerms terms(StateKey key);

    /** Returns how long requests for leases take to be answered, in milliseconds; 0 if unknown. */
    long roundTripMs();

    /** Returns how long a request waits for a lease if its policy does not set {@code max-wait}, in milliseconds. */
    long leaseWaitMs();
}
