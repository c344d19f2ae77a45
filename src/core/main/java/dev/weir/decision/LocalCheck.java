package dev.weir.decision;

import dev.weir.event.LimitOverride;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.Unlimited;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;

/** A check against limits that are counted in the decider's own states. */
final class LocalCheck extends PolicyCheck {

    private final long policyMaxDelayMs;
    private final LimitOverride override;
    private final PolicyState stored;
    private PolicyState state;
    private LimitAccount<?>[] accounts;
    private int refusingBits; // one bit per limit: there are at most Policy.MAX_LIMITS
    private ThrottleWaits waits = ThrottleWaits.NONE;
    private boolean adopted;
    private boolean isScratch;
    private long nowMs;
    private long ownMs;
    private long clockMs;
    private long delayMs;
    private boolean mustStartNow;

    LocalCheck(Policy policy, Request request, PolicyStates states) {
        super(policy, request);
        this.policyMaxDelayMs = policy.onExceed() instanceof OnExceed.Throttle throttle ? throttle.maxDelayMs() : 0;
        this.override = request.limitOverride() != null && policy.allowsOverride() ? request.limitOverride() : null;
        this.stored = policy.terms().isEmpty() ? null : states.get(key);
    }

    /** Returns the time of the request that was charged last, or {@code atMs} if that is later. */
    long notBeforeMs(long atMs) {
        return stored == null ? atMs : Math.max(atMs, stored.lastRequestMs());
    }

    /**
     * Returns the time of the last charge, or {@code atMs} if that is later. For a policy that throttles, it is ahead
     * of requests that were delayed.
     */
    long clockMs(long atMs) {
        return stored == null ? atMs : Math.max(atMs, throttles() ? stored.lastStartMs() : stored.lastChargeMs());
    }

    /**
     * Checks all limits.
     *
     * @param atMs the time of the request; a policy that observes goes by its own time, if that is later
     * @param startMs for a policy that throttles: the start of the last request that such policies delayed, or
     *     {@code atMs} if that is later; for others: the start of this request
     */
    void evaluate(long atMs, long startMs, PolicyStates states) {
        nowMs = observes() ? notBeforeMs(atMs) : atMs;
        ownMs = clockMs(nowMs);
        clockMs = throttles() ? startMs : Math.max(startMs, ownMs);
        load(states, true);
        for (int i = 0; i < accounts.length; i++) {
            boolean isFull = lacksRoomForDelay() && !(term(i).limit() instanceof Unlimited);
            setPermitted(i, request.kind().isCorrection() || (!isFull && permits(i)));
        }
    }

    /**
     * Reads the state at the policy's own time.
     *
     * @param isTrial whether nothing may be written yet
     */
    private void load(PolicyStates states, boolean isTrial) {
        if (stored == null) {
            state = PolicyState.fresh(policy, ownMs, logId -> states.segments(key, logId));
        } else {
            isScratch = isTrial && stored.hasStartedBy(ownMs);
            state = isScratch ? stored.scratch() : stored;
            state = state.hasStartedBy(ownMs) ? state.startedBy(ownMs) : state;
            state = state.withoutExpiredSteps(ownMs);
            if (!state.hasLimitsOf(policy)) {
                adopted = ownMs < stored.expiresAtMs() && state.isConvertedBy(policy, ownMs);
                state = state.migrateTo(policy, ownMs, logId -> states.segments(key, logId));
            }
        }
        if (request.kind() == RequestKind.RESET && stored != null) {
            reset(states);
        }
        accounts = new LimitAccount<?>[state.accounts().size()];
        for (int i = 0; i < accounts.length; i++) {
            accounts[i] = ofRequest(state.accounts().get(i));
        }
    }

    private boolean permits(int index) {
        return state.delayed().isEmpty()
                ? accounts[index].permits(request.cost(), clockMs)
                : timeline(index).permits(request.cost(), clockMs);
    }

    private LimitTimeline timeline(int index) {
        return new LimitTimeline(state.accounts().get(index), state.delayedOf(index), override);
    }

    /** Returns whether another policy delays the request, so that this one charges it later. */
    private boolean isDelayedByOther() {
        return !throttles() && takes() && clockMs > ownMs;
    }

    private boolean lacksRoomForDelay() {
        return isDelayedByOther() && state.delayed().size() >= PolicyState.MAX_DELAYED;
    }

