package dev.weir.lease.holder;

import dev.weir.lease.FreedSlots;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.Refund;
import dev.weir.lease.SlotRenewal;
import dev.weir.time.DueTime;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What one holder has of one shared limit and knows of its ledger. An immutable value, which changes with each event:
 *
 * <pre>
 *   event                       changes
 *   a request needs tokens      the {@link Demand}
 *   take, reserve               the {@link LeasePool}: uses the leases
 *   refund, free, settle        the pool, and what it does not cover: the {@link Corrections}
 *   renew                       the {@link SlotRenewals}
 *   a message is sent           {@link NextMessage} says which, {@link LeaseSchedule} when
 *   a response arrives          the pool, or what is known of the ledger: {@link LedgerAnswers}
 * </pre>
 *
 * <p>{@link LeasePool} explains the two clocks, {@code nowMs} and {@code atMs}.
 *
 * @param pool the leases
 * @param demand the recent demand
 * @param answers the latest request for a lease, and what is known of the ledger by its answers
 * @param corrections what is not yet reported to the ledger besides the usage of leases
 */
public record LeaseBook(LeasePool pool, Demand demand, LedgerAnswers answers, Corrections corrections) {

    private static final LeaseBook EMPTY =
            new LeaseBook(LeasePool.EMPTY, Demand.NONE, LedgerAnswers.NONE, Corrections.NONE);

    /**
     * A message to the ledger, and the book after it is sent.
     *
     * @param book the next book
     * @param message the message; null if only the book changes
     */
    public record Transition(LeaseBook book, LeaseRequest message) {}

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

    /** Returns the book of a holder without leases. */
    public static LeaseBook empty() {
        return EMPTY;
    }

    /** Returns a book restored from a store, without demand and without a pending request. */
    public static LeaseBook fromStore(LeasePool pool, Corrections corrections) {
        return new LeaseBook(pool, Demand.NONE, LedgerAnswers.NONE, corrections);
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
        Lease.Term term = new Lease.Term(atMs, atMs, DueTime.NEVER, 0);
        Lease lease = new Lease(1, available, 0, 0, term, Lease.Reports.NONE, false);
        LedgerBalance balance = free.isEmpty()
                ? LedgerBalance.UNKNOWN
                : new LedgerBalance(free.getAsLong(), Lease.LONG_AGO_MS, DueTime.NEVER, 0);
        boolean isRefused = retryAfterMs != 0;
        LedgerAnswers answers = new LedgerAnswers(
                isRefused
                        ? new LastRequest.Refused(0, OptionalLong.of(1), retryAfterMs, retryAfterMs)
                        : LastRequest.NONE,
                isRefused ? new Scarcity(1, DueTime.NEVER, isLent) : Scarcity.NONE,
                LastCheck.NONE,
                balance);
        return new LeaseBook(new LeasePool(atMs, List.of(lease), 1), Demand.NONE, answers, Corrections.NONE);
    }

    /** Returns a book reconstructed from a decision: the ledger had renewed the slots of a reservation until a time. */
    public static LeaseBook reconstructedRenewal(long reservation, long endMs) {
        SlotRenewals.Answer answer = new SlotRenewals.Answer(reservation, endMs, true, true);
        return EMPTY.with(SlotRenewals.stored(List.of(), List.of(answer)));
    }

    LeaseBook with(LeasePool next) {
        return new LeaseBook(next, demand, answers, corrections);
    }

    LeaseBook with(LedgerAnswers next) {
        return new LeaseBook(pool, demand, next, corrections);
    }

    LeaseBook with(Corrections next) {
        return new LeaseBook(pool, demand, answers, next);
    }

    private LeaseBook with(SlotRenewals next) {
        return with(corrections.with(next));
    }

    /** Returns the latest decision time. */
    public long clockMs() {
        return pool.clockMs();
    }

    /** Returns the leases not yet reported as used up, ordered by their end. */
    public List<Lease> leases() {
        return pool.leases();
    }

    /** Returns the latest request for a lease. */
    public LastRequest request() {
        return answers.request();
    }

    /** Returns the renewals of slots. */
    public SlotRenewals renewals() {
        return corrections.renewals();
    }

