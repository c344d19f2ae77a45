package dev.weir.lease.ledger;

import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.Lease;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import java.util.Collections;
import java.util.List;
import java.util.OptionalInt;

/**
 * The ledger of limits that are shared by several holders: what is used of them ({@link LedgerUsage}), what is lent
 * ({@link OutstandingLeases}), and who was refused ({@link RefusedHolders}). {@link LendingRules} has how much is lent.
 * An immutable value.
 *
 * <pre>
 *   free(t)   =  min over the limits { available(t) } − Σ outstanding leases
 *   lend a    ⟸  a ≤ free(t)                        the lease counts until its tokens are reported or charged
 *   settle    :  tokens reported as used are charged at the time of their last use;
 *                returned tokens are free again at once;
 *                tokens not reported within a grace period after the lease's end are charged at its last millisecond,
 *                slots not reported until they have ended are free again
 * </pre>
 *
 * <p><b>Claim.</b> Each use has a decision time {@code u}, with {@code from ≤ u < until} of its lease, and {@code from}
 * is the ledger's time when the lease is lent. By decision times, the sum of all uses keeps what each limit promises,
 * whatever is delayed or lost, and at whichever of these times the tokens are used. (Settlements and lowered limits can
 * exceed it; see {@link #handle(LeaseRequest, LeaseTerms, List, long)} and {@link #withAccounts}.)
 *
 * <p><b>Proof.</b> Every use is counted from the moment its lease is lent until the limit itself releases it: first as
 * part of an outstanding lease, then as a charge. The time {@code c} of that charge is the time of the last use in the
 * reported part or later, and at most the ledger's time when it is charged. So {@code c ≥ u}. Charge times never
 * decrease.
 *
 * <p><b>Sliding window log</b> ({@code Σ in (x − W, x] ≤ L}). Of the leases with a use in the window, take the one that
 * was lent last, at {@code g ≤ x}. Each of the others was lent before {@code g}. At {@code g}, each of their uses was
 * part of an outstanding lease, or charged at some {@code c ≥ u > x − W}; then {@code g − c < W}, so the log still
 * contained it. All of them together were at most L when the last lease was lent.
 *
 * <p><b>Fixed and calendar windows</b> ({@code Σ in a window ≤ L}). Likewise: if the last lease was lent within the
 * window, the uses of the others were part of outstanding leases at that time or charged within the window. If it was
 * lent before the window, all of them were part of outstanding leases at that time.
 *
 * <p><b>Sliding window counter</b> ({@code share(previous) + current ≤ L at each use}). Of the leases with a use in the
 * two windows up to {@code u}, take the one that was lent last. If it was lent in the current window, each use in that
 * window was then part of an outstanding lease or in the current count. Each use in the previous window was then part
 * of an outstanding lease, in the current count or in the previous count, so it had at least the weight that it has at
 * {@code u}. If it was lent in the previous window or before, all uses in both windows were then part of outstanding
 * leases or in the count of that previous window.
 *
 * <p><b>Buckets</b> (token bucket, leaky bucket, GCRA, refill by steps: {@code Σ in [s, t] ≤ B + inflow from s to t}).
 * Of the leases with a use in {@code [s, t]}, take the one that was lent last, at {@code g}. If {@code g < s}, all of
 * the uses were part of outstanding leases at {@code g}, at most B. Otherwise each use of the other leases was at
 * {@code g} part of an outstanding lease, or charged at some {@code c} in {@code [s, g]}, since {@code c ≥ u ≥ s}. Of
 * these charges, the bucket at {@code g} still contained all but the inflow from {@code s} to {@code g}. What it
 * contained, the outstanding leases and the new lease were at most B together. (Since charge times never decrease, a
 * bucket with refill by steps is full when it discards the times of its steps.)
 *
 * <p><b>Refunds</b> keep the promise, too: {@link LedgerUsage}. That refused holders are granted tokens in order only
 * reduces what is granted.
 *
 * <p><b>Slots</b> of limits of concurrency are not charged with a time, but until an end, which their holder reports. A
 * lease that is not reported counts as lent until its slots have ended ({@link LentSlotCounts}). Take all slots in use at
 * x, and the one of them whose lease was lent last, at {@code g ≤ x}: at {@code g}, all others were counted, in use or
 * lent. All of them together were at most the limit when that lease was lent.
 *
 * <p><b>Clocks.</b> The proof compares decision times only, never wall clocks. Ledger time is the broker's time at
 * which a request is appended. A holder derives decision times from the times of its leases and its monotonic clock
 * ({@link Lease}), so they are never behind the ledger's time, and ahead of it by at most the time that the request for
 * the lease took to the broker. By the broker's clock, too, no lease is used after its end, provided that monotonic
 * clocks drift by at most one part in {@value Lease#MAX_DRIFT_PARTS} and, across a change of the partition's leader,
 * that the brokers' clocks agree.
 *
 * @param usage what is used, and the ledger's time
 * @param outstanding the outstanding leases
 * @param refused the holders that were refused and are expected to return
 */
