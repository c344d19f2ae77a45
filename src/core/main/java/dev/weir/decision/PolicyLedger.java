package dev.weir.decision;

import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.Ledger;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.SegmentStore;
import dev.weir.limit.SlidingWindowLog.Log;
import dev.weir.policy.Policy;
import java.util.List;
import java.util.function.IntFunction;

/**
 * The ledger of one key of a policy that is shared.
 *
 * @param ledger what was used of its limits, and what is lent
 * @param retiredLogs logs that no limit uses any more, kept until their segments are deleted
 */
public record PolicyLedger(Ledger ledger, List<Log> retiredLogs) {

    /** The ledger after a request, and its response, null if nothing was requested. */
    public record Result(PolicyLedger ledger, LeaseResponse response) {}

    /**
     * That of a key of which nothing is used.
     *
     * @param shelves where the segments of a log are, by its shelf
     */
    public static PolicyLedger open(Policy policy, long nowMs, IntFunction<SegmentStore> shelves) {
        PolicyState fresh = PolicyState.fresh(policy, nowMs, shelves);
        return new PolicyLedger(Ledger.open(policy.limits(), nowMs).withAccounts(fresh.accounts()), List.of());
    }

    /**
     * This ledger under the policy's present limits: what was used stays used, within the bound of {@code
     * Account.under}; what is lent stays lent.
     *
     * <p>The bound does not weaken the promise of {@link Ledger}. A limit that replaces another one promises something
     * only of what is used from the change on, and a ledger with nothing used keeps that promise. Where more is in use,
     * less is lent, so a ledger that carries over any usage at all keeps it too. Loans from before the change stay
     * subtracted from what is free.
     */
    public PolicyLedger migrateTo(Policy policy, long nowMs, IntFunction<SegmentStore> shelves) {
        if (usage().hasLimitsOf(policy)) {
            return this;
        }
        PolicyLedger now = advancedTo(nowMs);
        PolicyState next = now.usage().migrateTo(policy, now.ledger.clockMs(), shelves);
        return new PolicyLedger(now.ledger.withAccounts(next.accounts()), next.retiredLogs());
    }

    /** This ledger at a later time: what has ended by then is charged. */
    public PolicyLedger advancedTo(long nowMs) {
        return new PolicyLedger(ledger.advancedTo(nowMs), retiredLogs);
    }

    /**
     * Charges what a holder reports, and answers its request; see {@link Ledger#handle}.
     *
     * @param policy whose limits these are; it bounds what is settled
     */
    public Result handle(LeaseRequest request, Policy policy, LeaseTerms terms, long nowMs) {
        List<Long> maxUsed = policy.terms().stream().map(Policy.Term::maxUsed).toList();
        return toResult(ledger.handle(request, terms, maxUsed, nowMs));
    }

    /** Charges what a holder reports where the policy is not known, as if it had no {@code max-debt}. */
    public PolicyLedger handleReport(LeaseRequest report, LeaseTerms terms, long nowMs) {
        return toResult(ledger.handle(report, terms, nowMs)).ledger;
    }

    private Result toResult(Ledger.Result answer) {
        LimitAccount<?>[] accounts = answer.ledger().accounts().toArray(LimitAccount<?>[]::new);
        PolicyState trimmed =
                usage().charged(answer.ledger().clockMs(), answer.ledger().clockMs(), accounts);
        return new Result(new PolicyLedger(answer.ledger(), trimmed.retiredLogs()), answer.response());
    }

    /** What was used, as the state of any other key. */
    public PolicyState usage() {
        return new PolicyState(ledger.lastChargeMs(), 0, ledger.accounts(), retiredLogs);
    }

    /** What is still to be kept of a ledger to be forgotten, some of its segments deleted; null: nothing. */
    public PolicyLedger purge() {
        PolicyState left = usage().purge();
        return left == null ? null : new PolicyLedger(ledger.withAccounts(List.of()), left.retiredLogs());
    }

    /** From when on a fresh ledger answers the same, if nothing else comes; or somewhat later, if something is lent. */
    public long expiresAtMs() {
        long atMs = usage().expiresAtMs();
        for (Ledger.Refusal refusal : ledger.refusals()) {
            atMs = Math.max(atMs, refusal.untilMs());
        }
        List<Ledger.Loan> loans = ledger.loans();
        if (loans.isEmpty()) {
            return atMs;
        }
        long lastUntilMs = loans.get(loans.size() - 1).dueMs();
        long longestMs = 0;
        for (LimitAccount<?> account : ledger.accounts()) {
            longestMs = Math.max(longestMs, account.limit().windowMs(lastUntilMs));
        }
        return Math.max(atMs, lastUntilMs) + 2 * longestMs; // a window counts into the next one
    }
}
