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
    private final boolean isPeek;
    private final boolean mayWait;
    private final LeaseTerms terms;
    private final int tightestIndex;
    private final long nowMs;
    private LeaseBook book;
    private long atMs;
    private boolean exceeds;
    private boolean isBehindWaiting;
    private boolean isUnanswered;

    LeasedCheck(Policy policy, Request request, LeaseContext context) {
        super(policy, request);
        leases = context.leases();
        isFirstAttempt = context.isFirstAttempt();
        isPeek = request.kind() == RequestKind.PEEK;
        mayWait = context.mayWait() && (isPeek || request.kind() == RequestKind.CONSUME);
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
     * {@link #decisionTimeMs}. For a PEEK, which takes nothing, this is also what the ledger could lend.
     */
    void evaluate(long decisionMs) {
        atMs = decisionMs;
        boolean takes = !request.kind().isCorrection() && request.cost() > 0;
        isBehindWaiting = takes && !isPeek && isFirstAttempt && mayWait && leases.hasWaiting(key);
        exceeds = takes
                && (isPeek
                        ? !book.covers(request.cost(), terms, nowMs, atMs)
                        : isBehindWaiting || request.cost() > book.available(nowMs, atMs));
        isUnanswered = exceeds && isPeek && !neverFits() && !book.isAnswered(request.cost(), terms, nowMs);
        exceeds &= !isUnanswered || !observes(); // an observing policy does not delay the request until it is known
    }

    /** Returns whether the request may be permitted if it waits. */
    boolean shouldWait() {
        return exceeds
                && mayWait
                && !observes()
                && !neverFits()
                && maxWaitMs() > 0
                && (isPeek ? isUnanswered : isBehindWaiting || book.mayBeGranted(request.cost(), terms, nowMs));
    }

    /** Returns the longest wait. A PEEK waits for an answer even if requests do not wait for leases. */
    private long maxWaitMs() {
        long maxWaitMs = policy.sharing().maxWaitMs().orElseGet(leases::leaseWaitMs);
        return maxWaitMs == 0 && isPeek ? leases.leaseWaitMs() : maxWaitMs;
    }

    /** Returns what the request must wait for, null if it must {@linkplain #shouldWait not wait}. */
    AwaitLease awaitLease() {
        return shouldWait() ? new AwaitLease(key, maxWaitMs()) : null;
    }

    private boolean neverFits() {
        return neverFits(tightestIndex);
    }

    /** Records the demand or the question, once per request. */
    void recordDemand() {
        if (isUnanswered && isFirstAttempt) {
            leases.recordQuestion(key, request.cost());
        }
        if (isFirstAttempt && request.kind() == RequestKind.CONSUME && request.cost() > 0 && !neverFits()) {
            book = book.withDemand(request.cost(), nowMs);
            leases.put(key, book);
            if (exceeds) {
                leases.recordUnmetDemand(key, request.cost());
            }
        }
    }

    /** Uses the leases, unless the request is denied. A reset frees what all holders have used. */
    boolean charge(boolean denied) {
        if (denied) {
            return false;
        }
        if (request.kind() == RequestKind.RESET) {
            leases.reset(key);
            book = leases.book(key);
            return true;
        }
        if (request.cost() == 0) {
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

    /**
     * Returns what the leases hold and the ledger could lend by its last response; null if it is unknown, or if the
     * request exceeds the limit although as much was left then.
     */
    @Override
    Long remaining(int index) {
        Long left = book.remaining(nowMs, atMs);
        return exceeds && left != null && left >= request.cost() ? null : left;
    }

    @Override
    Long resetAfterMs(int index) {
        return null;
    }

    @Override
    long retryAfterMs(int index) {
        LeaseBook.LastRequest last = book.request();
        long checkedRetryAtMs = book.balance().check().retryAtMs();
        if (isCheckRefused() && checkedRetryAtMs < Long.MAX_VALUE) { // otherwise the ledger has another limit by now
            return Math.max(1, checkedRetryAtMs - nowMs);
        }
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
        if (isCheckRefused()) {
            return exceeds(index) && book.balance().check().isLent();
        }
        return isLeaseLate(index) || (exceeds(index) && !neverFits() && book.isLent(request.cost(), nowMs));
    }

    /** Returns whether the ledger has answered a question: it would not lend what the request needs. */
    private boolean isCheckRefused() {
        return isPeek && exceeds && !neverFits() && book.isRefusedByCheck(request.cost(), terms, nowMs);
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
