package dev.weir.decision;

import dev.weir.decision.state.lease.HeldLeases;
import dev.weir.decision.state.lease.LeaseContext;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.policy.Policy;

/** A policy with shared limits, with the leases held of them. A lease covers all limits of the policy together. */
final class LeasedPolicy extends AppliedPolicy {

    final HeldLeases leases;
    final long nowMs;
    final boolean isFirstAttempt;
    final LeaseTerms leaseTerms;
    final int tightestIndex;

    /** The leases before the request. */
    final LeaseBook book;

    private final boolean isWaitPossible;

    LeasedPolicy(Policy policy, Request request, LeaseContext context) {
        super(policy, request);
        leases = context.leases();
        nowMs = context.nowMs();
        isFirstAttempt = context.isFirstAttempt();
        isWaitPossible = context.mayWait();
        leaseTerms = leases.terms(key);
        tightestIndex = policy.tightestIndex();
        book = leases.book(key);
    }

    /** Returns the decision time of the leases, in ledger time. */
    long decisionTimeMs() {
        return book.decisionTimeMs(nowMs);
    }

    boolean isPeek() {
        return request.kind() == RequestKind.PEEK;
    }

    /** Returns whether the request can wait for a lease, or for the answer to a question. */
    boolean mayWait() {
        return isWaitPossible && (isPeek() || request.kind() == RequestKind.CONSUME);
    }

    /** Returns whether the request can never be permitted. */
    boolean neverFits() {
        return neverFits(tightestIndex);
    }

    /** Returns the longest wait. A PEEK waits for an answer even if requests do not wait for leases. */
    long maxWaitMs() {
        long maxWaitMs = policy.sharing().maxWaitMs().orElseGet(leases::leaseWaitMs);
        return maxWaitMs == 0 && isPeek() ? leases.leaseWaitMs() : maxWaitMs;
    }
}
