package dev.weir.lease.holder;

import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.limit.Limit;

/**
 * What a holder knows of the tokens that its leases do not cover, from the responses of the ledger.
 *
 * @param free tokens that the ledger could lend to this holder: those in its last response, plus those that the holder
 *     has returned since, less those that it has used in excess of its leases since. Below 0 if more than the limit is
 *     used or lent
 * @param answeredMs when that response arrived
 * @param untilMs when this is too old to be used
 * @param unseen tokens used in excess of leases since the first message was sent that is not answered: the ledger had
 *     not received them when it responded
 */
public record LedgerBalance(long free, long answeredMs, long untilMs, long unseen) {

    /** No response has arrived. */
    static final LedgerBalance UNKNOWN = new LedgerBalance(0, Lease.LONG_AGO_MS, Lease.LONG_AGO_MS, 0);

    /** A response is fresh for this part (1/4) of a term, at most {@value #MAX_FRESH_MS} ms. */
    private static final int FRESH_DIVISOR = 4;

    private static final long MAX_FRESH_MS = 1_000;

    /** Returns the tokens that the ledger could lend, 0 or more. */
    public long lendable() {
        return Math.max(0, free);
    }

    boolean isKnown(long nowMs) {
        return nowMs < untilMs;
    }

    /** Returns whether the response is new enough to answer a question without asking the ledger. */
    boolean isFresh(LeaseTerms terms, long nowMs) {
        return isKnown(nowMs) && nowMs < answeredMs + Math.min(MAX_FRESH_MS, terms.termMs() / FRESH_DIVISOR);
    }

    /** @param leaseEndMs when a lease ends that the response grants; a use of it is then covered by this balance */
    LedgerBalance withResponse(LeaseResponse response, LeaseTerms terms, long leaseEndMs, long nowMs) {
        long lastsMs = Math.max(Math.max(untilMs, leaseEndMs), nowMs + terms.termMs());
        return new LedgerBalance(minus(response.free(), unseen), nowMs, lastsMs, unseen);
    }

    /** Returns this balance after a message was sent that reports all usage, while no other is unanswered. */
    LedgerBalance sent() {
        return new LedgerBalance(free, answeredMs, untilMs, 0);
    }

    /** Returns this balance after tokens of leases were returned. */
    LedgerBalance returned(long tokens) {
        return tokens == 0 ? this : new LedgerBalance(plus(free, tokens), answeredMs, untilMs, unseen);
    }

    /** Returns this balance after tokens were used in excess of leases. */
    LedgerBalance used(long tokens) {
        long all = Math.min(Limit.MAX_LEVEL, unseen + Math.min(Limit.MAX_LEVEL, tokens));
        return tokens == 0 ? this : new LedgerBalance(minus(free, tokens), answeredMs, untilMs, all);
    }

    /** Returns the sum of {@code free} and other tokens, 0 or more; the largest number if it is larger. */
    static long plus(long free, long tokens) {
        return free > Long.MAX_VALUE - tokens ? Long.MAX_VALUE : free + tokens;
    }

    private static long minus(long free, long tokens) {
        return free < tokens - Limit.MAX_LEVEL ? -Limit.MAX_LEVEL : free - tokens;
    }
}