    /** Returns whether the request takes tokens, so that it can be delayed. */
    boolean takes() {
        return !request.kind().isCorrection() && request.cost() > 0;
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
        LimitAccount<?>[] toStore = new LimitAccount<?>[accounts.length];
        for (int i = 0; i < toStore.length; i++) {
            toStore[i] = state.accounts().get(i).withUsageOf(accounts[i]);
        }
        return toStore;
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
            waits = ThrottleWaits.of(accounts, request.cost(), clockMs);
        }
        return waits.longestMs();
    }

    @Override
    long waitMs(int index) {
        return waits.ms(index);
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
        return throttles() && !request.kind().isCorrection() && (waits.neverFits() || delayMs > maxDelayMs());
    }

    @Override
    boolean isTooLate(int index) {
        return isTooLate() && (waits.neverFits() ? neverFits(index) : waits.ms(index) == waits.longestMs());
    }

    @Override
    Long remaining(int index) {
        if (throttles() && clockMs > nowMs) {
            return 0L;
        }
        return state.delayed().isEmpty()
                ? accounts[index].remaining(clockMs)
                : timeline(index).remaining(clockMs);
    }

    @Override
    Long resetAfterMs(int index) {
        return state.delayed().isEmpty()
                ? accounts[index].resetAfterMs(clockMs) + clockMs - nowMs
                : timeline(index).resetAtMs(clockMs) - nowMs;
    }

    @Override
    long retryAfterMs(int index) {
        if (throttles()) {
            return Math.max(0, delayMs - maxDelayMs());
        }
        if (lacksRoomForDelay()) {
            return state.delayed().get(0).startMs() - nowMs;
        }
        return nextPermittedMs(index, clockMs) - nowMs;
    }

    private long nextPermittedMs(int index, long fromMs) {
        return state.delayed().isEmpty()
                ? accounts[index].waitMs(request.cost(), fromMs) + fromMs
                : timeline(index).nextPermittedMs(request.cost(), fromMs);
    }

    /**
     * Returns the first time from {@code fromMs} on at which all limits of a policy that does not throttle permit the
     * request, as far as it fits them.
     */
    long nextPermittedMs(long fromMs) {
        long atMs = Math.max(fromMs, ownMs);
        for (int i = 0; i < accounts.length; i++) {
            atMs = neverFits(i) ? atMs : Math.max(atMs, nextPermittedMs(i, atMs));
        }
        return atMs;
    }

    /** Returns whether delayed requests of other policies have yet to start, between which this one could pass. */
    boolean hasDelayed() {
        return !state.delayed().isEmpty();
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
     * counts nothing changes no stored usage. A delayed request is charged at its start: a policy that throttles
     * advances its time to it, another one stores the charge. Everything else is charged at the policy's own time, so
     * that it delays nothing. Limits that counted a denial are checked again, since the request may pass later than
     * before.
     *
     * @return whether a limit was charged
     */
    @SuppressWarnings("ReferenceEquality") // an unchanged account is the same object
    boolean charge(boolean denied, WritablePolicyStates states) {
        boolean delayed = throttles() && !denied && takes();
        clockMs = delayed ? nowMs + delayMs : clockMs;
        long chargedAtMs = delayed ? clockMs : ownMs;
        if (isScratch) {
            if (!adopted && !isChangedBy(denied, chargedAtMs)) {
                return false; // charges of delayed requests would be written to the segments, but not to the state
            }
            load(states, false);
        }
        boolean charged = !denied && isDelayedByOther() && chargeAtStart();
        for (int i = 0; i < accounts.length && (denied || !isDelayedByOther()); i++) {
            LimitAccount<?> before = accounts[i];
            if (!denied || (!rejects() && before.limit().countDenied())) {
                accounts[i] = charged(i, denied, chargedAtMs);
            }
            if (accounts[i] != before) {
                charged = true;
            }
        }
        if (charged || adopted) {
            state = state.charged(nowMs, chargedAtMs, toStore());
            states.put(key, state);
        }
        for (int i = 0; charged && denied && i < accounts.length; i++) {
            setPermitted(i, !lacksRoomForDelay() && permits(i));
        }
        return charged;
    }

    /** Returns whether a charge changes anything, by trying it on accounts that are only a copy. */
    @SuppressWarnings("ReferenceEquality") // an unchanged account is the same object
    private boolean isChangedBy(boolean denied, long atMs) {
        if (!denied && isDelayedByOther()) {
            return countsAnything();
        }
        for (int i = 0; i < accounts.length; i++) {
            boolean isCharged = !denied || (!rejects() && accounts[i].limit().countDenied());
            if (isCharged && charged(i, denied, atMs) != accounts[i]) {
                return true;
            }
        }
        return false;
    }

    /** Stores the charge for the start of the request. Returns false if no limit counts anything. */
    private boolean chargeAtStart() {
        boolean counts = countsAnything();
        if (counts) {
            state = state.withDelayed(clockMs, request.cost(), override);
        }
        return counts;
    }

    private boolean countsAnything() {
        boolean counts = false;
        for (LimitAccount<?> account : accounts) {
            counts |= !(account.limit() instanceof Unlimited);
        }
        return counts;
    }
}
