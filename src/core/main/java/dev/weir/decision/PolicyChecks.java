package dev.weir.decision;

import dev.weir.event.AwaitLease;
import dev.weir.event.Request;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.List;

/**
 * The checks of a request against all policies that apply to it.
 *
 * @param all the checks by layer
 * @param local those whose limits are counted in the decider's states
 * @param leased those whose limits are leased
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record PolicyChecks(PolicyCheck[] all, LocalCheck[] local, LeasedCheck[] leased) {

    private static final LeasedCheck[] NONE = {};

    static PolicyChecks of(Request request, Policy[] policies, PolicyStates states, QuotaSource shared) {
        boolean isAnyLeased = false;
        for (Policy policy : policies) {
            isAnyLeased |= shared.isLeased(policy);
        }
        return isAnyLeased ? mixed(request, policies, states, shared) : local(request, policies, states);
    }

    private static PolicyChecks local(Request request, Policy[] policies, PolicyStates states) {
        LocalCheck[] own = new LocalCheck[policies.length];
        for (int i = 0; i < own.length; i++) {
            own[i] = new LocalCheck(policies[i], request, states);
        }
        return new PolicyChecks(own, own, NONE);
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
        return new PolicyChecks(all, own.toArray(LocalCheck[]::new), leased.toArray(LeasedCheck[]::new));
    }

    /** Returns the time of the latest request charged by one of the local checks, or {@code atMs} if that is later. */
    long notBeforeMs(long atMs) {
        long nowMs = atMs;
        for (LocalCheck check : local) {
            nowMs = check.notBeforeMs(nowMs);
        }
        return nowMs;
    }

    /**
     * Returns the latest start of a request that the throttling policies delayed, or {@code nowMs} if that is later.
     */
    long startMs(long nowMs) {
        long startMs = nowMs;
        for (LocalCheck check : local) {
            startMs = check.throttles() ? check.clockMs(startMs) : startMs;
        }
        return startMs;
    }

    /**
     * Returns the decision time of the leases, in ledger time: the latest among all leased policies; 0 if there
     * are none.
     */
    long leaseTimeMs() {
        long timeMs = 0;
        for (LeasedCheck check : leased) {
            timeMs = Math.max(timeMs, check.decisionTimeMs());
        }
        return timeMs;
    }

    void evaluate(long nowMs, long startMs, long leaseTimeMs, PolicyStates states) {
        for (LocalCheck check : local) {
            check.evaluate(nowMs, startMs, states);
        }
        for (LeasedCheck check : leased) {
            check.evaluate(leaseTimeMs);
        }
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
