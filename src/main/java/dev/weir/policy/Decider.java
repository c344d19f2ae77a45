package dev.weir.policy;

import dev.weir.limit.Account;
import dev.weir.limit.Unlimited;
import dev.weir.limit.Verdict;
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

    /** What it means if a policy does not permit a request. */
    private enum Role {
        ENFORCES,
        OBSERVES,
        SHAPES
    }

    /** What one policy has to say about the request at hand. */
    private static final class Ledger {
        final Policy policy;
        final StateKey key;
        final boolean tooLarge;
        PolicyState state;
        Account<?>[] accounts;
        boolean[] permits;
        boolean adopted;

        Ledger(Policy policy, Request request, States states) {
            this.policy = policy;
            this.key = policy.stateKey(request);
            this.tooLarge = policy.isTooLarge(request) && request.kind() != Kind.SETTLE;
            this.state = policy.terms().isEmpty() ? null : states.get(key);
        }

        void ask(Request request, long nowMs, States states) {
            adopted = state != null && !state.fits(policy);
            state = state == null
                    ? PolicyState.fresh(policy, nowMs, shelf -> states.segments(key, shelf))
                    : state.under(policy, nowMs, shelf -> states.segments(key, shelf));
            accounts = state.accounts().toArray(Account<?>[]::new);
            permits = new boolean[accounts.length];
            for (int i = 0; i < accounts.length; i++) {
                permits[i] = request.kind() == Kind.SETTLE || accounts[i].permits(request.cost(), nowMs);
            }
        }

        Role role() {
            return policy.observes() ? Role.OBSERVES : policy.shapes() && !tooLarge ? Role.SHAPES : Role.ENFORCES;
        }

        boolean shapes(Request request) {
            return role() == Role.SHAPES
                    && request.kind() != Kind.SETTLE
                    && (refuses() || policy.terms().isEmpty());
        }

        boolean refuses() {
            for (boolean permit : permits) {
                if (!permit) {
                    return true;
                }
            }
            return tooLarge;
        }

        /** Changed terms are written with a denial too: the wait that it tells begins now. */
        @SuppressWarnings("ReferenceEquality") // an account that did not change is the same one
        void charge(Request request, long nowMs, boolean denied, States states) {
            boolean changed = adopted;
            for (int i = 0; i < accounts.length; i++) {
                if (!denied || (!tooLarge && accounts[i].limit().countDenied())) {
                    Account<?> before = accounts[i];
                    accounts[i] = before.charge(request.cost(), nowMs);
                    changed |= accounts[i] != before;
                }
            }
            if (changed) {
                states.put(key, state.charged(nowMs, accounts));
            }
        }
    }

    /** Decides, and writes to {@code states} what the decision changes. */
    public static Ruling decide(Request request, PolicyTable policies, States states) {
        if (request.kind() == Kind.CANCEL) {
            return new Admission(request, request.queue(), null, null, null, null, List.of());
        }
        List<Policy> applicable = policies.applicable(request);
        if (applicable.isEmpty()) {
            return unmatched(request);
        }
        List<Ledger> ledgers = new ArrayList<>(applicable.size());
        long nowMs = request.timestampMs();
        for (Policy policy : applicable) {
            Ledger ledger = new Ledger(policy, request, states);
            nowMs = ledger.state == null ? nowMs : Math.max(nowMs, ledger.state.lastMs());
            ledgers.add(ledger);
        }
        boolean refused = false;
        boolean tooLarge = false;
        Ledger shaping = null;
        for (Ledger ledger : ledgers) {
            ledger.ask(request, nowMs, states);
            refused |= ledger.refuses() && ledger.role() == Role.ENFORCES;
            shaping = shaping == null && ledger.shapes(request) ? ledger : shaping;
            tooLarge |= ledger.tooLarge && !ledger.policy.observes();
        }
        if (request.kind() != Kind.PEEK && !tooLarge) {
            for (Ledger ledger : ledgers) {
                ledger.charge(request, nowMs, refused || ledger.refuses(), states);
            }
        }
        if (refused) {
            return refusal(request, ledgers, nowMs);
        }
        return shaping == null ? permission(request, ledgers, nowMs) : admission(request, shaping, nowMs);
    }

    private static Decision refusal(Request request, List<Ledger> ledgers, long nowMs) {
        Binding binding = longestRetry(request, ledgers, nowMs, Role.ENFORCES);
        boolean shadowBanned = binding.policy.onExceed() == OnExceed.SHADOW_BAN;
        int status = shadowBanned ? OK : binding.reason == Reason.TOO_LARGE ? TOO_LARGE : TOO_MANY;
        return decision(request, Outcome.DENIED, binding, false, shadowBanned, status, nowMs);
    }

    private static Decision permission(Request request, List<Ledger> ledgers, long nowMs) {
        Binding observed = longestRetry(request, ledgers, nowMs, Role.OBSERVES);
        Binding binding = observed == null ? leastRemaining(request, ledgers, nowMs) : observed;
        return decision(request, Outcome.ALLOWED, binding, observed != null, false, OK, nowMs);
    }

    private static Admission admission(Request request, Ledger shaping, long nowMs) {
        Binding exceeded = longestRetry(request, List.of(shaping), nowMs, Role.SHAPES);
        return new Admission(
                request,
                shaping.policy.queue(),
                shaping.policy.id(),
                shaping.policy.version(),
                exceeded == null ? null : exceeded.label,
                exceeded == null ? null : exceeded.limit,
                List.of());
    }

    /** The limit that a decision is explained by. */
    private record Binding(Policy policy, Reason reason, String label, Long limit, Verdict verdict) {}

    /** Of the limits that refuse, in policies of one role, the one to wait for longest; null if none does. */
    private static Binding longestRetry(Request request, List<Ledger> ledgers, long nowMs, Role role) {
        Binding longest = null;
        for (Ledger ledger : ledgers) {
            if (ledger.role() != role) {
                continue;
            }
            if (ledger.tooLarge) {
                return new Binding(ledger.policy, Reason.TOO_LARGE, "max-size", ledger.policy.maxSizeBytes(), null);
            }
            for (int i = 0; i < ledger.accounts.length; i++) {
                if (!ledger.permits[i]) {
                    Verdict verdict = ledger.accounts[i].verdict(false, request.cost(), nowMs);
                    if (longest == null || retryMs(verdict) > retryMs(longest.verdict)) {
                        Reason reason =
                                verdict instanceof Verdict.NeverFits ? Reason.COST_NEVER_FITS : Reason.LIMIT_EXCEEDED;
                        longest = binding(ledger, i, reason, verdict);
                    }
                }
            }
        }
        return longest;
    }

    /** The limit with the least remaining; those of policies that only observe stand back behind the others. */
    private static Binding leastRemaining(Request request, List<Ledger> ledgers, long nowMs) {
        Reason reason = request.kind() == Kind.SETTLE ? Reason.SETTLED : Reason.WITHIN_LIMITS;
        Binding least = null;
        for (Ledger ledger : ledgers) {
            for (int i = 0; i < ledger.accounts.length; i++) {
                if (!(ledger.accounts[i].limit() instanceof Unlimited)) {
                    Verdict verdict = ledger.accounts[i].verdict(true, request.cost(), nowMs);
                    boolean first = least == null || (least.policy.observes() && !ledger.policy.observes());
                    boolean less = !first
                            && least.policy.observes() == ledger.policy.observes()
                            && verdict.remaining() < least.verdict.remaining();
                    if (first || less) {
                        least = binding(ledger, i, reason, verdict);
                    }
                }
            }
        }
        return least == null ? new Binding(ledgers.get(0).policy, reason, null, null, null) : least;
    }

    private static Binding binding(Ledger ledger, int index, Reason reason, Verdict verdict) {
        Policy.Term term = ledger.policy.terms().get(index);
        return new Binding(ledger.policy, reason, term.label(), term.limit().capacity(), verdict);
    }

    private static long retryMs(Verdict verdict) {
        return verdict instanceof Verdict.Denied denied ? denied.retryAfterMs() : Long.MAX_VALUE;
    }

    private static Decision decision(
            Request request,
            Outcome outcome,
            Binding binding,
            boolean observed,
            boolean shadowBanned,
            int httpStatus,
            long nowMs) {
        Verdict verdict = binding.verdict;
        Long retryAfterMs =
                switch (binding.reason) {
                    case LIMIT_EXCEEDED -> retryMs(verdict);
                    case COST_NEVER_FITS, TOO_LARGE -> null;
                    default -> 0L;
                };
        return new Decision(
                request.requestId(),
                request.client(),
                outcome,
                binding.reason,
                binding.policy.id(),
                binding.policy.version(),
                binding.label,
                binding.limit,
                verdict == null ? null : (Long) verdict.remaining(),
                verdict == null ? null : (Long) verdict.resetAfterMs(),
                retryAfterMs,
                observed,
                shadowBanned,
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
                0L,
                false,
                false,
                null,
                OK,
                request.timestampMs(),
                request.source());
    }
}
