package dev.weir.policy;

import java.util.ArrayList;
import java.util.List;

/**
 * What all policies that apply to a request have to say about it.
 *
 * @param all by layer
 * @param own those of them whose limits are counted here
 * @param leased the others, whose limits are asked by what is held of them
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record Claims(Claim[] all, OwnClaim[] own, LeasedClaim[] leased) {

    private static final LeasedClaim[] NONE = {};

    static Claims of(Request request, Policy[] policies, PolicyStates states, QuotaSource shared) {
        boolean isAnyLeased = false;
        for (Policy policy : policies) {
            isAnyLeased |= shared.isLeased(policy);
        }
        return isAnyLeased ? mixed(request, policies, states, shared) : own(request, policies, states);
    }

    private static Claims own(Request request, Policy[] policies, PolicyStates states) {
        OwnClaim[] own = new OwnClaim[policies.length];
        for (int i = 0; i < own.length; i++) {
            own[i] = new OwnClaim(policies[i], request, states);
        }
        return new Claims(own, own, NONE);
    }

    private static Claims mixed(Request request, Policy[] policies, PolicyStates states, QuotaSource shared) {
        Claim[] all = new Claim[policies.length];
        List<OwnClaim> own = new ArrayList<>();
        List<LeasedClaim> leased = new ArrayList<>();
        for (int i = 0; i < all.length; i++) {
            if (shared instanceof LeaseContext context && context.isLeased(policies[i])) {
                LeasedClaim claim = new LeasedClaim(policies[i], request, context);
                leased.add(claim);
                all[i] = claim;
            } else {
                OwnClaim claim = new OwnClaim(policies[i], request, states);
                own.add(claim);
                all[i] = claim;
            }
        }
        return new Claims(all, own.toArray(OwnClaim[]::new), leased.toArray(LeasedClaim[]::new));
    }

    /** When the latest request came that one of the own was charged for, or {@code atMs} if that is later. */
    long notBeforeMs(long atMs) {
        long nowMs = atMs;
        for (OwnClaim claim : own) {
            nowMs = claim.notBeforeMs(nowMs);
        }
        return nowMs;
    }

    /** The time to which those that throttle have come together, or {@code nowMs} if that is later. */
    long startMs(long nowMs) {
        long startMs = nowMs;
        for (OwnClaim claim : own) {
            startMs = claim.throttles() ? claim.clockMs(startMs) : startMs;
        }
        return startMs;
    }

    /** The decision time of the leases, in ledger time: the latest of all that apply; 0 if there are none. */
    long leaseTimeMs() {
        long timeMs = 0;
        for (LeasedClaim claim : leased) {
            timeMs = Math.max(timeMs, claim.timeMs());
        }
        return timeMs;
    }

    void ask(long nowMs, long startMs, long leaseTimeMs, PolicyStates states) {
        for (OwnClaim claim : own) {
            claim.ask(nowMs, startMs, states);
        }
        for (LeasedClaim claim : leased) {
            claim.ask(leaseTimeMs);
        }
    }

    /** The first policy that sends the request to a queue, null if none does; those that throttle then cannot put it off. */
    Claim shaping() {
        Claim shaping = null;
        for (Claim claim : all) {
            shaping = shaping == null && claim.shapes() ? claim : shaping;
        }
        for (int i = 0; shaping != null && i < own.length; i++) {
            own[i].mustStartNow();
        }
        return shaping;
    }

    /**
     * Takes note of what is wanted of the leased ones, unless the own deny it anyway.
     *
     * @return what is to be waited for, null if nothing is
     */
    Wait want() {
        Wait wait = null;
        boolean denied = false;
        for (Claim claim : all) {
            denied |= claim.denies() && (!claim.isShared() || claim.rejects());
        }
        for (int i = 0; i < leased.length && !denied; i++) {
            leased[i].want();
            wait = wait == null ? leased[i].toWait() : wait;
        }
        for (LeasedClaim claim : leased) {
            wait = claim.denies() && !claim.isToWait() ? null : wait;
        }
        return wait;
    }

    /** Charges all, or where it is refused those that count that. Returns whether a limit was charged. */
    boolean charge(boolean refused, WritablePolicyStates states) {
        boolean charged = false;
        for (OwnClaim claim : own) {
            charged |= claim.charge(refused || claim.refuses(), states);
        }
        for (LeasedClaim claim : leased) {
            charged |= claim.charge(refused || claim.refuses());
        }
        return charged;
    }
}
