package dev.weir.decision;

import dev.weir.decision.state.IdempotencyCache;
import dev.weir.decision.state.LimitTimeline;
import dev.weir.decision.state.NextPlace;
import dev.weir.decision.state.PoliciesInForce;
import dev.weir.decision.state.PolicyStates;
import dev.weir.decision.state.ReadOnlyStates;
import dev.weir.decision.state.ReservationRecord;
import dev.weir.decision.state.WritablePolicyStates;
import dev.weir.decision.state.lease.LeaseContext;
import dev.weir.decision.state.lease.QuotaSource;
import dev.weir.event.Admission;
import dev.weir.event.AwaitLease;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionResult;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.RequestKey;
import dev.weir.policy.ThrottleConflict;
import java.util.List;
import java.util.Optional;

/**
 * Decides requests: finds the policies that apply, checks all of their limits, and charges either all of them or none.
 * A decision is a pure function of the policies, the states, the leases and the request. Not thread-safe.
 *
 * <pre>
 *   rejected  ⟺  too large for some enforcing policy, or a SETTLE below 0 and some enforcing policy has shared limits
 *   refused   ⟺  rejected, or some enforcing policy's limit does not permit the request, or some throttling one's delay
 *   shaped    ⟺  not refused, and some shaping policy has no limits or one that does not permit, or the request must
 *                 not start yet
 *   charged    =  all limits, if not refused                           (CONSUME, SETTLE; PEEK never)
 *                 the limits that count denied requests, if refused but not rejected
 *   freed      =  all limits, shared ones for all who share them        (RESET; of one policy if it names one)
 *   binding    =  refused: the refusing limit with the longest retry;  else the limit with the least remaining
 *                 of the policies that do not only observe
 *   observed   ⟺  not refused, and some observing policy would refuse
 * </pre>
 *
 * <p><b>Time</b> never runs backwards for a key, and neither do its terms. The policy versions that apply are those in
 * force at the time of the request, or at the last charge of one of its keys if that is later ({@link
 * PoliciesInForce}).
 *
 * <p><b>Throttling.</b> Policies that throttle delay the request, together, to the first time at which all of their
 * limits permit it, but not before the start of a request that they delayed earlier. All other policies are checked at
 * that time too, and deny the request if they do not permit it then. All are charged at that time. So the starts of
 * requests are a sequence that all limits would have permitted without delay ({@link LimitTimeline}):
 *
 * <pre>
 *   start  =  min { t ≥ now, t ≥ the last start : all limits permit the cost at t }
 *   delay  =  start − now,  refused if above max-delay
 *
 *   10 a second, burst 1, four requests at once:   delays of 0, 100, 200 and 300 ms
 * </pre>
 *
 * <p>Shared limits are the exception: a lease cannot be used in the future, so it is used when the request is decided.
 *
 * <p><b>Idempotency.</b> If its policies ask for it, a request that was answered before gets the first answer again and
 * charges nothing. A request with the same requestId but different content is denied and charges nothing
 * ({@link IdempotencyCheck}).
 *
 * <p><b>Shared limits</b> are decided by the available leases, in ledger time. If these do not suffice but more may be
 * granted, the request must wait and nothing is charged, unless another limit refuses it anyway. A PEEK takes nothing:
 * it is decided by what the ledger could lend, and waits for the ledger's answer if there is no recent one.
 *
 * <p><b>Shaping.</b> A queue cannot keep a delay. So if a request is to be shaped, a throttling policy that would delay
 * it denies it instead ({@link ThrottleConflict}). A shaped request is charged where it is within the limits, and goes
 * to the queue of the first policy, by layer, that shapes it.
 *
 * <p><b>Observing.</b> A policy that observes has no effect on the decision, except that it names the policy if its
 * limits do not permit the request. It is checked and charged at its own time, after and as if it passed all others.
 * Its idempotency is ignored. If only such policies apply, the decision is that for no policy,
 * except that of a RESET which names one.
 */
public final class Decider {

    private static final int OK = 200;
    private static final int NOT_FOUND = 404;
    private static final int TOO_LARGE = 413;
    private static final int UNPROCESSABLE = 422;
    private static final int TOO_MANY = 429;

    private final WritablePolicyStates states;
    private final QuotaSource shared;
    private final EvaluationListener listener;
    private final boolean foresees;

    /**
     * Creates a decider that reads and charges {@code states}.
     *
     * @param shared where shared limits are counted
     */
    public Decider(WritablePolicyStates states, QuotaSource shared) {
        this(states, shared, EvaluationListener.NONE);
    }

    /**
     * Creates a decider that reads and charges {@code states}.
     *
     * @param shared where shared limits are counted
     * @param listener receives the result of each evaluated policy
     */
    public Decider(WritablePolicyStates states, QuotaSource shared, EvaluationListener listener) {
        this(states, shared, listener, true);
    }

