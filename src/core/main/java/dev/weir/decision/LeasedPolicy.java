package dev.weir.decision;

import dev.weir.decision.state.LeaseContext;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.lease.LeaseBook;
import dev.weir.lease.LeaseTerms;
import dev.weir.policy.Policy;

/** A policy with shared limits, with the leases held of them. A lease covers all limits of the policy together. */
final class LeasedPolicy extends AppliedPolicy {

    final LeaseContext context;
    final LeaseTerms leaseTerms;
    final int tightestIndex;

    /** The leases before the request. */
    final LeaseBook book;

    LeasedPolicy(Policy policy, Request request, LeaseContext context) {
        super(policy, request);
        this.context = context;
        leaseTerms = context.leases().terms(key);
        tightestIndex = policy.tightestIndex();
        book = context.leases().book(key);
    }

    /** Returns the decision time of the leases, in ledger time. */
    long decisionTimeMs() {
        return book.decisionTimeMs(context.nowMs());
    }

    boolean isPeek() {
        return request.kind() == RequestKind.PEEK;
    }

    /** Returns whether the request can wait for a lease, or for the answer to a question. */
    boolean mayWait() {
        return context.mayWait() && (isPeek() || request.kind() == RequestKind.CONSUME);
    }

    /** Returns whether the request can never be permitted. */
    boolean neverFits() {
        return neverFits(tightestIndex);
    }

    /** Returns the longest wait. A PEEK waits for an answer even if requests do not wait for leases. */
    long maxWaitMs() {
        long maxWaitMs = policy.sharing().maxWaitMs().orElseGet(context.leases()::leaseWaitMs);
        return maxWaitMs == 0 && isPeek() ? context.leases().leaseWaitMs() : maxWaitMs;
    }
}
