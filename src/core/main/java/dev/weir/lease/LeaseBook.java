package dev.weir.lease;

import dev.weir.lease.LeaseRequest.Report;
import dev.weir.limit.Limit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * What one holder has of one shared limit, and how much it requests.
 *
 * <p>Two times occur: {@code nowMs} is the holder's monotonic clock, and {@code atMs} is the time of a decision, which
 * is ledger time (see {@link Lease}). It is derived from the leases themselves, so a wall clock is never read:
 *
 * <pre>
 *   decision time    max(clockMs, from, at + time since sent) over the leases that can be used
 *   usable           now &lt; sent + (until − at) · (1 − drift)   and   decision time &lt; until
 * </pre>
 *
 * <p>When the next lease is requested, and for how much:
 *
 * <pre>
 *   wanted a second      the larger of: the last whole second, the present one so far
 *   reserve              what is wanted within lead, at least the cost of one request while the key is in use
 *   requests             if a request waits for more than there is, or the leases that outlive the next lead hold less than the reserve;
 *                        what was refused, as soon as it may be granted, if as much is wanted within two leads
 *   for                  what is wanted within term, less what these leases hold
 *   returns              what is not wanted of a lease, a lead before it expires
 *   reports              with each request; what is used up, a lead later if nothing is requested
 * </pre>
 *
 * @param clockMs the latest decision time
 * @param leases those that are not reported as used up, the one that ends first first
 * @param request the latest request for a lease
 * @param lastLeaseId the newest lease that was received
 * @param settled what the ledger is yet to be sent beside the usage of leases
 */
