package dev.weir.lease.ledger;

import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.limit.Concurrency;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.time.DueTime;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;

/**
 * How much a ledger lends to one holder, and when a refused holder may ask again.
 *
 * <p>What is requested is granted as far as the other holders' demands can still be met, by max-min fairness (D.
 * Bertsekas, R. Gallager: <i>Data Networks</i>, 1992): each other holder is left what it requested last, but at most an
 * even share of what is free. A holder with a new lease is left an even share, since its demand may not be known yet.
 *
 * <p>Example: 9 tokens are free, {@code a} requested 1 and now {@code b} requests 9. {@code b} gets 8; while the lease
 * of {@code a} is new, {@code a} is left its even share of 4, and {@code b} gets 5.
 *
 * <p>If a request waits, at least its cost is granted, unless it is due to holders that were refused before. If none
 * waits, nothing is granted while little is free or if the limit is small, so that leases kept in reserve do not
 * withhold tokens that requests wait for. For the same reason, holders that have not requested anything yet are left
 * most of a limit. What was requested is a forecast for a term, and beyond the demand of one second at most an eighth
 * of the capacity is granted. Of a small limit, only the cost of the waiting requests is granted.
 *
 * <p>Example: 8 tokens a minute. Each of several holders gets a request, and forecasts 5 for the next 5 s. Each gets 1,
 * and 8 holders can permit a request.
 */
final class LendingRules {

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

    /** What a holder wants whose demand is not known yet: the most that any holder is left. */
    private static final long AS_MUCH_AS_OTHERS = Long.MAX_VALUE;

    private final LedgerUsage usage;
    private final OutstandingLeases leases;
    private final RefusedHolders refused;
    private final LeaseTerms terms;
    private final String holder;
    private final RefusedHolders.Others others;
    private final long lent;
    private final long available;

    /**
     * @param ledger the ledger that lends
     * @param terms the timing of leases
     * @param holder the holder that requests a lease
     */
    LendingRules(Ledger ledger, LeaseTerms terms, String holder) {
        usage = ledger.usage();
        leases = ledger.outstanding();
        refused = ledger.refused();
        this.terms = terms;
        this.holder = holder;
        others = refused.othersThan(holder);
        lent = leases.tokens();
        available = usage.available() - lent;
    }

    /** Returns the ledger after a request for a lease, and the response. */
    Ledger.Result lend(LeaseRequest request, long nowMs) {
        long least = request.minTokens();
        long free = free() - others.tokens();
        long amount = Math.max(least, Math.min(maxTokens(request), Math.min(fairShare(), free)));
        boolean isRefused = least == 0
                ? amount <= 0 || isSmall() || free < capacity() / RefusedHolders.SCARCE_DIVISOR
                : least > freeForHolder();
        return isRefused || leases.isFull() ? refuse(request, nowMs) : grant(request, amount, nowMs);
    }

    private Ledger.Result refuse(LeaseRequest request, long nowMs) {
        long least = request.minTokens();
        long retryAfterMs = least > 0
                ? retryAfterMs(least)
                : isSmall() ? DueTime.NEVER : retryAfterMs(Math.max(1, capacity() / RefusedHolders.SCARCE_DIVISOR));
        RefusedHolders next = refused.refused(request, others, terms, capacity(), retryAfterMs, usage.clockMs());
        return new Ledger.Result(
                new Ledger(usage, leases, next),
                new LeaseResponse.Refused(
                        request.number(), nowMs, lendable(others.tokensBefore()), retryAfterMs, isLent(least)));
    }

    private Ledger.Result grant(LeaseRequest request, long amount, long nowMs) {
        long untilMs = untilMs();
        long slotsEndMs = untilMs - 1 + LentSlotCounts.longestTtlMs(usage.accounts());
        OutstandingLease lease = new OutstandingLease(
                leases.nextId(),
                holder,
                amount,
                0,
                request.requestedTokens(),
                untilMs,
                Math.max(untilMs + terms.graceMs(), slotsEndMs));
        return new Ledger.Result(
                new Ledger(usage, leases.plus(lease), refused.without(others)),
                new LeaseResponse.Granted(
                        request.number(),
                        lease.leaseId(),
                        amount,
                        nowMs,
                        usage.clockMs(),
                        untilMs,
                        lendable(others.tokens()) - amount));
    }

    /** Returns whether the checked tokens could be lent. The holder gets no place among the refused ones. */
    LeaseResponse.Checked check(LeaseRequest request, long nowMs) {
        long tokens = request.checkedTokens();
        long lendable = lendable(others.tokensBefore());
        long retryAfterMs = tokens <= lendable ? 0 : retryAfterMs(tokens);
        return new LeaseResponse.Checked(request.number(), nowMs, lendable, retryAfterMs, isLent(tokens));
    }

    /** Returns how much could be lent to the holder. Below 0 if more than the limit is used, lent or due. */
    long lendable() {
        return lendable(others.tokens());
    }

