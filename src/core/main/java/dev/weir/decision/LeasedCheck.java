package dev.weir.decision;

import dev.weir.event.AwaitLease;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.lease.LeaseBook;
import dev.weir.lease.LeaseTerms;
import dev.weir.policy.Policy;

/** A check against shared limits by the leases held of them. A lease covers all limits of the policy together. */
final class LeasedCheck extends PolicyCheck {

    private final WritableLeases leases;
    private final boolean isFirstAttempt;
    private final boolean mayWait;
    private final LeaseTerms terms;
    private final int tightestIndex;
    private final long nowMs;
    private LeaseBook book;
    private long atMs;
    private boolean exceeds;
    private boolean isBehindWaiting;

    LeasedCheck(Policy policy, Request request, LeaseContext context) {
        super(policy, request);
        leases = context.leases();
        isFirstAttempt = context.isFirstAttempt();
        mayWait = context.mayWait() && request.kind() == RequestKind.CONSUME;
        nowMs = context.nowMs();
        terms = leases.terms(key);
        tightestIndex = policy.tightestIndex();
        book = leases.book(key);
        atMs = book.decisionTimeMs(nowMs);
    }

    /** Returns the decision time of the leases, in ledger time. */
    long decisionTimeMs() {
        return atMs;
    }

    /**
     * Compares the cost with what is available to a decision at {@code decisionMs}, which is not before
     * {@link #decisionTimeMs}.
     */
    void evaluate(long decisionMs) {
        atMs = decisionMs;
        boolean takes = request.kind() != RequestKind.SETTLE && request.cost() > 0;
        isBehindWaiting = takes && isFirstAttempt && mayWait && leases.hasWaiting(key);
        exceeds = takes && (isBehindWaiting || request.cost() > book.available(nowMs, atMs));
    }

    /** Returns whether the request may be permitted if it waits. */
    boolean shouldWait() {
        return exceeds
                && mayWait
                && !observes()
                && !neverFits()
                && maxWaitMs() > 0
                && (isBehindWaiting || book.mayBeGranted(request.cost(), terms, nowMs));
    }

    private long maxWaitMs() {
        return policy.sharing().maxWaitMs().orElseGet(leases::leaseWaitMs);
    }

    /** Returns what the request must wait for, null if it must {@linkplain #shouldWait not wait}. */
    AwaitLease awaitLease() {
        return shouldWait() ? new AwaitLease(key, maxWaitMs()) : null;
    }

    private boolean neverFits() {
        return neverFits(tightestIndex);
    }

    /** Records the demand, once per request. */
    void recordDemand() {
        if (isFirstAttempt && request.kind() == RequestKind.CONSUME && request.cost() > 0 && !neverFits()) {
            book = book.withDemand(request.cost(), nowMs);
            leases.put(key, book);
            if (exceeds) {
                leases.recordUnmetDemand(key, request.cost());
            }
        }
    }

    /** Uses the leases, unless the request is denied. */
    boolean charge(boolean denied) {
        if (denied || request.cost() == 0) {
            return false;
        }
        book = request.kind() == RequestKind.SETTLE
                ? book.settle(request.cost(), nowMs, atMs)
                : book.take(request.cost(), nowMs, atMs);
        leases.put(key, book);
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
        return exceeds && (neverFits() ? neverFits(index) : index == tightestIndex);
    }

    @Override
    boolean mayBind(int index) {
        return index == tightestIndex;
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
        return atMs;
    }

    /** Returns what the leases hold, which can be less than what remains of the limit. */
    @Override
    long remaining(int index) {
        return book.available(nowMs, atMs);
    }

    @Override
    Long resetAfterMs(int index) {
        return null;
    }

    @Override
    long retryAfterMs(int index) {
        LeaseBook.LastRequest last = book.request();
        if (isLeaseLate(index) || book.mayBeGranted(request.cost(), terms, nowMs)) {
            long elapsedMs = last.isPending() ? nowMs - last.sentMs() : 0;
            return Math.max(1, leases.roundTripMs() - elapsedMs);
        }
        boolean isKnown = last.retryAtMs() < Long.MAX_VALUE; // otherwise the ledger does not know the current limit yet
        return Math.max(1, (isKnown ? last.retryAtMs() : last.nextAttemptAtMs(terms)) - nowMs);
    }

    /** Returns whether the amount may be free although no lease of it has arrived, or other holders have it unused. */
    @Override
    boolean isLeaseMissing(int index) {
        return isLeaseLate(index) || (exceeds(index) && !neverFits() && book.isLent(request.cost(), nowMs));
    }

    private boolean isLeaseLate(int index) {
        return exceeds(index)
                && !neverFits()
                && !book.isScarce(request.cost(), nowMs)
                && (isBehindWaiting || book.mayBeGranted(request.cost(), terms, nowMs));
    }

    @Override
    long waitMs(int index) {
        return 0;
    }
}
