package dev.weir.decision;

import dev.weir.event.LimitOverride;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.LimitAccount;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;

/** A check against limits that are counted in the decider's own states. */
final class LocalCheck extends PolicyCheck {

    private static final long[] NO_WAITS = {};

    private final long policyMaxDelayMs;
    private final LimitOverride override;
    private PolicyState state;
    private LimitAccount<?>[] accounts;
    private int refusingBits; // one bit per limit: there are at most Policy.MAX_LIMITS
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
        this.override = request.limitOverride() != null && policy.allowsOverride() ? request.limitOverride() : null;
        this.state = policy.terms().isEmpty() ? null : states.get(key);
    }

    /** Returns the time of the request that was charged last, or {@code atMs} if that is later. */
    long notBeforeMs(long atMs) {
        return state == null ? atMs : Math.max(atMs, state.lastRequestMs());
    }

    /**
     * Returns the time of the last charge, or {@code atMs} if that is later. It is ahead of requests that were delayed.
     */
    long clockMs(long atMs) {
        return state == null ? atMs : Math.max(atMs, state.lastChargeMs());
    }

    /**
     * Checks all limits.
     *
     * @param atMs the time of the request
     * @param startMs the start of the last request that the throttling policies delayed, or {@code atMs} if that is
     *     later; a throttling policy is checked at this time
     */
    void evaluate(long atMs, long startMs, PolicyStates states) {
        nowMs = atMs;
        ownMs = clockMs(atMs);
        clockMs = throttles() ? startMs : ownMs;
        boolean isNew = state == null;
        if (isNew) {
            state = PolicyState.fresh(policy, ownMs, logId -> states.segments(key, logId));
        } else if (!state.hasLimitsOf(policy)) {
            adopted = ownMs < state.expiresAtMs() && state.isConvertedBy(policy, ownMs);
            state = state.migrateTo(policy, ownMs, logId -> states.segments(key, logId));
        }
        if (request.kind() == RequestKind.RESET && !isNew) {
            reset(states);
        }
        accounts = new LimitAccount<?>[state.accounts().size()];
        for (int i = 0; i < accounts.length; i++) {
            accounts[i] = ofRequest(state.accounts().get(i));
            setPermitted(i, request.kind().isCorrection() || accounts[i].permits(request.cost(), clockMs));
        }
    }

    /** Returns an account of the state with the request's override, if the policy allows one. */
    private LimitAccount<?> ofRequest(LimitAccount<?> account) {
        return override == null ? account : account.withTokens(override.limit(), override.windowMs());
    }

    /** Returns the accounts to store. They have the policy's limits, whatever those of the request are. */
    private LimitAccount<?>[] toStore() {
        if (override == null) {
            return accounts;
        }
        LimitAccount<?>[] stored = new LimitAccount<?>[accounts.length];
        for (int i = 0; i < stored.length; i++) {
            stored[i] = state.accounts().get(i).withUsageOf(accounts[i]);
        }
        return stored;
    }

    /** Frees the usage, including that of delayed requests which have not started yet. */
    private void reset(PolicyStates states) {
        ownMs = nowMs;
        clockMs = nowMs;
        state = state.reset(policy, nowMs, logId -> states.segments(key, logId));
        adopted = true;
    }

    private void setPermitted(int index, boolean permitted) {
        refusingBits = permitted ? refusingBits & ~(1 << index) : refusingBits | 1 << index;
    }

    /**
     * Returns how long after its clock all limits that the request fits permit it; 0 if the policy does not throttle.
     * The wait is longer after a denial was counted.
     */
    long computeWaitMs() {
        if (throttles() && !request.kind().isCorrection()) {
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

    /** Sets the delay that the throttling policies impose together. */
    void setDelayMs(long ms) {
        delayMs = ms;
    }

    /** Marks the request as going to a queue, which cannot keep a delay: it is denied if it would be delayed. */
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
        return throttles() && !request.kind().isCorrection() && (neverFits || delayMs > maxDelayMs());
    }

    @Override
    boolean isTooLate(int index) {
        return isTooLate() && (neverFits ? neverFits(index) : waitsMs[index] == waitMs());
    }

    @Override
    Long remaining(int index) {
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
        if (request.kind() == RequestKind.RESET) {
            return accounts[index];
        }
        return request.kind() == RequestKind.SETTLE
                ? accounts[index].chargeUpTo(term(index).maxUsed(), request.cost(), atMs)
                : accounts[index].charge(request.cost(), atMs);
    }

    /**
     * Charges the request, or its denial if the limits count denials. Converted accounts are also stored with a denial,
     * because the reported wait starts now, unless the old state had expired and might have been deleted. A policy that
     * counts nothing changes no stored usage. A delayed
     * request is charged at its start. Everything else is charged at the policy's own time, so that it delays nothing.
     * Limits that counted a denial are checked again, since the request may pass later than before.
     *
     * @return whether a limit was charged
     */
    @SuppressWarnings("ReferenceEquality") // an unchanged account is the same object
    boolean charge(boolean denied, WritablePolicyStates states) {
        boolean delayed = throttles() && !denied && !request.kind().isCorrection() && request.cost() > 0;
        clockMs = delayed ? nowMs + delayMs : clockMs;
        long chargedAtMs = delayed ? clockMs : ownMs;
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
            states.put(key, state.charged(nowMs, chargedAtMs, toStore()));
        }
        return charged;
    }
}
