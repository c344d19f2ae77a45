package dev.weir.lease;

import dev.weir.lease.LeaseRequest.Report;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalLong;

/**
 * The leases that one holder has of one shared limit, and the rules by which it requests more.
 *
 * <p>There are two clocks: {@code nowMs} is the holder's monotonic clock, and {@code atMs} is the time of a decision,
 * which is ledger time (see {@link Lease}). Decision times are derived from the leases, so no wall clock is read:
 *
 * <pre>
 *   decision time    max(clockMs, from, appended + time since sent) over the leases that can be used
 *   usable           now &lt; sent + (until − appended) · (1 − drift)   and   decision time &lt; until
 * </pre>
 *
 * <p>When the holder sends a message, and how much it requests:
 *
 * <pre>
 *   demand per second    the larger of the previous second's and the current second's so far
 *   reserve              the demand within a lead; while the key is in use, at least the cost of one request
 *   requests a lease     if a request needs more than is available, or the leases that outlive the next lead hold less
 *                        than the reserve; after a refusal, as soon as the amount may be granted, if the demand within
 *                        two leads reaches it
 *   amount               the demand within a term, less what these leases hold
 *   returns              the part of a lease that exceeds the demand, a lead before the lease expires
 *   reports usage        with each request; a lease that is used up, a lead later if no request is sent before
 *   reports refunds      with each message; a lead later if none is sent before
 *   asks a question      for a PEEK that needs more than is available, unless the ledger has responded recently
 * </pre>
 *
 * <p><b>Slots</b> of limits of concurrency are requested only for requests that wait: how many are in use does not follow
 * from how many are used a second. A lease is reported, and what is unused of it returned, a lead after slots of it were
 * last taken or freed. After a refusal, slots may be requested again a lead later, since any of them can be freed. The
 * ledger must know when the slots end, so a reservation that is prolonged asks it ({@link SlotRenewals}).
 *
 * <p>What remains of the limit is what the leases hold and what the ledger could lend by its last response:
 *
 * <pre>
 *   remaining            free by the last response + returned since − used without a lease since + available
 * </pre>
 *
 * <p>Tokens in the leases of other holders do not remain, used or not. Without a response within a term, what remains
 * is unknown.
 *
 * @param clockMs the latest decision time
 * @param leases the leases not yet reported as used up, ordered by their end
 * @param demand the recent demand
 * @param request the latest request for a lease
 * @param lastLeaseId the highest id of a lease received so far
 * @param corrections what is not yet reported to the ledger besides the usage of leases
 * @param balance what is known of the tokens that the leases do not cover
 */
