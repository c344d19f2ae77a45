package dev.weir.limit;

/** A mutable account that can be copied, with its segments, for experiments. */
final class TrialAccount<S> {

    private LimitAccount<S> account;
    private final MapSegments segments;

    private TrialAccount(LimitAccount<S> account, MapSegments segments) {
        this.account = account;
        this.segments = segments;
    }

    static <S> TrialAccount<S> open(Limit<S> limit, long nowMs) {
        MapSegments segments = new MapSegments();
        return new TrialAccount<>(LimitAccount.open(limit, nowMs), segments);
    }

    TrialAccount<S> copy() {
        MapSegments copy = new MapSegments(segments);
        return new TrialAccount<>(reading(account, copy), copy);
    }

    /** Returns a copy of this account under other terms. */
    <T> TrialAccount<T> under(Limit<T> terms, long nowMs) {
        MapSegments copy = new MapSegments(segments);
        return new TrialAccount<>(stored(reading(account, copy).migrateTo(terms, nowMs), copy), copy);
    }

    @SuppressWarnings("unchecked") // an account whose state has segments has a limit for them
    private static <S> LimitAccount<S> reading(LimitAccount<S> account, MapSegments segments) {
        return account.state() instanceof SegmentedState log
                ? new LimitAccount<>(account.limit(), (S) log.stored(segments))
                : account;
    }

    @SuppressWarnings("unchecked") // an account whose state has segments has a limit for them
    private static <S> LimitAccount<S> stored(LimitAccount<S> account, MapSegments segments) {
        return account.state() instanceof SegmentedState log && !log.isStored()
                ? new LimitAccount<>(account.limit(), (S) segments.store(log))
                : account;
    }

    Limit<S> limit() {
        return account.limit();
    }

    S state() {
        return account.state();
    }

    LimitAccount<S> account() {
        return account;
    }

    MapSegments segments() {
        return segments;
    }

    long capacity() {
        return limit().capacity();
    }

    long available(long nowMs) {
        return limit().available(state(), nowMs);
    }

    /** Returns the available tokens, not below zero. */
    long remaining(long nowMs) {
        return Math.max(0, available(nowMs));
    }

    long used(long nowMs) {
        return account.used(nowMs);
    }

    boolean permits(long cost, long nowMs) {
        return account.permits(cost, nowMs);
    }

    long waitMs(long cost, long nowMs) {
        return limit().waitMs(state(), cost, nowMs);
    }

    long expiresAtMs(long nowMs) {
        return account.expiresAtMs(nowMs);
    }

    TrialAccount<S> charge(long cost, long nowMs) {
        account = stored(account.charge(cost, nowMs), segments);
        return this;
    }

    TrialAccount<S> chargeReserved(Charge charge) {
        account = stored(account.chargeReserved(charge), segments);
        return this;
    }

    TrialAccount<S> settle(Charge charge, long actualCost, long mostUsed, long nowMs) {
        account = stored(account.settled(charge, actualCost, mostUsed, nowMs), segments);
        return this;
    }

    TrialAccount<S> forget(Charge charge) {
        account = stored(account.forgotten(charge), segments);
        return this;
    }

    /** Charges like a decision: if the request is permitted, or if the limit counts denied requests. */
    boolean request(long cost, long nowMs) {
        boolean permitted = permits(cost, nowMs);
        if (permitted) {
            charge(cost, nowMs);
        } else if (limit().countDenied()) {
            account = stored(account.chargeDenied(cost, nowMs), segments);
        }
        return permitted;
    }

    @Override
    public String toString() {
        return account.toString();
    }
}
