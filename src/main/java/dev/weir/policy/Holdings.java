package dev.weir.policy;

import dev.weir.lease.LeaseBook;
import dev.weir.lease.LeaseTerms;

/** The leases of shared quotas that decisions may use. */
public interface Holdings {

    /** The book of a key, an empty one if it has none. */
    LeaseBook book(StateKey key);

    void put(StateKey key, LeaseBook book);

    /** Records that a request needs more of a key than is available: it is requested, whether the request waits or not. */
    void miss(StateKey key, long cost);

    /** Whether requests wait for a lease of the key. */
    boolean isAwaited(StateKey key);

    /** How leases of the key are requested. */
    LeaseTerms terms(StateKey key);

    /** How long requests for leases take to be answered, 0 if it is not known. */
    long roundTripMs();

    /** How long a request waits for a lease if its policy does not say so. */
    long leaseWaitMs();
}
