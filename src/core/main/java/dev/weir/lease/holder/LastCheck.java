package dev.weir.lease.holder;

import dev.weir.lease.LeaseTerms;

/** The latest question of a holder, whether the ledger would lend some tokens. */
public sealed interface LastCheck {

    /** Nothing was asked, or the ledger would lend the tokens. */
    LastCheck NONE = new None();

    /** Nothing was asked, or the ledger would lend the tokens. */
    record None() implements LastCheck {}

    /**
     * A question is unanswered.
     *
     * @param number the number of the question
     * @param sentMs when it was sent
     * @param tokens the tokens asked about
     */
    record Pending(long number, long sentMs, long tokens) implements LastCheck {

        boolean isToRepeat(LeaseTerms terms, long nowMs) {
            return nowMs >= sentMs + terms.resendMs();
        }
    }

    /**
     * The ledger would not lend the tokens.
     *
     * @param atMs when the answer arrived
     * @param tokens the tokens asked about
     * @param retryAtMs when the ledger may lend them, which may be never
     * @param isLent whether other holders seem to hold them unused
     */
    record Refused(long atMs, long tokens, long retryAtMs, boolean isLent) implements LastCheck {

        /** Returns whether the answer is recent, and is one for other tokens, too. */
        boolean refuses(long others, LeaseTerms terms, long nowMs) {
            return others >= tokens && nowMs < Math.min(retryAtMs, atMs + terms.retryMs());
        }
    }

    /** Returns the time from which the question has no effect. */
    default long idleAtMs(LeaseTerms terms) {
        if (this instanceof Pending pending) {
            return pending.sentMs + terms.termMs();
        }
        return this instanceof Refused refused ? refused.atMs + terms.termMs() : Lease.LONG_AGO_MS;
    }
}
