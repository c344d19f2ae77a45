package dev.weir.lease.holder;

import dev.weir.lease.LeaseTerms;
import dev.weir.time.DueTime;

/**
 * When a holder sends messages to the ledger, if no request waits:
 *
 * <pre>
 *   the next lease       when the leases that outlive the next lead hold less than the reserve, while the key is in use
 *   reserve              the demand within a lead; while the key is in use, at least the cost of one request
 *   a report             of a lease that is used up, a lead later; of any other, a lead before it expires, to return what
 *                        exceeds the demand. A lease of slots is reported, and what is unused of it returned, a lead
 *                        after slots of it were last taken or freed
 *   corrections          a lead later
 *   renewals of slots    at once
 * </pre>
 *
 * @param book the leases and the demand
 * @param terms the timing
 */
record LeaseSchedule(LeaseBook book, LeaseTerms terms) {

    /** A lease whose slots end at so many times is reported at once. */
    private static final int MANY_SLOT_ENDS = 64;

    /** Returns when a message is due if nothing else happens; {@link DueTime#NEVER} for never. */
    long dueAtMs(long nowMs) {
        Corrections corrections = book.corrections();
        long correctAtMs = Math.min(corrections.dueMs(), corrections.renewals().dueAtMs());
        return Math.min(correctAtMs, Math.min(reportAtMs(), renewAtMs(nowMs)));
    }

    /** Returns when a lease must be reported. */
    long reportAtMs() {
        long atMs = DueTime.NEVER;
        for (Lease lease : book.leases()) {
            boolean isDone = !terms.lendsSlots() && lease.isClosing() && (lease.isReported() || lease.remaining() > 0);
            atMs = isDone ? atMs : Math.min(atMs, closesAtMs(lease));
        }
        return atMs;
    }

    /**
     * Returns when unneeded tokens of a lease are returned, so that the report arrives before the lease expires; for a
     * lease that is used up, and one of slots, when it is reported.
     */
    long closesAtMs(Lease lease) {
        if (lease.reports().slots().size() >= MANY_SLOT_ENDS) {
            return Lease.LONG_AGO_MS;
        }
        long closesAtMs = lease.expiresAtMs() - terms.leadMs();
        boolean isDone = lease.remaining() == 0 || terms.lendsSlots();
        return isDone ? Math.min(closesAtMs, lease.usedUpAtMs() + terms.leadMs()) : closesAtMs;
    }

    /** Returns when the leases that outlive the next lead hold less than the reserve, as long as the key is in use. */
    private long renewAtMs(long nowMs) {
        Demand demand = book.demand().inAdvance(terms);
        if (book.request().isPending() || !demand.isInUse(terms, nowMs)) {
            return DueTime.NEVER;
        }
        long reserve = demand.at(nowMs).reserve(terms.leadMs(), terms, nowMs);
        long lasting = lastingTokens(nowMs);
        long atMs = nowMs;
        for (int i = 0; i < book.leases().size() && lasting >= reserve; i++) {
            Lease lease = book.leases().get(i);
            long endsMs = closesAtMs(lease) - terms.leadMs();
            if (endsMs > nowMs) {
                lasting -= lease.remaining();
                atMs = Math.max(atMs, endsMs);
            }
        }
        return Math.max(atMs, book.request().prefetchAtMs());
    }

    /** Returns whether a lease is to be requested although no request waits. */
    boolean isToPrefetch(long nowMs) {
        Demand demand = book.demand().inAdvance(terms).at(nowMs);
        return nowMs >= book.request().prefetchAtMs()
                && lastingTokens(nowMs) < demand.reserve(terms.leadMs(), terms, nowMs);
    }

    /** Returns the unused tokens of the leases that outlive the next lead. */
    long lastingTokens(long nowMs) {
        long lasting = 0;
        for (Lease lease : book.leases()) {
            lasting += closesAtMs(lease) - terms.leadMs() > nowMs ? lease.remaining() : 0;
        }
        return lasting;
    }

    /**
     * Returns how many tokens can be used before {@link #dueAtMs} without a need to request a lease earlier. It is a
     * lower bound.
     */
    // Let l be the tokens in the leases that outlive the next lead until then, p the demand per second, and d the lead
    // in seconds. After t more tokens, l - t are left, and the reserve is at most (p + t) d. So no lease is requested
    // while l - t >= (p + t) d, that is, t <= (l - p d) / (1 + d).
    long tokensUntilDue(long nowMs) {
        long dueMs = dueAtMs(nowMs);
        if (dueMs <= nowMs) {
            return 0;
        }
        long excess = lastingTokens(dueMs - 1) - book.demand().at(nowMs).tokensWithin(terms.leadMs()) - 1;
        return excess <= 0 ? 0 : Demand.part(excess, Demand.MS_PER_SECOND, Demand.MS_PER_SECOND + terms.leadMs());
    }
}
