package dev.weir.decision;

import dev.weir.decision.state.HeldCharge;
import dev.weir.decision.state.ReservationRecord;
import dev.weir.decision.state.lease.LeaseContext;
import dev.weir.decision.state.lease.WritableLeases;
import dev.weir.event.AwaitLease;
import dev.weir.event.StateKey;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.SlotRenewals;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The renewal of the slots that a reservation uses of shared limits. A ledger ends them by its own time, so they are
 * prolonged only once it has confirmed that they have not ended. Until then the RENEW waits, like a CONSUME for a lease.
 *
 * <p>Nobody waits for slots of policies that observe. What their ledgers answer is only used when the slots are freed or
 * prolonged again.
 *
 * @param reservation the reservation, with the ends of its slots by the ledgers' answers so far
 * @param isEnded whether a ledger has not prolonged its slots, or has not answered in time
 * @param awaited what the RENEW must wait for
 * @param endMs when the first of the prolonged slots end, in ledger time; empty if the reservation holds none, or only
 *     those of policies that observe
 */
record SlotRenewing(
        ReservationRecord reservation, boolean isEnded, Optional<AwaitLease> awaited, Optional<Long> endMs) {

    /**
     * Continues to renew the slots of a reservation, and asks the ledgers that are not asked yet.
     *
     * @param policies the policies, whose {@code max-wait} bounds the wait
     * @param nowMs the time of the decision
     */
    static SlotRenewing of(ReservationRecord reservation, LeaseContext context, PolicyTable policies, long nowMs) {
        List<HeldCharge> next = new ArrayList<>();
        boolean isEnded = false;
        Optional<StateKey> awaited = Optional.empty();
        Optional<Long> firstEndMs = Optional.empty();
        for (HeldCharge held : reservation.held()) {
            Policy policy = policies.inForce(held.key().policyId(), nowMs);
            if (!(held instanceof HeldCharge.Leased leased)
                    || leased.slots().isEmpty()
                    || reservation.cost() == 0
                    || !hasSlots(policy, held.key())) {
                next.add(held);
                continue;
            }
            LeaseBook book = context.leases().book(leased.key());
            Optional<SlotRenewals.Answer> answer = book.renewals().answer(reservation.number());
            HeldCharge.Leased known =
                    leased.until(answer.filter(SlotRenewals.Answer::isRenewed).map(SlotRenewals.Answer::endMs));
            next.add(known);
            boolean isAnswered = answer.isPresent() && answer.get().isAwaited();
            isEnded |= isAnswered && !answer.get().isRenewed();
            if (!leased.observes()) {
                long endMs = known.slots().orElseThrow().endMs();
                firstEndMs = Optional.of(Math.min(endMs, firstEndMs.orElse(endMs)));
            }
            if (!isAnswered) {
                LeaseBook unanswered = book.withoutAnswer(reservation.number());
                boolean asks = leased.observes() || context.mayWait();
                context.leases().put(leased.key(), asks ? asking(unanswered, known, reservation.number()) : unanswered);
                awaited = awaited.isPresent() || leased.observes() ? awaited : Optional.of(leased.key());
            }
        }
        boolean waits = !isEnded && awaited.isPresent() && context.mayWait();
        SlotRenewing renewing = new SlotRenewing(
                reservation.withHeld(next),
                isEnded || (awaited.isPresent() && !waits),
                awaited.filter(key -> waits)
                        .map(key -> new AwaitLease(key, maxWaitMs(policies.inForce(key.policyId(), nowMs), context))),
                firstEndMs);
        if (!waits) {
            abandon(reservation, context.leases());
        }
        return renewing;
    }

    /** Returns whether the slots still count: otherwise they end as they would have. */
    private static boolean hasSlots(Policy policy, StateKey key) {
        return policy != null && policy.limitsConcurrency() && policy.countsUnder(key);
    }

    private static LeaseBook asking(LeaseBook book, HeldCharge.Leased leased, long reservation) {
        long slotMs = leased.slots().orElseThrow().slotMs();
        return book.renew(leased.lentSlots(reservation), slotMs, !leased.observes());
    }

    private static long maxWaitMs(Policy policy, LeaseContext context) {
        long mostMs = policy.sharing().maxWaitMs().orElse(0);
        return mostMs > 0 ? mostMs : context.leases().leaseWaitMs();
    }

    /** Removes the answers for a reservation. What is not answered yet, no RENEW waits for any more. */
    static void abandon(ReservationRecord reservation, WritableLeases leases) {
        for (HeldCharge held : reservation.held()) {
            if (held instanceof HeldCharge.Leased leased && leased.slots().isPresent() && !leased.observes()) {
                LeaseBook book = leases.book(leased.key());
                if (book.renewals().isPending(reservation.number())) {
                    leases.put(leased.key(), book.abandonRenewal(reservation.number()));
                } else if (book.renewals().answer(reservation.number()).isPresent()) {
                    leases.put(leased.key(), book.withoutAnswer(reservation.number()));
                }
            }
        }
    }
}
