package dev.weir.lease.holder;

import dev.weir.lease.ledger.Ledger;
import dev.weir.time.DueTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The leases that a holder has of one shared limit, and the times at which they can be used. An immutable value.
 *
 * <p>There are two clocks: {@code nowMs} is the holder's monotonic clock, and {@code atMs} is the time of a decision,
 * which is ledger time (see {@link Lease}). Decision times are derived from the leases, so no wall clock is read:
 *
 * <pre>
 *   decision time    max(clockMs, from, appended + time since sent) over the leases that can be used
 *   usable           now &lt; sent + (until − appended) · (1 − drift)   and   decision time &lt; until
 * </pre>
 *
 * <pre>
 *            granted                    take: from the lease that ends first
 *   ledger ───────────▶ in the pool ──────────────────────────────────────────▶ used, to be reported
 *                           │ ▲  unused, freed: a reservation took less           │
 *                           │ ╰───────────────────────────────────────────────────╯
 *                           ╰─ returned before its end, or revoked ──▶ ledger
 * </pre>
 *
 * @param clockMs the latest decision time
 * @param leases the leases not yet reported as used up, ordered by their end
 * @param lastId the highest id of a lease received so far
 */
public record LeasePool(long clockMs, List<Lease> leases, long lastId) {

    /** The most leases of which a reservation remembers what it took. What it took of others is not refunded. */
    static final int MAX_PARTS = 16;

    /** There are no leases, and there were none. */
    static final LeasePool EMPTY = new LeasePool(0, List.of(), 0);

    private static final Comparator<Lease> BY_END =
            Comparator.<Lease>comparingLong(lease -> lease.term().untilMs()).thenComparingLong(Lease::id);

    public LeasePool {
        leases = List.copyOf(leases);
    }

    /** Returns the decision time of a decision made at {@code nowMs}. */
    long decisionTimeMs(long nowMs) {
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
    long available(long nowMs, long atMs) {
        long available = 0;
        for (Lease lease : leases) {
            available += isUsable(lease, nowMs, atMs) ? lease.remaining() : 0;
        }
        return available;
    }

    /**
     * Returns until when, by the holder's clock, {@link #available} stays the same if nothing is used;
     * {@link DueTime#NEVER} if nothing is available.
     */
    public long availableUntilMs(long nowMs, long atMs) {
        long untilMs = DueTime.NEVER;
        for (Lease lease : leases) {
            untilMs = isUsable(lease, nowMs, atMs) ? Math.min(untilMs, lease.expiresAtMs()) : untilMs;
        }
        return untilMs;
    }

    /** Like {@link #availableUntilMs}, but returns a decision time. */
    public long availableUntilLedgerMs(long nowMs, long atMs) {
        long untilMs = DueTime.NEVER;
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

    /** Returns the tokens of all leases that are not used, whether they can be or not. */
    long remaining() {
        long remaining = 0;
        for (Lease lease : leases) {
            remaining += lease.remaining();
        }
        return remaining;
    }

    /** What a use changes of a lease. */
    interface Use {
        Lease apply(Lease lease, long tokens);
    }

    /**
     * Returns the leases after {@code cost} tokens were used, from the leases that end first.
     *
     * @param atMs the time of the decision
     * @throws IllegalArgumentException if fewer are {@link #available}
     */
    LeasePool take(long cost, long nowMs, long atMs, Use use) {
        long left = cost;
        List<Lease> next = new ArrayList<>(leases.size());
        for (Lease lease : leases) {
            long part = isUsable(lease, nowMs, atMs) ? Math.min(left, lease.remaining()) : 0;
            left -= part;
            next.add(part == 0 ? lease : use.apply(lease, part));
        }
        if (left > 0) {
            throw new IllegalArgumentException(cost + " tokens requested, but the leases lack " + left + " of them");
        }
        return new LeasePool(atMs, next, lastId);
    }

    /**
     * Returns what was taken of leases since an earlier pool that has the same leases, at most of {@value #MAX_PARTS} of
     * them.
     */
    List<LeasePart> takenSince(LeasePool before) {
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
     * What a reservation has returned.
     *
     * @param pool the leases after that
     * @param reported what was reported before, so that the ledger must correct it
     */
    record Returned(LeasePool pool, List<LeasePart> reported) {}

    /**
     * Returns the leases as if a reservation had taken less of them, as far as its use was not reported.
     *
     * <p>The ledger counts the tokens of a lease as lent from its grant until they are reported, whatever they are used
     * for. So all that {@link Ledger} claims holds with the smaller use, too. What was reported has a time in the
     * ledger, from which another use of the same tokens would not be counted for long enough.
     *
     * @param parts what the reservation took
     * @param tokens how much less
     */
    Returned unused(List<LeasePart> parts, long tokens) {
        List<Lease> next = new ArrayList<>(leases);
        List<LeasePart> others = new ArrayList<>();
        long left = tokens;
        for (LeasePart part : parts) {
            int index = indexOfUnreported(part);
            if (index < 0) {
                others.add(part);
            } else {
                long here = Math.min(left, part.tokens());
                next.set(index, next.get(index).unused(here));
                left -= here;
            }
        }
        List<LeasePart> reported = new ArrayList<>();
        for (LeasePart part : others) {
            long there = Math.min(left, part.tokens());
            if (there > 0) {
                reported.add(new LeasePart(part.leaseId(), there, part.reports()));
                left -= there;
            }
        }
        return new Returned(new LeasePool(clockMs, next, lastId), reported);
    }

    /**
     * Returns the leases after a reservation has freed its slots, as far as their use was not reported.
     *
     * @param endMs when they would have ended
     */
    Returned freed(LentSlots slots, long endMs, long nowMs) {
        List<Lease> next = new ArrayList<>(leases);
        List<LeasePart> reported = new ArrayList<>();
        for (LeasePart part : slots.parts()) {
            int index = indexOfUnreported(part);
            if (index < 0) {
                reported.add(part);
            } else {
                next.set(index, next.get(index).freed(part.tokens(), endMs, decisionTimeMs(nowMs)));
            }
        }
        return new Returned(new LeasePool(clockMs, next, lastId), reported);
    }

    private int indexOfUnreported(LeasePart part) {
        for (int i = 0; i < leases.size(); i++) {
            if (leases.get(i).hasUnreported(part)) {
                return i;
            }
        }
        return -1;
    }

    /** Returns the pool with one more lease. */
    LeasePool plus(Lease lease) {
        List<Lease> all = new ArrayList<>(leases);
        all.add(lease);
        all.sort(BY_END);
        return new LeasePool(clockMs, all, Math.max(lastId, lease.id()));
    }

    /** Returns the pool with other leases. */
    LeasePool with(List<Lease> next) {
        return new LeasePool(clockMs, next, lastId);
    }

    /** Returns the pool with all leases unusable. */
    LeasePool revoked() {
        return with(leases.stream().map(Lease::revoked).toList());
    }

    /** Returns the decision time from which the pool has no effect. */
    public long expiresAtMs() {
        long atMs = clockMs;
        for (Lease lease : leases) {
            atMs = Math.max(atMs, lease.term().untilMs());
        }
        return atMs;
    }
}
