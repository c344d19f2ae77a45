package dev.weir.policy;

import dev.weir.limit.Account;

/** What one policy has to say about one request: asked once, then charged or left as it was. */
final class Ledger {

    /** What it means if the policy does not permit the request. */
    private enum Role {
        ENFORCES,
        THROTTLES,
        OBSERVES,
        SHAPES
    }

    private final Policy policy;
    private final Request request;
    private final StateKey key;
    private final boolean tooLarge;
    private final OnExceed.Throttle throttle; // null if it does not
    private final Role role;
    private PolicyState state;
    private Account<?>[] accounts;
    private int refusing; // a bit for each limit: there are at most Policy.MAX_LIMITS
    private long[] waitsMs; // null unless it throttles
    private boolean adopted;
    private long nowMs;
    private long ownMs;
    private long clockMs;
    private long delayMs;

    Ledger(Policy policy, Request request, States states) {
        this.policy = policy;
        this.request = request;
        this.key = policy.stateKey(request);
        this.tooLarge = policy.isTooLarge(request) && request.kind() != Kind.SETTLE;
        this.throttle = policy.onExceed() instanceof OnExceed.Throttle throttles ? throttles : null;
        this.role = role();
        this.state = policy.terms().isEmpty() ? null : states.get(key);
    }

    Policy policy() {
        return policy;
    }

    /** Whether its time runs ahead of the requests', at the moments to which it puts them off. */
    boolean throttles() {
        return throttle != null;
    }

    /** When the request came that was charged last, or {@code atMs} if that is later. */
    long notBeforeMs(long atMs) {
        return state == null ? atMs : Math.max(atMs, state.requestedMs());
    }

    /** The time that its limits have come to, or {@code atMs} if that is later: ahead, where something was put off. */
    long clockMs(long atMs) {
        return state == null ? atMs : Math.max(atMs, state.lastMs());
    }

    /**
     * Asks every limit.
     *
     * @param atMs the time of the request
     * @param startMs the time to which those that throttle have come together, which it is asked at if it is one
     */
    void ask(long atMs, long startMs, States states) {
        nowMs = atMs;
        ownMs = clockMs(atMs);
        clockMs = throttles() ? startMs : ownMs;
        adopted = state != null && !state.fits(policy);
        if (state == null) {
            state = PolicyState.fresh(policy, ownMs, shelf -> states.segments(key, shelf));
        } else if (adopted) {
            state = state.under(policy, ownMs, shelf -> states.segments(key, shelf));
        }
        accounts = new Account<?>[state.accounts().size()];
        for (int i = 0; i < accounts.length; i++) {
            accounts[i] = state.accounts().get(i);
            note(i, request.kind() == Kind.SETTLE || accounts[i].permits(request.cost(), clockMs));
        }
    }

    private void note(int index, boolean permitted) {
        refusing = permitted ? refusing & ~(1 << index) : refusing | 1 << index;
    }

    /**
     * If it throttles: from its clock on, how long until every limit permits; {@link Long#MAX_VALUE} for never. Longer
     * once a denial was counted.
     */
    long askWaitMs() {
        if (throttles() && request.kind() != Kind.SETTLE) {
            waitsMs = new long[accounts.length];
            for (int i = 0; i < accounts.length; i++) {
                waitsMs[i] =
                        accounts[i].permits(request.cost(), clockMs) ? 0 : accounts[i].waitMs(request.cost(), clockMs);
            }
        }
        return waitMs();
    }

    private long waitMs() {
        long longestMs = 0;
        for (int i = 0; waitsMs != null && i < waitsMs.length; i++) {
            longestMs = Math.max(longestMs, waitsMs[i]);
        }
        return longestMs;
    }

    /** As {@link #askWaitMs}, of one limit, as it was asked last. */
    long waitMs(int index) {
        return waitsMs[index];
    }

    /** Takes note of by how long the policies that throttle put the request off together. */
    void putOff(long ms) {
        delayMs = ms;
    }

    private Role role() {
        if (policy.observes()) {
            return Role.OBSERVES;
        }
        return tooLarge ? Role.ENFORCES : throttles() ? Role.THROTTLES : policy.shapes() ? Role.SHAPES : Role.ENFORCES;
    }

    boolean observes() {
        return role == Role.OBSERVES;
    }

    boolean isTooLarge() {
        return tooLarge;
    }

    /** Whether it sends the request to its queue. */
    boolean shapes() {
        return role == Role.SHAPES
                && request.kind() != Kind.SETTLE
                && (refuses() || policy.terms().isEmpty());
    }

    /** Whether it lets the request be denied. */
    boolean denies() {
        return refuses() && (role == Role.ENFORCES || role == Role.THROTTLES);
    }

    /** Whether its size, a limit or the delay does not permit the request. */
    boolean refuses() {
        return role == Role.THROTTLES ? tooLate() : refusing != 0 || tooLarge;
    }

    private boolean tooLate() {
        return throttle != null && request.kind() != Kind.SETTLE && delayMs > throttle.maxDelayMs();
    }

    int size() {
        return accounts.length;
    }

    /** Whether one limit is why the policy {@linkplain #refuses refuses}. */
    boolean refuses(int index) {
        return role == Role.THROTTLES ? tooLate() && waitsMs[index] == waitMs() : (refusing & 1 << index) != 0;
    }

    /** What can be had of one limit now, once it was charged or left as it was; nothing before what was put off. */
    long remaining(int index) {
        return throttles() && clockMs > nowMs ? 0 : accounts[index].remaining(clockMs);
    }

    /** From the request's time on, when the whole of one limit is free again. */
    long resetAfterMs(int index) {
        return accounts[index].resetAfterMs(clockMs) + clockMs - nowMs;
    }

    /** From the request's time on, when one limit that refuses permits it; {@link Long#MAX_VALUE} for never. */
    long retryAfterMs(int index) {
        Account<?> account = accounts[index];
        if (request.cost() > account.limit().capacity()) {
            return Long.MAX_VALUE;
        }
        return throttles()
                ? delayMs - throttle.maxDelayMs()
                : account.waitMs(request.cost(), clockMs) + clockMs - nowMs;
    }

    /** The terms of one limit. */
    Policy.Term term(int index) {
        return policy.terms().get(index);
    }

    /** The time that it is asked at, or to which the request was put off. */
    long clockMs() {
        return clockMs;
    }

    /**
     * Charges what is to be charged. Changed terms are written with a denial too: the wait that it tells begins now. What
     * is put off is charged at the moment to which it is; all else at the policy's own time, so that it puts nothing off.
     * Limits that counted a denial are asked again: it may pass later now.
     *
     * @return whether a limit was charged
     */
    @SuppressWarnings("ReferenceEquality") // an account that did not change is the same one
    boolean charge(boolean denied, States states) {
        boolean putOff = throttles() && !denied && request.kind() != Kind.SETTLE && request.cost() > 0;
        clockMs = putOff ? nowMs + delayMs : clockMs;
        long chargedAtMs = putOff ? clockMs : ownMs;
        boolean charged = false;
        for (int i = 0; i < accounts.length; i++) {
            Account<?> before = accounts[i];
            if (!denied || (!tooLarge && before.limit().countDenied())) {
                accounts[i] = before.charge(request.cost(), chargedAtMs);
            }
            if (accounts[i] != before) {
                charged = true;
                if (denied) {
                    note(i, accounts[i].permits(request.cost(), clockMs));
                }
            }
        }
        if (charged || adopted) {
            states.put(key, state.charged(nowMs, chargedAtMs, accounts));
        }
        return charged;
    }
}
