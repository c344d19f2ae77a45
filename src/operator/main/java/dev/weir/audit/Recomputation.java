package dev.weir.audit;

import dev.weir.audit.DecisionLog.LoggedDecision;
import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.audit.history.PolicyTimeline;
import dev.weir.backtest.HeapStates;
import dev.weir.decision.Decider;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.Set;

/**
 * Decides the requests of one task again, one after the other, each by the policies that its decision records and with
 * the leases that it implies. Reports where the result proves nothing.
 */
final class Recomputation {

    /**
     * A recomputed decision.
     *
     * @param unverified why the result proves nothing; null if it proves something
     * @param shared the shared quotas that it charged
     */
    record Recomputed(DecisionResult result, UnverifiedReason unverified, Set<StateKey> shared) {}

    private final PolicyTimeline rules;
    private final HeapStates states;
    private final UnknownState unknownStates;
    private final long retentionMs;
    private long newestMs;
    private int changeCount; // number of policy changes before the last decision

    Recomputation(AuditContext tools, AuditScope scope) {
        rules = tools.rules();
        states = new HeapStates(tools.config().state());
        retentionMs = tools.config().state().retention().toMillis();
        unknownStates = new UnknownState(
                scope.retained().allRequests() ? null : UnverifiedReason.BEFORE_RETENTION,
                rules.longestDelayMs(),
                states::remove);
    }

    /** Marks all counts as unknown from here on. */
    void markAllUnknown(UnverifiedReason why) {
        unknownStates.addAll(why);
    }

    /** Marks the counts that a request may have charged as unknown from here on. */
    void markUnknown(Request request, UnverifiedReason why) {
        markClientStatesUnknown(request, rules.matching(request), why);
    }

    /**
     * Decides a request by the policies that its decision records.
     *
     * @param recorded the recorded decision on limits, or of the queue; null if there is none
     * @param isPlaced whether the requests that were decided before are known
     */
    Recomputed recompute(Request request, LoggedDecision recorded, boolean isPlaced) {
        states.observe(request.timestampMs());
        boolean isLate = request.timestampMs() < newestMs - retentionMs;
        newestMs = Math.max(newestMs, request.timestampMs());
        UnverifiedReason unknownPolicies = findPolicies(request, recorded);
        PolicyTable table = rules.table(changeCount);
        List<Policy> applicable = table.applicable(request).stream()
                .filter(policy -> policy.isAddressedBy(request))
                .toList();
        if (unknownPolicies != null) {
            markUnknown(request, unknownPolicies);
        } else if (!isPlaced) {
            markClientStatesUnknown(request, applicable, UnverifiedReason.ORDER_UNKNOWN);
        } else if (recorded == null && applicable.stream().anyMatch(Policy::isShared)) {
            markClientStatesUnknown(request, applicable, UnverifiedReason.NOT_RETAINED);
        }
        UnverifiedReason unjudged = unknownStates.unverifiedReason(request, applicable);
        if (unknownPolicies != null) {
            unjudged = unknownPolicies;
        } else if (isLate) {
            unjudged = UnverifiedReason.TOO_LATE;
            applicable.forEach(policy -> unknownStates.add(policy.stateKey(request), UnverifiedReason.TOO_LATE));
        }
        DecisionResult result = decide(request, recorded, table);
        Decision decision = recorded == null || recorded.isByQueue() ? null : recorded.decision();
        unknownStates.observe(request, applicable, decision, unjudged == null || chargesEqually(result, decision));
        return new Recomputed(result, unjudged, shared(request, applicable));
    }

    /** Finds the policies that were in force. Returns why they are unknown; null if they are known. */
    private UnverifiedReason findPolicies(Request request, LoggedDecision recorded) {
        if (recorded == null) {
            return rules.isAffectedAfter(changeCount, request) ? UnverifiedReason.AMBIGUOUS_VERSION : null;
        }
        Long checksum = recorded.context().policiesChecksum();
        if (checksum == null) { // Weir did not write it: it is compared with the policies of the previous decision
            return null;
        }
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

    /**
     * Decides with the leases that the recorded decision implies. Returns a decision even if a lease would be awaited.
     */
    private DecisionResult decide(Request request, LoggedDecision recorded, PolicyTable table) {
        Decision decision = recorded == null ? null : recorded.decision();
        return new Decider(states, ReconstructedLease.context(request, decision)).decide(request, table);
    }

    /** Marks the counts of this client only as unknown, because they may or may not have been charged. */
    private void markClientStatesUnknown(Request request, Collection<Policy> applicable, UnverifiedReason why) {
        for (Policy policy : applicable) {
            if (!policy.isShared() && !policy.terms().isEmpty()) {
                unknownStates.add(policy.stateKey(request), why);
            }
        }
    }

    /**
     * Returns the shared quotas that a request charges or, if it is a RESET, frees. Without those of policies that only
     * observe: a decision does not have the time at which they are charged.
     */
    private static Set<StateKey> shared(Request request, Collection<Policy> applicable) {
        Set<StateKey> shared = new HashSet<>();
        for (Policy policy : applicable) {
            if (policy.isShared() && (!policy.observes() || request.kind() == RequestKind.RESET)) {
                shared.add(policy.stateKey(request));
            }
        }
        return shared;
    }

    /** Returns whether the recomputed and the recorded decision charge the same. */
    private static boolean chargesEqually(DecisionResult result, Decision recorded) {
        return recorded != null
                && result instanceof Decision decided
                && decided.outcome() == recorded.outcome()
                && decided.repeated() == recorded.repeated()
                && Objects.equals(decided.delayMs(), recorded.delayMs());
    }
}