    private long lendable(long due) {
        long left = available - due;
        return leases.isFull() ? Math.min(0, left) : left;
    }

    private long free() {
        return Math.max(0, available);
    }

    /** Returns what is neither used, nor lent, nor due to holders that were refused before. */
    private long freeForHolder() {
        return free() - others.tokensBefore();
    }

    /** Returns whether tokens are not free, but would be without those that other holders seem to hold unused. */
    private boolean isLent(long tokens) {
        return tokens > freeForHolder() && tokens <= freeForHolder() + lentUnused();
    }

    /**
     * Returns the tokens that other holders seem to hold unused. A holder reports the use of a lease within a lead
     * after it is used up, so leases that are outstanding longer have unused tokens.
     */
    private long lentUnused() {
        return leases.tokensOfOthers(holder, usage.clockMs(), usage.clockMs() + terms.termMs() - 2 * terms.leadMs());
    }

    /** Returns the most tokens that a request is granted if no request of the holder waits for more. */
    private long maxTokens(LeaseRequest request) {
        long requested = request.requestedTokens();
        if (isSmall()) {
            return request.waitingTokens();
        }
        if (terms.termMs() <= MS_PER_SECOND) {
            return requested;
        }
        long ofSecond = requested / terms.termMs() * MS_PER_SECOND
                + (requested % terms.termMs() * MS_PER_SECOND + terms.termMs() - 1) / terms.termMs();
        return Math.min(requested, Math.max(ofSecond, capacity() / MAX_FORECAST_DIVISOR));
    }

    private boolean isSmall() {
        for (LimitAccount<?> account : usage.accounts()) {
            Limit<?> limit = account.limit();
            if (limit instanceof Concurrency && terms.lendsSlots()) {
                return true;
            }
            if (limit.capacity() < MIN_CAPACITY_FOR_RESERVES && limit.windowMs(usage.clockMs()) > terms.termMs()) {
                return true;
            }
        }
        return false;
    }

    /** Returns what is free, less what the other holders are left. */
    private long fairShare() {
        Map<String, Long> wants =
                new HashMap<>(2 * (leases.leases().size() + refused.refusals().size()));
        long knownMs = usage.clockMs() + terms.termMs() - terms.termMs() / NEW_LEASE_DIVISOR;
        leases.leases()
                .forEach(lease -> wants.put(
                        lease.holder(), lease.untilMs() > knownMs ? AS_MUCH_AS_OTHERS : lease.requestedTokens()));
        refused.refusals().forEach(refusal -> wants.merge(refusal.holder(), refusal.requestedTokens(), Math::max));
        wants.remove(holder);
        long even = free() / (wants.size() + 1);
        long left = free();
        for (long wanted : wants.values()) {
            left -= Math.min(wanted, even);
        }
        return even == 0 ? 0 : left;
    }

    private long capacity() {
        long capacity = LedgerUsage.UNBOUNDED;
        for (LimitAccount<?> account : usage.accounts()) {
            capacity = Math.min(capacity, account.limit().capacity());
        }
        return capacity;
    }

    /**
     * Returns the end of a lease that is granted now. Usage in two windows would be charged in the later one, so a
     * lease ends with the window, unless too little time is left to request the next lease.
     */
    private long untilMs() {
        long clockMs = usage.clockMs();
        long untilMs = clockMs + terms.termMs();
        for (LimitAccount<?> account : usage.accounts()) {
            OptionalLong endMs = account.limit().windowEndMs(clockMs);
            if (endMs.isPresent() && endMs.getAsLong() - clockMs > 2 * terms.leadMs()) {
                untilMs = Math.min(untilMs, endMs.getAsLong());
            }
        }
        return untilMs;
    }

    /**
     * Returns how long until enough is free if no lease is returned, or until the first lease ends: before its end, its
     * holder returns what it does not use. The tokens due to holders that were refused before count as far as they fit
     * into the capacity.
     *
     * @param least the tokens needed
     */
    private long retryAfterMs(long least) {
        long clockMs = usage.clockMs();
        long waitMs = leases.isFull() ? DueTime.NEVER : 0;
        for (LimitAccount<?> account : usage.accounts()) {
            long capacity = account.limit().capacity();
            if (least > capacity) {
                return DueTime.NEVER;
            }
            long needed = lent + least;
            long cost = needed + Math.max(0, Math.min(others.tokensBefore(), capacity - needed));
            waitMs = account.limit().fits(cost) ? Math.max(waitMs, account.waitMs(cost, clockMs)) : DueTime.NEVER;
        }
        long endsMs = DueTime.NEVER;
        for (OutstandingLease lease : leases.leases()) {
            endsMs = Math.min(endsMs, lease.untilMs() > clockMs ? lease.untilMs() : lease.dueMs());
        }
        return Math.max(1, Math.min(waitMs, endsMs - clockMs));
    }
}
