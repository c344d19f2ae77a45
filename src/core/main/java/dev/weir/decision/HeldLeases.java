package dev.weir.decision;

import dev.weir.event.StateKey;
import dev.weir.lease.LeaseBook;
import dev.weir.lease.LeaseTerms;

/** The leases of shared limits that a process holds, as a decision reads them. */
public interface HeldLeases {

    /** The book of a key, an empty one if it has none. */
    LeaseBook book(StateKey key);

    /** Whether requests wait for a lease of the key. */
    boolean hasWaiting(StateKey key);

    /** How leases of the key are requested. */
    LeaseTerms terms(StateKey key);

    /** How long requests for leases take to be answered, 0 if it is not known. */
    long roundTripMs();

    /** How long a request waits for a lease if its policy does not set {@code max-wait}. */
    long leaseWaitMs();
}
