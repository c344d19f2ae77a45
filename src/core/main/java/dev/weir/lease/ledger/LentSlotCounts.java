package dev.weir.lease.ledger;

import dev.weir.lease.FreedSlots;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.SlotRenewal;
import dev.weir.lease.SlotUse;
import dev.weir.limit.Concurrency;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.Slots;
import java.util.ArrayList;
import java.util.List;

/**
 * The counts of a ledger's slots: by which of its accounts a report, a freed slot or a renewal counts.
 *
 * <p><b>Claim.</b> At each ledger time x, the slots in use by the account and the outstanding leases are at least those
 * that are truly in use, by any holder. A slot is in use from the decision {@code u} until it is freed or until its end
 * {@code e}, {@code u < until} of its lease and {@code e ≤ u + ttl}.
 *
 * <p><b>Proof.</b> Let the ledger's ends be those in the account, and {@code until − 1 + ttl} for each token of a lease
 * that is outstanding; the true ends those of the slots in use. After every x, there are at least as many of the ledger's
 * ends as of true ones, since no step changes that:
 *
 * <pre>
 *   use         a token of a lease          its end in the ledger is until − 1 + ttl ≥ u + ttl ≥ e
 *   report      the token's end becomes e   which is the true end
 *   end         of a lease, at until − 1 + ttl: its true ends have passed
 *   freed e     one of the ledger's ends at e goes, if there is one, as does a true one
 *   renewed     one at e becomes e' ≥ e, if there is one; the true one too, or it stays
 * </pre>
 *
 * <p>Slots have no names: which of those that end at {@code e} is freed or renewed does not matter. So it does no harm if
 * a message is lost, late, or, with renewals, repeated; a repeated message of freed slots is recognized by its number. A
 * {@code RESET} and terms that do not continue the account remove ends of the ledger, and therefore slots that were used
 * before are neither freed nor renewed.
 *
 * @param usage the accounts of the ledger, the times from which uses can be freed, and the ledger's time
 */
record LentSlotCounts(LedgerUsage usage) {

    /** Ends that are further away are not possible. They are limited to this. */
    private static final long MAX_END_MS = 2 * Concurrency.MAX_TTL_MS;

    /** The accounts after renewals, and the reservations whose slots had ended. */
    record Renewed(List<LimitAccount<?>> accounts, List<Long> ended) {}

    /** Returns the longest time that a slot of an account is in use if it is not freed; 0 if no account has slots. */
    static long longestTtlMs(List<LimitAccount<?>> accounts) {
        long longestMs = 0;
        for (LimitAccount<?> account : accounts) {
            longestMs = account.limit() instanceof Concurrency limit ? Math.max(longestMs, limit.ttlMs()) : longestMs;
        }
        return longestMs;
    }

    /**
     * Returns an account after slots were reported.
     *
     * @param slots their ends; others than these are in use for {@code ttl} from {@code lastUsedMs}
     * @param count all slots
     */
    static LimitAccount<?> reported(
            Concurrency limit, LimitAccount<?> account, List<SlotUse> slots, long count, long lastUsedMs, long nowMs) {
        Slots next = (Slots) account.state();
        long left = count;
        for (SlotUse each : slots) {
            long part = Math.max(0, Math.min(left, each.count()));
            next = limit.taken(next, part, Math.min(each.endMs(), nowMs + MAX_END_MS), nowMs);
            left -= part;
        }
        return with(limit, account, limit.taken(next, left, lastUsedMs + limit.ttlMs(), nowMs));
    }

    /** Returns the accounts after slots were freed. */
    List<LimitAccount<?>> freed(List<FreedSlots> freed) {
        List<LimitAccount<?>> next = new ArrayList<>(usage.accounts());
        int most = Math.min(freed.size(), LeaseRequest.MAX_REFUNDS);
        for (FreedSlots slots : freed.subList(0, most)) {
            for (int i = 0; i < next.size(); i++) {
                if (counts(i, slots.usedAtMs()) && next.get(i).limit() instanceof Concurrency limit) {
                    Slots state = (Slots) next.get(i).state();
                    long count = Math.min(slots.count(), state.endingAt(slots.endMs(), usage.clockMs()));
                    next.set(i, with(limit, next.get(i), limit.freed(state, count, slots.endMs(), usage.clockMs())));
                }
            }
        }
        return next;
    }

    /** Returns the accounts after renewals, each of which prolongs its slots in all accounts or in none. */
    Renewed renewed(List<SlotRenewal> renewals) {
        List<LimitAccount<?>> next = new ArrayList<>(usage.accounts());
        List<Long> ended = new ArrayList<>();
        long clockMs = usage.clockMs();
        int most = Math.min(renewals.size(), SlotRenewal.MAX_PER_MESSAGE);
        for (SlotRenewal renewal : renewals.subList(0, most)) {
            if (hasEnded(renewal, next)) {
                ended.add(renewal.reservation());
                continue;
            }
            long endMs = Math.min(renewal.endMs(clockMs), clockMs + MAX_END_MS);
            for (int i = 0; i < next.size(); i++) {
                if (counts(i, renewal.usedAtMs()) && next.get(i).limit() instanceof Concurrency limit) {
                    Slots less = limit.freed((Slots) next.get(i).state(), renewal.count(), renewal.endMs(), clockMs);
                    next.set(i, with(limit, next.get(i), limit.taken(less, renewal.count(), endMs, clockMs)));
                }
            }
        }
        return new Renewed(next, ended);
    }

    private boolean hasEnded(SlotRenewal renewal, List<LimitAccount<?>> now) {
        boolean hasEnded = renewal.endMs() <= usage.clockMs();
        for (int i = 0; i < now.size(); i++) {
            if (counts(i, renewal.usedAtMs()) && now.get(i).state() instanceof Slots slots) {
                hasEnded |= slots.endingAt(renewal.endMs(), usage.clockMs()) < renewal.count();
            }
        }
        return hasEnded;
    }

    /** Returns whether an account has counted what was used at a time, if it was reported. */
    private boolean counts(int index, long usedAtMs) {
        EarlierUse earlier = usage.earlier();
        return usedAtMs > Math.max(earlier.resetMs(), earlier.refundable().afterMs(index));
    }

    @SuppressWarnings("ReferenceEquality") // an unchanged state is the same object
    private static LimitAccount<?> with(Concurrency limit, LimitAccount<?> account, Slots next) {
        return account.state() == next ? account : new LimitAccount<>(limit, next);
    }
}
