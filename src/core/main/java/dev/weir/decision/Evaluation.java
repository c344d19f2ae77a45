package dev.weir.decision;

import dev.weir.decision.state.PoliciesInForce;
import dev.weir.decision.state.PolicyStates;
import dev.weir.decision.state.WritablePolicyStates;
import dev.weir.decision.state.lease.LeaseContext;
import dev.weir.decision.state.lease.QuotaSource;
import dev.weir.event.AwaitLease;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What all limits of all policies say to a request, before or after it is charged. An immutable value.
 *
 * @param checks a check for each policy, by layer
 * @param nowMs the time of the request, or of the latest one charged by an enforcing policy if that is later
 * @param leaseTimeMs the decision time of the leases, in ledger time: the latest among all enforcing leased policies; 0
 *     if there are none
 * @param throttling the delay
 * @param shapingIndex the index of the first policy that sends the request to a queue, -1 if none does. If one does,
 *     throttling policies cannot delay the request
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record Evaluation(PolicyCheck[] checks, long nowMs, long leaseTimeMs, Throttling throttling, int shapingIndex) {

    /** After so many rounds, the joint retry time of several policies is the latest of their own. */
    private static final int MAX_ROUNDS = 20;

    /**
     * Checks all limits: those of policies that throttle from the start of the last request that they delayed, all
     * others at the start of this request.
     */
    static Evaluation of(Request request, PoliciesInForce inForce, PolicyStates states, QuotaSource shared) {
        AppliedPolicy[] policies = new AppliedPolicy[inForce.policies().length];
        long nowMs = inForce.atMs();
        long leaseTimeMs = 0;
        boolean isAnyThrottling = false;
        for (int i = 0; i < policies.length; i++) {
            Policy policy = inForce.policies()[i];
            if (shared instanceof LeaseContext context && context.isLeased(policy)) {
                LeasedPolicy leased = new LeasedPolicy(policy, request, context);
                leaseTimeMs = leased.observes() ? leaseTimeMs : Math.max(leaseTimeMs, leased.decisionTimeMs());
                policies[i] = leased;
            } else {
                CountedPolicy counted = new CountedPolicy(policy, request, states);
                nowMs = counted.observes() ? nowMs : counted.notBeforeMs(nowMs);
                isAnyThrottling |= counted.throttles();
                policies[i] = counted;
            }
        }
        List<KeyUsage> throttled = isAnyThrottling ? throttledUsages(policies, nowMs) : List.of();
        Throttling throttling = isAnyThrottling ? Throttling.of(throttled, nowMs) : Throttling.NONE;
        PolicyCheck[] checks = new PolicyCheck[policies.length];
        int shapingIndex = -1;
        for (int i = 0; i < policies.length; i++) {
            if (policies[i] instanceof LeasedPolicy leased) {
                checks[i] = LeasedCheck.of(leased, leased.observes() ? leased.decisionTimeMs() : leaseTimeMs);
            } else if (!policies[i].throttles()) {
                KeyUsage usage = KeyUsage.at((CountedPolicy) policies[i], nowMs);
                checks[i] = LocalCheck.of(usage, nowMs + throttling.delayMs());
            }
            shapingIndex = shapingIndex < 0 && checks[i] != null && checks[i].shapes() ? i : shapingIndex;
        }
        Evaluation others = new Evaluation(checks, nowMs, leaseTimeMs, throttling, shapingIndex);
        return isAnyThrottling ? others.withThrottling(throttled) : others;
    }

    private static List<KeyUsage> throttledUsages(AppliedPolicy[] policies, long nowMs) {
        List<KeyUsage> usages = new ArrayList<>();
        for (AppliedPolicy policy : policies) {
            if (policy instanceof CountedPolicy counted && counted.throttles()) {
                usages.add(KeyUsage.at(counted, nowMs));
            }
        }
        return usages;
    }

    /** Returns these checks and those of the throttling policies, by their usages. */
    private Evaluation withThrottling(List<KeyUsage> usages) {
        Throttling joint = throttling.startingNow(shapingIndex >= 0);
        PolicyCheck[] all = checks.clone();
        int throttles = 0;
        for (int i = 0; i < all.length; i++) {
            if (all[i] == null || all[i] instanceof ThrottleCheck) {
                all[i] = joint.check(throttles, usages.get(throttles));
                throttles++;
            }
        }
        return new Evaluation(all, nowMs, leaseTimeMs, joint, shapingIndex);
    }

    /** Returns the checks of policies that do not only observe, which alone determine the decision. */
    PolicyCheck[] enforcing() {
        for (PolicyCheck check : checks) {
            if (check.observes()) {
                return Arrays.stream(checks).filter(each -> !each.observes()).toArray(PolicyCheck[]::new);
            }
        }
        return checks;
    }

    /** Returns whether the request is denied. */
    boolean refused() {
        for (PolicyCheck check : checks) {
            if (check.denies()) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether an enforcing policy rejects the request, whatever its limits permit. */
    boolean rejected() {
        for (PolicyCheck check : checks) {
            if (check.rejects() && !check.observes()) {
                return true;
            }
        }
        return false;
    }

    /** Returns the check of the policy that sends the request to a queue, null if there is none. */
    PolicyCheck shaping() {
        return shapingIndex < 0 ? null : checks[shapingIndex];
    }

    /** Returns whether an enforcing policy uses leases. */
    boolean usesLeases() {
        for (PolicyCheck check : checks) {
            if (check instanceof LeasedCheck && !check.observes()) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether a policy throttles. */
    boolean throttles() {
        return !throttling.waits().isEmpty();
    }

    /** Returns the ids of the observing policies that would deny the request, as in {@link Decision#observedBy}. */
    List<String> observedBy() {
        List<String> ids = List.of();
        for (PolicyCheck check : checks) {
            if (check.observes() && check.refuses() && ids.size() < Decision.MAX_OBSERVED_BY) {
                ids = ids.isEmpty() ? new ArrayList<>(2) : ids;
                ids.add(check.policy().id());
            }
        }
        return ids;
    }

    /**
     * Returns the first time from {@code startMs} on at which the request is permitted by all enforcing limits that are
     * counted here and do not throttle. If no enforcing limit has charges of delayed requests, there is no gap
     * between such charges to find, and {@code startMs} is returned.
     */
    long nextPermittedMs(long startMs) {
        boolean anyDelayed = false;
        for (PolicyCheck check : checks) {
            anyDelayed |= !check.observes() && check instanceof CountedCheck counted && counted.usage.hasDelayed();
        }
        long atMs = startMs;
        long lastMs = startMs - 1;
        for (int rounds = 0; anyDelayed && atMs > lastMs && rounds < MAX_ROUNDS; rounds++) {
            lastMs = atMs;
            for (PolicyCheck check : checks) {
                boolean refuses = !check.observes() && !check.policy().shapes();
                atMs = refuses && check instanceof LocalCheck local ? local.nextPermittedMs(atMs) : atMs;
            }
        }
        return atMs;
    }

    /** Returns the checks with the demand for leases, unless another policy denies the request anyway. */
    Evaluation demanded() {
        boolean isAnyLeased = false;
        for (PolicyCheck check : checks) {
            isAnyLeased |= check.isShared();
            if (check.denies() && (!check.isShared() || check.rejects())) {
                return this;
            }
        }
        if (!isAnyLeased) {
            return this;
        }
        PolicyCheck[] next = checks.clone();
        for (int i = 0; i < next.length; i++) {
            next[i] = next[i] instanceof LeasedCheck leased ? leased.demanded() : next[i];
        }
        return new Evaluation(next, nowMs, leaseTimeMs, throttling, shapingIndex);
    }

    /** Returns what the request must wait for, null if nothing or if it is denied anyway. */
    AwaitLease awaitLease() {
        AwaitLease wait = null;
        for (PolicyCheck check : checks) {
            if (check instanceof LeasedCheck leased) {
                wait = wait == null ? leased.awaitLease() : wait;
            }
            if (check.denies() && !(check instanceof LeasedCheck leased && !leased.rejects() && leased.shouldWait())) {
                return null;
            }
        }
        return wait;
    }

    /**
     * Returns the checks after all limits, or those that count denials if the request is refused, were charged. A
     * counted denial makes the delay longer.
     *
     * @param reserving the reservation that the request creates if it is not refused
     */
    Evaluation charged(boolean refused, Reserving reserving) {
        PolicyCheck[] next = new PolicyCheck[checks.length];
        for (int i = 0; i < next.length; i++) {
            boolean denied = refused || checks[i].refuses();
            boolean reserves = reserving.holds(checks[i]);
            next[i] = checks[i] instanceof LeasedCheck leased
                    ? leased.charged(denied, reserves ? reserving : Reserving.NONE)
                    : ((CountedCheck) checks[i]).charged(denied, reserves ? reserving : Reserving.NONE);
        }
        Evaluation charged = new Evaluation(next, nowMs, leaseTimeMs, throttling, shapingIndex);
        return refused && throttles() ? charged.throttledAgain() : charged;
    }

    private Evaluation throttledAgain() {
        List<KeyUsage> usages = new ArrayList<>();
        for (PolicyCheck check : checks) {
            if (check instanceof ThrottleCheck throttle) {
                usages.add(throttle.usage);
            }
        }
        Throttling again = Throttling.of(usages, nowMs);
        return new Evaluation(checks, nowMs, leaseTimeMs, again, shapingIndex).withThrottling(usages);
    }

    /** Stores the states and leases that differ from those of {@code before}, which is stored. */
    @SuppressWarnings("ReferenceEquality") // an unchanged usage is the same object
    void store(Evaluation before, WritablePolicyStates states, QuotaSource shared) {
        for (int i = 0; i < checks.length; i++) {
            if (checks[i] instanceof CountedCheck counted && counted.usage != ((CountedCheck) before.checks[i]).usage) {
                states.put(counted.of.key, counted.usage.state());
            }
            if (checks[i] instanceof LeasedCheck leased && shared instanceof LeaseContext context) {
                leased.effects.write(leased.of.key, ((LeasedCheck) before.checks[i]).effects, context.leases());
            }
        }
    }
}
