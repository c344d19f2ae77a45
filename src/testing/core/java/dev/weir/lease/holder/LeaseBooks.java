package dev.weir.lease.holder;

/** Books for tests. */
public final class LeaseBooks {

    private LeaseBooks() {}

    /**
     * Returns a book with one lease, granted without delay at a time that the broker's and the holder's clock share.
     */
    public static LeaseBook holding(long amount, long nowMs, long termMs) {
        return plus(LeaseBook.empty(), amount, nowMs, termMs);
    }

    /** Returns the book with one more lease, after whose grant nothing was free. */
    public static LeaseBook plus(LeaseBook book, long amount, long nowMs, long termMs) {
        return plus(book, amount, 0, nowMs, termMs);
    }

    /**
     * Returns the book with one more lease.
     *
     * @param free what the ledger could lend after the grant
     */
    public static LeaseBook plus(LeaseBook book, long amount, long free, long nowMs, long termMs) {
        Lease lease = new Lease(
                book.pool().lastId() + 1,
                amount,
                0,
                0,
                new Lease.Term(nowMs, nowMs, nowMs + termMs, nowMs),
                Lease.Reports.NONE,
                false);
        LedgerAnswers before = book.answers();
        LedgerBalance balance = new LedgerBalance(free, nowMs, nowMs + termMs, 0);
        return book.with(book.pool().plus(lease))
                .with(new LedgerAnswers(before.request(), before.scarcity(), before.check(), balance));
    }

    /** Returns the tokens that can be used now. */
    public static long available(LeaseBook book, long nowMs) {
        return book.available(nowMs, book.decisionTimeMs(nowMs));
    }
}
