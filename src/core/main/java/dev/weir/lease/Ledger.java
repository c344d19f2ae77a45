package dev.weir.lease;

import dev.weir.limit.Charge;
import dev.weir.limit.Concurrency;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The accounts of limits that are shared by several holders, and the leases lent from them.
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
 * <p><b>Refunds.</b> A reservation that turns out to need less returns its tokens to its lease, if they are not reported
 * yet: they are part of an outstanding lease as before, so the proof holds with the smaller use. Otherwise the ledger
 * refunds a charge. The proof needs, at each time, an assignment of the remaining uses to the charges such that each is
 * charged at its time {@code u} or later. A refund of a use at {@code u} takes the first charge {@code c' ≥ u} that is
 * left. If that was assigned to another use, at {@code u' ≤ c'}, this is now assigned to the charge {@code c ≥ c'} of the
 * refunded one. A window is refunded if {@code u} is in it; then so is {@code c}. A bucket is as full as if a charge of
 * the same lease, not before {@code u} and not after {@code c}, had been smaller ({@link Limit#refunded}). So what is in
 * use after a refund is never less than with the smaller use from the start. It can be more if there were other uses
 * between {@code u} and {@code c}, or if a lease extends beyond a window.
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
 * <p><b>Order of refused holders.</b> If two holders want more than there is, they compete for each token that becomes
 * free, and the one with the shorter round trip would always win. So the ledger keeps a list of refused holders in the
 * order in which they were refused. It grants a request only if the free tokens cover the {@code minTokens} of the
 * request and of all holders ahead of it in the list:
 *
 * <pre>
 *   grant to h   ⟸  minTokens(h) + Σ minTokens of those refused before h  ≤ free(t)
 * </pre>
 *
 * <p>This only reduces what is granted, so the proof still holds. The ledger adds a holder to the list only if the
 * holder's reported demand reaches the refused amount within two leads. Such a holder repeats its request at the retry
 * time of the refusal ({@link LeaseBook}). A holder with less demand may never repeat it, and its entry would block the
 * others. An entry expires two leads after the retry time. Requests for more than a quarter of the capacity are not
 * added, since the others would wait until that much has accumulated.
 *
 * <p>Example: one token becomes free every 100 ms, and {@code a} and {@code b} want ten a second each. The ledger
 * refuses both at 0 ms, {@code a} with a retry time of 100 ms and {@code b} with one of 200 ms. At 100 ms it grants the
 * token to {@code a}, even if a request of {@code b} arrives first. If it then refuses {@code a} again, {@code a} is
 * behind {@code b}.
 *
 * @param clockMs the ledger's time, which never decreases: broker time, or the latest reported decision time if that
 *     is later
 * @param lastChargeMs the time of the last charge
 * @param accounts the accounts of the limits, all of which are charged together
 * @param leases the outstanding leases, ordered by {@code dueMs}
 * @param refusals the holders that were refused and are expected to return, in the order of their first refusal
 * @param nextLeaseId the id of the next lease
 * @param earlier how usage by leases from before a suspension or a reset is charged, and which usage can be refunded
 */
public record Ledger(
        long clockMs,
        long lastChargeMs,
        List<LimitAccount<?>> accounts,
        List<OutstandingLease> leases,
        List<Refusal> refusals,
        long nextLeaseId,
        Earlier earlier) {

    /** The maximum number of outstanding leases, which bounds the size of the state. */
    public static final int MAX_LEASES = 10_000;

    /** The most refused holders in the list, which bounds the size of the state. */
    public static final int MAX_REFUSALS = 1_000;

    /**
     * Lease ids start at the creation time shifted by this many bits, so a ledger that is deleted and created again
     * does not reuse ids.
     */
    private static final int LEASE_BITS_PER_MS = 20;

    /** The ledger is short of tokens if less than this part (1/4) of the capacity is free. */
    private static final int SCARCE_DIVISOR = 4;

    /**
     * A limit with fewer tokens, and windows longer than a term, is small: nothing of it is lent in reserve. So is each
     * limit of concurrency, unless its policy observes: then no request waits for a lease.
     */
    private static final int MIN_CAPACITY_FOR_RESERVES = 16;

    /** Beyond the demand of a second, a lease has at most this part (1/8) of the capacity. */
    private static final int MAX_FORECAST_DIVISOR = 8;

    private static final long MS_PER_SECOND = 1_000;

    /** A lease is new for this part (1/4) of its term. */
    private static final int NEW_LEASE_DIVISOR = 4;

    private static final Comparator<OutstandingLease> BY_DUE =
            Comparator.comparingLong(OutstandingLease::dueMs).thenComparingLong(OutstandingLease::leaseId);

    /**
     * An outstanding lease.
     *
     * @param leaseId the id of the lease
     * @param holder the name of the holder
     * @param amount tokens that are neither reported as used nor returned
     * @param used tokens that were reported as used
     * @param requestedTokens the tokens that were requested
     * @param untilMs when the lease ends
     * @param dueMs when the amount is charged as used if it is not reported; slots, when they have ended
     */
    public record OutstandingLease(
            long leaseId, String holder, long amount, long used, long requestedTokens, long untilMs, long dueMs) {

        private OutstandingLease dueNotBefore(long atMs) {
            return new OutstandingLease(leaseId, holder, amount, used, requestedTokens, untilMs, Math.max(dueMs, atMs));
        }
    }

    /**
     * A holder that was refused and is expected to request the same amount again.
     *
     * @param holder the name of the holder
     * @param minTokens the tokens that its waiting request needs
     * @param requestedTokens the tokens that it requested
     * @param untilMs when the entry expires
     */
    public record Refusal(String holder, long minTokens, long requestedTokens, long untilMs) {}

    /**
     * How usage is charged that is reported after its lease's limit was suspended or reset.
     *
     * @param suspended accounts of limits that are suspended, because the policy permits everything or nothing instead.
     *     Leases from before are charged to them, too
     * @param suspendedBeforeId the leases from before the suspension are those with lower ids
     * @param resetBeforeId the leases from before the last reset are those with lower ids
     * @param resetMs the broker's time when it appended the last reset. Uses that are not after it are not charged
     * @param resetHolder the holder that sent the last reset, after it had reported all usage: what it reports later is
     *     charged; empty if there was no reset
     * @param refundable what can be refunded
     */
    public record Earlier(
            List<LimitAccount<?>> suspended,
            long suspendedBeforeId,
            long resetBeforeId,
            long resetMs,
            String resetHolder,
            RefundableUse refundable) {

        /** Nothing was suspended or reset, and nothing can be refunded. */
        public static final Earlier NONE = new Earlier(List.of(), 0, 0, 0, "", RefundableUse.NONE);

        public Earlier {
            suspended = List.copyOf(suspended);
        }

        /**
         * Returns whether a report has only uses that the last reset has freed. Decision times are not behind the
         * broker's time, so a use with an earlier decision time took place before the reset was appended.
         */
        boolean isFreed(OutstandingLease lease, long lastUsedMs) {
            return lease.leaseId < resetBeforeId && lastUsedMs <= resetMs && !lease.holder.equals(resetHolder);
        }

        /** Returns whether a refund is of what the last reset has freed, or of an account from before. */
        boolean isFreed(Refund refund) {
            return refund.leaseId() < resetBeforeId && refund.sinceMs() <= resetMs;
        }

        private Earlier withSuspended(List<LimitAccount<?>> others, long beforeId) {
            return new Earlier(others, beforeId, resetBeforeId, resetMs, resetHolder, refundable);
        }

        private Earlier with(RefundableUse next) {
            return next.equals(refundable)
                    ? this
                    : new Earlier(suspended, suspendedBeforeId, resetBeforeId, resetMs, resetHolder, next);
        }
    }

    public Ledger {
        accounts = List.copyOf(accounts);
        leases = List.copyOf(leases);
        refusals = List.copyOf(refusals);
    }

    /** Returns the ledger of limits that have not been used. */
    public static Ledger open(List<? extends Limit<?>> limits, long nowMs) {
        List<LimitAccount<?>> accounts = new ArrayList<>();
        limits.forEach(limit -> accounts.add(LimitAccount.open(limit, nowMs)));
        return new Ledger(nowMs, nowMs, accounts, List.of(), List.of(), nowMs << LEASE_BITS_PER_MS, Earlier.NONE);
    }

    /**
     * A ledger after a request, and its response.
     *
     * @param ledger the next ledger
     * @param response the response; null if no lease was requested
     */
    public record Result(Ledger ledger, LeaseResponse response) {}

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
        return withAccounts(next, suspended, Collections.nCopies(next.size(), clockMs));
    }

    /**
     * Like {@link #withAccounts(List, List)}.
     *
     * @param refundableAfterMs for each account the time up to which its uses are not refunded: the current time, unless
     *     the account continues another one with the times of its usage
     */
    public Ledger withAccounts(
            List<LimitAccount<?>> next, List<LimitAccount<?>> suspended, List<Long> refundableAfterMs) {
        long beforeId = suspended.isEmpty() ? 0 : nextLeaseId;
        if (suspended.equals(earlier.suspended)) {
            beforeId = earlier.suspendedBeforeId;
        }
        Earlier then = earlier.withSuspended(suspended, beforeId).with(earlier.refundable.after(refundableAfterMs));
        // the migrated states start at clockMs, so no charge may have an earlier time
        return new Ledger(clockMs, clockMs, next, leasesUntilEnd(next), refusals, nextLeaseId, then);
    }

    /** Returns the leases, which are due when all slots have ended that holders may take of them by other limits. */
    private List<OutstandingLease> leasesUntilEnd(List<LimitAccount<?>> next) {
        long ttlMs = LentSlotCounts.longestTtlMs(next);
        if (ttlMs == 0) {
            return leases;
        }
        return leases.stream()
                .map(lease -> lease.dueNotBefore(lease.untilMs - 1 + ttlMs))
                .sorted(BY_DUE)
                .toList();
    }

    /** Returns this ledger with its accounts in the form in which they are stored. */
    public Ledger withStored(List<LimitAccount<?>> stored, List<LimitAccount<?>> suspended) {
        Earlier then = earlier.withSuspended(suspended, earlier.suspendedBeforeId);
        return new Ledger(clockMs, lastChargeMs, stored, leases, refusals, nextLeaseId, then);
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
        RefundableUse refundable = earlier.refundable.after(unused.size(), Math.max(clockMs, nowMs));
        Earlier then = new Earlier(List.of(), 0, nextLeaseId, nowMs, holder, refundable);
        return new Ledger(clockMs, clockMs, unused, leases, List.of(), nextLeaseId, then);
    }

    /**
     * Returns this ledger at {@code nowMs}, or at its own time if that is later. Leases that are due are charged
     * as used; slots have ended by then.
     */
    public Ledger advancedTo(long nowMs) {
        long atMs = Math.max(clockMs, nowMs);
        List<Refusal> waiting = refusals.stream().allMatch(refusal -> refusal.untilMs > atMs)
                ? refusals
                : refusals.stream().filter(refusal -> refusal.untilMs > atMs).toList();
        if (leases.isEmpty() || leases.get(0).dueMs > atMs) {
            return atMs == clockMs
                    ? this
                    : new Ledger(atMs, lastChargeMs, accounts, leases, waiting, nextLeaseId, earlier);
        }
        Ledger next = this;
        List<OutstandingLease> left = new ArrayList<>(leases);
        while (!left.isEmpty() && left.get(0).dueMs <= atMs) {
            OutstandingLease ended = left.remove(0);
            next = next.withRefundable(next.earlier.refundable.unreported(ended.leaseId));
            Charge charge = new Charge(ended.leaseId, ended.untilMs - 1, ended.amount);
            next = next.charge(charge, next.earlier.refundable.hasReserved(), Optional.empty());
        }
        return new Ledger(atMs, next.lastChargeMs, next.accounts, left, waiting, nextLeaseId, next.earlier);
    }

    /**
     * Like {@link #handle(LeaseRequest, LeaseTerms, List, long)}, with a maximum of twice the capacity for each limit:
     * a settlement leaves a debt of at most one capacity.
     */
    public Result handle(LeaseRequest request, LeaseTerms terms, long nowMs) {
        List<Long> maxUsed = accounts.stream()
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
        Ledger next = advancedTo(Math.max(nowMs, lastUsedMs(request)));
        for (LeaseRequest.Report report : request.reports()) {
            next = next.applyReport(request.holder(), report);
        }
        return next.refund(request.holder(), request.refunds()).settle(request.settled(), maxUsed);
    }

    private Ledger withRefundable(RefundableUse next) {
        Earlier then = earlier.with(next);
        return new Ledger(clockMs, lastChargeMs, accounts, leases, refusals, nextLeaseId, then);
    }

    /** Answers a request or a question. Parameters are as in {@link #handle}. */
    public Result answer(LeaseRequest request, LeaseTerms terms, long nowMs) {
        LeaseTerms adjusted = terms.withRoundTrip(request.roundTripMs());
        if (request.isRenewal()) {
            return renew(request, nowMs);
        }
        return request.requestsLease()
                ? lend(request, adjusted, nowMs)
                : new Result(this, request.isCheck() ? check(request, adjusted, nowMs) : null);
    }

    private Result renew(LeaseRequest request, long nowMs) {
        LentSlotCounts.Renewed renewed = slotCounts().renewed(request.refunds().renewals());
        Ledger next = new Ledger(clockMs, lastChargeMs, renewed.accounts(), leases, refusals, nextLeaseId, earlier);
        long free = next.lendable(others(request.holder()).tokens);
        return new Result(next, new LeaseResponse.Renewed(request.number(), nowMs, free, clockMs, renewed.ended()));
    }

    /**
     * Returns the latest decision time that the request reports, at least the ledger's time. It can be ahead of the
     * ledger's time by as long as the request for the lease took to the broker.
     */
    private long lastUsedMs(LeaseRequest request) {
        long latestMs = clockMs;
        for (LeaseRequest.Report report : request.reports()) {
            for (OutstandingLease lease : leases) {
                if (lease.leaseId == report.leaseId()) {
                    latestMs = Math.max(latestMs, Math.min(report.lastUsedMs(), lease.untilMs - 1));
                }
            }
        }
        return latestMs;
    }

    /** Returns the tokens that could be lent now. */
    public long free() {
        long available = Long.MAX_VALUE;
        for (LimitAccount<?> account : accounts) {
            available = Math.min(available, account.remaining(clockMs));
        }
        return Math.max(0, available - lent());
    }

    /** Returns the tokens of all outstanding leases. */
    public long lent() {
        return leases.stream().mapToLong(OutstandingLease::amount).sum();
    }

    /**
     * Applies a report. A report of a lease that is no longer outstanding is ignored. Amounts outside the possible
     * range are clamped to it.
     */
    private Ledger applyReport(String holder, LeaseRequest.Report report) {
        for (int place = 0; place < leases.size(); place++) {
            OutstandingLease lease = leases.get(place);
            if (lease.leaseId == report.leaseId() && lease.holder.equals(holder)) {
                return applyReport(place, lease, report);
            }
        }
        return this;
    }

    private Ledger applyReport(int place, OutstandingLease lease, LeaseRequest.Report report) {
        long used = Math.max(0, Math.min(lease.amount, report.used() - lease.used));
        long held = Math.max(0, Math.min(lease.amount - used, report.held()));
        List<OutstandingLease> next = new ArrayList<>(leases);
        if (held > 0) {
            next.set(
                    place,
                    new OutstandingLease(
                            lease.leaseId,
                            lease.holder,
                            held,
                            lease.used + used,
                            lease.requestedTokens,
                            lease.untilMs,
                            lease.dueMs));
        } else {
            next.remove(place);
        }
        Ledger known = report.isReserved() ? withRefundable(earlier.refundable.reserved(firstLeaseId())) : this;
        Ledger charged = used > 0 && !earlier.isFreed(lease, report.lastUsedMs())
                ? known.charge(
                        new Charge(lease.leaseId, Math.min(report.lastUsedMs(), lease.untilMs - 1), used),
                        report.isReserved(),
                        Optional.of(report.slots()))
                : known;
        return new Ledger(
                clockMs, charged.lastChargeMs, charged.accounts, next, refusals, nextLeaseId, charged.earlier);
    }

    /** Returns the lowest id of the outstanding leases; there must be one. */
    private long firstLeaseId() {
        return leases.stream().mapToLong(OutstandingLease::leaseId).min().orElseThrow();
    }

    /** @param slots the ends of the slots; empty if they have all passed, because they were not reported in time */
    private Ledger charge(Charge use, boolean isReserved, Optional<List<SlotUse>> slots) {
        Charge charge = new Charge(use.number(), Math.max(lastChargeMs, use.atMs()), use.cost());
        boolean isEarlier = use.number() < earlier.suspendedBeforeId && !earlier.suspended.isEmpty();
        Earlier then = isEarlier
                ? earlier.withSuspended(charged(earlier.suspended, charge, false, slots), earlier.suspendedBeforeId)
                : earlier;
        List<LimitAccount<?>> next = charged(accounts, charge, isReserved, slots);
        return new Ledger(clockMs, charge.atMs(), next, leases, refusals, nextLeaseId, then);
    }

    private List<LimitAccount<?>> charged(
            List<LimitAccount<?>> of, Charge charge, boolean isReserved, Optional<List<SlotUse>> slots) {
        List<LimitAccount<?>> next = new ArrayList<>(of.size());
        for (LimitAccount<?> account : of) {
            if (account.limit() instanceof Concurrency limit) {
                next.add(slots.<LimitAccount<?>>map(ends ->
                                LentSlotCounts.reported(limit, account, ends, charge.cost(), charge.atMs(), clockMs))
                        .orElse(account));
            } else {
                next.add(isReserved ? account.chargeReserved(charge) : account.charge(charge.cost(), charge.atMs()));
            }
        }
        return next;
    }

    private LentSlotCounts slotCounts() {
        return new LentSlotCounts(accounts, earlier, clockMs);
    }

    /**
     * Refunds what reservations have used, as if they had not, and frees their slots, unless the message was received
     * before. Usage of accounts that have been replaced or reset since is not refunded.
     */
    private Ledger refund(String holder, LeaseRequest.Refunds refunds) {
        RefundableUse refundable = earlier.refundable;
        boolean hasAny = !refunds.refunds().isEmpty() || !refunds.freed().isEmpty();
        if (!hasAny || !refundable.isNew(holder, refunds.number()) || !refundable.hasReserved()) {
            return this;
        }
        List<LimitAccount<?>> next = slotCounts().freed(refunds.freed());
        int most = Math.min(refunds.refunds().size(), Corrections.MAX_REFUNDS);
        for (Refund refund : refunds.refunds().subList(0, most)) {
            boolean isCharged = refund.tokens() > 0
                    && refund.leaseId() >= refundable.fromLeaseId()
                    && refund.leaseId() < nextLeaseId
                    && !earlier.isFreed(refund);
            for (int i = 0; i < next.size() && isCharged; i++) {
                if (refund.sinceMs() > refundable.afterMs(i)) {
                    Charge charge = new Charge(refund.leaseId(), refund.sinceMs(), refund.tokens());
                    next.set(i, next.get(i).refunded(charge, lastChargeMs));
                }
            }
        }
        Earlier then = earlier.with(refundable.with(holder, refunds.number()));
        return new Ledger(clockMs, lastChargeMs, next, leases, refusals, nextLeaseId, then);
    }

    /**
     * Charges tokens that were used in excess of all leases, as far as the tokens used and lent stay within the maximum
     * of each limit. All that is lent may later be reported as used, so usage never exceeds the maximum. A negative
     * settlement is ignored, since a refund would permit more than the limit.
     */
    private Ledger settle(long settled, List<Long> maxUsed) {
        if (settled <= 0) {
            return this;
        }
        long lent = lent();
        long timeMs = Math.max(lastChargeMs, clockMs);
        List<LimitAccount<?>> next = new ArrayList<>();
        for (int i = 0; i < accounts.size(); i++) {
            LimitAccount<?> account = accounts.get(i);
            boolean isOfSlots = account.limit() instanceof Concurrency; // a SETTLE takes none
            next.add(isOfSlots ? account : account.chargeUpTo(maxUsed.get(i) - lent, settled, timeMs));
        }
        return new Ledger(clockMs, timeMs, next, leases, refusals, nextLeaseId, earlier);
    }

    /**
     * Grants what is requested as far as the other holders' demands can still be met, by max-min fairness (D.
     * Bertsekas, R. Gallager: <i>Data Networks</i>, 1992): each other holder is left what it requested last, but at
     * most an even share of what is free. A holder with a new lease is left an even share, since its demand may not be
     * known yet.
     *
     * <p>Example: 9 tokens are free, {@code a} requested 1 and now {@code b} requests 9. {@code b} gets 8; while the
     * lease of {@code a} is new, {@code a} is left its even share of 4, and {@code b} gets 5.
     *
     * <p>If a request waits, at least its cost is granted, unless it is due to holders that were refused before. If
     * none waits, nothing is granted while little is free or if the limit is small, so that leases kept in reserve do
     * not withhold tokens that requests wait for. For the same reason, holders that have not requested anything yet are
     * left most of a limit: what was requested is a forecast for a term, and beyond the demand of one second at most an
     * eighth of the capacity is granted. Of a small limit, only the cost of the waiting requests is granted.
     *
     * <p>Example: 8 tokens a minute. Each of several holders gets a request, and forecasts 5 for the next 5 s. Each
     * gets 1, and 8 holders can permit a request.
     */
    private Result lend(LeaseRequest request, LeaseTerms terms, long nowMs) {
        long least = request.minTokens();
        long free = free();
        Others others = others(request.holder());
        long share = Math.min(fairShare(request.holder(), free, terms), free - others.tokens);
        long amount = Math.max(least, Math.min(maxTokens(request, terms), share));
        long reserve = reserve(terms);
        boolean isRefused =
                least == 0 ? amount <= 0 || free - others.tokens < reserve : least > free - others.tokensBefore;
        if (isRefused || leases.size() >= MAX_LEASES) {
            long retryAfterMs = retryAfterMs(Math.max(1, least == 0 ? reserve : least), others.tokensBefore);
            List<Refusal> next = refusalsWith(request, others.place, terms, retryAfterMs);
            boolean isLent = isLent(request.holder(), least, free - others.tokensBefore, terms);
            return new Result(
                    new Ledger(clockMs, lastChargeMs, accounts, leases, next, nextLeaseId, earlier),
                    new LeaseResponse.Refused(
                            request.number(), nowMs, lendable(others.tokensBefore), retryAfterMs, isLent));
        }
        long untilMs = untilMs(terms);
        OutstandingLease lease = new OutstandingLease(
                nextLeaseId,
                request.holder(),
                amount,
                0,
                request.requestedTokens(),
                untilMs,
                Math.max(untilMs + terms.graceMs(), untilMs - 1 + LentSlotCounts.longestTtlMs(accounts)));
        List<OutstandingLease> next = new ArrayList<>(leases);
        next.add(-Collections.binarySearch(next, lease, BY_DUE) - 1, lease);
        return new Result(
                new Ledger(
                        clockMs, lastChargeMs, accounts, next, refusalsWithout(others.place), nextLeaseId + 1, earlier),
                new LeaseResponse.Granted(
                        request.number(),
                        lease.leaseId,
                        amount,
                        nowMs,
                        clockMs,
                        lease.untilMs,
                        lendable(others.tokens) - amount));
    }

    /** Returns whether the checked tokens could be lent. The holder gets no place among the refused ones. */
    public LeaseResponse.Checked check(LeaseRequest request, LeaseTerms terms, long nowMs) {
        long tokens = request.checkedTokens();
        long before = others(request.holder()).tokensBefore;
        long lendable = lendable(before);
        boolean isEnough = tokens <= lendable;
        return new LeaseResponse.Checked(
                request.number(),
                nowMs,
                lendable,
                isEnough ? 0 : retryAfterMs(tokens, before),
                isLent(request.holder(), tokens, free() - before, terms));
    }

    /**
     * Returns how much could be lent if {@code others} tokens are due to other holders. Below 0 if more than the limit
     * is used, lent or due.
     */
    private long lendable(long others) {
        long available = Long.MAX_VALUE;
        for (LimitAccount<?> account : accounts) {
            available = Math.min(available, account.limit().capacity() - account.used(clockMs));
        }
        long left = available - lent() - others;
        return leases.size() >= MAX_LEASES ? Math.min(0, left) : left;
    }

    /** Returns whether tokens are not free, but would be without those that other holders seem to hold unused. */
    private boolean isLent(String holder, long tokens, long free, LeaseTerms terms) {
        return tokens > free && tokens <= free + lentUnused(holder, terms);
    }

    /**
     * The other refused holders.
     *
     * @param place the index of the holder among the refused ones, -1 if it is not among them
     * @param tokens what the others are due
     * @param tokensBefore what those are due that are before the holder
     */
    private record Others(int place, long tokens, long tokensBefore) {}

    private Others others(String holder) {
        long before = 0;
        long others = 0;
        int place = -1;
        for (int i = 0; i < refusals.size(); i++) {
            if (refusals.get(i).holder.equals(holder)) {
                place = i;
            } else {
                others = Math.min(Limit.MAX_LEVEL, others + refusals.get(i).minTokens);
                before = place < 0 ? others : before;
            }
        }
        return new Others(place, others, before);
    }

    /** Returns the most tokens that a request is granted if no request of the holder waits for more. */
    private long maxTokens(LeaseRequest request, LeaseTerms terms) {
        long requested = request.requestedTokens();
        if (isSmall(terms)) {
            return request.waitingTokens();
        }
        if (terms.termMs() <= MS_PER_SECOND) {
            return requested;
        }
        long ofSecond = requested / terms.termMs() * MS_PER_SECOND
                + (requested % terms.termMs() * MS_PER_SECOND + terms.termMs() - 1) / terms.termMs();
        return Math.min(requested, Math.max(ofSecond, capacity() / MAX_FORECAST_DIVISOR));
    }

    /**
     * Returns how much must be free for a lease that no request waits for; {@link Long#MAX_VALUE} if the limit is too
     * small for such leases.
     */
    private long reserve(LeaseTerms terms) {
        return isSmall(terms) ? Long.MAX_VALUE : capacity() / SCARCE_DIVISOR;
    }

    private boolean isSmall(LeaseTerms terms) {
        for (LimitAccount<?> account : accounts) {
            Limit<?> limit = account.limit();
            if (limit instanceof Concurrency && terms.lendsSlots()) {
                return true;
            }
            if (limit.capacity() < MIN_CAPACITY_FOR_RESERVES && limit.windowMs(clockMs) > terms.termMs()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns the tokens that other holders seem to hold unused. A holder reports the use of a lease within a lead
     * after it is used up, so leases that are outstanding longer have unused tokens.
     */
    private long lentUnused(String holder, LeaseTerms terms) {
        long newMs = clockMs + terms.termMs() - 2 * terms.leadMs();
        return leases.stream()
                .filter(lease -> !lease.holder.equals(holder) && lease.untilMs > clockMs && lease.untilMs <= newMs)
                .mapToLong(OutstandingLease::amount)
                .sum();
    }

    private List<Refusal> refusalsWithout(int place) {
        if (place < 0) {
            return refusals;
        }
        List<Refusal> next = new ArrayList<>(refusals);
        next.remove(place);
        return next;
    }

    /**
     * Returns the list of refused holders after another refusal.
     *
     * @param place the index of the holder's entry, -1 if it has none
     */
    private List<Refusal> refusalsWith(LeaseRequest request, int place, LeaseTerms terms, long retryAfterMs) {
        long least = request.minTokens();
        long waitMs = Math.min(retryAfterMs, terms.termMs());
        boolean isSmall = least > 0 && least <= Math.max(1, capacity() / SCARCE_DIVISOR);
        boolean returns = isSmall
                && Math.min(request.requestedTokens() / least, terms.termMs()) * 2 * terms.leadMs() >= terms.termMs();
        if (!returns || (place < 0 && refusals.size() >= MAX_REFUSALS)) {
            return refusalsWithout(place);
        }
        long untilMs = clockMs + waitMs + 2 * terms.leadMs();
        Refusal refusal = new Refusal(request.holder(), least, request.requestedTokens(), untilMs);
        List<Refusal> next = new ArrayList<>(refusals);
        if (place < 0) {
            next.add(refusal);
        } else {
            next.set(place, refusal);
        }
        return next;
    }

    private long fairShare(String holder, long free, LeaseTerms terms) {
        Map<String, Long> wants = new HashMap<>(2 * (leases.size() + refusals.size()));
        long knownMs = clockMs + terms.termMs() - terms.termMs() / NEW_LEASE_DIVISOR;
        leases.forEach(
                lease -> wants.put(lease.holder, lease.untilMs > knownMs ? Long.MAX_VALUE : lease.requestedTokens));
        refusals.forEach(refusal -> wants.merge(refusal.holder, refusal.requestedTokens, Math::max));
        wants.remove(holder);
        long even = free / (wants.size() + 1);
        long left = free;
        for (long wanted : wants.values()) {
            left -= Math.min(wanted, even);
        }
        return even == 0 ? 0 : left;
    }

    private long capacity() {
        long capacity = Long.MAX_VALUE;
        for (LimitAccount<?> account : accounts) {
            capacity = Math.min(capacity, account.limit().capacity());
        }
        return capacity;
    }

    /**
     * Returns the end of a lease that is granted now. Usage in two windows would be charged in the later one, so a
     * lease ends with the window, unless too little time is left to request the next lease.
     */
    private long untilMs(LeaseTerms terms) {
        long untilMs = clockMs + terms.termMs();
        for (LimitAccount<?> account : accounts) {
            long endsMs = account.limit().windowEndsMs(clockMs);
            untilMs = endsMs - clockMs > 2 * terms.leadMs() ? Math.min(untilMs, endsMs) : untilMs;
        }
        return untilMs;
    }

    /**
     * Returns how long until enough is free if no lease is returned, or until the first lease ends: before its end, its
     * holder returns what it does not use.
     *
     * @param least the tokens needed
     * @param before the tokens due to holders that were refused before, counted as far as they fit into the capacity
     */
    private long retryAfterMs(long least, long before) {
        long waitMs = leases.size() >= MAX_LEASES ? Long.MAX_VALUE : 0;
        for (LimitAccount<?> account : accounts) {
            long capacity = account.limit().capacity();
            if (least > capacity) {
                return Long.MAX_VALUE;
            }
            long needed = lent() + least;
            long cost = needed + Math.max(0, Math.min(before, capacity - needed));
            waitMs = account.limit().fits(cost) ? Math.max(waitMs, account.waitMs(cost, clockMs)) : Long.MAX_VALUE;
        }
        long endsMs = Long.MAX_VALUE;
        for (OutstandingLease lease : leases) {
            endsMs = Math.min(endsMs, lease.untilMs > clockMs ? lease.untilMs : lease.dueMs);
        }
        return Math.max(1, Math.min(waitMs, endsMs - clockMs));
    }
}