public record LeaseBook(
        long clockMs,
        List<Lease> leases,
        Demand demand,
        LastRequest request,
        long lastLeaseId,
        Corrections corrections,
        LedgerBalance balance) {

    /** The most leases of which a reservation remembers what it took. What it took of others is not refunded. */
    public static final int MAX_PARTS = 16;

    private static final long MS_PER_SECOND = 1_000;

    /** How long a key remains in use after its last request, at least. */
    private static final long MIN_IN_USE_MS = 2_000;

    /**
     * An unanswered request is repeated after this time, which doubles with each repetition. Repeating is needed only
     * if a message is lost.
     */
    static final long MIN_RESEND_MS = 5_000;

    private static final int MAX_DOUBLINGS = 6;

    /** A lease whose slots end at so many times is reported at once. */
    private static final int MANY_SLOT_ENDS = 64;

    private static final Comparator<Lease> BY_END =
            Comparator.<Lease>comparingLong(lease -> lease.term().untilMs()).thenComparingLong(Lease::id);

    /**
     * Tokens that were requested, whether they were available or not.
     *
     * @param second the number of the current second
     * @param previous tokens requested in the previous second
     * @param current tokens requested in the current second so far
     * @param cost the cost of the last request, 0 if there was none
     * @param lastMs the time of the last request
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

        /** Returns the demand within {@code ms} milliseconds, rounded down. */
        long tokensWithin(long ms) {
            return scaled(Math.max(previous, current), ms);
        }

        /** Like {@link #tokensWithin}, but by the previous second only, so a single request does not raise it. */
        long steadyTokensWithin(long ms) {
            return scaled(previous, ms);
        }

        private static long scaled(long aSecond, long ms) {
            return part(aSecond, ms, MS_PER_SECOND);
        }

        /** Returns {@code tokens * ms / ofMs}, rounded down. */
        private static long part(long tokens, long ms, long ofMs) {
            return tokens / ofMs * ms + tokens % ofMs * ms / ofMs;
        }

        /** Like {@link #tokensWithin}, but at least one request's cost while the key is in use. */
        long reserve(long ms, LeaseTerms terms, long nowMs) {
            return Math.max(tokensWithin(ms), isInUse(terms, nowMs) ? cost : 0);
        }

        boolean isInUse(LeaseTerms terms, long nowMs) {
            return cost > 0 && nowMs - lastMs < inUseMs(terms);
        }

        private static long inUseMs(LeaseTerms terms) {
            return Math.max(MIN_IN_USE_MS, 2 * terms.termMs());
        }

        /** Returns the time from which the key is not in use. */
        long idleAtMs(LeaseTerms terms) {
            return cost == 0 ? Long.MIN_VALUE : lastMs + inUseMs(terms);
        }
    }

    /**
     * The latest request for a lease and its outcome.
     *
     * @param number the number of the request while it is unanswered, otherwise 0
     * @param retries how often it was repeated
     * @param sentMs when it was sent or, if it was answered, when the response arrived
     * @param refused tokens that were refused; {@link Long#MAX_VALUE} if none were
     * @param retryAtMs when they may be granted; {@link Long#MAX_VALUE} for never. They are requested again after a
     *     term at the latest, slots after a lead, since other holders return leases and limits change
     * @param prefetchAtMs before this time, a lease is requested only for a waiting request
     * @param scarcity what was not free according to the last response
     */
    public record LastRequest(
            long number, int retries, long sentMs, long refused, long retryAtMs, long prefetchAtMs, Scarcity scarcity) {

        static final LastRequest NONE = new LastRequest(
                0, 0, Lease.LONG_AGO_MS, Long.MAX_VALUE, Lease.LONG_AGO_MS, Lease.LONG_AGO_MS, Scarcity.NONE);

        public boolean isPending() {
            return number != 0;
        }

        /** Returns when the same amount can be requested again. */
        public long nextAttemptAtMs(LeaseTerms terms) {
            long latestMs = sentMs + (terms.lendsSlots() ? terms.leadMs() : terms.termMs());
            return isPending() ? resendAtMs(terms) : Math.min(retryAtMs, latestMs);
        }

        /**
         * Returns the refused amount if it is to be requested again as soon as it may be granted, whether a request
         * waits or not; otherwise 0. It is requested again if the demand within two leads reaches it. The ledger keeps
         * such a holder's place ({@link Ledger}).
         */
        long retryTokens(Demand demand, LeaseTerms terms) {
            return !terms.lendsSlots() && !isPending() && refused <= demand.steadyTokensWithin(2 * terms.leadMs())
                    ? refused
                    : 0;
        }

        private long resendAtMs(LeaseTerms terms) {
            return sentMs + (Math.max(terms.termMs(), MIN_RESEND_MS) << Math.min(retries, MAX_DOUBLINGS));
        }
    }

    /**
     * What the ledger lacks, according to its last response. It distinguishes an exceeded limit from a late lease and
     * has no effect on what is requested.
     *
     * @param minUnavailable the smallest number of further tokens that was not free
     * @param untilMs when this information expires, unless another response replaces it
     * @param isLent whether other holders seem to hold them unused
     */
    public record Scarcity(long minUnavailable, long untilMs, boolean isLent) {

        static final Scarcity NONE = new Scarcity(Long.MAX_VALUE, Lease.LONG_AGO_MS, false);

        private static final int TERMS = 2;

        static Scarcity of(long from, boolean isLent, LeaseTerms terms, long nowMs) {
            return new Scarcity(from, nowMs + TERMS * terms.termMs(), isLent);
        }
    }

    /**
     * A message to the ledger, and the book after it is sent.
     *
     * @param book the next book
     * @param message the message; null if only the book changes
     */
    public record Transition(LeaseBook book, LeaseRequest message) {}

    public LeaseBook {
        leases = List.copyOf(leases);
    }

    /** Returns the book of a holder without leases. */
    public static LeaseBook empty() {
        return new LeaseBook(0, List.of(), Demand.NONE, LastRequest.NONE, 0, Corrections.NONE, LedgerBalance.UNKNOWN);
    }

    /** Returns a book restored from a store, without demand and without a pending request. */
    public static LeaseBook fromStore(long clockMs, List<Lease> leases, long lastLease, Corrections corrections) {
        return new LeaseBook(
                clockMs, leases, Demand.NONE, LastRequest.NONE, lastLease, corrections, LedgerBalance.UNKNOWN);
    }

    /**
     * Returns a book reconstructed from a decision: {@code available} tokens can be used at the decision time, and
     * {@code retryAfterMs} is 0 or the time after which more than remain may be granted, which was just refused.
     *
     * @param free what the ledger could lend at the decision time; empty if it is unknown
     * @param isLent whether other holders seem to hold unused what was refused
     */
    public static LeaseBook reconstructed(
            long available, OptionalLong free, long atMs, long retryAfterMs, boolean isLent) {
        Lease.Term term = new Lease.Term(atMs, atMs, Long.MAX_VALUE, 0);
        Lease lease = new Lease(1, available, 0, 0, term, Lease.Reports.NONE, false);
        LastRequest refused = retryAfterMs == 0
                ? LastRequest.NONE
                : new LastRequest(0, 0, 0, 1, retryAfterMs, retryAfterMs, new Scarcity(1, Long.MAX_VALUE, isLent));
        LedgerBalance balance = free.isEmpty()
                ? LedgerBalance.UNKNOWN
                : new LedgerBalance(free.getAsLong(), Lease.LONG_AGO_MS, Long.MAX_VALUE, 0, LedgerBalance.Check.NONE);
        return new LeaseBook(atMs, List.of(lease), Demand.NONE, refused, 1, Corrections.NONE, balance);
    }

    /** Returns a book reconstructed from a decision: at {@code atMs}, the ledger had renewed the slots of a reservation. */
    public static LeaseBook reconstructedRenewal(long reservation, long atMs) {
        SlotRenewals.Answer answer = new SlotRenewals.Answer(reservation, atMs, true, true);
        return empty().withRenewals(SlotRenewals.stored(List.of(), List.of(answer)));
    }

    /** Returns the decision time of a decision made at {@code nowMs}. */
    public long decisionTimeMs(long nowMs) {
        return Math.max(earliestMs(nowMs), nowMs + brokerAheadMs(nowMs));
    }

    /** Returns the earliest possible decision time: the latest one so far, or the latest start of a usable lease. */
    public long earliestMs(long nowMs) {
        long earliestMs = clockMs;
        for (Lease lease : leases) {
            if (lease.remaining() > 0 && nowMs < lease.expiresAtMs()) {
                earliestMs = Math.max(earliestMs, lease.term().fromMs());
            }
        }
        return earliestMs;
    }

    /**
     * Returns how far the broker's clock is ahead of the holder's clock according to the usable leases; a large
     * negative number if there are none.
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

    /**
     * Returns the tokens that a decision at {@code atMs} can use. {@code atMs} must not be before
     * {@link #decisionTimeMs}.
     */
    public long available(long nowMs, long atMs) {
        long available = 0;
        for (Lease lease : leases) {
            available += isUsable(lease, nowMs, atMs) ? lease.remaining() : 0;
        }
        return available;
    }

    /**
     * Returns what remains of the limit for this holder: what is {@link #available}, and what the ledger could lend by
     * its last response; null if it has not responded within a term.
     */
    public Long remaining(long nowMs, long atMs) {
        return balance.isKnown(nowMs) ? (Long) plus(balance.lendable(), available(nowMs, atMs)) : null;
    }

    private static long plus(long free, long available) {
        return free > Long.MAX_VALUE - available ? Long.MAX_VALUE : free + available;
    }

    /**
     * Returns whether the cost could be used now, as far as the leases or a recent response of the ledger show.
     */
    public boolean covers(long cost, LeaseTerms terms, long nowMs, long atMs) {
        long available = available(nowMs, atMs);
        return cost <= available || (balance.isFresh(terms, nowMs) && cost <= plus(balance.lendable(), available));
    }

    /** Returns whether the ledger need not be asked whether a cost could be used now: it can, or it was refused. */
    public boolean isAnswered(long cost, LeaseTerms terms, long nowMs) {
        long atMs = decisionTimeMs(nowMs);
        return covers(cost, terms, nowMs, atMs)
                || isRefusedByCheck(cost, terms, nowMs)
                || !mayBeGranted(cost, terms, nowMs);
    }

    /** Returns whether the ledger has answered a question: it would not lend what a cost needs. */
    public boolean isRefusedByCheck(long cost, LeaseTerms terms, long nowMs) {
        long missing = missing(cost, nowMs);
        return !isFree(missing, nowMs) && balance.check().isRefused(missing, terms, nowMs);
    }

    private long missing(long cost, long nowMs) {
        return Math.max(1, cost - available(nowMs, decisionTimeMs(nowMs)));
    }

    /**
     * Returns until when, by the holder's clock, {@link #available} stays the same if nothing is used;
     * {@link Long#MAX_VALUE} if nothing is available.
     */
    public long availableUntilMs(long nowMs, long atMs) {
        long untilMs = Long.MAX_VALUE;
        for (Lease lease : leases) {
            untilMs = isUsable(lease, nowMs, atMs) ? Math.min(untilMs, lease.expiresAtMs()) : untilMs;
        }
        return untilMs;
    }

    /**
     * Returns the decision time until which {@link #available} stays the same if nothing is used;
     * {@link Long#MAX_VALUE} if nothing is available.
     */
    public long availableUntilLedgerMs(long nowMs, long atMs) {
        long untilMs = Long.MAX_VALUE;
        for (Lease lease : leases) {
            untilMs = isUsable(lease, nowMs, atMs)
                    ? Math.min(untilMs, lease.term().untilMs())
                    : untilMs;
        }
        return untilMs;
    }

    private static boolean isUsable(Lease lease, long nowMs, long atMs) {
        return nowMs < lease.expiresAtMs() && atMs < lease.term().untilMs();
    }

    /** Returns the book with {@code cost} added to the demand, whether it can be met or not. */
    public LeaseBook withDemand(long cost, long nowMs) {
        return new LeaseBook(clockMs, leases, demand.plus(cost, nowMs), request, lastLeaseId, corrections, balance);
    }

    /**
     * Returns the book after {@code cost} tokens were used, from the leases that end first.
     *
     * @param atMs the time of the decision
     * @throws IllegalArgumentException if fewer are {@link #available}
     */
    public LeaseBook take(long cost, long nowMs, long atMs) {
        return take(cost, nowMs, atMs, (lease, tokens) -> lease.used(tokens, atMs, false));
    }

    /** Like {@link #take}, for a reservation, which can be {@linkplain #refund refunded}. */
    public LeaseBook reserve(long cost, long nowMs, long atMs) {
        return take(cost, nowMs, atMs, (lease, tokens) -> lease.used(tokens, atMs, true));
    }

    /**
     * Like {@link #take}, for the slots of a reservation, which can be {@linkplain #free freed}.
     *
     * @param endMs when they end, in ledger time
     */
    public LeaseBook reserveSlots(long cost, long nowMs, long atMs, long endMs) {
        return take(cost, nowMs, atMs, (lease, slots) -> lease.usedSlots(slots, atMs, endMs));
    }

    private interface Use {
        Lease of(Lease lease, long tokens);
    }

    private LeaseBook take(long cost, long nowMs, long atMs, Use use) {
        long left = cost;
        List<Lease> next = new ArrayList<>(leases.size());
        for (Lease lease : leases) {
            long part = isUsable(lease, nowMs, atMs) ? Math.min(left, lease.remaining()) : 0;
            left -= part;
            next.add(part == 0 ? lease : use.of(lease, part));
        }
        if (left > 0) {
            throw new IllegalArgumentException(cost + " tokens requested, but the leases lack " + left + " of them");
        }
        return new LeaseBook(atMs, next, demand, request, lastLeaseId, corrections, balance);
    }

    /**
     * Returns what was taken of leases since an earlier book that has the same leases, at most of {@value #MAX_PARTS} of
     * them.
     */
    public List<LeasePart> takenSince(LeaseBook before) {
        List<LeasePart> parts = new ArrayList<>();
        for (int i = 0; i < leases.size() && parts.size() < MAX_PARTS; i++) {
            Lease lease = leases.get(i);
            long tokens = lease.used() - before.leases.get(i).used();
            if (tokens > 0) {
                parts.add(new LeasePart(lease.id(), tokens, lease.reports().count()));
            }
        }
        return parts;
    }

    /**
     * Returns the book as if a reservation had taken less. Tokens whose use was not reported return to their lease, and
     * can be used again in its time. Others are refunded by the ledger.
     *
     * <p>The ledger counts the tokens of a lease as lent from its grant until they are reported, whatever they are used
     * for. So all that {@link Ledger} claims holds with the smaller use, too. What was reported has a time in the
     * ledger, from which another use of the same tokens would not be counted for long enough.
     *
     * @param parts what the reservation took
     * @param tokens how much less
     * @param usedAtMs the decision time of the reservation
     */
    public LeaseBook refund(List<LeasePart> parts, long tokens, long usedAtMs, LeaseTerms terms, long nowMs) {
        List<Lease> next = new ArrayList<>(leases);
        List<LeasePart> reported = new ArrayList<>();
        long left = tokens;
        for (LeasePart part : parts) {
            int index = indexOfUnreported(part);
            if (index < 0) {
                reported.add(part);
            } else {
                long here = Math.min(left, part.tokens());
                next.set(index, next.get(index).unused(here));
                left -= here;
            }
        }
        Corrections pending = corrections;
        for (LeasePart part : reported) {
            long there = Math.min(left, part.tokens());
            if (there > 0) {
                pending = pending.with(new Refund(part.leaseId(), usedAtMs, there), nowMs + terms.leadMs());
                left -= there;
            }
        }
        return corrected(next, pending);
    }

    private LeaseBook corrected(List<Lease> next, Corrections pending) {
        // what was refused may be granted once the ledger has the refund
        boolean asksAgain = !pending.equals(corrections) && !request.isPending();
        LastRequest last = asksAgain ? LastRequest.NONE : request;
        return new LeaseBook(clockMs, next, demand, last, lastLeaseId, pending, balance);
    }

    /**
     * Returns the book after a reservation has freed its slots. Those whose use was not reported return to their lease,
     * as after a {@linkplain #refund refund}. Others are freed by the ledger, also those whose renewal it has not answered.
     */
    public LeaseBook free(LentSlots slots, LeaseTerms terms, long nowMs) {
        SlotRenewals renewals = corrections.renewals();
        Corrections pending = corrections.with(renewals.freed(slots.reservation()));
        if (renewals.isSent(slots.reservation())) {
            return corrected(leases, pending);
        }
        long endMs = renewals.answer(slots.reservation())
                .map(SlotRenewals.Answer::endMs)
                .orElse(slots.endMs());
        List<Lease> next = new ArrayList<>(leases);
        long reported = 0;
        for (LeasePart part : slots.parts()) {
            int index = indexOfUnreported(part);
            if (index < 0) {
                reported += part.tokens();
            } else {
                next.set(index, next.get(index).freed(part.tokens(), endMs, decisionTimeMs(nowMs)));
            }
        }
        return corrected(
                next,
                reported == 0
                        ? pending
                        : pending.with(new FreedSlots(slots.usedAtMs(), endMs, reported), nowMs + terms.leadMs()));
    }

    /**
     * Returns the book that asks the ledger with the next message to prolong the slots of a reservation, unless it does
     * already. An answer to an earlier renewal must have been {@linkplain #withoutAnswer removed}.
     *
     * @param slotMs how long after the renewal they end, in milliseconds
     * @param isAwaited whether a request waits for the answer
     */
    public LeaseBook renew(LentSlots slots, long slotMs, boolean isAwaited) {
        SlotRenewals renewals = corrections.renewals();
        long count = slots.count();
        return renewals.isPending(slots.reservation())
                ? this
                : withRenewals(renewals.with(
                        new SlotRenewal(slots.reservation(), slots.usedAtMs(), slots.endMs(), slotMs, count),
                        isAwaited));
    }

    /** Returns the renewals of slots. */
    public SlotRenewals renewals() {
        return corrections.renewals();
    }

    /** Returns the book without the ledger's answer to the renewal of a reservation. */
    public LeaseBook withoutAnswer(long reservation) {
        return withRenewals(corrections.renewals().withoutAnswer(reservation));
    }

    /** Returns the book after a request that waited for the renewal of a reservation was decided without it. */
    public LeaseBook abandonRenewal(long reservation) {
        return withRenewals(corrections.renewals().abandoned(reservation));
    }

    private LeaseBook withRenewals(SlotRenewals next) {
        return new LeaseBook(clockMs, leases, demand, request, lastLeaseId, corrections.with(next), balance);
    }

    private int indexOfUnreported(LeasePart part) {
        for (int i = 0; i < leases.size(); i++) {
            if (leases.get(i).hasUnreported(part)) {
                return i;
            }
        }
        return -1;
    }

    /**
     * Returns the book after a settlement (0 or more), which is charged unconditionally. The part that the leases do
     * not cover is sent to the ledger, which bounds it.
     */
    public LeaseBook settle(long cost, long nowMs, long atMs) {
        long here = Math.min(cost, available(nowMs, atMs));
        LeaseBook taken = take(here, nowMs, atMs);
        Corrections next = corrections.withSettled(cost - here);
        return new LeaseBook(
                taken.clockMs, taken.leases, demand, request, lastLeaseId, next, balance.used(cost - here));
    }

    /**
     * Returns the book after the usage of the limit was freed. What the ledger has responded before no longer holds,
     * nor does what it responds to an open request.
     */
    LeaseBook reset() {
        return new LeaseBook(
                clockMs, leases, demand, LastRequest.NONE, lastLeaseId, corrections, LedgerBalance.UNKNOWN);
    }

    /**
     * Returns the book with all leases, and the response to a pending request, unusable: their age is unknown because
     * another process requested them or a clock was stepped. The next message reports their usage and returns the rest.
     */
    public LeaseBook revoked() {
        if (leases.isEmpty() && !request.isPending() && corrections.renewals().isNone()) {
            return this;
        }
        List<Lease> next = leases.stream().map(Lease::revoked).toList();
        SlotRenewals renewals = corrections.renewals();
        Corrections pending = corrections.with(renewals.unanswered());
        for (FreedSlots freed : renewals.freedUnanswered()) {
            pending = pending.with(freed, Long.MIN_VALUE);
        }
        return new LeaseBook(clockMs, next, demand, LastRequest.NONE, lastLeaseId, pending, LedgerBalance.UNKNOWN);
    }

    /** Returns whether {@code response} answers the latest request, question or renewals. */
    public boolean isExpected(LeaseResponse response) {
        if (response instanceof LeaseResponse.Renewed renewed) {
            return corrections.renewals().isExpected(renewed);
        }
        return response instanceof LeaseResponse.Checked
                ? balance.check().number() != 0
                        && response.number() == balance.check().number()
                : request.isPending() && response.number() == request.number;
    }

    /** Returns when the message was sent that an {@linkplain #isExpected expected} response answers. */
    long sentMs(LeaseResponse response) {
        if (response instanceof LeaseResponse.Renewed) {
            return corrections.renewals().sentMs();
        }
        return response instanceof LeaseResponse.Checked ? balance.check().sentMs() : request.sentMs;
    }

    /** Returns whether what is stored of this book equals what is stored of another. */
    public boolean isStoredLike(LeaseBook other) {
        return clockMs == other.clockMs
                && lastLeaseId == other.lastLeaseId
                && corrections.isStoredLike(other.corrections)
                && leases.equals(other.leases);
    }

    /**
     * Returns the book after a response. A lease that is not {@linkplain #isExpected expected} is returned with the
     * next message.
     */
    public LeaseBook withResponse(LeaseResponse response, LeaseTerms terms, long nowMs) {
        if (response instanceof LeaseResponse.Granted granted) {
            return isExpected(response) ? granted(granted, terms, nowMs) : superseded(granted);
        }
        if (!isExpected(response)) {
            return this;
        }
        if (response instanceof LeaseResponse.Renewed renewed) {
            return renewed(renewed, terms, nowMs);
        }
        return response instanceof LeaseResponse.Checked checked
                ? withBalance(balance.withAnswer(checked, terms, nowMs))
                : refused((LeaseResponse.Refused) response, terms, nowMs);
    }

    private LeaseBook renewed(LeaseResponse.Renewed renewed, LeaseTerms terms, long nowMs) {
        SlotRenewals renewals = corrections.renewals();
        Corrections pending = corrections.with(renewals.answered(renewed));
        for (FreedSlots freed : renewals.freedBefore(renewed)) {
            pending = pending.with(freed, nowMs);
        }
        LedgerBalance left = balance.withResponse(renewed, terms, Lease.LONG_AGO_MS, nowMs);
        return new LeaseBook(clockMs, leases, demand, request, lastLeaseId, pending, left);
    }

    private LeaseBook withBalance(LedgerBalance next) {
        return new LeaseBook(clockMs, leases, demand, request, lastLeaseId, corrections, next);
    }

    private LeaseBook granted(LeaseResponse.Granted granted, LeaseTerms terms, long nowMs) {
        Scarcity scarcity = granted.isLast() ? Scarcity.of(1, false, terms, nowMs) : Scarcity.NONE;
        LastRequest answered = new LastRequest(0, 0, nowMs, Long.MAX_VALUE, nowMs, nowMs + terms.leadMs(), scarcity);
        Lease lease = Lease.granted(granted, request.sentMs);
        return withLease(lease, answered).withBalance(balance.withResponse(granted, terms, lease.expiresAtMs(), nowMs));
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
        return new LeaseBook(clockMs, all, demand, next, Math.max(lastLeaseId, lease.id()), corrections, balance);
    }

    private LeaseBook refused(LeaseResponse.Refused refused, LeaseTerms terms, long nowMs) {
        long retryAtMs =
                refused.retryAfterMs() > Long.MAX_VALUE - nowMs ? Long.MAX_VALUE : nowMs + refused.retryAfterMs();
        long aheadAtMs = Math.min(retryAtMs, nowMs + terms.termMs());
        // no request waited: the ledger refused because little is free, not because nothing is
        boolean isForNobody = request.refused == Long.MAX_VALUE;
        Scarcity scarcity =
                isForNobody ? request.scarcity : Scarcity.of(request.refused, refused.isLent(), terms, nowMs);
        LastRequest next = new LastRequest(0, 0, nowMs, request.refused, retryAtMs, aheadAtMs, scarcity);
        LedgerBalance left = balance.withResponse(refused, terms, Lease.LONG_AGO_MS, nowMs);
        return new LeaseBook(clockMs, leases, demand, next, lastLeaseId, corrections, left);
    }

    /** Returns whether, according to the ledger's last response, the limit has nothing left for {@code cost}. */
    public boolean isScarce(long cost, long nowMs) {
        return isUnavailable(cost, nowMs) && !request.scarcity.isLent;
    }

    /**
     * Returns whether, according to the ledger's last response, other holders seem to hold unused what {@code cost}
     * needs.
     */
    public boolean isLent(long cost, long nowMs) {
        return isUnavailable(cost, nowMs) && request.scarcity.isLent;
    }

    private boolean isUnavailable(long cost, long nowMs) {
        long missing = missing(cost, nowMs);
        return !isFree(missing, nowMs)
                && missing >= request.scarcity.minUnavailable
                && nowMs < request.scarcity.untilMs;
    }

    /** Returns whether the ledger could lend some tokens by its last response. */
    private boolean isFree(long tokens, long nowMs) {
        return balance.isKnown(nowMs) && tokens <= balance.free();
    }

    /**
     * Returns whether a request for what {@code cost} lacks could be granted. For a while after a refusal, the refused
     * amount or more cannot, unless a later response says that as much is free.
     */
    public boolean mayBeGranted(long cost, LeaseTerms terms, long nowMs) {
        return request.isPending()
                || nowMs >= request.nextAttemptAtMs(terms)
                || missing(cost, nowMs) < request.refused
                || isFree(missing(cost, nowMs), nowMs);
    }

    /**
     * What the holder wants of the ledger.
     *
     * @param first the cost of the first waiting request, 0 if none waits
     * @param all the cost of all waiting requests
     * @param peek the cost that a PEEK asks about, 0 for none
     * @param isReset whether to free all usage; the ledger is then asked what is left
     */
    public record Needs(long first, long all, long peek, boolean isReset) {

        static final Needs NONE = new Needs(0, 0, 0, false);

        /** Returns the needs of one waiting request. */
        public static Needs of(long first) {
            return new Needs(first, first, 0, false);
        }
    }

    /**
     * Returns the message to send now.
     *
     * @param session the session of the holder, which numbers requests
     * @return null if nothing changes; a transition without a message if only the book changes
     */
    public Transition nextMessage(LeaseSession session, Needs needs, LeaseTerms terms, long nowMs) {
        Demand now = demand.at(nowMs);
        boolean renews = corrections.renewals().isDue(nowMs);
        boolean requests = !renews && shouldRequest(now, needs.first, terms, nowMs);
        boolean asks = !renews && !requests && (needs.isReset || shouldAsk(needs.peek, terms, nowMs));
        if (!renews && !requests && !asks && !corrections.isDue(nowMs) && reportAtMs(terms) > nowMs) {
            return null;
        }
        List<Report> reports = new ArrayList<>();
        List<Lease> next = new ArrayList<>();
        long returned = 0;
        for (Lease lease : leases) {
            boolean isClosing = lease.isClosing() || closesAtMs(lease, terms) <= nowMs;
            long wanted = !isClosing
                    ? lease.remaining()
                    : terms.lendsSlots() ? 0 : now.tokensWithin(Math.max(0, lease.expiresAtMs() - nowMs));
            long held = Math.min(lease.remaining(), wanted);
            boolean isChanged = !lease.isReported() || held < lease.remaining();
            if (isChanged) {
                reports.add(report(lease, held));
            }
            boolean isCharged = nowMs >= lease.expiresAtMs() + terms.graceMs(); // by the ledger, as used
            returned += isCharged ? 0 : lease.remaining() - held;
            if (held > 0) {
                next.add(isChanged ? lease.reported(held, isClosing) : lease.closing(isClosing));
            }
        }
        boolean isAwaited = request.isPending() || balance.check().number() != 0;
        LedgerBalance left = (isAwaited ? balance : balance.sent()).returned(returned + corrections.freedSlots());
        long held = next.stream().mapToLong(Lease::remaining).sum();
        if (renews) {
            long number = session.nextRequestNumber();
            List<SlotRenewal> renewals = corrections.renewals().toSend();
            Corrections sent = corrections.sent().with(corrections.renewals().sent(number, nowMs));
            return new Transition(
                    new LeaseBook(clockMs, next, now, request, lastLeaseId, sent, left),
                    message(session, number, LeaseRequest.Wanted.NONE, usage(session, reports, renewals), false));
        }
        LeaseRequest.Usage usage = usage(session, reports, List.of());
        if (asks) {
            long tokens = Math.max(1, needs.peek - held);
            long number = session.nextRequestNumber();
            left = left.withCheck(new LedgerBalance.Check(number, nowMs, tokens, 0, false));
            return new Transition(
                    new LeaseBook(clockMs, next, now, request, lastLeaseId, corrections.sent(), left),
                    message(session, number, LeaseRequest.Wanted.check(tokens), usage, needs.isReset));
        }
        if (!requests) {
            return new Transition(
                    new LeaseBook(clockMs, next, now, request, lastLeaseId, corrections.sent(), left),
                    report(session, usage));
        }
        long available = available(nowMs, decisionTimeMs(nowMs));
        long due = request.retryTokens(now, terms);
        long least = needs.first > available ? Math.max(1, needs.first - held) : due > available ? due : 0;
        long expected =
                terms.lendsSlots() ? 0 : now.reserve(terms.termMs(), terms, nowMs) - lastingTokens(terms, nowMs);
        long waiting = least == 0 ? 0 : Math.max(least, needs.all - held);
        long want = Math.max(Math.max(1, waiting), expected);
        LastRequest sent = new LastRequest(
                session.nextRequestNumber(),
                request.isPending() ? request.retries + 1 : 0,
                nowMs,
                least == 0 ? Long.MAX_VALUE : least,
                0,
                0,
                request.scarcity);
        return new Transition(
                new LeaseBook(clockMs, next, now, sent, lastLeaseId, corrections.sent(), left),
                message(session, sent.number, new LeaseRequest.Wanted(least, waiting, want), usage, needs.isReset));
    }

    private static LeaseRequest message(
            LeaseSession session, long number, LeaseRequest.Wanted wanted, LeaseRequest.Usage usage, boolean isReset) {
        long roundTripMs = session.roundTrip().smoothedMs();
        return new LeaseRequest(number, session.name(), wanted, usage, roundTripMs, isReset);
    }

    /** Returns a message that reports usage, null if there is none. */
    private static LeaseRequest report(LeaseSession session, LeaseRequest.Usage usage) {
        return usage.isNone() ? null : LeaseRequest.report(session.name(), usage);
    }

    private static Report report(Lease lease, long held) {
        boolean isReserved = lease.reports().isReserved();
        List<SlotUse> slots = lease.reports().slots();
        return new Report(lease.id(), lease.used(), lease.lastUsedMs(), held, isReserved, slots);
    }

    private LeaseRequest.Usage usage(LeaseSession session, List<Report> reports, List<SlotRenewal> renewals) {
        boolean isNone = corrections.refunds().isEmpty() && corrections.freed().isEmpty();
        LeaseRequest.Refunds refunds = isNone && renewals.isEmpty()
                ? LeaseRequest.Refunds.NONE
                : new LeaseRequest.Refunds(
                        isNone ? 0 : session.nextRequestNumber(), corrections.refunds(), corrections.freed(), renewals);
        return new LeaseRequest.Usage(reports, corrections.settled(), refunds);
    }

    /** Returns whether to ask the ledger whether a cost could be used now. */
    boolean shouldAsk(long cost, LeaseTerms terms, long nowMs) {
        return cost > 0 && !balance.check().isPending(terms, nowMs) && !isAnswered(cost, terms, nowMs);
    }

    private boolean shouldRequest(Demand now, long waits, LeaseTerms terms, long nowMs) {
        if (request.isPending() && nowMs < request.nextAttemptAtMs(terms)) {
            return false;
        }
        boolean isWaitedFor = waits > available(nowMs, decisionTimeMs(nowMs)) && mayBeGranted(waits, terms, nowMs);
        return isWaitedFor
                || (!terms.lendsSlots()
                        && nowMs >= request.prefetchAtMs
                        && lastingTokens(terms, nowMs) < now.reserve(terms.leadMs(), terms, nowMs));
    }

    /** Returns the unused tokens of the leases that outlive the next lead. */
    private long lastingTokens(LeaseTerms terms, long nowMs) {
        long lasting = 0;
        for (Lease lease : leases) {
            lasting += closesAtMs(lease, terms) - terms.leadMs() > nowMs ? lease.remaining() : 0;
        }
        return lasting;
    }

    /**
     * Returns the final message, which reports all usage and returns the rest. The transition has no message if there
     * is nothing to report.
     */
    public Transition lastMessage(LeaseSession session) {
        List<Report> reports = new ArrayList<>();
        for (Lease lease : leases) {
            if (!lease.isReported() || lease.remaining() > 0) {
                reports.add(report(lease, 0));
            }
        }
        return new Transition(
                new LeaseBook(clockMs, List.of(), demand, request, lastLeaseId, corrections.sent(), balance),
                report(session, usage(session, reports, List.of())));
    }

    /**
     * Returns when {@link #nextMessage} has something to do if nothing else happens; {@link Long#MAX_VALUE} for never.
     */
    public long dueAtMs(LeaseTerms terms, long nowMs) {
        long correctAtMs = Math.min(corrections.dueMs(), corrections.renewals().dueAtMs());
        return Math.min(correctAtMs, Math.min(reportAtMs(terms), renewAtMs(terms, nowMs)));
    }

    private long reportAtMs(LeaseTerms terms) {
        long atMs = Long.MAX_VALUE;
        for (Lease lease : leases) {
            boolean isDone = !terms.lendsSlots() && lease.isClosing() && (lease.isReported() || lease.remaining() > 0);
            atMs = isDone ? atMs : Math.min(atMs, closesAtMs(lease, terms));
        }
        return atMs;
    }

    /** Returns when the leases that outlive the next lead hold less than the reserve, as long as the key is in use. */
    private long renewAtMs(LeaseTerms terms, long nowMs) {
        if (terms.lendsSlots() || request.isPending() || !demand.isInUse(terms, nowMs)) {
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

    /**
     * Returns how many tokens can be used before {@link #dueAtMs} without a need to request a lease earlier. It is a
     * lower bound.
     */
    // Let l be the tokens in the leases that outlive the next lead until then, p the demand per second, and d the lead
    // in seconds. After t more tokens, l - t are left, and the reserve is at most (p + t) d. So no lease is requested
    // while l - t >= (p + t) d, that is, t <= (l - p d) / (1 + d).
    public long tokensUntilDue(LeaseTerms terms, long nowMs) {
        long dueMs = dueAtMs(terms, nowMs);
        if (dueMs <= nowMs) {
            return 0;
        }
        long excess = lastingTokens(terms, dueMs - 1) - demand.at(nowMs).tokensWithin(terms.leadMs()) - 1;
        return excess <= 0 ? 0 : Demand.part(excess, MS_PER_SECOND, MS_PER_SECOND + terms.leadMs());
    }

    /** Returns whether a new {@link #empty} book would behave the same, except for its clock. */
    public boolean isIdle(LeaseTerms terms, long nowMs) {
        return leases.isEmpty() && corrections.isNone() && nowMs >= idleAtMs(terms);
    }

    /** Returns when a book without leases becomes {@linkplain #isIdle idle}. */
    public long idleAtMs(LeaseTerms terms) {
        long knownMs = Math.max(balance.untilMs(), balance.check().sentMs() + terms.termMs());
        return Math.max(knownMs, Math.max(demand.idleAtMs(terms), request.nextAttemptAtMs(terms)));
    }

    /** Returns the decision time from which the book has no effect and can be deleted. */
    public long expiresAtMs() {
        long atMs = clockMs;
        for (Lease lease : leases) {
            atMs = Math.max(atMs, lease.term().untilMs());
        }
        return atMs;
    }

    /**
     * Returns when unneeded tokens of a lease are returned, so that the report arrives before the lease expires; for a
     * lease that is used up, and one of slots, when it is reported.
     */
    private static long closesAtMs(Lease lease, LeaseTerms terms) {
        long closesAtMs = lease.expiresAtMs() - terms.leadMs();
        boolean isDone = lease.remaining() == 0 || terms.lendsSlots();
        closesAtMs = isDone ? Math.min(closesAtMs, lease.usedUpAtMs() + terms.leadMs()) : closesAtMs;
        return lease.reports().slots().size() >= MANY_SLOT_ENDS ? Lease.LONG_AGO_MS : closesAtMs;
    }
}