    private Decider(WritablePolicyStates states, QuotaSource shared, EvaluationListener listener, boolean foresees) {
        this.states = states;
        this.shared = shared;
        this.listener = listener;
        this.foresees = foresees;
    }

    /** Returns a decider that counts all limits in {@code states}, including shared ones. */
    public static Decider local(WritablePolicyStates states) {
        return new Decider(states, QuotaSource.local());
    }

    /** Returns a decider without states of its own: all policies that apply must be leased. It charges the leases. */
    public static Decider leased(LeaseContext leases) {
        return new Decider(new ReadOnlyStates(PolicyStates.NONE), leases);
    }

    /** Returns a decider that leaves states and leases unchanged, for example for a dry run. */
    public static Decider readOnly(PolicyStates states, QuotaSource shared) {
        return new Decider(new ReadOnlyStates(states), shared.readOnly());
    }

    /** Returns a read-only decider whose retry times ignore that policies change. */
    static Decider withoutForecast(PolicyStates states, QuotaSource shared) {
        return new Decider(new ReadOnlyStates(states), shared.readOnly(), EvaluationListener.NONE, false);
    }

    /** Decides a request, and writes the changes to the states and the leases. */
    public DecisionResult decide(Request request, PolicyTable policies) {
        DecisionResult result = decideOnly(request, policies);
        if (!(result instanceof AwaitLease)) {
            sweepReservations(request, policies);
        }
        return result;
    }

    /**
     * Cancels the reservation of a request that a queue has not released: see {@link
     * Admission#isReservationEndedBy}. Nobody is answered.
     *
     * @param number the number of the reservation; another one with this client and requestId stays
     */
    public void cancelQueued(String client, String requestId, long number, PolicyTable policies) {
        RequestKey key = new RequestKey(client, RequestKind.CONSUME, requestId);
        new ReservationEnding(states, policies, shared).cancelQueued(key, number);
    }

    private void sweepReservations(Request request, PolicyTable policies) {
        expire(states.reservations().sweep(request.timestampMs()), policies);
    }

    private void expire(List<ReservationRecord> over, PolicyTable policies) {
        for (int i = 0; i < over.size(); i++) {
            new ReservationEnding(states, policies, shared).expire(over.get(i));
        }
    }

    private DecisionResult decideOnly(Request request, PolicyTable policies) {
        if (request.isForReservation()) {
            return new ReservationEnding(states, policies, shared).decide(request);
        }
        if (request.kind() == RequestKind.CANCEL) {
            return Admission.cancel(request);
        }
        if (request.kind().isAcknowledgement()) {
            return Admission.acknowledgement(request);
        }
        PoliciesInForce inForce = PoliciesInForce.of(request, policies, states, shared);
        Policy[] applicable = inForce.policies();
        long windowMs = IdempotencyCheck.windowMs(request, applicable);
        if (windowMs == 0) {
            return decideReserving(request, inForce, policies);
        }
        IdempotencyCache.Entry first = IdempotencyCheck.firstAnswer(request, states);
        if (first == null) {
            DecisionResult result = decideReserving(request, inForce, policies);
            return IdempotencyCheck.storeAnswer(request, result, windowMs, states);
        }
        return IdempotencyCheck.isSameContent(request, first)
                ? ReservationOpening.repeatUntil(IdempotencyCheck.repeatAnswer(request, first), request, states)
                : mismatch(request, inForce);
    }

    /**
     * Decides a request that is no repeat of an idempotent one. It can repeat one that created a reservation, also if
     * nothing asks for that reservation any more because the policies have changed.
     */
    private DecisionResult decideReserving(Request request, PoliciesInForce inForce, PolicyTable policies) {
        Optional<ReservationRecord> earlier = ReservationOpening.earlier(request, states);
        if (earlier.isPresent()) {
            return ReservationOpening.isSameContent(request, earlier.get())
                    ? ReservationOpening.repeatAnswer(request, earlier.get())
                    : mismatch(request, inForce);
        }
        boolean reserves = Reserving.isWanted(request, inForce.policies());
        if (inForce.policies().length == 0 && !reserves && !request.isPostponed()) {
            return request.policyId() == null ? Decision.unmatched(request) : notApplicable(request);
        }
        return decideFirst(request, inForce, policies, reserves);
    }

