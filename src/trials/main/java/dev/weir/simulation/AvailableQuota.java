package dev.weir.simulation;

import dev.weir.decision.state.HeldLeases;
import dev.weir.decision.state.LeaseContext;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.EnforcedLimit;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseBook;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.RoundTripEstimator;
import java.util.List;
import java.util.OptionalLong;

/**
 * The shared quota that was available when a request was decided, as far as the decision shows it.
 * Other quota is taken as ample.
 */
final class AvailableQuota implements HeldLeases {

    private static final long PLENTY = 1_000_000;

    private final Request request;
    private final String tellsOf;
    private final long atMs;
    private final long available;
    private final OptionalLong free;
    private final long retryAfterMs;
    private final long roundTripMs;
    private final List<EnforcedLimit> limits; // of the decision
    private final boolean isNothingKnown; // otherwise a limit of which it is known what remains would be named
    private final long taken;

    private AvailableQuota(
            Request request,
            String tellsOf,
            long atMs,
            long available,
            OptionalLong free,
            long retryAfterMs,
            long roundTripMs,
            List<EnforcedLimit> limits,
            boolean isNothingKnown,
            long taken) {
        this.request = request;
        this.tellsOf = tellsOf;
        this.atMs = atMs;
        this.available = available;
        this.free = free;
        this.retryAfterMs = retryAfterMs;
        this.roundTripMs = roundTripMs;
        this.limits = limits;
        this.isNothingKnown = isNothingKnown;
        this.taken = taken;
    }

    /** Returns the lease context in which a request was decided. */
    static LeaseContext context(Request request, DecisionResult answer) {
        AvailableQuota atHand = answer instanceof Decision decision
                ? of(request, decision)
                : new AvailableQuota(
                        request, exceeded((Admission) answer), 0, 0, OptionalLong.of(0), 1, 0, List.of(), false, 0);
        return LeaseContext.readOnly(atHand, 0, false, false);
    }

    private static String exceeded(Admission admission) {
        return admission.exceeded() == null ? null : admission.policy().id();
    }

    private static AvailableQuota of(Request request, Decision decision) {
        boolean isDenied = decision.outcome() == Outcome.DENIED;
        boolean isUnknown = decision.limit() != null && decision.remaining() == null;
        long left = decision.remaining() != null ? decision.remaining() : isUnknown && isDenied ? 0 : PLENTY;
        boolean wasTaken = !isDenied && request.kind() != RequestKind.PEEK;
        long taken = wasTaken ? Math.max(0, request.cost()) : 0;
        OptionalLong free = isUnknown ? OptionalLong.empty() : OptionalLong.of(0);
        boolean isNotAtHand = decision.reason() == Reason.QUOTA_NOT_AT_HAND;
        long retryAfterMs = decision.retryAfterMs() == null ? 1 : decision.retryAfterMs();
        return new AvailableQuota(
                request,
                decision.limit() == null ? null : decision.policyId(),
                decision.decidedAtMs(),
                Math.max(0, left + taken),
                free,
                isNotAtHand ? 0 : retryAfterMs,
                isNotAtHand ? retryAfterMs : 0,
                decision.limits(),
                isUnknown && !isDenied,
                taken);
    }

    @Override
    public LeaseBook book(StateKey key) {
        boolean isTold = key.policyId().equals(tellsOf);
        return isTold ? LeaseBook.reconstructed(available, free, atMs, retryAfterMs, false) : listed(key);
    }

    /**
     * Returns the leases of a policy that the decision does not name, by what it lists of its limits. If they deny the
     * request as well, they do so for a shorter time.
     */
    private LeaseBook listed(StateKey key) {
        List<EnforcedLimit> ofPolicy = limits.stream()
                .filter(limit -> limit.policyId().equals(key.policyId()))
                .toList();
        for (EnforcedLimit limit : ofPolicy) {
            if (limit.remaining() != null) {
                return LeaseBook.reconstructed(limit.remaining() + taken, OptionalLong.of(0), atMs, 1, false);
            }
        }
        boolean isUnknown = isNothingKnown || !ofPolicy.isEmpty();
        return LeaseBook.reconstructed(PLENTY, isUnknown ? OptionalLong.empty() : OptionalLong.of(0), atMs, 0, false);
    }

    @Override
    public boolean hasWaiting(StateKey key) {
        return false;
    }

    @Override
    public LeaseTerms terms(StateKey key) {
        return LeaseTerms.DEFAULTS;
    }

    @Override
    public long roundTripMs() {
        return roundTripMs;
    }

    @Override
    public long leaseWaitMs() {
        return RoundTripEstimator.MAX_WAIT_MS;
    }

    @Override
    public String toString() {
        return request + " at " + atMs;
    }
}
