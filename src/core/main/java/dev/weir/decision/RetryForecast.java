package dev.weir.decision;

import static dev.weir.policy.EffectivePeriod.NO_END;

import dev.weir.decision.state.PoliciesInForce;
import dev.weir.decision.state.PolicyStates;
import dev.weir.decision.state.lease.QuotaSource;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;

/**
 * Computes when a denied request passes if the policies that apply to it change before: by their end, or by later
 * versions of them. Policies that do not apply yet are not foreseen, nor are changes if shared limits apply, whose
 * leases of that time are unknown.
 *
 * <pre>
 *   1 in any 2 h, until 12:00:05; used up at 12:00:00      retry at 12:00:05, not at 14:00:00
 * </pre>
 */
// The request is tried at each change before its retry time. Between two changes, a request that passes at one time
// also passes later. The retry time of a request at the change is only a first guess, because the usage is carried over
// to a new version by the next request, whenever it arrives; until then, it falls by the old limits. So further times
// are tried until one passes, and the first one is found by bisection.
final class RetryForecast {

    /** How many changes are foreseen. */
    private static final int MAX_CHANGES = 8;

    /** How many times are tried between two changes, before the last retry time is taken as the result. */
    private static final int MAX_STEPS = 32;

    private final Decider trial;
    private final QuotaSource shared;
    private final PolicyTable policies;

    /** @param states the states after the denial */
    RetryForecast(PolicyStates states, QuotaSource shared, PolicyTable policies) {
        this.trial = Decider.withoutForecast(states, shared);
        this.shared = shared;
        this.policies = policies;
    }

    /**
     * Returns the denial with the retry time that takes changes into account.
     *
     * @param inForce the policies by which the request was denied
     * @param nowMs the time at which it was denied
     */
    Decision withChanges(Request request, Decision denied, PoliciesInForce inForce, long nowMs) {
        if (request.kind().isCorrection()) {
            return denied;
        }
        Request peek = request.withKind(RequestKind.PEEK);
        PoliciesInForce then = inForce;
        long retryAtMs = denied.retryAfterMs() == null ? NO_END : nowMs + denied.retryAfterMs();
        long changeMs = then.nextChangeMs(policies, nowMs);
        for (int i = 0; i < MAX_CHANGES && changeMs < NO_END && changeMs <= retryAtMs && !isLeased(then); i++) {
            then = new PoliciesInForce(policies.applicableAt(request, changeMs), changeMs);
            if (isLeased(then)) {
                break;
            }
            long nextChangeMs = then.nextChangeMs(policies, changeMs);
            retryAtMs = passingMs(peek, changeMs, nextChangeMs);
            long lastMs = Math.min(retryAtMs, nextChangeMs - 1);
            if (retryAtMs > changeMs && lastMs < NO_END - 1 && retryAtMs(peek, lastMs) == lastMs) {
                retryAtMs = firstMs(peek, changeMs, lastMs);
            }
            changeMs = nextChangeMs;
        }
        return denied.withRetryAfterMs(retryAtMs == NO_END ? null : (Long) (retryAtMs - nowMs));
    }

    /** Returns a time from {@code fromMs} on at which a request passes, or one after {@code untilMs}. */
    private long passingMs(Request peek, long fromMs, long untilMs) {
        long atMs = fromMs;
        long nextMs = retryAtMs(peek, atMs);
        for (int i = 0; i < MAX_STEPS && nextMs > atMs && nextMs < untilMs; i++) {
            atMs = nextMs;
            nextMs = retryAtMs(peek, atMs);
        }
        return nextMs;
    }

    /** Returns the retry time of a request at {@code atMs} by the policies of that time; {@code atMs} if it passes. */
    private long retryAtMs(Request peek, long atMs) {
        if (trial.decide(peek.toBuilder().timestampMs(atMs).build(), policies) instanceof Decision decision
                && decision.outcome() == Outcome.DENIED) {
            return decision.retryAfterMs() == null ? NO_END : atMs + decision.retryAfterMs();
        }
        return atMs;
    }

    /**
     * Returns the first time at which a request passes that is denied at {@code deniedMs} and passes at {@code lastMs}.
     */
    private long firstMs(Request peek, long deniedMs, long lastMs) {
        long low = deniedMs;
        long high = lastMs;
        while (low + 1 < high) {
            long middle = low + (high - low) / 2;
            if (retryAtMs(peek, middle) == middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        return high;
    }

    private boolean isLeased(PoliciesInForce inForce) {
        for (Policy policy : inForce.enforcing()) {
            if (shared.isLeased(policy)) {
                return true;
            }
        }
        return false;
    }
}
