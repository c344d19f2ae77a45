package dev.weir.simulation.check;

import dev.weir.decision.state.lease.HeldLeases;
import dev.weir.decision.state.lease.LeaseContext;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.EnforcedLimit;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.RoundTripEstimator;
import java.util.List;
import java.util.OptionalLong;

/**
 * The shared quota that was available when a request was decided, as far as the decision shows it.
 * Other quota is taken as ample.
 */
final class AvailableQuota implements HeldLeases {

    private static final long PLENTY = 1_000_000;

    private final Request request;
    private final String named;
    private final LeaseBook ofNamed;
    private final OtherPolicies others;
    private final long roundTripMs;

    /**
     * @param named the policy whose limit the result names, null if it names none
     * @param ofNamed the leases of that policy
     * @param others what is known of other policies
     */
    private AvailableQuota(Request request, String named, LeaseBook ofNamed, OtherPolicies others, long roundTripMs) {
        this.request = request;
        this.named = named;
        this.ofNamed = ofNamed;
        this.others = others;
        this.roundTripMs = roundTripMs;
    }

    /** Returns the lease context in which a request was decided. */
    static LeaseContext context(Request request, DecisionResult result) {
        AvailableQuota available =
                result instanceof Decision decision ? of(request, decision) : of(request, (Admission) result);
        return LeaseContext.readOnly(available, 0, false, false);
    }

    /** Nothing was available of the policy that sent the request to its queue. */
    private static AvailableQuota of(Request request, Admission admission) {
        return new AvailableQuota(
                request,
                admission.exceeded() == null ? null : admission.policy().id(),
                LeaseBook.reconstructed(0, OptionalLong.of(0), 0, 1, false),
                new OtherPolicies(List.of(), 0, false, 0),
                0);
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
        long atMs = decision.decidedAtMs();
        return new AvailableQuota(
                request,
                decision.limit() == null ? null : decision.policyId(),
                LeaseBook.reconstructed(Math.max(0, left + taken), free, atMs, isNotAtHand ? 0 : retryAfterMs, false),
                new OtherPolicies(decision.limits(), taken, isUnknown && !isDenied, atMs),
                isNotAtHand ? retryAfterMs : 0);
    }

    /**
     * What a decision shows of the policies that it does not name. If they deny the request as well, they do so for a
     * shorter time.
     *
     * @param limits the limits that the decision lists
     * @param taken what the request took of each
     * @param isNothingKnown whether the ledgers had not answered: otherwise a limit of which it is known what remains
     *     would have been named
     */
    private record OtherPolicies(List<EnforcedLimit> limits, long taken, boolean isNothingKnown, long atMs) {

        LeaseBook book(String policyId) {
            List<EnforcedLimit> ofPolicy = limits.stream()
                    .filter(limit -> limit.policyId().equals(policyId))
                    .toList();
            for (EnforcedLimit limit : ofPolicy) {
                if (limit.remaining() != null) {
                    return LeaseBook.reconstructed(limit.remaining() + taken, OptionalLong.of(0), atMs, 1, false);
                }
            }
            boolean isUnknown = isNothingKnown || !ofPolicy.isEmpty();
            OptionalLong free = isUnknown ? OptionalLong.empty() : OptionalLong.of(0);
            return LeaseBook.reconstructed(PLENTY, free, atMs, 0, false);
        }
    }

    @Override
    public LeaseBook book(StateKey key) {
        return key.policyId().equals(named) ? ofNamed : others.book(key.policyId());
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
        return request + " at " + others.atMs;
    }
}