    /** Returns the decision time of a decision made at {@code nowMs}. */
    public long decisionTimeMs(long nowMs) {
        return pool.decisionTimeMs(nowMs);
    }

    /** Returns the tokens that a decision at {@code atMs}, not before {@link #decisionTimeMs}, can use. */
    public long available(long nowMs, long atMs) {
        return pool.available(nowMs, atMs);
    }

    /**
     * Returns what remains of the limit for this holder: what is {@link #available}, and what the ledger could lend by
     * its last response; empty if it has not responded within a term.
     */
    public OptionalLong remaining(long nowMs, long atMs) {
        return answers.remaining(available(nowMs, atMs), nowMs);
    }

    /** Returns whether the cost could be used now, as far as the leases or a recent response of the ledger show. */
    public boolean covers(long cost, LeaseTerms terms, long nowMs, long atMs) {
        return answers.covers(cost, available(nowMs, atMs), terms, nowMs);
    }

    /** Returns whether the ledger need not be asked whether a cost could be used now: it can, or it was refused. */
    public boolean isAnswered(long cost, LeaseTerms terms, long nowMs) {
        return covers(cost, terms, nowMs, decisionTimeMs(nowMs))
                || refusedCheck(cost, terms, nowMs).isPresent()
                || !mayBeGranted(cost, terms, nowMs);
    }

    /** Returns the answer of the ledger to a question, if it would not lend what a cost needs. */
    public Optional<LastCheck.Refused> refusedCheck(long cost, LeaseTerms terms, long nowMs) {
        return answers.refusedCheck(missing(cost, nowMs), terms, nowMs);
    }

    /** Returns whether a request for what {@code cost} lacks could be granted; see {@link LedgerAnswers#mayBeGranted}. */
    public boolean mayBeGranted(long cost, LeaseTerms terms, long nowMs) {
        return answers.mayBeGranted(missing(cost, nowMs), terms, nowMs);
    }

    /** Returns whether, according to the ledger's last response, the limit has nothing left for {@code cost}. */
    public boolean isScarce(long cost, long nowMs) {
        return answers.isUnavailable(missing(cost, nowMs), nowMs)
                && !answers.scarcity().isLent();
    }

    /**
     * Returns whether, according to the ledger's last response, other holders seem to hold unused what {@code cost}
     * needs.
     */
    public boolean isLent(long cost, long nowMs) {
        return answers.isUnavailable(missing(cost, nowMs), nowMs)
                && answers.scarcity().isLent();
    }

    private long missing(long cost, long nowMs) {
        return Math.max(1, cost - available(nowMs, decisionTimeMs(nowMs)));
    }

    LeaseBook at(long nowMs) {
        Demand now = demand.at(nowMs);
        return now.equals(demand) ? this : new LeaseBook(pool, now, answers, corrections);
    }

    /** Returns the book with {@code cost} added to the demand, whether it can be met or not. */
    public LeaseBook withDemand(long cost, long nowMs) {
        return new LeaseBook(pool, demand.plus(cost, nowMs), answers, corrections);
    }

    /**
     * Returns the book after {@code cost} tokens were used, from the leases that end first.
     *
     * @param atMs the time of the decision
     * @throws IllegalArgumentException if fewer are {@link #available}
     */
    public LeaseBook take(long cost, long nowMs, long atMs) {
        return with(pool.take(cost, nowMs, atMs, (lease, tokens) -> lease.used(tokens, atMs, false)));
    }

    /** Like {@link #take}, for a reservation, which can be {@linkplain #refund refunded}. */
    public LeaseBook reserve(long cost, long nowMs, long atMs) {
        return with(pool.take(cost, nowMs, atMs, (lease, tokens) -> lease.used(tokens, atMs, true)));
    }

    /**
     * Like {@link #take}, for the slots of a reservation, which can be {@linkplain #free freed}.
     *
     * @param endMs when they end, in ledger time
     */
    public LeaseBook reserveSlots(long cost, long nowMs, long atMs, long endMs) {
        return with(pool.take(cost, nowMs, atMs, (lease, slots) -> lease.usedSlots(slots, atMs, endMs)));
    }

