package dev.weir.lease;

import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What was used of limits that are shared, and what of them is lent out.
 *
 * <pre>
 *   free(t)   =  min over the limits { available(t) } − Σ loans
 *   lend a    ⟸  a ≤ free(t)                        the loan stands until it is accounted for
 *   account   :  what a holder reports as used is charged at the time of its last use;
 *                what it gives back is free again;
 *                what it does not report within a grace period after the lease's end is charged, at its last millisecond
 * </pre>
 *
 * <p>A use has the time {@code u} that its decision goes by, and {@code from ≤ u < until} of its slice. Why the sum of
 * all uses, by these times, keeps what each limit promises, whatever is delayed, lost or used at whichever of those
 * moments:
 *
 * <p><b>Every use is counted from the moment its slice is lent until the limit itself lets go of it:</b> first as a
 * loan, then as a charge whose time is that of the last use of its part or later, but not behind the slice's end.
 *
 * <p><b>Sliding window log</b> ({@code Σ in (x − W, x] ≤ L}). Of the slices with a use in the window take the one that
 * was lent last, at {@code g ≤ x}. Each of the others was lent before {@code g}. At {@code g} it was a loan, or charged
 * at some {@code c ≥ u > x − W}, and {@code g − c < W}, so the log still had it. All of them together were at most L
 * when the last one was lent.
 *
 * <p><b>Fixed and calendar windows</b> ({@code Σ in a window ≤ L}). In the same way: if the last slice was lent in the
 * window, the others were loans then, or charged in it; if it was lent before the window, all of them were loans then.
 *
 * <p><b>Sliding window counter</b> ({@code share(previous) + current ≤ L at each use}). Take the last one that was lent
 * of those with a use in the two windows up to {@code u}. If it was lent in the present window, each use in it was a
 * loan or in the present count, and each use in the previous one was there, or in the previous count: weighed as much
 * as it weighs at {@code u}, or more. If it was lent in the previous window, all uses in both were loans then, or in
 * what was its present count.
 *
 * <p><b>Buckets</b> (token bucket, leaky bucket, GCRA, refill by steps: {@code Σ in [s, t] ≤ B + what flows in from s
 * to t}). Again, let the last of the slices with a use in {@code [s, t]} be lent at {@code g}. If {@code g < s}, all of
 * them were loans then, at most B. Else each of the others was a loan at {@code g}, or charged at some {@code c} in
 * {@code [s, g]}, since {@code c ≥ u ≥ s}; of these charges the bucket still had all but what flowed in from {@code s}
 * to {@code g}; and what it had, the loans and the slice itself were at most B. (Charges have rising times, so a bucket
 * whose steps are forgotten has been full.)
 *
 * <p>None of this compares wall clocks: only the times of decisions count. The ledger's time is that of the broker,
 * which stamps each request when it is appended. A holder derives decision times from the times of its leases and from
 * its monotonic clock ({@link Lease}), so they are never behind the ledger's time, and ahead of it by at most the time
 * that the request for the lease was under way. So, by the broker's clock, too, no lease is used after its end, as long
 * as monotonic clocks drift by no more than one part in {@value Lease#MAX_DRIFT_PARTS}; across a change of the
 * partition's leader, as long as the brokers' clocks agree.
 *
 * <p><b>Order of refused holders.</b> Two holders that want more than there is would race for each token that becomes
 * free, and the one with the shorter way to the ledger would win each time. So the ledger keeps a list of refused
 * holders, in the order in which they were refused, and grants a request only if what is free covers its {@code least}
 * and those of the holders before it:
 *
 * <pre>
 *   grant to h   ⟸  least(h) + Σ least of the refused before h  ≤ free(t)
 * </pre>
 *
 * <p>This only ever grants less, so the proof above is not affected. The ledger adds a holder to the list only if the
 * holder's reported demand reaches the refused amount within two leads. Such a holder repeats its request at the retry
 * time of the refusal ({@link LeaseBook}). A holder with less demand may never repeat it, and its entry would block the
 * others. An entry expires two leads after the retry time. Requests for more than a quarter of the capacity are not
 * added: the others would wait until that much has accumulated.
 *
 * <p>Example: one token becomes free each 100 ms, and {@code a} and {@code b} want ten a second each. The ledger
 * refuses both at 0 ms, {@code a} with a retry time of 100 ms and {@code b} with one of 200 ms. At 100 ms it grants the
 * token to {@code a}, even if a request of {@code b} arrives first. If it then refuses {@code a} again, {@code a} is
 * behind {@code b}.
 *
 * @param clockMs the latest time that it was asked at
 * @param lastChargeMs the time of the last charge
 * @param accounts of the limits, all of which are charged together
 * @param loans what is out, the one that is due first first
 * @param refusals the holders that were refused and are expected to return, in the order of their first refusal
 * @param nextLeaseId the name of the next slice
 */
public record Ledger(
        long clockMs,
        long lastChargeMs,
        List<LimitAccount<?>> accounts,
        List<Loan> loans,
        List<Refusal> refusals,
        long nextLeaseId) {

    /** More slices are not lent at once: each takes room in the state. */
    public static final int MAX_LOANS = 10_000;

    /** More refused holders are not kept in order: each takes room in the state. */
    public static final int MAX_REFUSALS = 1_000;

    /** A ledger that was forgotten and is opened anew does not give the names of old slices again. */
    private static final int LEASE_BITS_PER_MS = 20;

    /** Less than this part of the capacity is little. */
    private static final int SCARCE_DIVISOR = 4;

    /** A lease is new for this part of its term. */
    private static final int NEW_LEASE_DIVISOR = 4;

    private static final Comparator<Loan> BY_DUE =
            Comparator.comparingLong(Loan::dueMs).thenComparingLong(Loan::leaseId);

    /**
     * A slice that is out.
     *
     * @param amount what is not accounted for yet
     * @param used what was reported as used of it before
     * @param requestedTokens what was requested
     * @param untilMs when the lease ends
     * @param dueMs when it is charged as used if it is not reported
     */
    public record Loan(
            long leaseId, String holder, long amount, long used, long requestedTokens, long untilMs, long dueMs) {}

    /**
     * A holder that was refused and is expected to request the same amount again.
     *
     * @param minTokens tokens that it needs at least
     * @param requestedTokens what it requested
     * @param untilMs when it loses its place unless it has returned
     */
    public record Refusal(String holder, long minTokens, long requestedTokens, long untilMs) {}

    public Ledger {
        accounts = List.copyOf(accounts);
        loans = List.copyOf(loans);
        refusals = List.copyOf(refusals);
    }

    /** The ledger of limits of which nothing is used. */
    public static Ledger open(List<? extends Limit<?>> limits, long nowMs) {
        List<LimitAccount<?>> accounts = new ArrayList<>();
        limits.forEach(limit -> accounts.add(LimitAccount.open(limit, nowMs)));
        return new Ledger(nowMs, nowMs, accounts, List.of(), List.of(), nowMs << LEASE_BITS_PER_MS);
    }

    /**
     * A ledger, and what it answers.
     *
     * @param response null: nothing was requested
     */
    public record Result(Ledger ledger, LeaseResponse response) {}

    /**
     * This ledger under other limits: what was used stays used, as {@code Account.under} says; what is lent stays lent.
     */
    public Ledger withAccounts(List<LimitAccount<?>> next) {
        return new Ledger(
                clockMs, clockMs, next, loans, refusals, nextLeaseId); // what they say of the time before is not theirs
    }

    /** This ledger at a later time, or at its own if that is later: what has ended by then is charged. */
    public Ledger advancedTo(long nowMs) {
        long atMs = Math.max(clockMs, nowMs);
        List<Refusal> waiting = refusals.stream().allMatch(refusal -> refusal.untilMs > atMs)
                ? refusals
                : refusals.stream().filter(refusal -> refusal.untilMs > atMs).toList();
        if (loans.isEmpty() || loans.get(0).dueMs > atMs) {
            return atMs == clockMs ? this : new Ledger(atMs, lastChargeMs, accounts, loans, waiting, nextLeaseId);
        }
        Ledger next = this;
        List<Loan> left = new ArrayList<>(loans);
        while (!left.isEmpty() && left.get(0).dueMs <= atMs) {
            Loan ended = left.remove(0);
            next = next.charge(ended.amount, ended.untilMs - 1);
        }
        return new Ledger(atMs, next.lastChargeMs, next.accounts, left, waiting, nextLeaseId);
    }

    /**
     * As {@link #handle(LeaseRequest, LeaseTerms, List, long)}, where a settlement leaves a debt of one capacity at
     * most.
     */
    public Result handle(LeaseRequest request, LeaseTerms terms, long nowMs) {
        List<Long> maxUsed = accounts.stream()
                .map(LimitAccount::limit)
                .map(limit -> limit.capacity() + Math.min(limit.capacity(), limit.maxUsed() - limit.capacity()))
                .toList();
        return handle(request, terms, maxUsed, nowMs);
    }

    /**
     * Charges what a holder reports, and answers its request.
     *
     * @param maxUsed for each limit, the most tokens that may be used or lent once a settlement is charged
     * @param nowMs the broker's time when the request was appended
     */
    public Result handle(LeaseRequest request, LeaseTerms terms, List<Long> maxUsed, long nowMs) {
        Ledger next = advancedTo(Math.max(nowMs, lastUsedMs(request)));
        for (LeaseRequest.Report report : request.reports()) {
            next = next.applyReport(request.holder(), report);
        }
        next = next.settle(request.settled(), maxUsed);
        return request.requestsLease()
                ? next.lend(request, terms.withRoundTrip(request.roundTripMs()), nowMs)
                : new Result(next, null);
    }

    /**
     * A holder's decision times may be ahead by as long as its request was under way: then it is later than was known
     * here.
     */
    private long lastUsedMs(LeaseRequest request) {
        long latestMs = clockMs;
        for (LeaseRequest.Report report : request.reports()) {
            for (Loan loan : loans) {
                if (loan.leaseId == report.leaseId()) {
                    latestMs = Math.max(latestMs, Math.min(report.lastUsedMs(), loan.untilMs - 1));
                }
            }
        }
        return latestMs;
    }

    /** Tokens that could be lent now. */
    public long free() {
        long available = Long.MAX_VALUE;
        for (LimitAccount<?> account : accounts) {
            available = Math.min(available, account.remaining(clockMs));
        }
        return Math.max(0, available - lent());
    }

    /** Tokens that are out. */
    public long lent() {
        return loans.stream().mapToLong(Loan::amount).sum();
    }

    /**
     * Of a slice that has ended, nothing is left to account for. What cannot be of a slice is taken as that which can
     * be.
     */
    private Ledger applyReport(String holder, LeaseRequest.Report report) {
        for (int place = 0; place < loans.size(); place++) {
            Loan loan = loans.get(place);
            if (loan.leaseId == report.leaseId() && loan.holder.equals(holder)) {
                return applyReport(place, loan, report);
            }
        }
        return this;
    }

    private Ledger applyReport(int place, Loan loan, LeaseRequest.Report report) {
        long used = Math.max(0, Math.min(loan.amount, report.used() - loan.used));
        long held = Math.max(0, Math.min(loan.amount - used, report.held()));
        List<Loan> next = new ArrayList<>(loans);
        if (held > 0) {
            next.set(
                    place,
                    new Loan(
                            loan.leaseId,
                            loan.holder,
                            held,
                            loan.used + used,
                            loan.requestedTokens,
                            loan.untilMs,
                            loan.dueMs));
        } else {
            next.remove(place);
        }
        Ledger charged = used > 0 ? charge(used, Math.min(report.lastUsedMs(), loan.untilMs - 1)) : this;
        return new Ledger(clockMs, charged.lastChargeMs, charged.accounts, next, refusals, nextLeaseId);
    }

    private Ledger charge(long amount, long atMs) {
        long timeMs = Math.max(lastChargeMs, atMs);
        List<LimitAccount<?>> next = new ArrayList<>();
        accounts.forEach(account -> next.add(account.charge(amount, timeMs)));
        return new Ledger(clockMs, timeMs, next, loans, refusals, nextLeaseId);
    }

    /**
     * Charges what was used beside all leases, as much of it as keeps what is used and lent within the maximum of each
     * limit. As all that is lent may be reported as used, no more than the maximum is ever in use. A negative
     * settlement is ignored: a refund would let more pass than the limit permits.
     */
    private Ledger settle(long settled, List<Long> maxUsed) {
        if (settled <= 0) {
            return this;
        }
        long lent = lent();
        long timeMs = Math.max(lastChargeMs, clockMs);
        List<LimitAccount<?>> next = new ArrayList<>();
        for (int i = 0; i < accounts.size(); i++) {
            next.add(accounts.get(i).chargeUpTo(maxUsed.get(i) - lent, settled, timeMs));
        }
        return new Ledger(clockMs, timeMs, next, loans, refusals, nextLeaseId);
    }

    /**
     * Grants what is wanted, as far as the other holders' wants can still be met: by max-min fairness, each of them is
     * left what it wanted last, but no more than an even share of what is free. A holder that got its lease only now is
     * left an even share, since it may not know yet what it will want. If a request waits, its cost is granted at
     * least, unless that is due to a holder that was refused before; if none does, nothing is granted while little is
     * free, so that leases which nobody may need do not withhold what others wait for.
     */
    private Result lend(LeaseRequest request, LeaseTerms terms, long nowMs) {
        long least = request.minTokens();
        long free = free();
        long before = 0;
        long others = 0;
        int place = -1;
        for (int i = 0; i < refusals.size(); i++) {
            if (refusals.get(i).holder.equals(request.holder())) {
                place = i;
            } else {
                others = Math.min(Limit.MAX_LEVEL, others + refusals.get(i).minTokens);
                before = place < 0 ? others : before;
            }
        }
        long share = Math.min(fairShare(request.holder(), free, terms), free - others);
        long amount = Math.max(least, Math.min(request.requestedTokens(), share));
        boolean isRefused =
                least == 0 ? amount <= 0 || free - others < capacity() / SCARCE_DIVISOR : least > free - before;
        if (isRefused || loans.size() >= MAX_LOANS) {
            long retryAfterMs = retryAfterMs(Math.max(1, least), before);
            List<Refusal> next = refusalsWith(request, place, terms, retryAfterMs);
            return new Result(
                    new Ledger(clockMs, lastChargeMs, accounts, loans, next, nextLeaseId),
                    new LeaseResponse.Refused(request.number(), nowMs, retryAfterMs));
        }
        long untilMs = untilMs(terms);
        Loan loan = new Loan(
                nextLeaseId,
                request.holder(),
                amount,
                0,
                request.requestedTokens(),
                untilMs,
                untilMs + terms.graceMs());
        List<Loan> next = new ArrayList<>(loans);
        next.add(-Collections.binarySearch(next, loan, BY_DUE) - 1, loan);
        return new Result(
                new Ledger(clockMs, lastChargeMs, accounts, next, refusalsWithout(place), nextLeaseId + 1),
                new LeaseResponse.Granted(
                        request.number(), loan.leaseId, amount, nowMs, clockMs, loan.untilMs, amount >= free - others));
    }

    private List<Refusal> refusalsWithout(int place) {
        if (place < 0) {
            return refusals;
        }
        List<Refusal> next = new ArrayList<>(refusals);
        next.remove(place);
        return next;
    }

    /** The refusals after one more; {@code place} is the holder's entry, -1 if it has none. */
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
        Map<String, Long> wants = new HashMap<>(2 * (loans.size() + refusals.size()));
        long knownMs = clockMs + terms.termMs() - terms.termMs() / NEW_LEASE_DIVISOR;
        loans.forEach(loan -> wants.put(loan.holder, loan.untilMs > knownMs ? Long.MAX_VALUE : loan.requestedTokens));
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
     * A slice that is used in two windows counts in the later one, so none is but one lent too shortly before the end
     * for a next one.
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
     * How long until there is enough if no loan is given back, or the first one ends.
     *
     * @param before what holders get that were refused before, as far as it fits
     */
    private long retryAfterMs(long least, long before) {
        long waitMs = loans.size() >= MAX_LOANS ? Long.MAX_VALUE : 0;
        for (LimitAccount<?> account : accounts) {
            long capacity = account.limit().capacity();
            if (least > capacity) {
                return Long.MAX_VALUE;
            }
            long needed = lent() + least;
            long cost = needed + Math.max(0, Math.min(before, capacity - needed));
            waitMs = account.limit().fits(cost) ? Math.max(waitMs, account.waitMs(cost, clockMs)) : Long.MAX_VALUE;
        }
        long firstEndsMs = loans.isEmpty() ? Long.MAX_VALUE : loans.get(0).dueMs - clockMs;
        return Math.max(1, Math.min(waitMs, firstEndsMs));
    }
}
