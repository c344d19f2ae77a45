package dev.weir.policy;

import dev.weir.lease.Book;
import dev.weir.lease.LeaseTerms;

/** The claim on limits that are shared, by the slices that are held of them: they are used together. */
final class LeasedClaim extends Claim {

    private final Holdings holdings;
    private final boolean isFirst;
    private final boolean mayWait;
    private final LeaseTerms terms;
    private final int tightest;
    private Book book;
    private long nowMs;
    private boolean exceeds;
    private boolean standsBehind;

    LeasedClaim(Policy policy, Request request, Turn turn) {
        super(policy, request);
        holdings = turn.holdings();
        isFirst = turn.isFirst();
        mayWait = turn.mayWait() && request.kind() == Kind.CONSUME;
        terms = holdings.terms(key);
        tightest = tightest(policy);
        Book held = holdings.book(key);
        book = held == null ? Book.empty(turn.nowMs()) : held;
    }

    /** Of the limits, which are lent together, the one that gives least at once. */
    private static int tightest(Policy policy) {
        int tightest = 0;
        for (int i = 1; i < policy.terms().size(); i++) {
            boolean isTighter = capacity(policy, i) < capacity(policy, tightest);
            tightest = isTighter ? i : tightest;
        }
        return tightest;
    }

    private static long capacity(Policy policy, int index) {
        return policy.terms().get(index).limit().capacity();
    }

    /** The time that its decisions have come to, or {@code atMs} if that is later. */
    long notBeforeMs(long atMs) {
        return book.timeMs(atMs);
    }

    /** Asks what is held at a time that is {@linkplain #notBeforeMs not before} its own. */
    void ask(long atMs) {
        nowMs = atMs;
        boolean takes = request.kind() != Kind.SETTLE && request.cost() > 0;
        standsBehind = takes && isFirst && mayWait && holdings.isAwaited(key);
        exceeds = takes && (standsBehind || request.cost() > book.available(terms, nowMs));
    }

    /** Whether the request may be permitted if it waits. */
    boolean isToWait() {
        return exceeds
                && mayWait
                && !observes()
                && !neverFits()
                && policy.sharing().maxWaitMs() > 0
                && (standsBehind || book.mayCome(request.cost(), terms, nowMs));
    }

    /** What it is to wait for, null if it {@linkplain #isToWait is not}. */
    Wait toWait() {
        return isToWait() ? new Wait(key, policy.sharing().maxWaitMs()) : null;
    }

    private boolean neverFits() {
        return request.cost() > capacity(policy, tightest);
    }

    /** Takes note of what is wanted, once for each request. */
    void want() {
        if (isFirst && request.kind() == Kind.CONSUME && request.cost() > 0 && !neverFits()) {
            book = book.wanted(request.cost(), nowMs);
            holdings.put(key, book);
            if (exceeds) {
                holdings.miss(key, request.cost());
            }
        }
    }

    /** Uses what is held, unless the request is denied. */
    boolean charge(boolean denied) {
        if (denied || request.cost() == 0) {
            return false;
        }
        book = request.kind() == Kind.SETTLE
                ? book.settle(request.cost(), terms, nowMs)
                : book.take(request.cost(), terms, nowMs);
        holdings.put(key, book);
        return true;
    }

    @Override
    boolean isShared() {
        return true;
    }

    @Override
    boolean exceeds() {
        return exceeds;
    }

    @Override
    boolean exceeds(int index) {
        return exceeds && (neverFits() ? request.cost() > capacity(policy, index) : index == tightest);
    }

    @Override
    boolean isTooLate() {
        return false;
    }

    @Override
    boolean isTooLate(int index) {
        return false;
    }

    @Override
    long clockMs() {
        return nowMs;
    }

    /** What is at hand, which may be less than what is left of the limit. */
    @Override
    long remaining(int index) {
        return book.available(terms, nowMs);
    }

    @Override
    Long resetAfterMs(int index) {
        return null;
    }

    @Override
    long retryAfterMs(int index) {
        return neverFits() ? Long.MAX_VALUE : Math.max(1, book.question().retryAtMs() - nowMs);
    }

    @Override
    long waitMs(int index) {
        return 0;
    }
}
