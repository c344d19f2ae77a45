package dev.weir.lease.holder;

import dev.weir.lease.LeaseTerms;

/**
 * What the ledger lacks, according to its last response. It distinguishes an exceeded limit from a late lease and has no
 * effect on what is requested.
 *
 * @param minUnavailable the smallest number of further tokens that was not free
 * @param untilMs when this information expires, unless another response replaces it
 * @param isLent whether other holders seem to hold them unused
 */
public record Scarcity(long minUnavailable, long untilMs, boolean isLent) {

    /** Nothing is lacking. */
    static final Scarcity NONE = new Scarcity(1, Lease.LONG_AGO_MS, false);

    private static final int TERMS = 2;

    static Scarcity of(long from, boolean isLent, LeaseTerms terms, long nowMs) {
        return new Scarcity(from, nowMs + TERMS * terms.termMs(), isLent);
    }

    boolean lacks(long tokens, long nowMs) {
        return tokens >= minUnavailable && nowMs < untilMs;
    }
}