    /** Returns what was taken of leases since an earlier book that has the same leases. */
    public List<LeasePart> takenSince(LeaseBook before) {
        return pool.takenSince(before.pool);
    }

    /**
     * Returns the book as if a reservation had taken less. Tokens whose use was not reported return to their lease, and
     * can be used again in its time ({@link LeasePool#unused}). Others are refunded by the ledger.
     *
     * @param parts what the reservation took
     * @param tokens how much less
     * @param usedAtMs the decision time of the reservation
     */
    public LeaseBook refund(List<LeasePart> parts, long tokens, long usedAtMs, LeaseTerms terms, long nowMs) {
        LeasePool.Returned returned = pool.unused(parts, tokens);
        Corrections next = corrections;
        for (LeasePart part : returned.reported()) {
            next = next.with(new Refund(part.leaseId(), usedAtMs, part.tokens()), nowMs + terms.leadMs());
        }
        return corrected(returned.pool(), next);
    }

    /**
     * Returns the book after a reservation has freed its slots. Those whose use was not reported return to their lease,
     * as after a {@linkplain #refund refund}. Others are freed by the ledger, also those whose renewal it has not answered.
     */
    public LeaseBook free(LentSlots slots, LeaseTerms terms, long nowMs) {
        SlotRenewals renewals = corrections.renewals();
        Corrections next = corrections.with(renewals.freed(slots.reservation()));
        if (renewals.isSent(slots.reservation())) {
            return corrected(pool, next);
        }
        long endMs = renewals.answer(slots.reservation())
                .map(SlotRenewals.Answer::endMs)
                .orElse(slots.endMs());
        LeasePool.Returned returned = pool.freed(slots, endMs, nowMs);
        long reported =
                returned.reported().stream().mapToLong(LeasePart::tokens).sum();
        return corrected(
                returned.pool(),
                reported == 0
                        ? next
                        : next.with(new FreedSlots(slots.usedAtMs(), endMs, reported), nowMs + terms.leadMs()));
    }

    private LeaseBook corrected(LeasePool next, Corrections pending) {
        boolean isSame = pending.equals(corrections);
        return new LeaseBook(next, demand, isSame ? answers : answers.withoutRefusal(), pending);
    }

    /**
     * Returns the book after a settlement (0 or more), which is charged unconditionally. The part that the leases do
     * not cover is sent to the ledger, which bounds it.
     */
    public LeaseBook settle(long cost, long nowMs, long atMs) {
        long here = Math.min(cost, available(nowMs, atMs));
        return take(here, nowMs, atMs)
                .with(corrections.withSettled(cost - here))
                .with(answers.used(cost - here));
    }

    /**
     * Returns the book that asks the ledger with the next message to prolong the slots of a reservation, unless it does
     * already. An answer to an earlier renewal must have been {@linkplain #withoutAnswer removed}.
     *
     * @param slotMs how long after the renewal they end, in milliseconds
     * @param isAwaited whether a request waits for the answer
     */
    public LeaseBook renew(LentSlots slots, long slotMs, boolean isAwaited) {
        if (renewals().isPending(slots.reservation())) {
            return this;
        }
        SlotRenewal renewal =
                new SlotRenewal(slots.reservation(), slots.usedAtMs(), slots.endMs(), slotMs, slots.count());
        return with(renewals().with(renewal, isAwaited));
    }

    /** Returns the book without the ledger's answer to the renewal of a reservation. */
    public LeaseBook withoutAnswer(long reservation) {
        return with(renewals().withoutAnswer(reservation));
    }

    /** Returns the book after a request that waited for the renewal of a reservation was decided without it. */
    public LeaseBook abandonRenewal(long reservation) {
        return with(renewals().abandoned(reservation));
    }

    /**
     * Returns the book after the usage of the limit was freed. What the ledger has responded before no longer holds,
     * nor does what it responds to an open request.
     */
    public LeaseBook reset() {
        return with(LedgerAnswers.NONE);
    }