    private DecisionResult decideFirst(
            Request request, PoliciesInForce inForce, PolicyTable policies, boolean reserves) {
        Evaluation evaluated = Evaluation.of(request, inForce, states, shared);
        if (shared instanceof LeaseContext) {
            Evaluation demanded = evaluated.demanded();
            demanded.store(evaluated, states, shared);
            evaluated = demanded;
            AwaitLease wait = evaluated.awaitLease();
            if (wait != null) {
                return wait;
            }
        }
        boolean refused = evaluated.refused();
        report(request, evaluated, refused);
        if (request.isPostponed() && !refused && evaluated.shaping() == null) {
            return notShaped(request, evaluated);
        }
        Reserving wanted = reserves
                ? Reserving.of(request, evaluated, states.reservations().nextNumber())
                : Reserving.NONE;
        NextPlace place =
                wanted.isHidden() ? NextPlace.FREE : states.reservations().nextPlace();
        boolean isFull = place.isTakenAt(request.timestampMs());
        if (isFull && !refused) {
            expire(states.reservations().makePlace(request.timestampMs()), policies);
            Decision denied = tooMany(request, evaluated, place);
            return foreseen(request, denied, inForce, policies, evaluated.nowMs());
        }
        boolean isPeek = request.kind() == RequestKind.PEEK;
        Reserving reserving = refused || isPeek ? Reserving.NONE : wanted;
        Evaluation charged = isPeek || evaluated.rejected() ? evaluated : evaluated.charged(refused, reserving);
        charged.store(evaluated, states, shared);
        if (refused) {
            Decision denied = refusal(request, charged);
            if (isFull) {
                expire(states.reservations().makePlace(request.timestampMs()), policies);
                denied = untilPlace(denied, place, charged.nowMs());
            }
            return foreseen(request, denied, inForce, policies, charged.nowMs());
        }
        DecisionResult passed = passed(request, evaluated, charged);
        if (!reserving.isPresent()) {
            return passed;
        }
        if (place.isFull()) { // after the charges are stored: a reservation that is over can have the same keys
            expire(states.reservations().makePlace(request.timestampMs()), policies);
        }
        return ReservationOpening.opened(request, passed, evaluated, charged, reserving, states.reservations());
    }

    /** Returns a denial with a retry time that takes changes of policies into account. */
    private Decision foreseen(
            Request request, Decision denied, PoliciesInForce inForce, PolicyTable policies, long nowMs) {
        return foresees && policies.changesAfter(nowMs)
                ? new RetryForecast(states, shared, policies).withChanges(request, denied, inForce, nowMs)
                : denied;
    }

    /** Returns the denial of a request that the limits permit, but which finds no place for its reservation. */
    private static Decision tooMany(Request request, Evaluation evaluated, NextPlace place) {
        long decidedAtMs = Math.max(evaluated.nowMs(), evaluated.leaseTimeMs());
        return ReservationOpening.tooMany(request, place.retryAfterMs(evaluated.nowMs()), decidedAtMs);
    }

    /** Returns a denial by limits of a request that would not find a place for its reservation either. */
    private static Decision untilPlace(Decision denied, NextPlace place, long nowMs) {
        Long placeAfterMs = place.retryAfterMs(nowMs);
        return denied.retryAfterMs() == null || placeAfterMs == null
                ? denied.withRetryAfterMs(null)
                : denied.withRetryAfterMs(Math.max(denied.retryAfterMs(), placeAfterMs));
    }

    /** Returns the answer to a request that is not refused. */
    private static DecisionResult passed(Request request, Evaluation evaluated, Evaluation charged) {
        List<String> observedBy = evaluated.observedBy();
        PolicyCheck[] enforcing = charged.enforcing();
        if (enforcing.length == 0 && request.policyId() == null) {
            return Decision.unmatched(request).withObservedBy(observedBy);
        }
        PolicyCheck shaping = charged.shaping();
        return shaping == null
                ? permission(request, charged, enforcing).withObservedBy(observedBy)
                : admission(request, shaping).withObservedBy(observedBy);
    }

    private void report(Request request, Evaluation evaluated, boolean refused) {
        PolicyCheck shaping = evaluated.shaping();
        for (PolicyCheck check : evaluated.checks()) {
            reportMissingKeyFields(check.policy(), request);
            if (check != shaping) {
                listener.evaluated(check.policy(), check.denies() ? Outcome.DENIED : Outcome.ALLOWED);
            }
        }
        if (shaping != null) {
            listener.evaluated(shaping.policy(), refused ? Outcome.ALLOWED : Outcome.QUEUED);
        }
    }

    private void reportMissingKeyFields(Policy policy, Request request) {
        List<String> key = policy.key();
        for (int i = 0; i < key.size(); i++) {
            if (request.field(key.get(i)) == null) {
                listener.keyFieldMissing(policy, key.get(i));
            }
        }
    }

