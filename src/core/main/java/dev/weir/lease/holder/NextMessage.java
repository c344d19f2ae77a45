package dev.weir.lease.holder;

import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseRequest.Report;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.SlotRenewal;
import dev.weir.lease.SlotUse;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * What a holder sends to the ledger at one moment.
 *
 * <pre>
 *   renewals of slots    first, by themselves
 *   requests a lease     if a request needs more than is available, or the leases that outlive the next lead hold less
 *                        than the reserve ({@link LeaseSchedule}); after a refusal, as soon as the amount may be
 *                        granted, if the demand within two leads reaches it
 *   amount               the demand within a term, less what these leases hold; at least what requests wait for
 *   asks a question      otherwise, for a PEEK that needs more than is available, unless the ledger has responded
 *                        recently
 *   reports              with each message, all usage of leases, refunds, freed slots and settlements; a message without
 *                        a request or question if one of these is due
 *   returns              the part of a lease that exceeds the demand, a lead before the lease expires
 * </pre>
 *
 * <p><b>Slots</b> of limits of concurrency are requested only for requests that wait ({@link Demand#inAdvance}).
 */
final class NextMessage {

    private final LeaseBook book;
    private final LeaseSession session;
    private final LeaseBook.Needs needs;
    private final LeaseTerms terms;
    private final long nowMs;
    private final LeaseSchedule schedule;
    private final Demand demand;
    private final List<Report> reports = new ArrayList<>();

    /**
     * @param book the leases and the demand
     * @param session the session of the holder, which numbers requests
     */
    NextMessage(LeaseBook book, LeaseSession session, LeaseBook.Needs needs, LeaseTerms terms, long nowMs) {
        this.book = book.at(nowMs);
        this.session = session;
        this.needs = needs;
        this.terms = terms;
        this.nowMs = nowMs;
        schedule = new LeaseSchedule(this.book, terms);
        demand = this.book.demand().inAdvance(terms);
    }

    /** Returns the message and the book after it; null if nothing changes. */
    LeaseBook.Transition transition() {
        if (book.renewals().isDue(nowMs)) {
            return renew(reported());
        }
        if (isToRequest()) {
            return request(reported());
        }
        if (needs.isReset() || book.shouldAsk(needs.peek(), terms, nowMs)) {
            return ask(reported());
        }
        return book.corrections().isDue(nowMs) || schedule.reportAtMs() <= nowMs ? report(reported()) : null;
    }

    private boolean isToRequest() {
        if (book.request().isPending() && nowMs < book.request().nextAttemptAtMs(terms)) {
            return false;
        }
        boolean isWaitedFor = needs.first() > available() && book.mayBeGranted(needs.first(), terms, nowMs);
        return isWaitedFor || schedule.isToPrefetch(nowMs);
    }

    private long available() {
        return book.available(nowMs, book.decisionTimeMs(nowMs));
    }

    /** Adds a report of each lease that has changed, and returns the book after that. */
    private LeaseBook reported() {
        List<Lease> next = new ArrayList<>();
        long returned = 0;
        for (Lease lease : book.leases()) {
            boolean isClosing = lease.isClosing() || schedule.closesAtMs(lease) <= nowMs;
            long wanted = isClosing ? demand.tokensWithin(Math.max(0, lease.expiresAtMs() - nowMs)) : lease.remaining();
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
        return book.with(book.pool().with(next))
                .with(book.answers().reported(returned + book.corrections().freedSlots()))
                .with(book.corrections().sent());
    }

    private static Report report(Lease lease, long held) {
        boolean isReserved = lease.reports().isReserved();
        List<SlotUse> slots = lease.reports().slots();
        return new Report(lease.id(), lease.used(), lease.lastUsedMs(), held, isReserved, slots);
    }

    private LeaseBook.Transition renew(LeaseBook next) {
        long number = session.nextRequestNumber();
        SlotRenewals renewals = book.renewals();
        return new LeaseBook.Transition(
                next.with(next.corrections().with(renewals.sent(number, nowMs))),
                message(number, LeaseRequest.Wanted.NONE, usage(renewals.toSend()), false));
    }

    private LeaseBook.Transition ask(LeaseBook next) {
        LeaseRequest.Usage usage = usage(List.of());
        long tokens = Math.max(1, needs.peek() - next.pool().remaining());
        long number = session.nextRequestNumber();
        return new LeaseBook.Transition(
                next.with(next.answers().questioned(new LastCheck.Pending(number, nowMs, tokens))),
                message(number, LeaseRequest.Wanted.check(tokens), usage, needs.isReset()));
    }

    private LeaseBook.Transition report(LeaseBook next) {
        return new LeaseBook.Transition(next, report(session, usage(List.of())));
    }

    private LeaseBook.Transition request(LeaseBook next) {
        LeaseRequest.Usage usage = usage(List.of());
        long held = next.pool().remaining();
        long available = available();
        long due = book.request().retryTokens(demand, terms);
        long least = needs.first() > available ? Math.max(1, needs.first() - held) : due > available ? due : 0;
        long expected = demand.reserve(terms.termMs(), terms, nowMs) - schedule.lastingTokens(nowMs);
        long waiting = least == 0 ? 0 : Math.max(least, needs.all() - held);
        long want = Math.max(Math.max(1, waiting), expected);
        LastRequest.Pending sent = new LastRequest.Pending(
                session.nextRequestNumber(),
                book.request() instanceof LastRequest.Pending pending ? pending.retries() + 1 : 0,
                nowMs,
                least == 0 ? OptionalLong.empty() : OptionalLong.of(least));
        return new LeaseBook.Transition(
                next.with(next.answers().requested(sent)),
                message(sent.number(), new LeaseRequest.Wanted(least, waiting, want), usage, needs.isReset()));
    }

    private LeaseRequest message(long number, LeaseRequest.Wanted wanted, LeaseRequest.Usage usage, boolean isReset) {
        long roundTripMs = session.roundTrip().smoothedMs();
        return new LeaseRequest(number, session.name(), wanted, usage, roundTripMs, isReset);
    }

    private LeaseRequest.Usage usage(List<SlotRenewal> renewals) {
        return usage(session, book.corrections(), reports, renewals);
    }

    private static LeaseRequest.Usage usage(
            LeaseSession session, Corrections corrections, List<Report> reports, List<SlotRenewal> renewals) {
        boolean isNone = corrections.refunds().isEmpty() && corrections.freed().isEmpty();
        LeaseRequest.Refunds refunds = isNone && renewals.isEmpty()
                ? LeaseRequest.Refunds.NONE
                : new LeaseRequest.Refunds(
                        isNone ? 0 : session.nextRequestNumber(), corrections.refunds(), corrections.freed(), renewals);
        return new LeaseRequest.Usage(reports, corrections.settled(), refunds);
    }

    /** Returns a message that reports usage, null if there is none. */
    private static LeaseRequest report(LeaseSession session, LeaseRequest.Usage usage) {
        return usage.isNone() ? null : LeaseRequest.report(session.name(), usage);
    }

    /** Returns the final message, which reports all usage and returns the rest; without a message if there is nothing. */
    static LeaseBook.Transition last(LeaseBook book, LeaseSession session) {
        List<Report> reports = new ArrayList<>();
        for (Lease lease : book.leases()) {
            if (!lease.isReported() || lease.remaining() > 0) {
                reports.add(report(lease, 0));
            }
        }
        return new LeaseBook.Transition(
                book.with(book.pool().with(List.of())).with(book.corrections().sent()),
                report(session, usage(session, book.corrections(), reports, List.of())));
    }
}
