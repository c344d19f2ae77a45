package dev.weir.decision;

import dev.weir.event.AwaitLease;
import dev.weir.event.Request;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.List;

/**
 * What all policies that apply to a request have to say about it.
 *
 * @param all by layer
 * @param local those of them whose limits are counted here
 * @param leased the others, whose limits are asked by what is held of them
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
                LeasedCheck claim = new LeasedCheck(policies[i], request, context);
                leased.add(claim);
                all[i] = claim;
            } else {
                LocalCheck claim = new LocalCheck(policies[i], request, states);
                own.add(claim);
                all[i] = claim;
            }
        }
        return new PolicyChecks(all, own.toArray(LocalCheck[]::new), leased.toArray(LeasedCheck[]::new));
    }

    /** When the latest request came that one of the own was charged for, or {@code atMs} if that is later. */
    long notBeforeMs(long atMs) {
        long nowMs = atMs;
        for (LocalCheck claim : local) {
            nowMs = claim.notBeforeMs(nowMs);
        }
        return nowMs;
    }

    /** The time to which those that throttle have come together, or {@code nowMs} if that is later. */
    long startMs(long nowMs) {
        long startMs = nowMs;
        for (LocalCheck claim : local) {
            startMs = claim.throttles() ? claim.clockMs(startMs) : startMs;
        }
        return startMs;
    }

    /** The decision time of the leases, in ledger time: the latest of all that apply; 0 if there are none. */
    long leaseTimeMs() {
        long timeMs = 0;
        for (LeasedCheck claim : leased) {
            timeMs = Math.max(timeMs, claim.decisionTimeMs());
        }
        return timeMs;
    }

    void evaluate(long nowMs, long startMs, long leaseTimeMs, PolicyStates states) {
        for (LocalCheck claim : local) {
            claim.evaluate(nowMs, startMs, states);
        }
        for (LeasedCheck claim : leased) {
            claim.evaluate(leaseTimeMs);
        }
    }

    /**
     * The first policy that sends the request to a queue, null if none does; those that throttle then cannot put it
     * off.
     */
    PolicyCheck shaping() {
        PolicyCheck shaping = null;
        for (PolicyCheck claim : all) {
            shaping = shaping == null && claim.shapes() ? claim : shaping;
        }
        for (int i = 0; shaping != null && i < local.length; i++) {
            local[i].mustStartNow();
        }
        return shaping;
    }

    /**
     * Takes note of what is wanted of the leased ones, unless the own deny it anyway.
     *
     * @return what is to be waited for, null if nothing is
     */
    AwaitLease recordDemand() {
        AwaitLease wait = null;
        boolean denied = false;
        for (PolicyCheck claim : all) {
            denied |= claim.denies() && (!claim.isShared() || claim.rejects());
        }
        for (int i = 0; i < leased.length && !denied; i++) {
            leased[i].recordDemand();
            wait = wait == null ? leased[i].awaitLease() : wait;
        }
        for (LeasedCheck claim : leased) {
            wait = claim.denies() && !claim.shouldWait() ? null : wait;
        }
        return wait;
    }

    /** Charges all, or where it is refused those that count that. Returns whether a limit was charged. */
    boolean charge(boolean refused, WritablePolicyStates states) {
        boolean charged = false;
        for (LocalCheck claim : local) {
            charged |= claim.charge(refused || claim.refuses(), states);
        }
        for (LeasedCheck claim : leased) {
            charged |= claim.charge(refused || claim.refuses());
        }
        return charged;
    }
}