public record Ledger(LedgerUsage usage, OutstandingLeases outstanding, RefusedHolders refused) {

    /**
     * A ledger after a request, and its response.
     *
     * @param ledger the next ledger
     * @param response the response; null if no lease was requested
     */
    public record Result(Ledger ledger, LeaseResponse response) {}

    /** Returns the ledger of limits that have not been used. */
    public static Ledger open(List<? extends Limit<?>> limits, long nowMs) {
        return new Ledger(LedgerUsage.none(limits, nowMs), OutstandingLeases.none(nowMs), RefusedHolders.NONE);
    }

    /** Returns the ledger's time; see {@link LedgerUsage}. */
    public long clockMs() {
        return usage.clockMs();
    }

    /** Returns the accounts of the limits, all of which are charged together. */
    public List<LimitAccount<?>> accounts() {
        return usage.accounts();
    }

    /** Returns the outstanding leases, in the order in which they are due. */
    public List<OutstandingLease> leases() {
        return outstanding.leases();
    }

    /** Returns the refused holders that are expected to return, in the order of their first refusal. */
    public List<RefusedHolders.Refusal> refusals() {
        return refused.refusals();
    }

    /** Returns the tokens that could be lent now. */
    public long free() {
        return Math.max(0, usage.available() - lent());
    }

    /** Returns the tokens of all outstanding leases. */
    public long lent() {
        return outstanding.tokens();
    }

    private Ledger with(LedgerUsage next) {
        return new Ledger(next, outstanding, refused);
    }

    /**
     * Returns this ledger with other accounts, typically {@linkplain LimitAccount#migrateTo migrated} to changed
     * limits. Outstanding leases remain, so a lowered limit holds when the leases from before have ended.
     */
    public Ledger withAccounts(List<LimitAccount<?>> next) {
        return withAccounts(next, List.of());
    }

    /**
     * Like {@link #withAccounts(List)}, with accounts that are suspended: only leases from before are charged to them.
     * What was used up to now is not refunded.
     */
    public Ledger withAccounts(List<LimitAccount<?>> next, List<LimitAccount<?>> suspended) {
        return withAccounts(next, suspended, Collections.nCopies(next.size(), clockMs()));
    }

    /**
     * Like {@link #withAccounts(List, List)}.
     *
     * @param refundableAfterMs for each account the time up to which its uses are not refunded: the current time, unless
     *     the account continues another one with the times of its usage
     */
    public Ledger withAccounts(
            List<LimitAccount<?>> next, List<LimitAccount<?>> suspended, List<Long> refundableAfterMs) {
        boolean isSame = suspended.equals(usage.earlier().suspended());
        long beforeId = isSame ? usage.earlier().suspendedBeforeId() : suspended.isEmpty() ? 0 : outstanding.nextId();
        return new Ledger(
                usage.withAccounts(next, suspended, beforeId, refundableAfterMs),
                outstanding.untilEndOfSlots(LentSlotCounts.longestTtlMs(next)),
                refused);
    }

    /** Returns this ledger with its accounts in the form in which they are stored. */
    public Ledger withStored(List<LimitAccount<?>> stored, List<LimitAccount<?>> suspended) {
        return with(usage.withStored(stored, suspended));
    }

    /**
     * Returns this ledger with unused accounts, and without suspended ones. Outstanding leases remain, so the limit
     * holds from now on. What other holders have used up to now and report later is not charged; a report that also has
     * later uses is charged as a whole. What was used up to now is not refunded.
     *
     * @param holder the holder that sent the reset
     * @param nowMs the broker's time when it appended the reset
     */
    public Ledger reset(List<LimitAccount<?>> unused, String holder, long nowMs) {
        return new Ledger(usage.reset(unused, outstanding.nextId(), holder, nowMs), outstanding, RefusedHolders.NONE);
    }

