package dev.weir.lease.holder;

import dev.weir.lease.LeaseResponse;
import dev.weir.lease.SlotUse;
import java.util.ArrayList;
import java.util.List;

/**
 * A part of a shared quota that a ledger has lent to a holder for a limited time.
 *
 * <p>Each use of the lease has a decision time {@code u} with {@code fromMs ≤ u < untilMs}. It is the broker's clock
 * when it appended the request for the lease, plus the time since the holder <em>sent</em> that request, by the
 * holder's monotonic clock. The request was sent before it was appended. So, apart from clock drift, decision times are
 * never behind the broker's clock, and a lease {@linkplain #expiresAtMs expires} in time whatever the wall clocks of
 * holder and ledger show (C. Gray, D. Cheriton: <i>Leases: an efficient fault-tolerant mechanism for distributed file
 * cache consistency</i>, SOSP 1989).
 *
 * @param id unique among the leases of the ledger
 * @param amount tokens lent
 * @param used tokens used so far
 * @param lastUsedMs the decision time of the last use
 * @param term when the lease was requested, and for which time it was granted
 * @param reports what was reported to the ledger
 * @param isClosing whether unneeded tokens were returned because the lease is about to expire
 */
public record Lease(long id, long amount, long used, long lastUsedMs, Term term, Reports reports, boolean isClosing) {

    /**
     * What of the usage was reported to the ledger.
     *
     * @param count how many reports there were
     * @param isCurrent whether the last one had the current usage
     * @param isReserved whether reservations have used the lease, so that part of the usage can be refunded
     * @param slots of a limit of concurrency: when the slots end that were used since the last report, in order of time
     */
    public record Reports(long count, boolean isCurrent, boolean isReserved, List<SlotUse> slots) {

        /** Nothing is to be reported. */
        public static final Reports NONE = new Reports(0, true, false, List.of());

        public Reports {
            slots = List.copyOf(slots);
        }

        /** Returns this after {@code count} slots more, or less if it is negative, were used until a time. */
        private Reports withSlots(long endMs, long more) {
            List<SlotUse> next = new ArrayList<>(slots);
            int at = 0;
            while (at < next.size() && next.get(at).endMs() < endMs) {
                at++;
            }
            boolean exists = at < next.size() && next.get(at).endMs() == endMs;
            long all = (exists ? next.get(at).count() : 0) + more;
            if (exists) {
                next.remove(at);
            }
            if (all > 0) {
                next.add(at, new SlotUse(endMs, all));
            }
            return new Reports(count, false, isReserved, next);
        }
    }

    /**
     * The time for which a lease was granted.
     *
     * @param appendedAtMs the broker's time when it appended the request for the lease
     * @param fromMs the ledger's time at the grant: {@code appendedAtMs}, or the latest decision time known to the
     *     ledger if that is later
     * @param untilMs the end (exclusive) of the lease, in ledger time
     * @param sentMs when the lease was requested, by the holder's monotonic clock
     */
    public record Term(long appendedAtMs, long fromMs, long untilMs, long sentMs) {}

    /** The maximum drift: the monotonic clocks of two machines may differ in rate by one part in this many. */
    public static final int MAX_DRIFT_PARTS = 50;

    static final long LONG_AGO_MS = Long.MIN_VALUE / 4;

    /** Returns the lease that was granted in response to a request sent at {@code sentMs}. */
    static Lease granted(LeaseResponse.Granted granted, long sentMs) {
        return new Lease(
                granted.leaseId(),
                granted.amount(),
                0,
                0,
                new Term(granted.appendedAtMs(), granted.fromMs(), granted.untilMs(), sentMs),
                Reports.NONE,
                false);
    }

    long remaining() {
        return amount - used;
    }

    /** Returns when the lease expires, by the holder's monotonic clock. */
    long expiresAtMs() {
        long termMs = term.untilMs - term.appendedAtMs;
        return term.sentMs + termMs - termMs / MAX_DRIFT_PARTS;
    }

    /**
     * Returns an upper bound of how far the broker's clock is ahead of the holder's: the request was appended after it
     * was sent.
     */
    long brokerAheadMs() {
        return term.appendedAtMs - term.sentMs;
    }

    /** Returns whether the current usage was reported to the ledger. */
    public boolean isReported() {
        return reports.isCurrent;
    }

    /** @param byReservation whether the tokens can be {@linkplain #unused refunded} */
    Lease used(long tokens, long useMs, boolean byReservation) {
        boolean isReserved = reports.isReserved || byReservation;
        Reports next = !reports.isCurrent && isReserved == reports.isReserved
                ? reports
                : new Reports(reports.count, false, isReserved, reports.slots);
        return new Lease(id, amount, used + tokens, useMs, term, next, isClosing);
    }

    /** Returns the lease after a reservation has taken slots until {@code endMs}. */
    Lease usedSlots(long slots, long useMs, long endMs) {
        Lease next = used(slots, useMs, true);
        return next.with(next.reports.withSlots(endMs, slots));
    }

    private Lease with(Reports next) {
        return new Lease(id, amount, used, lastUsedMs, term, next, isClosing);
    }

    /** Returns whether the ledger does not know of a part that a reservation took. */
    boolean hasUnreported(LeasePart part) {
        return id == part.leaseId() && reports.count == part.reports();
    }

    /** Returns the lease as if a reservation had taken less of it, which is {@linkplain #hasUnreported not reported}. */
    Lease unused(long tokens) {
        return new Lease(id, amount, used - tokens, lastUsedMs, term, reports, isClosing);
    }

    /** Returns the lease after {@linkplain #hasUnreported unreported} slots were freed, at a decision time. */
    Lease freed(long slots, long endMs, long atMs) {
        return new Lease(
                id,
                amount,
                used - slots,
                Math.max(lastUsedMs, atMs),
                term,
                reports.withSlots(endMs, -slots),
                isClosing);
    }

    /** Returns the lease after a report that keeps {@code held} unused tokens and returns the rest. */
    Lease reported(long held, boolean closing) {
        Reports next = new Reports(reports.count + 1, true, reports.isReserved, List.of());
        return new Lease(id, used + held, used, lastUsedMs, term, next, closing);
    }

    /** Returns the lease, about to expire or not. */
    Lease closing(boolean closing) {
        return new Lease(id, amount, used, lastUsedMs, term, reports, closing);
    }

    /** Returns the lease expired and without unused tokens. Its usage has yet to be reported to the ledger. */
    Lease revoked() {
        Term ended = new Term(term.appendedAtMs, term.fromMs, term.untilMs, LONG_AGO_MS);
        Reports next = new Reports(reports.count, false, reports.isReserved, reports.slots);
        return new Lease(id, used, used, lastUsedMs, ended, next, true);
    }

    /** Returns a time, by the holder's clock, at or somewhat after the last use. */
    long usedUpAtMs() {
        return term.sentMs + Math.max(0, lastUsedMs - term.appendedAtMs);
    }
}
