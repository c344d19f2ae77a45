package dev.weir.lease;

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
 * @param check the last question
 */
public record LedgerBalance(long free, long answeredMs, long untilMs, long unseen, Check check) {

    /** No response has arrived. */
    static final LedgerBalance UNKNOWN = new LedgerBalance(0, Lease.LONG_AGO_MS, Lease.LONG_AGO_MS, 0, Check.NONE);

    /** A response is fresh for this part (1/4) of a term, at most {@value #MAX_FRESH_MS} ms. */
    private static final int FRESH_DIVISOR = 4;

    private static final long MAX_FRESH_MS = 1_000;

    /** An unanswered question is repeated after this time. Repeating is needed only if a message is lost. */
    private static final long MIN_RESEND_MS = 5_000;

    /**
     * A question, whether the ledger would lend some tokens.
     *
     * @param number the number of the question while it is unanswered, otherwise 0
     * @param sentMs when it was sent or, if it was answered, when the answer arrived
     * @param tokens the tokens asked about; {@link Long#MAX_VALUE} if the ledger would lend them
     * @param retryAtMs when the ledger may lend them
     * @param isLent whether other holders seem to hold them unused
     */
    public record Check(long number, long sentMs, long tokens, long retryAtMs, boolean isLent) {

        static final Check NONE = new Check(0, Lease.LONG_AGO_MS, Long.MAX_VALUE, Lease.LONG_AGO_MS, false);

        /** Returns whether the question is unanswered, and not to be repeated yet. */
        boolean isPending(LeaseTerms terms, long nowMs) {
            return number != 0 && nowMs < sentMs + Math.max(terms.termMs(), MIN_RESEND_MS);
        }

        /** Returns whether the ledger has answered recently that it would not lend as much. */
        boolean isRefused(long missing, LeaseTerms terms, long nowMs) {
            return number == 0
                    && missing >= tokens
                    && nowMs < Math.min(retryAtMs, sentMs + (terms.lendsSlots() ? terms.leadMs() : terms.termMs()));
        }
    }

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
        return new LedgerBalance(minus(response.free(), unseen), nowMs, lastsMs, unseen, check);
    }

    LedgerBalance withAnswer(LeaseResponse.Checked answer, LeaseTerms terms, long nowMs) {
        long retryAtMs =
                answer.retryAfterMs() > Long.MAX_VALUE - nowMs ? Long.MAX_VALUE : nowMs + answer.retryAfterMs();
        Check answered =
                answer.retryAfterMs() == 0 ? Check.NONE : new Check(0, nowMs, check.tokens, retryAtMs, answer.isLent());
        return withCheck(answered).withResponse(answer, terms, Lease.LONG_AGO_MS, nowMs);
    }

    LedgerBalance withCheck(Check next) {
        return new LedgerBalance(free, answeredMs, untilMs, unseen, next);
    }

    /** Returns this balance after a message was sent that reports all usage, while no other is unanswered. */
    LedgerBalance sent() {
        return new LedgerBalance(free, answeredMs, untilMs, 0, check);
    }

    /** Returns this balance after tokens of leases were returned. */
    LedgerBalance returned(long tokens) {
        long sum = free > Long.MAX_VALUE - tokens ? Long.MAX_VALUE : free + tokens;
        return tokens == 0 ? this : new LedgerBalance(sum, answeredMs, untilMs, unseen, check);
    }

    /** Returns this balance after tokens were used in excess of leases. */
    LedgerBalance used(long tokens) {
        long all = Math.min(Limit.MAX_LEVEL, unseen + Math.min(Limit.MAX_LEVEL, tokens));
        return tokens == 0 ? this : new LedgerBalance(minus(free, tokens), answeredMs, untilMs, all, check);
    }

    private static long minus(long free, long tokens) {
        return free < tokens - Limit.MAX_LEVEL ? -Limit.MAX_LEVEL : free - tokens;
    }
}
