package dev.weir.policy;

import dev.weir.policy.Ledger.Role;
import java.util.ArrayList;
import java.util.List;

/**
 * Decides one request: finds the policies that apply, asks all of their limits, and charges either every one of them or
 * none. A pure function of the policies, the states and the request.
 *
 * <pre>
 *   refused   ⟺  some enforcing policy's size or limit does not permit the request
 *   shaped    ⟺  not refused, and some shaping policy has no limits or one that does not permit
 *   charged    =  every limit, if not refused                          (CONSUME; SETTLE in any case; PEEK never)
 *                 the limits that count denied requests, if refused
 *   binding    =  refused: the refusing limit with the longest retry;  else the limit with the least remaining
 * </pre>
 *
 * <p>What is shaped is charged where it is within the limits, and goes to the queue of the first such policy, by layer.
 * A policy that observes is asked and charged as if it enforced, but refuses nothing.
 */
public final class Decider {

    private static final int OK = 200;
    private static final int TOO_LARGE = 413;
    private static final int TOO_MANY = 429;

    private Decider() {}

    /** Decides, and writes to {@code states} what the decision changes. */
    public static Ruling decide(Request request, PolicyTable policies, States states) {
        if (request.kind() == Kind.CANCEL) {
            return new Admission(request, request.queue(), null, null, null, null, false, 0, List.of());
        }
        List<Policy> applicable = policies.applicable(request);
        if (applicable.isEmpty()) {
            return unmatched(request);
        }
        List<Ledger> ledgers = new ArrayList<>(applicable.size());
        long nowMs = request.timestampMs();
        for (Policy policy : applicable) {
            Ledger ledger = new Ledger(policy, request, states);
            nowMs = ledger.notBeforeMs(nowMs);
            ledgers.add(ledger);
        }
        boolean refused = false;
        boolean tooLarge = false;
        Ledger shaping = null;
        for (Ledger ledger : ledgers) {
            ledger.ask(nowMs, states);
            refused |= ledger.refuses() && ledger.role() == Role.ENFORCES;
            shaping = shaping == null && ledger.shapes() ? ledger : shaping;
            tooLarge |= ledger.isTooLarge() && !ledger.policy().observes();
        }
        if (request.kind() != Kind.PEEK && !tooLarge) {
            for (Ledger ledger : ledgers) {
                ledger.charge(nowMs, refused || ledger.refuses(), states);
            }
        }
        if (refused) {
            return refusal(request, ledgers, nowMs);
        }
        return shaping == null ? permission(request, ledgers, nowMs) : admission(request, shaping, nowMs);
    }

    private static Decision refusal(Request request, List<Ledger> ledgers, long nowMs) {
        Binding binding = Binding.longestRetry(ledgers, nowMs, Role.ENFORCES);
        boolean shadowBanned = binding.policy().onExceed() instanceof OnExceed.ShadowBan;
        return decision(request, Outcome.DENIED, binding, false, shadowBanned, status(binding), nowMs);
    }

    /** What a gateway answers to a request that is denied. */
    private static int status(Binding binding) {
        OnExceed onExceed = binding.policy().onExceed();
        if (onExceed instanceof OnExceed.ShadowBan) {
            return OK;
        }
        if (binding.reason() == Reason.TOO_LARGE) {
            return TOO_LARGE;
        }
        return onExceed instanceof OnExceed.Deny deny ? deny.httpStatus() : TOO_MANY;
    }

    private static Decision permission(Request request, List<Ledger> ledgers, long nowMs) {
        Binding observed = Binding.longestRetry(ledgers, nowMs, Role.OBSERVES);
        Binding binding = observed == null ? Binding.leastRemaining(ledgers, nowMs) : observed;
        return decision(request, Outcome.ALLOWED, binding, observed != null, false, OK, nowMs);
    }

    private static Admission admission(Request request, Ledger shaping, long nowMs) {
        Binding exceeded = Binding.longestRetry(List.of(shaping), nowMs, Role.SHAPES);
        Policy policy = shaping.policy();
        return new Admission(
                request,
                policy.queue(),
                policy.id(),
                policy.version(),
                exceeded == null ? null : exceeded.label(),
                exceeded == null ? null : exceeded.limit(),
                false,
                0,
                List.of());
    }

    private static Decision decision(
            Request request,
            Outcome outcome,
            Binding binding,
            boolean observed,
            boolean shadowBanned,
            int httpStatus,
            long nowMs) {
        return new Decision(
                request.requestId(),
                request.client(),
                outcome,
                binding.reason(),
                binding.policy().id(),
                binding.policy().version(),
                binding.label(),
                binding.limit(),
                binding.windowMs(),
                binding.remaining(),
                binding.resetAfterMs(),
                binding.retryAfterMs(),
                null,
                observed,
                shadowBanned,
                false,
                null,
                httpStatus,
                nowMs,
                request.source());
    }

    private static Decision unmatched(Request request) {
        return new Decision(
                request.requestId(),
                request.client(),
                Outcome.ALLOWED,
                Reason.NO_POLICY,
                null,
                null,
                null,
                null,
                null,
                null,
                null,
                0L,
                null,
                false,
                false,
                false,
                null,
                OK,
                request.timestampMs(),
                request.source());
    }
}
