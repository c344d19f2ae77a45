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
 * What was held of shared quota when a decision was made, as far as the decision shows: what nobody else knows is taken
 * from it, so that all else it says can be decided anew.
 *
 * <pre>
 *   the policy that it names    allowed:   what remains, and what was taken
 *                               refused:   what remains, to be asked for again when it says
 *   every other one             enough
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
     * The context in which a request was decided.
     *
     * @param recorded what was decided, null if nothing is known: then there was enough
     * @param mayStandBehind whether it may have been refused since others waited, with enough at hand
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
        if (isNamed(key) && recorded.queueing() != null) {
            return LeaseBook.empty(); // it was sent there because there was not enough
        }
        if (!isNamed(key) || recorded.remaining() == null) {
            return LeaseBook.reconstructed(Limit.MAX_LEVEL, nowMs, 0);
        }
        boolean isRefused = recorded.outcome() == Outcome.DENIED || recorded.observed();
        long taken = isRefused || request.kind() == RequestKind.PEEK ? 0 : Math.max(0, request.cost());
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

    /** It is not recorded: what a decision derived from it is taken as given. */
    @Override
    public long roundTripMs() {
        return isUnavailable() && recorded.retryAfterMs() != null ? recorded.retryAfterMs() : 0;
    }

    @Override
    public long leaseWaitMs() {
        return RoundTripEstimator.MAX_WAIT_MS;
    }
}