    /**
     * Returns this ledger at {@code nowMs}, or at its own time if that is later. Leases that are due are charged
     * as used; slots have ended by then.
     */
    public Ledger advancedTo(long nowMs) {
        long atMs = Math.max(clockMs(), nowMs);
        LedgerUsage next = usage;
        List<OutstandingLease> due = outstanding.due(atMs);
        for (OutstandingLease lease : due) {
            next = next.unreported(lease);
        }
        return atMs == clockMs() && due.isEmpty()
                ? this
                : new Ledger(next.at(atMs), outstanding.without(due.size()), refused.at(atMs));
    }

    /**
     * Like {@link #handle(LeaseRequest, LeaseTerms, List, long)}, with a maximum of twice the capacity for each limit:
     * a settlement leaves a debt of at most one capacity.
     */
    public Result handle(LeaseRequest request, LeaseTerms terms, long nowMs) {
        List<Long> maxUsed = accounts().stream()
                .map(LimitAccount::limit)
                .map(limit -> limit.capacity() + Math.min(limit.capacity(), limit.maxUsed() - limit.capacity()))
                .toList();
        return handle(request, terms, maxUsed, nowMs);
    }

    /**
     * Charges what a holder reports and answers its request. Takes O(leases + refused holders) time for each report and
     * for the response.
     *
     * @param request the message of the holder; a reset must have been {@linkplain #reset done} before its answer
     * @param terms the timing of leases
     * @param maxUsed for each limit, the most tokens that can be used or lent after a settlement is charged; it can
     *     exceed the capacity
     * @param nowMs the broker's time when it appended the request
     */
    public Result handle(LeaseRequest request, LeaseTerms terms, List<Long> maxUsed, long nowMs) {
        return charged(request, maxUsed, nowMs).answer(request, terms, nowMs);
    }

    /** Returns this ledger after what a holder reports is charged. Parameters are as in {@link #handle}. */
    public Ledger charged(LeaseRequest request, List<Long> maxUsed, long nowMs) {
        Ledger next = advancedTo(Math.max(nowMs, outstanding.lastUsedMs(request, clockMs())));
        for (LeaseRequest.Report report : request.reports()) {
            next = next.reported(request.holder(), report);
        }
        return next.with(next.usage
                .refunded(request.holder(), request.refunds(), outstanding.nextId())
                .settled(request.settled(), next.lent(), maxUsed));
    }

    /**
     * Charges what a report says. A report of a lease that is no longer outstanding is ignored. Amounts outside the
     * possible range are clamped to it.
     */
    private Ledger reported(String holder, LeaseRequest.Report report) {
        OptionalInt index = outstanding.indexOf(report.leaseId(), holder);
        if (index.isEmpty()) {
            return this;
        }
        OutstandingLease lease = leases().get(index.getAsInt());
        long used = Math.max(0, Math.min(lease.amount(), report.used() - lease.used()));
        long held = Math.max(0, Math.min(lease.amount() - used, report.held()));
        return new Ledger(
                usage.reported(lease, used, report, outstanding),
                outstanding.reported(index.getAsInt(), used, held),
                refused);
    }

    /** Answers a request or a question. Parameters are as in {@link #handle}. */
    public Result answer(LeaseRequest request, LeaseTerms terms, long nowMs) {
        LeaseTerms adjusted = terms.withRoundTrip(request.roundTripMs());
        if (request.isRenewal()) {
            return renew(request, adjusted, nowMs);
        }
        if (request.requestsLease()) {
            return new LendingRules(this, adjusted, request.holder()).lend(request, nowMs);
        }
        return new Result(this, request.isCheck() ? check(request, adjusted, nowMs) : null);
    }

    /** Returns whether the checked tokens could be lent. Nothing is lent. */
    public LeaseResponse.Checked check(LeaseRequest request, LeaseTerms terms, long nowMs) {
        return new LendingRules(this, terms, request.holder()).check(request, nowMs);
    }

    private Result renew(LeaseRequest request, LeaseTerms terms, long nowMs) {
        LentSlotCounts.Renewed renewed =
                new LentSlotCounts(usage).renewed(request.refunds().renewals());
        Ledger next = with(usage.renewed(renewed));
        long free = new LendingRules(next, terms, request.holder()).lendable();
        return new Result(next, new LeaseResponse.Renewed(request.number(), nowMs, free, clockMs(), renewed.ended()));
    }
}
