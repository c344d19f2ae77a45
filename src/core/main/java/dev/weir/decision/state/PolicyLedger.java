package dev.weir.decision.state;

import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.ledger.Ledger;
import dev.weir.lease.ledger.OutstandingLease;
import dev.weir.lease.ledger.RefusedHolders;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.SegmentedState;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * The ledger of one key of a shared policy.
 *
 * @param ledger the usage and the leases
 * @param retired logs that no limit uses any more, kept until their segments are deleted
 */
public record PolicyLedger(Ledger ledger, List<SegmentedState> retired) {

    /** The ledger after a request, and its response, which is null if no lease was requested. */
    public record Result(PolicyLedger ledger, LeaseResponse response) {}

    /** Returns the ledger of a key that has not been used before. */
    public static PolicyLedger open(Policy policy, long nowMs) {
        PolicyState fresh = PolicyState.fresh(policy, nowMs);
        return new PolicyLedger(Ledger.open(policy.limits(), nowMs).withAccounts(fresh.accounts()), List.of());
    }

    /**
     * Returns this ledger under the policy's current limits. Usage is kept within the bound of
     * {@link LimitAccount#migrateTo}, and outstanding leases remain.
     *
     * <p>That bound does not weaken the promise of {@link Ledger}. A new limit promises something only about usage from
     * the change on, and a ledger without usage keeps that promise. With more in use, less is lent, so a ledger that
     * carries over any usage keeps it too. Leases from before the change remain subtracted from what is free.
     */
    public PolicyLedger migrateTo(Policy policy, long nowMs) {
        if (usage().hasLimitsOf(policy)) {
            return this;
        }
        PolicyLedger now = advancedTo(nowMs);
        PolicyState next = now.usage(numbered(now.ledger.accounts().size())).migrateTo(policy, now.ledger.clockMs());
        return new PolicyLedger(
                now.ledger.withAccounts(next.accounts(), next.suspended(), now.refundableAfterMs(next)),
                next.retired());
    }

    /** Returns what shows of each account after a migration which one it continues with its times, if it does. */
    private static ReservedUse numbered(int accounts) {
        List<Long> numbers = new ArrayList<>();
        for (long number = 1; number <= accounts; number++) {
            numbers.add(number);
        }
        return new ReservedUse(Long.MIN_VALUE, numbers);
    }

    /** Returns the times up to which uses of migrated accounts are not refunded. */
    private List<Long> refundableAfterMs(PolicyState migrated) {
        List<Long> afterMs = new ArrayList<>();
        for (int i = 0; i < migrated.accounts().size(); i++) {
            int number = (int) migrated.reserved().origin(i);
            afterMs.add(
                    number == 0
                            ? (Long) ledger.clockMs()
                            : (Long) ledger.usage().earlier().refundable().afterMs(number - 1));
        }
        return afterMs;
    }

    /** Returns this ledger at a later time. Leases that are due are charged. */
    public PolicyLedger advancedTo(long nowMs) {
        return new PolicyLedger(ledger.advancedTo(nowMs), retired);
    }

    /**
     * Charges what a holder reports, frees all usage if it asks for that, and answers its request; see
     * {@link Ledger#handle}.
     *
     * @param policy the policy of the limits, which bounds settlements
     */
    public Result handle(LeaseRequest request, Policy policy, LeaseTerms terms, long nowMs) {
        List<Long> maxUsed = policy.terms().stream().map(Policy.Term::maxUsed).toList();
        PolicyLedger charged = new PolicyLedger(ledger.charged(request, maxUsed, nowMs), retired);
        PolicyLedger next = request.isReset() ? charged.reset(policy, request.holder(), nowMs) : charged;
        return next.toResult(next.ledger.answer(request, terms, nowMs));
    }

    private PolicyLedger reset(Policy policy, String holder, long nowMs) {
        PolicyState unused = usage().reset(policy, ledger.clockMs());
        return new PolicyLedger(ledger.reset(unused.accounts(), holder, nowMs), unused.retired());
    }

    /**
     * Charges what a holder reports if the policy is unknown. Settlements are bounded by the default {@code max-debt}.
     */
    public PolicyLedger handleReport(LeaseRequest report, LeaseTerms terms, long nowMs) {
        return toResult(ledger.handle(report, terms, nowMs)).ledger;
    }

    private Result toResult(Ledger.Result answer) {
        LimitAccount<?>[] accounts = answer.ledger().accounts().toArray(LimitAccount<?>[]::new);
        PolicyState trimmed =
                usage().charged(answer.ledger().clockMs(), answer.ledger().clockMs(), accounts);
        return new Result(new PolicyLedger(answer.ledger(), trimmed.retired()), answer.response());
    }

    /** Returns the usage in the form of the state of a key that is not shared. */
    public PolicyState usage() {
        return usage(ReservedUse.NONE);
    }

    private PolicyState usage(ReservedUse reserved) {
        return new PolicyState(
                ledger.usage().lastChargeMs(),
                0,
                ledger.accounts(),
                ledger.usage().earlier().suspended(),
                retired,
                List.of(),
                reserved);
    }

    /** Returns this ledger for deletion, as {@link PolicyState#purge} does. */
    public PolicyLedger purge() {
        return new PolicyLedger(ledger.withAccounts(List.of()), usage().purge().retired());
    }

    /** Returns whether nothing is left of a ledger for deletion; see {@link PolicyState#isPurged}. */
    public boolean isPurged() {
        return usage().isPurged();
    }

    /** Returns this ledger with all changed segments stored; see {@link PolicyState#stored}. */
    public PolicyLedger stored(UnaryOperator<SegmentedState> store) {
        PolicyState usage = usage();
        if (usage.isStored()) {
            return this;
        }
        PolicyState stored = usage.stored(store);
        return new PolicyLedger(ledger.withStored(stored.accounts(), stored.suspended()), stored.retired());
    }

    /**
     * Returns the time from which a new ledger would give the same responses if nothing else arrives, or a somewhat
     * later time if tokens are lent.
     */
    public long expiresAtMs() {
        long atMs = usage().expiresAtMs();
        for (RefusedHolders.Refusal refusal : ledger.refusals()) {
            atMs = Math.max(atMs, refusal.untilMs());
        }
        List<OutstandingLease> leases = ledger.leases();
        if (leases.isEmpty()) {
            return atMs;
        }
        long lastUntilMs = leases.get(leases.size() - 1).dueMs();
        long longestMs = 0;
        for (LimitAccount<?> account : ledger.accounts()) {
            longestMs = Math.max(longestMs, account.limit().windowMs(lastUntilMs));
        }
        return Math.max(atMs, lastUntilMs) + 2 * longestMs; // usage in one window affects the next
    }
}
