package dev.weir.audit;

import dev.weir.decision.state.lease.HeldLeases;
import dev.weir.decision.state.lease.LeaseContext;
import dev.weir.event.Decision;
import dev.weir.event.EnforcedLimit;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.RoundTripEstimator;
import dev.weir.limit.Limit;
import java.util.OptionalLong;

/**
 * The leases that were held when a decision was made, as far as the decision shows. Nothing else records them, so they
 * are taken from the decision, and the rest of the decision can be recomputed.
 *
 * <pre>
 *   the policy that it names         allowed:   the remaining quota and the charged cost
 *                                    denied:    the remaining quota, and a retry at the recorded time
 *   policies that would deny it      none
 *   and only observe
 *   every other policy               what remains by the list of limits, or enough
 * </pre>
 */
final class ReconstructedLease implements HeldLeases {

    /**
     * How long a policy that the decision does not name denies the request, if it does: no longer than the named one.
     */
    private static final long SHORTEST_RETRY_MS = 1;

    private final Request request;
    private final Decision recorded;
    private final long nowMs;
    private final long reservation;

    private ReconstructedLease(Request request, Decision recorded, long nowMs, long reservation) {
        this.request = request;
        this.recorded = recorded;
        this.nowMs = nowMs;
        this.reservation = reservation;
    }

    /**
     * Returns the context in which a request was decided.
     *
     * @param recorded the recorded decision; null if there is none, in which case there was enough quota
     * @param reservation the number of the reservation that the request is for, 0 if there is none
     */
    static LeaseContext context(Request request, Decision recorded, long reservation) {
        long nowMs = recorded == null || recorded.queueing() != null ? request.timestampMs() : recorded.decidedAtMs();
        return LeaseContext.readOnly(new ReconstructedLease(request, recorded, nowMs, reservation), 0, false, false);
    }

    private boolean isUnavailable() {
        return recorded != null && recorded.reason() == Reason.QUOTA_NOT_AT_HAND;
    }

    /**
     * Returns whether the ledgers had not answered: a limit of which it is known what remains would have been named.
     */
    private boolean isNothingKnown() {
        return recorded != null
                && recorded.outcome() == Outcome.ALLOWED
                && recorded.limit() != null
                && recorded.remaining() == null;
    }

    private boolean isNamed(StateKey key) {
        return recorded != null && key.policyId().equals(recorded.policyId());
    }

    @Override
    public LeaseBook book(StateKey key) {
        if (request.kind() == RequestKind.RENEW && (recorded == null || recorded.reason() == Reason.RENEWED)) {
            Long endMs = recorded == null ? null : recorded.reservedUntilMs();
            return LeaseBook.reconstructedRenewal(reservation, endMs == null ? nowMs : endMs);
        }
        if (recorded != null && recorded.observedBy().contains(key.policyId())) {
            return LeaseBook.reconstructed(0, OptionalLong.of(0), nowMs, SHORTEST_RETRY_MS, false); // not only unknown
        }
        if (isNamed(key) && recorded.queueing() != null) {
            return LeaseBook.empty(); // it was sent to the queue because there was not enough quota
        }
        if (!isNamed(key) || recorded.limit() == null) {
            return listed(key);
        }
        long retryMs = recorded.retryAfterMs() == null || isUnavailable() ? 0 : recorded.retryAfterMs();
        if (recorded.remaining() == null) { // the ledger had not answered
            long available = isRefused() ? 0 : Limit.MAX_LEVEL;
            return LeaseBook.reconstructed(available, OptionalLong.empty(), nowMs, retryMs, false);
        }
        return holding(recorded.remaining(), retryMs);
    }

    /** Returns the leases of a policy that the decision does not name, by what it lists of its limits. */
    private LeaseBook listed(StateKey key) {
        boolean isListed = false;
        if (recorded != null) {
            for (EnforcedLimit limit : recorded.limits()) {
                boolean isOfPolicy = limit.policyId().equals(key.policyId());
                isListed |= isOfPolicy;
                if (isOfPolicy && limit.remaining() != null) {
                    return holding(limit.remaining(), SHORTEST_RETRY_MS);
                }
            }
        }
        OptionalLong free = isListed || isNothingKnown() ? OptionalLong.empty() : OptionalLong.of(0);
        return LeaseBook.reconstructed(Limit.MAX_LEVEL, free, nowMs, 0, false);
    }

    private LeaseBook holding(long remainingAfter, long retryMs) {
        long remaining = Math.max(0, Math.min(Limit.MAX_LEVEL, remainingAfter));
        long taken = isRefused() || request.kind() == RequestKind.PEEK ? 0 : Math.max(0, request.cost());
        return LeaseBook.reconstructed(remaining + taken, OptionalLong.of(0), nowMs, retryMs, false);
    }

    private boolean isRefused() {
        return recorded.outcome() == Outcome.DENIED;
    }

    @Override
    public boolean hasWaiting(StateKey key) {
        return false;
    }

    @Override
    public LeaseTerms terms(StateKey key) {
        return LeaseTerms.DEFAULTS;
    }

    /** The round trip is not recorded. The fields of a decision that depend on it are accepted as recorded. */
    @Override
    public long roundTripMs() {
        return isUnavailable() && recorded.retryAfterMs() != null ? recorded.retryAfterMs() : 0;
    }

    @Override
    public long leaseWaitMs() {
        return RoundTripEstimator.MAX_WAIT_MS;
    }
}
