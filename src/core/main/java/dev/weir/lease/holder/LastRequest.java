package dev.weir.lease.holder;

import dev.weir.lease.LeaseTerms;
import dev.weir.lease.ledger.RefusedHolders;
import java.util.OptionalLong;

/**
 * The latest request of a holder for a lease.
 *
 * <pre>
 *            sent                granted
 *   Idle ──────────▶ Pending ──────────────▶ Idle
 *                     │  ▲ │
 *           sent again ╰─╯ │ refused         sent
 *                          ╰───────▶ Refused ─────▶ Pending
 * </pre>
 *
 * <p>An unanswered request is repeated after {@link LeaseTerms#resendMs}, which doubles with each repetition.
 */
public sealed interface LastRequest {

    /** Nothing was requested. */
    LastRequest NONE = new Idle(Lease.LONG_AGO_MS, Lease.LONG_AGO_MS);

    /** Returns whether the request is unanswered. */
    default boolean isPending() {
        return this instanceof Pending;
    }

    /** Returns when a request for the same amount can be sent. */
    long nextAttemptAtMs(LeaseTerms terms);

    /** Returns the time before which a lease is requested only for a waiting request. */
    long prefetchAtMs();

    /** Returns whether a request for some tokens could be granted now. */
    boolean mayBeGranted(long tokens, LeaseTerms terms, long nowMs);

    /**
     * Returns the refused amount if it is to be requested again as soon as it may be granted, whether a request waits or
     * not; otherwise 0. The ledger keeps such a holder's place ({@link RefusedHolders}).
     *
     * @param demand the demand for which leases are requested in advance
     */
    long retryTokens(Demand demand, LeaseTerms terms);

    /**
     * Nothing was requested, or the last request was granted.
     *
     * @param sinceMs when the response arrived
     */
    record Idle(long sinceMs, long prefetchAtMs) implements LastRequest {

        @Override
        public long nextAttemptAtMs(LeaseTerms terms) {
            return sinceMs;
        }

        @Override
        public boolean mayBeGranted(long tokens, LeaseTerms terms, long nowMs) {
            return true;
        }

        @Override
        public long retryTokens(Demand demand, LeaseTerms terms) {
            return 0;
        }
    }

    /**
     * A request is unanswered.
     *
     * @param number the number of the request
     * @param retries how often it was repeated
     * @param sentMs when it was sent
     * @param waitingTokens what the first waiting request lacked, 1 or more; empty if none waited
     */
    record Pending(long number, int retries, long sentMs, OptionalLong waitingTokens) implements LastRequest {

        private static final int MAX_DOUBLINGS = 6;

        @Override
        public long nextAttemptAtMs(LeaseTerms terms) {
            return sentMs + (terms.resendMs() << Math.min(retries, MAX_DOUBLINGS));
        }

        @Override
        public long prefetchAtMs() {
            return Lease.LONG_AGO_MS;
        }

        @Override
        public boolean mayBeGranted(long tokens, LeaseTerms terms, long nowMs) {
            return true;
        }

        @Override
        public long retryTokens(Demand demand, LeaseTerms terms) {
            return 0;
        }
    }

    /**
     * The last request was refused.
     *
     * @param atMs when the response arrived
     * @param waitingTokens what the first waiting request lacked; empty if none waited: then the ledger refused because
     *     little is free, not because nothing is
     * @param retryAtMs when it may be granted, which may be never. It is requested again after a term at the latest, slots
     *     after a lead, since other holders return leases and limits change
     */
    record Refused(long atMs, OptionalLong waitingTokens, long retryAtMs, long prefetchAtMs) implements LastRequest {

        @Override
        public long nextAttemptAtMs(LeaseTerms terms) {
            return Math.min(retryAtMs, atMs + terms.retryMs());
        }

        @Override
        public boolean mayBeGranted(long tokens, LeaseTerms terms, long nowMs) {
            return nowMs >= nextAttemptAtMs(terms) || waitingTokens.isEmpty() || tokens < waitingTokens.getAsLong();
        }

        /** The amount is requested again if the demand within two leads reaches it. */
        @Override
        public long retryTokens(Demand demand, LeaseTerms terms) {
            long reached = demand.steadyTokensWithin(2 * terms.leadMs());
            return waitingTokens.isPresent() && waitingTokens.getAsLong() <= reached ? waitingTokens.getAsLong() : 0;
        }
    }
}
