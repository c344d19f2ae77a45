package dev.weir.audit;

import dev.weir.decision.HeldLeases;
import dev.weir.decision.LeaseContext;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseBook;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.RoundTripEstimator;
import dev.weir.limit.Limit;

/**
 * The leases that were held when a decision was made, as far as the decision shows. Nothing else records them, so they
 * are taken from the decision, and the rest of the decision can be recomputed.
 *
 * <pre>
 *   the policy that it names         allowed:   the remaining quota and the charged cost
 *                                    denied:    the remaining quota, and a retry at the recorded time
 *   policies that would deny it      none
 *   and only observe
 *   every other policy               enough
 * </pre>
 */
final class ReconstructedLease implements HeldLeases {

    private final Request request;
    private final Decision recorded;
    private final long nowMs;

    private ReconstructedLease(Request request, Decision recorded, long nowMs) {
        this.request = request;
        this.recorded = recorded;
        this.nowMs = nowMs;
    }

    /**
     * Returns the context in which a request was decided.
     *
     * @param recorded the recorded decision; null if there is none, in which case there was enough quota
     * @param mayStandBehind whether the request may have been denied because others were waiting, although there was
     *     enough quota
     */
    static LeaseContext context(Request request, Decision recorded, boolean mayStandBehind) {
        long nowMs = recorded == null || recorded.queueing() != null ? request.timestampMs() : recorded.decidedAtMs();
        ReconstructedLease held = new ReconstructedLease(request, recorded, nowMs);
        boolean standsBehind = mayStandBehind && held.wasBehindOthers();
        return LeaseContext.readOnly(held, 0, standsBehind, standsBehind);
    }

    private boolean wasBehindOthers() {
        return request.kind() == RequestKind.CONSUME
                && recorded != null
                && recorded.outcome() == Outcome.DENIED
                && recorded.remaining() != null
                && recorded.remaining() >= request.cost();
    }

    private boolean isUnavailable() {
        return recorded != null && recorded.reason() == Reason.QUOTA_NOT_AT_HAND;
    }

    private boolean isNamed(StateKey key) {
        return recorded != null && key.policyId().equals(recorded.policyId());
    }

    @Override
    public LeaseBook book(StateKey key) {
        if (recorded != null && recorded.observedBy().contains(key.policyId())) {
            return LeaseBook.empty();
        }
        if (isNamed(key) && recorded.queueing() != null) {
            return LeaseBook.empty(); // it was sent to the queue because there was not enough quota
        }
        if (!isNamed(key) || recorded.remaining() == null) {
            return LeaseBook.reconstructed(Limit.MAX_LEVEL, nowMs, 0);
        }
        long taken = recorded.outcome() == Outcome.DENIED || request.kind() == RequestKind.PEEK
                ? 0
                : Math.max(0, request.cost());
        long retryMs = recorded.retryAfterMs() == null || isUnavailable() ? 0 : recorded.retryAfterMs();
        long remaining = Math.max(0, Math.min(Limit.MAX_LEVEL, recorded.remaining()));
        return LeaseBook.reconstructed(remaining + taken, nowMs, retryMs);
    }

    @Override
    public boolean hasWaiting(StateKey key) {
        return isNamed(key);
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