public record LeaseBook(
        long clockMs, List<Lease> leases, Demand demand, LastRequest request, long lastLeaseId, long settled) {

    private static final long MS_PER_SECOND = 1_000;

    /** A key is in use for so long after it was last wanted. */
    private static final long MIN_IN_USE_MS = 2_000;

    /**
     * A request that is not answered is repeated after this, and each repetition doubles it: only a lost one needs
     * that.
     */
    private static final long MIN_RESEND_MS = 5_000;

    private static final int MAX_DOUBLINGS = 6;

    private static final Comparator<Lease> BY_END =
            Comparator.comparingLong(Lease::untilMs).thenComparingLong(Lease::id);

    /**
     * Tokens that were wanted, whether they were available or not.
     *
     * @param second the number of the present second
     * @param previous in the second before it
     * @param current in it so far
     * @param cost of the last request, 0 if there was none
     * @param lastMs when that was
     */
    public record Demand(long second, long previous, long current, long cost, long lastMs) {

        static final Demand NONE = new Demand(0, 0, 0, 0, 0);

        Demand at(long nowMs) {
            long now = Math.floorDiv(nowMs, MS_PER_SECOND);
            if (now <= second) {
                return this;
            }
            return new Demand(now, now == second + 1 ? current : 0, 0, cost, lastMs);
        }

        Demand plus(long tokens, long nowMs) {
            Demand now = at(nowMs);
            return new Demand(now.second, now.previous, now.current + tokens, tokens, nowMs);
        }

        /** What is wanted within a time, rounded down. */
        long tokensWithin(long ms) {
            return scaled(Math.max(previous, current), ms);
        }

        /** As {@link #tokensWithin}, by the last whole second only: a single request does not make it large. */
        long steadyTokensWithin(long ms) {
            return scaled(previous, ms);
        }

        private static long scaled(long aSecond, long ms) {
            return aSecond / MS_PER_SECOND * ms + aSecond % MS_PER_SECOND * ms / MS_PER_SECOND;
        }

        /** As {@link #tokensWithin}, but one request at least while the key is in use. */
        long reserve(long ms, LeaseTerms terms, long nowMs) {
            return Math.max(tokensWithin(ms), isInUse(terms, nowMs) ? cost : 0);
        }

        boolean isInUse(LeaseTerms terms, long nowMs) {
            return cost > 0 && nowMs - lastMs < inUseMs(terms);
        }

        private static long inUseMs(LeaseTerms terms) {
            return Math.max(MIN_IN_USE_MS, 2 * terms.termMs());
        }

        /** From this time on, the key is not in use. */
        long idleAtMs(LeaseTerms terms) {
            return cost == 0 ? Long.MIN_VALUE : lastMs + inUseMs(terms);
        }
    }

    /**
     * The latest request for a lease, and what came of it.
     *
     * @param number of the request while it is not answered, else 0
     * @param retries how often it was repeated
     * @param sentMs when it was sent or, if it is answered, when the answer came
     * @param refused tokens that were refused; {@link Long#MAX_VALUE} if none were
     * @param retryAtMs when they may be granted; {@link Long#MAX_VALUE}: never. As other holders return leases, and
     *     limits change, they are requested a term later at the latest
     * @param prefetchAtMs before this, a lease is requested only for a request that waits
     * @param scarcity what was not free according to the last response
     */
    public record LastRequest(
            long number, int retries, long sentMs, long refused, long retryAtMs, long prefetchAtMs, Scarcity scarcity) {

        static final LastRequest NONE = new LastRequest(
                0, 0, Lease.LONG_AGO_MS, Long.MAX_VALUE, Lease.LONG_AGO_MS, Lease.LONG_AGO_MS, Scarcity.NONE);

        public boolean isPending() {
            return number != 0;
        }

        /** When the same may be requested again. */
        public long nextAttemptAtMs(LeaseTerms terms) {
            return isPending() ? resendAtMs(terms) : Math.min(retryAtMs, sentMs + terms.termMs());
        }

        /**
         * What is requested again when it may be granted, whether a request waits then or not: what was refused, if as
         * much is wanted within two leads; else 0. The ledger keeps the place of such a holder ({@link Ledger}).
         */
        long retryTokens(Demand demand, LeaseTerms terms) {
            return !isPending() && refused <= demand.steadyTokensWithin(2 * terms.leadMs()) ? refused : 0;
        }

        private long resendAtMs(LeaseTerms terms) {
            return sentMs + (Math.max(terms.termMs(), MIN_RESEND_MS) << Math.min(retries, MAX_DOUBLINGS));
        }
    }

    /**
     * What the ledger does not have, according to its last response. It distinguishes a limit that is exceeded from a
     * lease that is late, and has no effect on what is requested.
     *
     * @param minUnavailable this number of further tokens, or any larger number, was not free
     * @param untilMs when this expires unless another response arrives before
     */
    public record Scarcity(long minUnavailable, long untilMs) {

        static final Scarcity NONE = new Scarcity(Long.MAX_VALUE, Lease.LONG_AGO_MS);

        private static final int TERMS = 2;

        static Scarcity of(long from, LeaseTerms terms, long nowMs) {
            return new Scarcity(from, nowMs + TERMS * terms.termMs());
        }
    }

    /** A message to the ledger, and the book once it is sent. */
    public record Transition(LeaseBook book, LeaseRequest message) {}

    public LeaseBook {
        leases = List.copyOf(leases);
    }

    /** The book of a holder that has nothing. */
    public static LeaseBook empty() {
        return new LeaseBook(0, List.of(), Demand.NONE, LastRequest.NONE, 0, 0);
    }

    /** What is kept of a book in a store: nothing is wanted or requested in it. */
    public static LeaseBook fromStore(long clockMs, List<Lease> leases, long lastLease, long settled) {
        return new LeaseBook(clockMs, leases, Demand.NONE, LastRequest.NONE, lastLease, settled);
    }

    /**
     * A book in which so much is available at a decision time and, unless {@code retryAfterMs} is 0, more was just
     * refused: what is reconstructed from a decision.
     */
    public static LeaseBook reconstructed(long available, long atMs, long retryAfterMs) {
        Lease lease = new Lease(1, available, 0, 0, atMs, atMs, Long.MAX_VALUE, 0, true, false);
        LastRequest refused = retryAfterMs == 0
                ? LastRequest.NONE
                : new LastRequest(0, 0, 0, 1, retryAfterMs, retryAfterMs, new Scarcity(1, Long.MAX_VALUE));
        return new LeaseBook(atMs, List.of(lease), Demand.NONE, refused, 1, 0);
    }

    /** The decision time of what is decided now. */
    public long decisionTimeMs(long nowMs) {
        return Math.max(earliestMs(nowMs), nowMs + brokerAheadMs(nowMs));
    }

    /** Before this, nothing is decided: the latest decision time, and the beginnings of leases. */
    public long earliestMs(long nowMs) {
        long earliestMs = clockMs;
        for (Lease lease : leases) {
            if (lease.remaining() > 0 && nowMs < lease.expiresAtMs()) {
                earliestMs = Math.max(earliestMs, lease.fromMs());
            }
        }
        return earliestMs;
    }

    /**
     * How far the broker's clock is ahead of the holder's clock, by the leases that can be used; far behind if there
     * are none.
     */
    public long brokerAheadMs(long nowMs) {
        long aheadMs = Lease.LONG_AGO_MS;
        for (Lease lease : leases) {
            if (lease.remaining() > 0 && nowMs < lease.expiresAtMs()) {
                aheadMs = Math.max(aheadMs, lease.brokerAheadMs());
            }
        }
        return aheadMs;
    }

    /** Tokens that can be used now by a decision at a time that is not before {@link #decisionTimeMs}. */
    public long available(long nowMs, long atMs) {
        long available = 0;
        for (Lease lease : leases) {
            available += isUsable(lease, nowMs, atMs) ? lease.remaining() : 0;
        }
        return available;
    }

    /**
     * Until when, by the holder's clock, that stays so if nothing is used; {@link Long#MAX_VALUE} if nothing is
     * available.
     */
    public long availableUntilMs(long nowMs, long atMs) {
        long untilMs = Long.MAX_VALUE;
        for (Lease lease : leases) {
            untilMs = isUsable(lease, nowMs, atMs) ? Math.min(untilMs, lease.expiresAtMs()) : untilMs;
        }
        return untilMs;
    }

    /** Before which decision time that stays so if nothing is used; {@link Long#MAX_VALUE} if nothing is available. */
    public long availableUntilLedgerMs(long nowMs, long atMs) {
        long untilMs = Long.MAX_VALUE;
        for (Lease lease : leases) {
            untilMs = isUsable(lease, nowMs, atMs) ? Math.min(untilMs, lease.untilMs()) : untilMs;
        }
        return untilMs;
    }

    private static boolean isUsable(Lease lease, long nowMs, long atMs) {
        return nowMs < lease.expiresAtMs() && atMs < lease.untilMs();
    }

    /** Adds to the demand, whether it can be met or not. */
    public LeaseBook withDemand(long cost, long nowMs) {
        return new LeaseBook(clockMs, leases, demand.plus(cost, nowMs), request, lastLeaseId, settled);
    }

    /**
     * Uses tokens of the leases that end first.
     *
     * @param atMs the decision's time
     * @throws IllegalArgumentException if less is {@link #available}
     */
    public LeaseBook take(long cost, long nowMs, long atMs) {
        long left = cost;
        List<Lease> next = new ArrayList<>(leases.size());
        for (Lease lease : leases) {
            long part = isUsable(lease, nowMs, atMs) ? Math.min(left, lease.remaining()) : 0;
            left -= part;
            next.add(part == 0 ? lease : lease.used(part, atMs));
        }
        if (left > 0) {
            throw new IllegalArgumentException(cost + " tokens are not available, " + left + " are missing");
        }
        return new LeaseBook(atMs, next, demand, request, lastLeaseId, settled);
    }

    /**
     * Charges a correction (0 or more) in any case: what the leases do not cover is sent to the ledger, which bounds
     * it.
     */
    public LeaseBook settle(long cost, long nowMs, long atMs) {
        long here = Math.min(cost, available(nowMs, atMs));
        LeaseBook taken = take(here, nowMs, atMs);
        long rest = settled + Math.min(cost - here, Limit.MAX_LEVEL - settled);
        return new LeaseBook(taken.clockMs, taken.leases, demand, request, lastLeaseId, rest);
    }

    /**
     * Makes all leases unusable, and a response under way as well: their age is not known any more, since another
     * process requested them, or a clock was stepped. Their usage is reported with the next message, and the rest is
     * returned.
     */
    public LeaseBook revoked() {
        if (leases.isEmpty() && !request.isPending()) {
            return this;
        }
        List<Lease> next = leases.stream().map(Lease::revoked).toList();
        return new LeaseBook(clockMs, next, demand, LastRequest.NONE, lastLeaseId, settled);
    }

    /** Whether a response is the one to the latest request. */
    public boolean isExpected(LeaseResponse response) {
        return request.isPending() && response.number() == request.number;
    }

    /** Takes a response. A lease that is not {@linkplain #isExpected expected} is returned with the next message. */
    public LeaseBook withResponse(LeaseResponse response, LeaseTerms terms, long nowMs) {
        if (response instanceof LeaseResponse.Granted granted) {
            return isExpected(response) ? granted(granted, terms, nowMs) : superseded(granted);
        }
        return isExpected(response) ? refused((LeaseResponse.Refused) response, terms, nowMs) : this;
    }

    private LeaseBook granted(LeaseResponse.Granted granted, LeaseTerms terms, long nowMs) {
        Scarcity scarcity = granted.isLast() ? Scarcity.of(1, terms, nowMs) : Scarcity.NONE;
        LastRequest answered = new LastRequest(0, 0, nowMs, Long.MAX_VALUE, nowMs, nowMs + terms.leadMs(), scarcity);
        return withLease(Lease.granted(granted, request.sentMs), answered);
    }

    private LeaseBook superseded(LeaseResponse.Granted granted) {
        return granted.leaseId() <= lastLeaseId
                ? this
                : withLease(Lease.granted(granted, 0).revoked(), request);
    }

    private LeaseBook withLease(Lease lease, LastRequest next) {
        List<Lease> all = new ArrayList<>(leases);
        all.add(lease);
        all.sort(BY_END);
        return new LeaseBook(clockMs, all, demand, next, Math.max(lastLeaseId, lease.id()), settled);
    }

    private LeaseBook refused(LeaseResponse.Refused refused, LeaseTerms terms, long nowMs) {
        long retryAtMs =
                refused.retryAfterMs() > Long.MAX_VALUE - nowMs ? Long.MAX_VALUE : nowMs + refused.retryAfterMs();
        long aheadAtMs = Math.min(retryAtMs, nowMs + terms.termMs());
        boolean isForNobody =
                request.refused == Long.MAX_VALUE; // refused because little is free, not because nothing is
        Scarcity scarcity = isForNobody ? request.scarcity : Scarcity.of(request.refused, terms, nowMs);
        LastRequest next = new LastRequest(0, 0, nowMs, request.refused, retryAtMs, aheadAtMs, scarcity);
        return new LeaseBook(clockMs, leases, demand, next, lastLeaseId, settled);
    }

    /** Whether the ledger's last response showed that the limit has nothing left for such a cost. */
    public boolean isScarce(long cost, long nowMs) {
        long missing = Math.max(1, cost - available(nowMs, decisionTimeMs(nowMs)));
        return missing >= request.scarcity.minUnavailable && nowMs < request.scarcity.untilMs;
    }

    /** Whether more may be granted if it is requested: for a while after a refusal, not as much as was refused. */
    public boolean mayBeGranted(long cost, LeaseTerms terms, long nowMs) {
        return request.isPending()
                || nowMs >= request.nextAttemptAtMs(terms)
                || Math.max(1, cost - available(nowMs, decisionTimeMs(nowMs))) < request.refused;
    }

    /**
     * The message to send now.
     *
     * @param session of the holder; it numbers requests
     * @param waits the cost of the request that waits first, 0 if none does
     * @return null if nothing changes; its message is null if only the book changes
     */
    public Transition nextMessage(LeaseSession session, long waits, LeaseTerms terms, long nowMs) {
        Demand now = demand.at(nowMs);
        boolean requests = shouldRequest(now, waits, terms, nowMs);
        if (!requests && settled == 0 && reportAtMs(terms) > nowMs) {
            return null;
        }
        List<Report> reports = new ArrayList<>();
        List<Lease> next = new ArrayList<>();
        for (Lease lease : leases) {
            boolean isClosing = lease.isClosing() || closesAtMs(lease, terms) <= nowMs;
            long wanted = isClosing ? now.tokensWithin(Math.max(0, lease.expiresAtMs() - nowMs)) : lease.remaining();
            long held = Math.min(lease.remaining(), wanted);
            if (!lease.isReported() || held < lease.remaining()) {
                reports.add(new Report(lease.id(), lease.used(), lease.lastUsedMs(), held));
            }
            if (held > 0) {
                next.add(lease.reported(held, isClosing));
            }
        }
        if (!requests) {
            LeaseRequest report =
                    settled == 0 && reports.isEmpty() ? null : LeaseRequest.report(session.name(), reports, settled);
            return new Transition(new LeaseBook(clockMs, next, now, request, lastLeaseId, 0), report);
        }
        long held = next.stream().mapToLong(Lease::remaining).sum();
        long available = available(nowMs, decisionTimeMs(nowMs));
        long due = request.retryTokens(now, terms);
        long least = waits > available ? Math.max(1, waits - held) : due > available ? due : 0;
        long expected = now.reserve(terms.termMs(), terms, nowMs) - lastingTokens(terms, nowMs);
        long want = Math.max(Math.max(1, least), expected);
        LastRequest sent = new LastRequest(
                session.nextRequestNumber(),
                request.isPending() ? request.retries + 1 : 0,
                nowMs,
                least == 0 ? Long.MAX_VALUE : least,
                0,
                0,
                request.scarcity);
        return new Transition(
                new LeaseBook(clockMs, next, now, sent, lastLeaseId, 0),
                new LeaseRequest(
                        sent.number,
                        session.name(),
                        least,
                        want,
                        reports,
                        settled,
                        session.roundTrip().smoothedMs()));
    }

    private boolean shouldRequest(Demand now, long waits, LeaseTerms terms, long nowMs) {
        if (request.isPending() && nowMs < request.nextAttemptAtMs(terms)) {
            return false;
        }
        boolean isWaitedFor = waits > available(nowMs, decisionTimeMs(nowMs)) && mayBeGranted(waits, terms, nowMs);
        return isWaitedFor
                || (nowMs >= request.prefetchAtMs
                        && lastingTokens(terms, nowMs) < now.reserve(terms.leadMs(), terms, nowMs));
    }

    /** What is left of the leases that outlive the next lead. */
    private long lastingTokens(LeaseTerms terms, long nowMs) {
        long lasting = 0;
        for (Lease lease : leases) {
            lasting += closesAtMs(lease, terms) - terms.leadMs() > nowMs ? lease.remaining() : 0;
        }
        return lasting;
    }

    /**
     * The message that reports all usage and returns the rest: nothing will be used any more. Its message is null if
     * there is none.
     */
    public Transition lastMessage(String holder) {
        List<Report> reports = new ArrayList<>();
        for (Lease lease : leases) {
            if (!lease.isReported() || lease.remaining() > 0) {
                reports.add(new Report(lease.id(), lease.used(), lease.lastUsedMs(), 0));
            }
        }
        LeaseBook next = new LeaseBook(clockMs, List.of(), demand, request, lastLeaseId, 0);
        boolean isNothing = reports.isEmpty() && settled == 0;
        return new Transition(next, isNothing ? null : LeaseRequest.report(holder, reports, settled));
    }

    /** When {@link #nextMessage} has something to do if nothing else happens; {@link Long#MAX_VALUE}: never. */
    public long dueAtMs(LeaseTerms terms, long nowMs) {
        return Math.min(reportAtMs(terms), renewAtMs(terms, nowMs));
    }

    private long reportAtMs(LeaseTerms terms) {
        long atMs = Long.MAX_VALUE;
        for (Lease lease : leases) {
            boolean isDone = lease.isClosing() && (lease.isReported() || lease.remaining() > 0);
            atMs = isDone ? atMs : Math.min(atMs, closesAtMs(lease, terms));
        }
        return atMs;
    }

    /** When the leases that last hold less than the reserve, as long as the key is in use. */
    private long renewAtMs(LeaseTerms terms, long nowMs) {
        if (request.isPending() || !demand.isInUse(terms, nowMs)) {
            return Long.MAX_VALUE;
        }
        long reserve = demand.at(nowMs).reserve(terms.leadMs(), terms, nowMs);
        long lasting = lastingTokens(terms, nowMs);
        long atMs = nowMs;
        for (int i = 0; i < leases.size() && lasting >= reserve; i++) {
            long endsMs = closesAtMs(leases.get(i), terms) - terms.leadMs();
            if (endsMs > nowMs) {
                lasting -= leases.get(i).remaining();
                atMs = Math.max(atMs, endsMs);
            }
        }
        return Math.max(atMs, request.prefetchAtMs);
    }

    /** Whether a new {@link #empty} book would behave the same, except for its clock. */
    public boolean isIdle(LeaseTerms terms, long nowMs) {
        return leases.isEmpty() && settled == 0 && nowMs >= idleAtMs(terms);
    }

    /** When a book without leases is {@linkplain #isIdle idle}. */
    public long idleAtMs(LeaseTerms terms) {
        return Math.max(demand.idleAtMs(terms), request.nextAttemptAtMs(terms));
    }

    /** From this decision time on, nothing in the book matters to anybody. */
    public long expiresAtMs() {
        long atMs = clockMs;
        for (Lease lease : leases) {
            atMs = Math.max(atMs, lease.untilMs());
        }
        return atMs;
    }

    /**
     * When what will not be used of a lease is returned, so that it arrives before the lease expires; or when, used up,
     * it is reported.
     */
    private static long closesAtMs(Lease lease, LeaseTerms terms) {
        long closesAtMs = lease.expiresAtMs() - terms.leadMs();
        return lease.remaining() == 0 ? Math.min(closesAtMs, lease.usedUpAtMs() + terms.leadMs()) : closesAtMs;
    }
}
