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
        tightest = policy.tightest();
        Book held = holdings.book(key);
        book = held == null ? Book.empty(turn.nowMs()) : held;
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

    private long capacity(int index) {
        return term(index).limit().capacity();
    }

    private boolean neverFits() {
        return request.cost() > capacity(tightest);
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
        return exceeds && (neverFits() ? request.cost() > capacity(index) : index == tightest);
    }

    @Override
    boolean mayBind(int index) {
        return index == tightest;
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
        if (neverFits()) {
            return Long.MAX_VALUE;
        }
        Book.Question question = book.question();
        boolean isTold = question.retryAtMs() < Long.MAX_VALUE; // or else the ledger knows another limit so far
        return Math.max(1, (isTold ? question.retryAtMs() : question.againAtMs(terms)) - nowMs);
    }

    @Override
    long waitMs(int index) {
        return 0;
    }
}
