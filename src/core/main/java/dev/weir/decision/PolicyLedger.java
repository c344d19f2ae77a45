package dev.weir.decision;

import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.Ledger;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.Segments;
import dev.weir.limit.SlidingWindowLog.Log;
import dev.weir.policy.Policy;
import java.util.List;
import java.util.function.IntFunction;

/**
 * The ledger of one key of a policy that is shared.
 *
 * @param ledger what was used of its limits, and what is lent
 * @param retired logs that no limit uses any more, kept until their segments are deleted
 */
public record PolicyLedger(Ledger ledger, List<Log> retired) {

    /** The ledger after a request, and its response, null if nothing was requested. */
    public record Answer(PolicyLedger ledger, LeaseResponse response) {}

    /**
     * That of a key of which nothing is used.
     *
     * @param shelves where the segments of a log are, by its shelf
     */
    public static PolicyLedger open(Policy policy, long nowMs, IntFunction<Segments> shelves) {
        PolicyState fresh = PolicyState.fresh(policy, nowMs, shelves);
        return new PolicyLedger(Ledger.open(policy.limits(), nowMs).under(fresh.accounts()), List.of());
    }

    /**
     * This ledger under the policy's present limits: what was used stays used, within the bound of {@code Account.under}; what is
     * lent stays lent.
     *
     * <p>The bound does not weaken the promise of {@link Ledger}. A limit that replaces another one promises something only of what is
     * used from the change on, and a ledger with nothing used keeps that promise. Where more is in use, less is lent, so a ledger
     * that carries over any usage at all keeps it too. Loans from before the change stay subtracted from what is free.
     */
    public PolicyLedger under(Policy policy, long nowMs, IntFunction<Segments> shelves) {
        if (used().fits(policy)) {
            return this;
        }
        PolicyLedger now = at(nowMs);
        PolicyState next = now.used().under(policy, now.ledger.clockMs(), shelves);
        return new PolicyLedger(now.ledger.under(next.accounts()), next.retired());
    }

    /** This ledger at a later time: what has ended by then is charged. */
    public PolicyLedger at(long nowMs) {
        return new PolicyLedger(ledger.at(nowMs), retired);
    }

    /**
     * Charges what a holder reports, and answers its request; see {@link Ledger#ask}.
     *
     * @param policy whose limits these are; it bounds what is settled
     */
    public Answer ask(LeaseRequest request, Policy policy, LeaseTerms terms, long nowMs) {
        List<Long> maxUsed = policy.terms().stream().map(Policy.Term::maxUsed).toList();
        return answered(ledger.ask(request, terms, maxUsed, nowMs));
    }

    /** Charges what a holder reports where the policy is not known, as if it had no {@code max-debt}. */
    public PolicyLedger reported(LeaseRequest report, LeaseTerms terms, long nowMs) {
        return answered(ledger.ask(report, terms, nowMs)).ledger;
    }

    private Answer answered(Ledger.Answer answer) {
        LimitAccount<?>[] accounts = answer.ledger().accounts().toArray(LimitAccount<?>[]::new);
        PolicyState trimmed =
                used().charged(answer.ledger().clockMs(), answer.ledger().clockMs(), accounts);
        return new Answer(new PolicyLedger(answer.ledger(), trimmed.retired()), answer.response());
    }

    /** What was used, as the state of any other key. */
    public PolicyState used() {
        return new PolicyState(ledger.chargedMs(), 0, ledger.accounts(), retired);
    }

    /** What is still to be kept of a ledger to be forgotten, some of its segments deleted; null: nothing. */
    public PolicyLedger forgotten() {
        PolicyState left = used().forgotten();
        return left == null ? null : new PolicyLedger(ledger.under(List.of()), left.retired());
    }

    /** From when on a fresh ledger answers the same, if nothing else comes; or somewhat later, if something is lent. */
    public long forgettableAtMs() {
        long atMs = used().forgettableAtMs();
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
