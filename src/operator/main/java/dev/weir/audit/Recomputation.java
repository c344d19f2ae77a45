package dev.weir.audit;

import dev.weir.audit.DecisionLog.LoggedDecision;
import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.audit.history.PolicyTimeline;
import dev.weir.backtest.HeapStates;
import dev.weir.decision.Decider;
import dev.weir.decision.state.HeldCharge;
import dev.weir.decision.state.ReservationRecord;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.RequestKey;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
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
     * @param reserves whether the request creates a reservation if it is admitted
     */
    record Recomputed(DecisionResult result, UnverifiedReason unverified, Set<StateKey> shared, boolean reserves) {}

    private static final int GONE = 410;
    private static final int MAX_ENDINGS = 10_000;

    private final PolicyTimeline rules;
    private final HeapStates states;

    /** The times of the last requests that ended reservations: they also end the waits for leases. */
    private final Map<RequestKey, Long> endings = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<RequestKey, Long> eldest) {
            return size() > MAX_ENDINGS;
        }
    };

    private final UnknownState unknownStates;
    private final UnknownReservations unknownReservations;
    private final long retentionMs;
    private long newestMs;
    private int changeCount; // number of policy changes before the last decision

    Recomputation(AuditContext context, AuditScope scope) {
        rules = context.rules();
        states = new HeapStates(context.config().state());
        retentionMs = context.config().state().retention().toMillis();
        unknownStates = new UnknownState(
                scope.retained().allRequests() ? null : UnverifiedReason.BEFORE_RETENTION,
                rules.longestDelayMs(),
                states::remove);
        unknownReservations = new UnknownReservations(!scope.retained().allRequests());
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
        unknownReservations.observe(request.timestampMs());
        UnverifiedReason unknownPolicies = findPolicies(request, recorded);
        PolicyTable table = rules.table(changeCount);
        if (request.kind().isAcknowledgement()) {
            return new Recomputed(Admission.acknowledgement(request), null, Set.of(), false); // whatever the policies
        }
        if (request.isForReservation()) {
            UnverifiedReason why = unknownPolicies != null
                    ? unknownPolicies
                    : !isPlaced ? UnverifiedReason.ORDER_UNKNOWN : isLate ? UnverifiedReason.TOO_LATE : null;
            return recomputeEnd(request, recorded, table, why);
        }
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
        boolean reserves = reserves(request, applicable);
        if (unjudged == null) {
            unjudged = unknownReservation(request, recorded, applicable);
        }
        if (isCancelledWait(request, recorded) && applicable.stream().anyMatch(Policy::isShared)) {
            return cancelledWait(request); // nothing is charged
        }
        DecisionResult result = decide(request, recorded, table);
        if (unjudged == null && asksForPlace(request, applicable) && differsInRetryOnly(result, recorded)) {
            unjudged = unknownReservations.whySizeIsUnknown().orElse(null);
        }
        if (reserves && result instanceof Admission) {
            markQueuedReservation(request, applicable);
        }
        Decision decision = recorded == null || recorded.isByQueue() ? null : recorded.decision();
        boolean isCharged = unjudged == null || chargesEqually(result, decision);
        unknownStates.observe(request, applicable, decision, isCharged);
        if (reserves && unjudged != null) {
            List<StateKey> keys =
                    applicable.stream().map(policy -> policy.stateKey(request)).toList();
            unknownReservations.add(request, unjudged, keys);
        }
        return new Recomputed(result, unjudged, shared(request, applicable), reserves);
    }

    /** Returns whether a request was cancelled while it waited for a lease. */
    private static boolean isCancelledWait(Request request, LoggedDecision recorded) {
        return recorded != null
                && !recorded.isByQueue()
                && request.kind() == RequestKind.CONSUME
                && recorded.decision().reason() == Reason.CANCELLED;
    }

    private Recomputed cancelledWait(Request request) {
        Long endedAtMs = endings.get(UnknownReservations.key(request));
        long atMs = Math.max(request.timestampMs(), endedAtMs == null ? 0 : endedAtMs);
        UnverifiedReason why = endedAtMs == null ? UnverifiedReason.ORDER_UNKNOWN : null;
        return new Recomputed(Decision.denied(request, Reason.CANCELLED, GONE, atMs), why, Set.of(), false);
    }

    /** Marks what a queued request reserves as unknown: if the queue denies it, no record says when that is freed. */
    private void markQueuedReservation(Request request, Collection<Policy> applicable) {
        List<StateKey> keys =
                applicable.stream().map(policy -> policy.stateKey(request)).toList();
        keys.forEach(key -> unknownStates.add(key, UnverifiedReason.ORDER_UNKNOWN));
        unknownReservations.add(request, UnverifiedReason.ORDER_UNKNOWN, keys);
    }

    private static boolean reserves(Request request, Collection<Policy> applicable) {
        return request.kind() == RequestKind.CONSUME && asksForPlace(request, applicable);
    }

    /** Returns whether a request needs a place for a reservation or, for a PEEK, would need one. */
    private static boolean asksForPlace(Request request, Collection<Policy> applicable) {
        return (request.kind() == RequestKind.CONSUME || request.kind() == RequestKind.PEEK)
                && (request.reserveMs() != null || applicable.stream().anyMatch(Policy::limitsConcurrency));
    }

    /** Returns why it is unknown whether a request finds its own reservation, or a free place; null if it is known. */
    private UnverifiedReason unknownReservation(
            Request request, LoggedDecision recorded, Collection<Policy> applicable) {
        boolean hasFound = reserves(request, applicable)
                ? hasFound(recorded)
                : recorded != null && hasFound(recorded) && applicable.stream().noneMatch(Recomputation::repeats);
        Optional<UnverifiedReason> why = mayRepeatReservation(request, applicable, hasFound)
                ? unknownReservations.get(request, hasFound).map(UnknownReservations.Possible::reason)
                : Optional.empty();
        boolean foundNoPlace = recorded != null && recorded.decision().reason() == Reason.TOO_MANY_RESERVATIONS;
        boolean findsNoPlace = asksForPlace(request, applicable)
                && states.reservations().nextPlace().isTakenAt(request.timestampMs());
        return why.or(() -> foundNoPlace || findsNoPlace ? unknownReservations.whySizeIsUnknown() : Optional.empty())
                .orElse(null);
    }

    /** Returns whether a policy repeats answers whether or not there is a reservation. */
    private static boolean repeats(Policy policy) {
        return policy.idempotencyMs() > 0 && !policy.observes();
    }

    private boolean mayRepeatReservation(Request request, Collection<Policy> applicable, boolean hasFound) {
        return request.kind() == RequestKind.CONSUME
                && (reserves(request, applicable)
                        || hasFound
                        || states.reservation(UnknownReservations.key(request)) != null);
    }

    /**
     * Returns whether a denial differs only in its retry time. That of a request which needs a place depends on all
     * reservations.
     */
    private static boolean differsInRetryOnly(DecisionResult result, LoggedDecision recorded) {
        return recorded != null
                && result instanceof Decision decision
                && !decision.equals(recorded.decision())
                && decision.withRetryAfterMs(recorded.decision().retryAfterMs()).equals(recorded.decision());
    }

    /**
     * Decides a request that ends or prolongs a reservation.
     *
     * @param why why its result proves nothing; null if only the reservation and what it holds matter
     */
    private Recomputed recomputeEnd(Request request, LoggedDecision recorded, PolicyTable table, UnverifiedReason why) {
        endings.put(UnknownReservations.key(request), request.timestampMs());
        Optional<UnknownReservations.Possible> possible = unknownReservations.get(request, hasFound(recorded));
        ReservationRecord reservation = states.reservation(UnknownReservations.key(request));
        List<StateKey> held = reservation == null
                ? List.of()
                : reservation.held().stream().map(HeldCharge::key).toList();
        UnverifiedReason unjudged = why;
        if (unjudged == null && (reservation == null || isListed(possible))) {
            unjudged = possible.map(UnknownReservations.Possible::reason).orElse(null);
        }
        for (StateKey key : held) {
            unjudged = unjudged == null ? unknownStates.unverifiedReason(key) : unjudged;
        }
        DecisionResult result = decide(request, recorded, table);
        if (unjudged != null) {
            for (StateKey key : held) {
                unknownStates.add(key, unjudged);
            }
            if (isListed(possible)) {
                for (StateKey key : possible.get().keys()) {
                    unknownStates.add(key, unjudged);
                }
            } else if (held.isEmpty() && mayUseMore(request, recorded)) {
                unknownStates.addAll(unjudged);
            }
        }
        return new Recomputed(result, unjudged, Set.of(), false);
    }

    /** Returns whether a recorded decision shows that there was an earlier reservation, or may do so. */
    private static boolean hasFound(LoggedDecision recorded) {
        return recorded == null
                || recorded.decision().repeated()
                || switch (recorded.decision().reason()) {
                    case SETTLED, RELEASED, CANCELLED, RENEWED, ALREADY_ENDED, IDEMPOTENCY_MISMATCH -> true;
                    default -> false;
                };
    }

    private static boolean isListed(Optional<UnknownReservations.Possible> possible) {
        return possible.isPresent() && !possible.get().keys().isEmpty();
    }

    /** Returns whether more is in use after the end of a reservation, or of what it holds, than before. */
    private static boolean mayUseMore(Request request, LoggedDecision recorded) {
        return hasFound(recorded)
                && (request.kind() == RequestKind.RENEW
                        || (request.kind() == RequestKind.SETTLE && request.cost() > 0));
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
        ReservationRecord reservation =
                request.isForReservation() ? states.reservation(UnknownReservations.key(request)) : null;
        long number = reservation == null ? 0 : reservation.number();
        return new Decider(states, ReconstructedLease.context(request, decision, number)).decide(request, table);
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
