package dev.weir.decision;

import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.LimitAccount;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;

/** The claim on limits that are counted here, in the state of one key. */
final class LocalCheck extends PolicyCheck {

    private static final long[] NO_WAITS = {};

    private final long policyMaxDelayMs;
    private PolicyState state;
    private LimitAccount<?>[] accounts;
    private int refusingBits; // a bit for each limit: there are at most Policy.MAX_LIMITS
    private long[] waitsMs = NO_WAITS;
    private boolean neverFits;
    private boolean adopted;
    private long nowMs;
    private long ownMs;
    private long clockMs;
    private long delayMs;
    private boolean mustStartNow;

    LocalCheck(Policy policy, Request request, PolicyStates states) {
        super(policy, request);
        this.policyMaxDelayMs = policy.onExceed() instanceof OnExceed.Throttle throttle ? throttle.maxDelayMs() : 0;
        this.state = policy.terms().isEmpty() ? null : states.get(key);
    }

    /** When the request came that was charged last, or {@code atMs} if that is later. */
    long notBeforeMs(long atMs) {
        return state == null ? atMs : Math.max(atMs, state.lastRequestMs());
    }

    /** The time that its limits have come to, or {@code atMs} if that is later: ahead, where something was put off. */
    long clockMs(long atMs) {
        return state == null ? atMs : Math.max(atMs, state.lastChargeMs());
    }

    /**
     * Asks every limit.
     *
     * @param atMs the time of the request
     * @param startMs the time to which those that throttle have come together, which it is asked at if it is one
     */
    void evaluate(long atMs, long startMs, PolicyStates states) {
        nowMs = atMs;
        ownMs = clockMs(atMs);
        clockMs = throttles() ? startMs : ownMs;
        if (state == null) {
            state = PolicyState.fresh(policy, ownMs, shelf -> states.segments(key, shelf));
        } else if (!state.hasLimitsOf(policy)) {
            adopted = ownMs < state.expiresAtMs();
            state = state.migrateTo(policy, ownMs, shelf -> states.segments(key, shelf));
        }
        accounts = new LimitAccount<?>[state.accounts().size()];
        for (int i = 0; i < accounts.length; i++) {
            accounts[i] = state.accounts().get(i);
            setPermitted(i, request.kind() == RequestKind.SETTLE || accounts[i].permits(request.cost(), clockMs));
        }
    }

    private void setPermitted(int index, boolean permitted) {
        refusingBits = permitted ? refusingBits & ~(1 << index) : refusingBits | 1 << index;
    }

    /**
     * If the policy throttles: returns, from its clock on, how long until every limit that the request fits permits it.
     * Longer once a denial was counted.
     */
    long computeWaitMs() {
        if (throttles() && request.kind() != RequestKind.SETTLE) {
            waitsMs = new long[accounts.length];
            neverFits = false;
            for (int i = 0; i < accounts.length; i++) {
                if (neverFits(i)) {
                    neverFits = true;
                } else if (!accounts[i].permits(request.cost(), clockMs)) {
                    waitsMs[i] = accounts[i].waitMs(request.cost(), clockMs);
                }
            }
        }
        return waitMs();
    }

    private long waitMs() {
        long longestMs = 0;
        for (long waitMs : waitsMs) {
            longestMs = Math.max(longestMs, waitMs);
        }
        return longestMs;
    }

    @Override
    long waitMs(int index) {
        return waitsMs[index];
    }

    /** Takes note of by how long the policies that throttle put the request off together. */
    void setDelayMs(long ms) {
        delayMs = ms;
    }

    /** Takes note that the request goes to a queue, which keeps no delay: it is denied if it would be put off. */
    void mustStartNow() {
        mustStartNow = true;
    }

    private long maxDelayMs() {
        return mustStartNow ? 0 : policyMaxDelayMs;
    }

    @Override
    boolean isShared() {
        return false;
    }

    @Override
    boolean exceeds() {
        return refusingBits != 0;
    }

    @Override
    boolean exceeds(int index) {
        return (refusingBits & 1 << index) != 0;
    }

    @Override
    boolean mayBind(int index) {
        return true;
    }

    @Override
    boolean isTooLate() {
        return throttles() && request.kind() != RequestKind.SETTLE && (neverFits || delayMs > maxDelayMs());
    }

    @Override
    boolean isTooLate(int index) {
        return isTooLate() && (neverFits ? neverFits(index) : waitsMs[index] == waitMs());
    }

    @Override
    long remaining(int index) {
        return throttles() && clockMs > nowMs ? 0 : accounts[index].remaining(clockMs);
    }

    @Override
    Long resetAfterMs(int index) {
        return accounts[index].resetAfterMs(clockMs) + clockMs - nowMs;
    }

    @Override
    long retryAfterMs(int index) {
        return throttles() ? delayMs - maxDelayMs() : accounts[index].waitMs(request.cost(), clockMs) + clockMs - nowMs;
    }

    @Override
    long clockMs() {
        return clockMs;
    }

    private LimitAccount<?> charged(int index, boolean denied, long atMs) {
        if (denied) {
            return accounts[index].chargeDenied(request.cost(), atMs);
        }
        return request.kind() == RequestKind.SETTLE
                ? accounts[index].chargeUpTo(term(index).maxUsed(), request.cost(), atMs)
                : accounts[index].charge(request.cost(), atMs);
    }

    /**
     * Charges what is to be charged. Changed terms are written with a denial too, since the wait that it tells begins
     * now; but not by a state that says nothing any more, as that may have been forgotten. What is put off is charged
     * at the moment to which it is; all else at the policy's own time, so that it puts nothing off. Limits that counted
     * a denial are asked again: it may pass later now.
     *
     * @return whether a limit was charged
     */
    @SuppressWarnings("ReferenceEquality") // an account that did not change is the same one
    boolean charge(boolean denied, WritablePolicyStates states) {
        boolean putOff = throttles() && !denied && request.kind() != RequestKind.SETTLE && request.cost() > 0;
        clockMs = putOff ? nowMs + delayMs : clockMs;
        long chargedAtMs = putOff ? clockMs : ownMs;
        boolean charged = false;
        for (int i = 0; i < accounts.length; i++) {
            LimitAccount<?> before = accounts[i];
            if (!denied || (!rejects() && before.limit().countDenied())) {
                accounts[i] = charged(i, denied, chargedAtMs);
            }
            if (accounts[i] != before) {
                charged = true;
                if (denied) {
                    setPermitted(i, accounts[i].permits(request.cost(), clockMs));
                }
            }
        }
        if (charged || adopted) {
            states.put(key, state.charged(nowMs, chargedAtMs, accounts));
        }
        return charged;
    }
}
