package dev.weir.audit;

import dev.weir.audit.DecisionLog.LoggedDecision;
import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.audit.history.PolicyTimeline;
import dev.weir.audit.shared.ChargedQuota;
import dev.weir.backtest.HeapStates;
import dev.weir.decision.Decider;
import dev.weir.event.AwaitLease;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.Request;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import java.util.Collection;
import java.util.HashSet;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.Set;

/**
 * Decides the requests of one task again, one after the other, each by the policies that its decision records and what
 * was held of shared quota, and says where that proves nothing.
 */
final class Recomputation {

    /**
     * A decision that was recomputed.
     *
     * @param unverified why it proves nothing; null if it does
     * @param shared the shared quotas that it took of
     */
    record Recomputed(DecisionResult result, UnverifiedReason unverified, Set<ChargedQuota> shared) {}

    private final PolicyTimeline rules;
    private final HeapStates states;
    private final UnknownState unknownStates;
    private final long forgetAfterMs;
    private long newestMs;
    private int changeCount; // of changes that had been made before the last decision
    private boolean isRecorded; // whether some decision recorded its policies

    Recomputation(AuditContext tools, AuditScope scope) {
        rules = tools.rules();
        states = new HeapStates(tools.config().state());
        forgetAfterMs = tools.config().state().retention().toMillis();
        unknownStates = new UnknownState(
                scope.hasAllRequests() ? null : UnverifiedReason.BEFORE_RETENTION,
                rules.longestDelayMs(),
                states::forget);
    }

    /** No count is known from here on. */
    void markAllUnknown(UnverifiedReason why) {
        unknownStates.addAll(why);
    }

    /** What a request would have used is not known from here on. */
    void markUnknown(Request request, UnverifiedReason why) {
        markClientStatesUnknown(request, rules.matching(request), why);
    }

    /**
     * Decides by the table that the decision records.
     *
     * @param told what the queue, or the limits, have told; null if there is nothing
     * @param isPlaced whether what was decided before is known
     */
    Recomputed recompute(Request request, LoggedDecision told, boolean isPlaced) {
        states.observe(request.timestampMs());
        boolean isLate = request.timestampMs() < newestMs - forgetAfterMs;
        newestMs = Math.max(newestMs, request.timestampMs());
        UnverifiedReason unknownPolicies = findPolicies(request, told);
        PolicyTable table = rules.table(changeCount);
        Collection<Policy> applicable = table.applicable(request);
        if (unknownPolicies != null) {
            markUnknown(request, unknownPolicies);
        } else if (!isPlaced) {
            markClientStatesUnknown(request, applicable, UnverifiedReason.ORDER_UNKNOWN);
        } else if (told == null && applicable.stream().anyMatch(Policy::isShared)) {
            markClientStatesUnknown(request, applicable, UnverifiedReason.NOT_RETAINED);
        }
        UnverifiedReason unjudged = unknownStates.unverifiedReason(request, applicable);
        if (unknownPolicies != null) {
            unjudged = unknownPolicies;
        } else if (isLate) {
            unjudged = UnverifiedReason.TOO_LATE;
            applicable.forEach(policy -> unknownStates.add(policy.stateKey(request), UnverifiedReason.TOO_LATE));
        }
        DecisionResult ruling = decide(request, told, table);
        Decision decision = told == null || told.isByQueue() ? null : told.decision();
        unknownStates.observe(request, applicable, decision, unjudged == null || chargesEqually(ruling, decision));
        return new Recomputed(ruling, unjudged, shared(request, applicable));
    }

    /** Finds the policies that decided. Returns why they are not known, null if they are. */
    private UnverifiedReason findPolicies(Request request, LoggedDecision told) {
        if (told == null) {
            return rules.isAffectedAfter(changeCount, request) ? UnverifiedReason.AMBIGUOUS_VERSION : null;
        }
        Long checksum = told.context().policiesChecksum();
        if (checksum == null) { // a decision that lacks it among others that do not is held against the same policies
            return isRecorded ? null : UnverifiedReason.NOT_RECORDED;
        }
        isRecorded = true;
        OptionalInt found = rules.changeCount(checksum, changeCount);
        if (found.isEmpty()) {
            if (rules.lacksHistory()) {
                unknownStates.addAll(UnverifiedReason.POLICY_NOT_RETAINED);
            }
            return UnverifiedReason.POLICY_NOT_RETAINED;
        }
        changeCount = found.getAsInt();
        return null;
    }

    /** Decides by what was held of shared quota, as the decision shows; what is not to wait is decided at once. */
    private DecisionResult decide(Request request, LoggedDecision told, PolicyTable table) {
        Decision decision = told == null ? null : told.decision();
        DecisionResult ruling =
                new Decider(states, ReconstructedLease.context(request, decision, true)).decide(request, table);
        return ruling instanceof AwaitLease
                ? new Decider(states, ReconstructedLease.context(request, decision, false)).decide(request, table)
                : ruling;
    }

    /** What is counted for the client alone, and may be charged or not, is not known any more. */
    private void markClientStatesUnknown(Request request, Collection<Policy> applicable, UnverifiedReason why) {
        for (Policy policy : applicable) {
            if (!policy.isShared() && !policy.terms().isEmpty()) {
                unknownStates.add(policy.stateKey(request), why);
            }
        }
    }

    private static Set<ChargedQuota> shared(Request request, Collection<Policy> applicable) {
        Set<ChargedQuota> shared = new HashSet<>();
        for (Policy policy : applicable) {
            if (policy.isShared()) {
                shared.add(new ChargedQuota(policy.stateKey(request), policy.observes()));
            }
        }
        return shared;
    }

    /** Whether one as the other charges what is known. */
    private static boolean chargesEqually(DecisionResult ruling, Decision told) {
        return told != null
                && ruling instanceof Decision decided
                && decided.outcome() == told.outcome()
                && decided.repeated() == told.repeated()
                && Objects.equals(decided.delayMs(), told.delayMs());
    }
}
