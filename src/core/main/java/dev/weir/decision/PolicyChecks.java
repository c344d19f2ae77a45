package dev.weir.decision;

import dev.weir.event.AwaitLease;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The checks of a request against all policies that apply to it.
 *
 * @param all the checks by layer
 * @param enforcing those of policies that do not only observe, which alone determine the decision
 * @param local those whose limits are counted in the decider's states
 * @param leased those whose limits are leased
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record PolicyChecks(PolicyCheck[] all, PolicyCheck[] enforcing, LocalCheck[] local, LeasedCheck[] leased) {

    private static final LeasedCheck[] NONE = {};

    /** After so many rounds, the joint retry time of several policies is the latest of their own. */
    private static final int MAX_ROUNDS = 20;

    static PolicyChecks of(Request request, Policy[] policies, PolicyStates states, QuotaSource shared) {
        boolean isAnyLeased = false;
        boolean isAnyObserving = false;
        for (Policy policy : policies) {
            isAnyLeased |= shared.isLeased(policy);
            isAnyObserving |= policy.observes();
        }
        PolicyChecks checks = isAnyLeased ? mixed(request, policies, states, shared) : local(request, policies, states);
        return isAnyObserving ? checks.withoutObserving() : checks;
    }

    private static PolicyChecks local(Request request, Policy[] policies, PolicyStates states) {
        LocalCheck[] own = new LocalCheck[policies.length];
        for (int i = 0; i < own.length; i++) {
            own[i] = new LocalCheck(policies[i], request, states);
        }
        return new PolicyChecks(own, own, own, NONE);
    }

    private static PolicyChecks mixed(Request request, Policy[] policies, PolicyStates states, QuotaSource shared) {
        PolicyCheck[] all = new PolicyCheck[policies.length];
        List<LocalCheck> own = new ArrayList<>();
        List<LeasedCheck> leased = new ArrayList<>();
        for (int i = 0; i < all.length; i++) {
            if (shared instanceof LeaseContext context && context.isLeased(policies[i])) {
                LeasedCheck check = new LeasedCheck(policies[i], request, context);
                leased.add(check);
                all[i] = check;
            } else {
                LocalCheck check = new LocalCheck(policies[i], request, states);
                own.add(check);
                all[i] = check;
            }
        }
        return new PolicyChecks(all, all, own.toArray(LocalCheck[]::new), leased.toArray(LeasedCheck[]::new));
    }

    private PolicyChecks withoutObserving() {
        PolicyCheck[] rest =
                Arrays.stream(all).filter(check -> !check.observes()).toArray(PolicyCheck[]::new);
        return new PolicyChecks(all, rest, local, leased);
    }

    /** Returns the time of the latest request charged by an enforcing check, or {@code atMs} if that is later. */
    long notBeforeMs(long atMs) {
        long nowMs = atMs;
        for (LocalCheck check : local) {
            nowMs = check.observes() ? nowMs : check.notBeforeMs(nowMs);
        }
        return nowMs;
    }

    /**
     * Returns the decision time of the leases, in ledger time: the latest among all enforcing leased policies; 0 if
     * there are none.
     */
    long leaseTimeMs() {
        long timeMs = 0;
        for (LeasedCheck check : leased) {
            timeMs = check.observes() ? timeMs : Math.max(timeMs, check.decisionTimeMs());
        }
        return timeMs;
    }

    /**
     * Checks all limits: those of policies that throttle from the start of the last request that they delayed, all others
     * at the start of this request.
     *
     * @return how long the throttling policies delay the request
     */
    long evaluate(long nowMs, long leaseTimeMs, PolicyStates states) {
        long lastStartMs = lastStartMs(nowMs);
        for (LocalCheck check : local) {
            if (check.throttles()) {
                check.evaluate(nowMs, lastStartMs, states);
            }
        }
        long delayMs = computeDelayMs(nowMs);
        for (LocalCheck check : local) {
            if (!check.throttles()) {
                check.evaluate(nowMs, nowMs + delayMs, states);
            }
        }
        for (LeasedCheck check : leased) {
            check.evaluate(check.observes() ? check.decisionTimeMs() : leaseTimeMs);
        }
        return delayMs;
    }

    /**
     * Returns the latest start of a request that the throttling policies delayed, or {@code nowMs} if that is later.
     */
    private long lastStartMs(long nowMs) {
        long startMs = nowMs;
        for (LocalCheck check : local) {
            startMs = check.throttles() ? check.clockMs(startMs) : startMs;
        }
        return startMs;
    }

    /**
     * Returns how long the throttling policies delay the request together, and informs them. The delay is longer after a
     * denial was counted.
     */
    long computeDelayMs(long nowMs) {
        long waitMs = 0;
        boolean takes = false;
        for (LocalCheck check : local) {
            waitMs = Math.max(waitMs, check.computeWaitMs());
            takes |= check.throttles() && check.takes();
        }
        long delayMs = takes ? lastStartMs(nowMs) - nowMs + waitMs : 0;
        for (LocalCheck check : local) {
            check.setDelayMs(delayMs);
        }
        return delayMs;
    }

    /** Returns whether an enforcing check uses leases. */
    boolean usesLeases() {
        for (LeasedCheck check : leased) {
            if (!check.observes()) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether a policy throttles. */
    boolean throttles() {
        for (LocalCheck check : local) {
            if (check.throttles()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns the first policy that sends the request to a queue, null if there is none. If there is one, throttling
     * policies cannot delay the request.
     */
    PolicyCheck shaping() {
        PolicyCheck shaping = null;
        for (PolicyCheck check : all) {
            shaping = shaping == null && check.shapes() ? check : shaping;
        }
        for (int i = 0; shaping != null && i < local.length; i++) {
            local[i].mustStartNow();
        }
        return shaping;
    }

    /** Returns the ids of the observing policies that would deny the request, as in {@link Decision#observedBy}. */
    List<String> observedBy() {
        List<String> ids = List.of();
        for (PolicyCheck check : all) {
            if (check.observes() && check.refuses() && ids.size() < Decision.MAX_OBSERVED_BY) {
                ids = ids.isEmpty() ? new ArrayList<>(2) : ids;
                ids.add(check.policy().id());
            }
        }
        return ids;
    }

    /**
     * Returns the first time from {@code startMs} on at which all enforcing limits permit the request that are counted
     * here and do not throttle, if some of them have charges of delayed requests, between which the request could pass;
     * otherwise {@code startMs}.
     */
    long nextPermittedMs(long startMs) {
        boolean anyDelayed = false;
        for (LocalCheck check : local) {
            anyDelayed |= !check.observes() && check.hasDelayed();
        }
        long atMs = startMs;
        long lastMs = startMs - 1;
        for (int rounds = 0; anyDelayed && atMs > lastMs && rounds < MAX_ROUNDS; rounds++) {
            lastMs = atMs;
            for (LocalCheck check : local) {
                boolean refuses = !check.observes()
                        && !check.throttles()
                        && !check.policy().shapes();
                atMs = refuses ? check.nextPermittedMs(atMs) : atMs;
            }
        }
        return atMs;
    }

    /**
     * Records the demand of the leased checks, unless another check denies the request anyway.
     *
     * @return what the request must wait for, null if nothing
     */
    AwaitLease recordDemand() {
        AwaitLease wait = null;
        boolean denied = false;
        for (PolicyCheck check : all) {
            denied |= check.denies() && (!check.isShared() || check.rejects());
        }
        for (int i = 0; i < leased.length && !denied; i++) {
            leased[i].recordDemand();
            wait = wait == null ? leased[i].awaitLease() : wait;
        }
        for (LeasedCheck check : leased) {
            wait = check.denies() && !check.shouldWait() ? null : wait;
        }
        return wait;
    }

    /**
     * Charges all limits or, if the request is refused, those that count denials. Returns whether a limit was charged.
     */
    boolean charge(boolean refused, WritablePolicyStates states) {
        boolean charged = false;
        for (LocalCheck check : local) {
            charged |= check.charge(refused || check.refuses(), states);
        }
        for (LeasedCheck check : leased) {
            charged |= check.charge(refused || check.refuses());
        }
        return charged;
    }
}
