package dev.weir.policy;

import dev.weir.limit.Account;

/** What one policy has to say about one request: asked once, then charged or left as it was. */
final class Ledger {

    /** What it means if the policy does not permit the request. */
    enum Role {
        ENFORCES,
        OBSERVES,
        SHAPES
    }

    private final Policy policy;
    private final Request request;
    private final StateKey key;
    private final boolean tooLarge;
    private PolicyState state;
    private Account<?>[] accounts;
    private boolean[] permits;
    private boolean adopted;

    Ledger(Policy policy, Request request, States states) {
        this.policy = policy;
        this.request = request;
        this.key = policy.stateKey(request);
        this.tooLarge = policy.isTooLarge(request) && request.kind() != Kind.SETTLE;
        this.state = policy.terms().isEmpty() ? null : states.get(key);
    }

    Policy policy() {
        return policy;
    }

    Request request() {
        return request;
    }

    /** The time that its state has come to, or {@code nowMs} if that is later. */
    long notBeforeMs(long nowMs) {
        return state == null ? nowMs : Math.max(nowMs, state.lastMs());
    }

    /** Asks every limit. */
    void ask(long nowMs, States states) {
        adopted = state != null && !state.fits(policy);
        state = state == null
                ? PolicyState.fresh(policy, nowMs, shelf -> states.segments(key, shelf))
                : state.under(policy, nowMs, shelf -> states.segments(key, shelf));
        accounts = state.accounts().toArray(Account<?>[]::new);
        permits = new boolean[accounts.length];
        for (int i = 0; i < accounts.length; i++) {
            permits[i] = request.kind() == Kind.SETTLE || accounts[i].permits(request.cost(), nowMs);
        }
    }

    Role role() {
        return policy.observes() ? Role.OBSERVES : policy.shapes() && !tooLarge ? Role.SHAPES : Role.ENFORCES;
    }

    boolean isTooLarge() {
        return tooLarge;
    }

    /** Whether it sends the request to its queue. */
    boolean shapes() {
        return role() == Role.SHAPES
                && request.kind() != Kind.SETTLE
                && (refuses() || policy.terms().isEmpty());
    }

    /** Whether its size or a limit does not permit the request. */
    boolean refuses() {
        for (boolean permit : permits) {
            if (!permit) {
                return true;
            }
        }
        return tooLarge;
    }

    int size() {
        return accounts.length;
    }

    Account<?> account(int index) {
        return accounts[index];
    }

    boolean permits(int index) {
        return permits[index];
    }

    /** Changed terms are written with a denial too: the wait that it tells begins now. */
    @SuppressWarnings("ReferenceEquality") // an account that did not change is the same one
    void charge(long nowMs, boolean denied, States states) {
        boolean changed = adopted;
        for (int i = 0; i < accounts.length; i++) {
            if (!denied || (!tooLarge && accounts[i].limit().countDenied())) {
                Account<?> before = accounts[i];
                accounts[i] = before.charge(request.cost(), nowMs);
                changed |= accounts[i] != before;
            }
        }
        if (changed) {
            states.put(key, state.charged(nowMs, accounts));
        }
    }
}