    /**
     * Returns the book with all leases, and the response to a pending request, unusable: their age is unknown because
     * another process requested them or a clock was stepped. The next message reports their usage and returns the rest.
     */
    public LeaseBook revoked() {
        if (leases().isEmpty() && !request().isPending() && renewals().isNone()) {
            return this;
        }
        Corrections next = corrections.with(renewals().unanswered());
        for (FreedSlots freed : renewals().freedUnanswered()) {
            next = next.with(freed, Lease.LONG_AGO_MS);
        }
        return new LeaseBook(pool.revoked(), demand, LedgerAnswers.NONE, next);
    }

    /** Returns when the latest request, question or renewals were sent, if a response answers them. */
    public OptionalLong sentMs(LeaseResponse response) {
        if (response instanceof LeaseResponse.Renewed renewed) {
            return renewals().isExpected(renewed) ? OptionalLong.of(renewals().sentMs()) : OptionalLong.empty();
        }
        return answers.sentMs(response);
    }

    /**
     * Returns the book after a response. A lease whose request was given up is returned with the next message; other
     * responses that answer nothing are ignored.
     */
    public LeaseBook withResponse(LeaseResponse response, LeaseTerms terms, long nowMs) {
        OptionalLong sentMs = sentMs(response);
        if (response instanceof LeaseResponse.Granted granted) {
            return sentMs.isPresent() ? granted(granted, sentMs.getAsLong(), terms, nowMs) : superseded(granted);
        }
        if (sentMs.isEmpty()) {
            return this;
        }
        if (response instanceof LeaseResponse.Renewed renewed) {
            return renewed(renewed, terms, nowMs);
        }
        return with(
                response instanceof LeaseResponse.Checked checked
                        ? answers.checked(checked, terms, nowMs)
                        : answers.refused((LeaseResponse.Refused) response, terms, nowMs));
    }

    private LeaseBook granted(LeaseResponse.Granted granted, long sentMs, LeaseTerms terms, long nowMs) {
        Lease lease = Lease.granted(granted, sentMs);
        return with(pool.plus(lease)).with(answers.granted(granted, lease, terms, nowMs));
    }

    private LeaseBook superseded(LeaseResponse.Granted granted) {
        boolean isKnown = granted.leaseId() <= pool.lastId();
        return isKnown ? this : with(pool.plus(Lease.granted(granted, 0).revoked()));
    }

    private LeaseBook renewed(LeaseResponse.Renewed renewed, LeaseTerms terms, long nowMs) {
        Corrections next = corrections.with(renewals().answered(renewed));
        for (FreedSlots freed : renewals().freedBefore(renewed)) {
            next = next.with(freed, nowMs);
        }
        return with(next).with(answers.renewed(renewed, terms, nowMs));
    }

    /** Returns whether what is stored of this book equals what is stored of another. */
    public boolean isStoredLike(LeaseBook other) {
        return pool.equals(other.pool) && corrections.isStoredLike(other.corrections);
    }

    /**
     * Returns the message to send now.
     *
     * @param session the session of the holder, which numbers requests
     * @return null if nothing changes; a transition without a message if only the book changes
     */
    public Transition nextMessage(LeaseSession session, Needs needs, LeaseTerms terms, long nowMs) {
        return new NextMessage(this, session, needs, terms, nowMs).transition();
    }

    /**
     * Returns the final message, which reports all usage and returns the rest. The transition has no message if there
     * is nothing to report.
     */
    public Transition lastMessage(LeaseSession session) {
        return NextMessage.last(this, session);
    }

    /** Returns whether to ask the ledger whether a cost could be used now. */
    boolean shouldAsk(long cost, LeaseTerms terms, long nowMs) {
        return cost > 0 && !answers.isAsking(terms, nowMs) && !isAnswered(cost, terms, nowMs);
    }

    /** Returns the times at which messages are due. */
    LeaseSchedule schedule(LeaseTerms terms) {
        return new LeaseSchedule(this, terms);
    }

    /** Returns whether a new {@link #empty} book would behave the same, except for its clock. */
    public boolean isIdle(LeaseTerms terms, long nowMs) {
        return leases().isEmpty() && corrections.isNone() && nowMs >= idleAtMs(terms);
    }

    /** Returns when a book without leases becomes {@linkplain #isIdle idle}. */
    public long idleAtMs(LeaseTerms terms) {
        return Math.max(answers.idleAtMs(terms), demand.idleAtMs(terms));
    }
}
