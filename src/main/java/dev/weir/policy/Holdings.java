package dev.weir.policy;

import dev.weir.lease.Book;
import dev.weir.lease.LeaseTerms;

/** What one who decides holds of the quotas that are shared. */
public interface Holdings {

    /** What is held under a key, null if nothing is. */
    Book book(StateKey key);

    void put(StateKey key, Book book);

    /** Takes note that so much was wanted at once and is not at hand: it is to be asked for, whether somebody waits or not. */
    void miss(StateKey key, long cost);

    /** Whether requests wait for it. */
    boolean isAwaited(StateKey key);

    /** How what is under a key is lent. */
    LeaseTerms terms(StateKey key);
}