    private static Decision refusal(Request request, Evaluation charged) {
        PolicyCheck[] enforcing = charged.enforcing();
        long nowMs = charged.nowMs();
        BindingLimit binding = BindingLimit.longestRetry(enforcing, PolicyCheck::denies);
        if (binding.retryAfterMs() != null) {
            long startMs = nowMs + charged.throttling().delayMs();
            long permittedMs = charged.nextPermittedMs(startMs);
            long jointMs = permittedMs > startMs ? permittedMs - nowMs : 0;
            binding = binding.withRetryAfterMs(Math.max(binding.retryAfterMs(), jointMs));
        }
        boolean shadowBanned = binding.policy().onExceed() instanceof OnExceed.ShadowBan;
        long decidedAtMs = Math.max(nowMs, charged.leaseTimeMs());
        return decision(request, Outcome.DENIED, binding, null, shadowBanned, status(binding), decidedAtMs)
                .withLimits(EnforcedLimits.of(enforcing));
    }

    private Decision mismatch(Request request, PoliciesInForce inForce) {
        Policy policy = IdempotencyCheck.denyingPolicy(inForce.policies());
        if (policy == null) {
            return ReservationOpening.mismatch(request, inForce.decidedAtMs(request, states, shared));
        }
        listener.evaluated(policy, Outcome.DENIED);
        BindingLimit binding = BindingLimit.mismatch(policy);
        boolean shadowBanned = policy.onExceed() instanceof OnExceed.ShadowBan;
        long nowMs = inForce.decidedAtMs(request, states, shared);
        return decision(request, Outcome.DENIED, binding, null, shadowBanned, status(binding), nowMs);
    }

    /** Returns the HTTP status for a gateway to respond with to a denied request. */
    private static int status(BindingLimit binding) {
        OnExceed onExceed = binding.policy().onExceed();
        if (onExceed instanceof OnExceed.ShadowBan) {
            return OK;
        }
        if (binding.reason() == Reason.TOO_LARGE) {
            return TOO_LARGE;
        }
        if (binding.reason() == Reason.IDEMPOTENCY_MISMATCH || binding.reason() == Reason.SHARED_LIMIT_REFUND) {
            return UNPROCESSABLE;
        }
        return onExceed instanceof OnExceed.Deny deny ? deny.httpStatus() : TOO_MANY;
    }

    /** Returns the denial of a request that must not start yet, but which no queue could hold back. */
    private static Decision notShaped(Request request, Evaluation evaluated) {
        long decidedAtMs = Math.max(evaluated.nowMs(), evaluated.leaseTimeMs());
        return Decision.denied(request, Reason.NOT_SHAPED, UNPROCESSABLE, decidedAtMs);
    }

    /** Returns the denial of a RESET of a policy that does not apply. */
    private static Decision notApplicable(Request request) {
        return Decision.denied(request, Reason.POLICY_NOT_APPLICABLE, NOT_FOUND, request.timestampMs())
                .withLimit(null, LimitStatus.of(request.policyId(), null));
    }

    private static Decision permission(Request request, Evaluation charged, PolicyCheck[] enforcing) {
        long delayMs = charged.throttling().delayMs();
        Reason reason = delayMs > 0 ? Reason.THROTTLED : permissionReason(request.kind());
        PolicyCheck[] named = enforcing.length == 0 ? charged.checks() : enforcing; // an observing RESET
        BindingLimit binding = BindingLimit.leastRemaining(named, reason);
        Long delay = charged.throttles() && !request.kind().isCorrection() ? (Long) delayMs : null;
        boolean usesLeases = charged.usesLeases() && request.kind() == RequestKind.CONSUME && request.cost() > 0;
        long decidedAtMs = usesLeases ? charged.leaseTimeMs() : Math.max(charged.nowMs(), charged.leaseTimeMs());
        return decision(request, Outcome.ALLOWED, binding, delay, false, OK, decidedAtMs)
                .withLimits(EnforcedLimits.of(enforcing));
    }

    private static Reason permissionReason(RequestKind kind) {
        return switch (kind) {
            case SETTLE -> Reason.SETTLED;
            case RESET -> Reason.USAGE_RESET;
            default -> Reason.WITHIN_LIMITS;
        };
    }

    private static Admission admission(Request request, PolicyCheck shaping) {
        BindingLimit exceeded = BindingLimit.longestRetry(new PolicyCheck[] {shaping}, PolicyCheck::refuses);
        Policy policy = shaping.policy();
        LimitStatus limit = exceeded == null ? null : exceeded.limit();
        return Admission.of(
                request,
                policy.queue(),
                policy.versionId(),
                limit == null ? null : LimitStatus.of(limit.label(), limit.limit()));
    }

    private static Decision decision(
            Request request,
            Outcome outcome,
            BindingLimit binding,
            Long delayMs,
            boolean shadowBanned,
            int httpStatus,
            long nowMs) {
        return new Decision(
                Decision.Identity.of(request),
                new Decision.Status(outcome, binding.reason(), httpStatus, false, shadowBanned, false),
                new Decision.Timing(nowMs, binding.retryAfterMs(), delayMs),
                binding.policy().versionId(),
                binding.limit(),
                null,
                DecisionContext.UNKNOWN);
    }
}
