package dev.weir.decision;

import dev.weir.decision.state.HeldCharge;
import dev.weir.decision.state.HeldState;
import dev.weir.decision.state.PolicyState;
import dev.weir.decision.state.ReservationRecord;
import dev.weir.decision.state.WritablePolicyStates;
import dev.weir.decision.state.lease.LeaseContext;
import dev.weir.decision.state.lease.QuotaSource;
import dev.weir.decision.state.lease.WritableLeases;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.LentSlots;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.RequestKey;
import java.util.Optional;

/**
 * Ends and prolongs reservations, which requests name by client and requestId. The policies that applied to the
 * reservation are found by what it holds.
 *
 * <pre>
 *   request                            open      ended the same way    ended otherwise    none, or its time is over
 *   SETTLE that settles it, cost a     SETTLED   SETTLED, repeated     ALREADY_ENDED      NOTHING_RESERVED
 *   RELEASE                            RELEASED  RELEASED, repeated    ALREADY_ENDED      NOTHING_RESERVED
 *   CANCEL without a queue             CANCELLED CANCELLED, repeated   ALREADY_ENDED      NOTHING_RESERVED
 *   RENEW                              RENEWED   RESERVATION_ENDED     RESERVATION_ENDED  RESERVATION_ENDED
 * </pre>
 *
 * <p>All are {@code ALLOWED} but {@code RESERVATION_ENDED}. A SETTLE with another cost is another way.
 *
 * <p>What was taken of leases of shared limits returns to these leases, or to the ledger with the next message. What was
 * used beyond the estimate is used now, like a SETTLE that names no reservation. A RENEW of slots of a shared limit waits
 * for the ledger ({@link SlotRenewing}), and is decided at the time at which the first ledger confirmed it.
 */
record ReservationEnding(WritablePolicyStates states, PolicyTable policies, QuotaSource shared) {

    private static final int GONE = 410;

    /** Decides a request that {@linkplain Request#isForReservation is for a reservation}. */
    DecisionResult decide(Request request) {
        RequestKey key = ReservationOpening.key(request);
        ReservationRecord reservation = states.reservations().get(key);
        if (reservation == null) {
            return nothing(request, request.timestampMs());
        }
        long nowMs = ReservationOpening.nowMs(request, reservation, states);
        if (reservation.endMs() <= nowMs) {
            if (request.kind() == RequestKind.RENEW && shared instanceof LeaseContext context) {
                SlotRenewing.abandon(reservation, context.leases());
            }
            return nothing(request, nowMs);
        }
        if (reservation.ending().isPresent()) {
            return reservation.isHidden()
                    ? nothing(request, nowMs)
                    : endedBefore(request, reservation.ending().get(), nowMs);
        }
        if (request.kind() == RequestKind.RENEW) {
            return renew(request, reservation, nowMs);
        }
        ReservationRecord.Ending how = new ReservationRecord.Ending(request.kind(), actualCost(request), nowMs);
        end(reservation, how, nowMs);
        states.reservations().change(key, reservation.ended(how));
        return answer(request, reservation, nowMs);
    }

    private DecisionResult renew(Request request, ReservationRecord reservation, long nowMs) {
        ReservationRecord current = reservation;
        long decidedAtMs = nowMs;
        if (shared instanceof LeaseContext context) {
            SlotRenewing slots = SlotRenewing.of(reservation, context, policies, nowMs);
            current = slots.reservation();
            if (!current.equals(reservation)) {
                states.reservations().change(ReservationOpening.key(request), current);
            }
            if (slots.awaited().isPresent()) {
                return slots.awaited().get();
            }
            if (slots.isEnded()) {
                return nothing(request, nowMs);
            }
            decidedAtMs =
                    slots.endMs().map(endMs -> endMs - reservation.durationMs()).orElse(nowMs);
        }
        long renewedAtMs = Math.max(nowMs, decidedAtMs);
        ReservationRecord renewed = current.renewed(renewedAtMs);
        renew(current, renewed, nowMs);
        states.reservations().change(ReservationOpening.key(request), renewed);
        return reservation.isHidden()
                ? nothing(request, nowMs)
                : Decision.allowed(request, Reason.RENEWED, decidedAtMs)
                        .withReservedUntilMs(decidedAtMs + renewed.endMs() - renewedAtMs);
    }

    private static Decision answer(Request request, ReservationRecord reservation, long nowMs) {
        return reservation.isHidden()
                ? nothing(request, nowMs)
                : Decision.allowed(request, reason(request.kind()), nowMs);
    }

    /** Returns what a request really cost whose reservation is ended; 0 if that is not said. */
    private static long actualCost(Request request) {
        return request.kind() == RequestKind.SETTLE ? Math.max(0, request.cost()) : 0;
    }

    private static Decision endedBefore(Request request, ReservationRecord.Ending how, long nowMs) {
        if (request.kind() == RequestKind.RENEW) {
            return nothing(request, nowMs);
        }
        if (how.kind() != request.kind() || how.cost() != actualCost(request)) {
            return Decision.allowed(request, Reason.ALREADY_ENDED, nowMs);
        }
        return Decision.allowed(request, reason(request.kind()), how.atMs()).asRepeated(request.source());
    }

    private static Decision nothing(Request request, long nowMs) {
        return request.kind() == RequestKind.RENEW
                ? Decision.denied(request, Reason.RESERVATION_ENDED, GONE, nowMs)
                : Decision.allowed(request, Reason.NOTHING_RESERVED, nowMs);
    }

    private static Reason reason(RequestKind kind) {
        return switch (kind) {
            case SETTLE -> Reason.SETTLED;
            case RELEASE -> Reason.RELEASED;
            case CANCEL -> Reason.CANCELLED;
            case CONSUME, PEEK, RESET, RENEW, COMPLETE, EXTEND ->
                throw new IllegalArgumentException(kind + " ends no reservation");
        };
    }

    private void end(ReservationRecord reservation, ReservationRecord.Ending how, long nowMs) {
        for (HeldCharge held : reservation.held()) {
            if (held instanceof HeldCharge.Counted counted) {
                state(reservation, counted, nowMs)
                        .map(HeldState::freed)
                        .map(state -> how.kind() == RequestKind.RELEASE ? state.forgotten() : state.settled(how.cost()))
                        .ifPresent(state -> put(counted, state));
            } else if (shared instanceof LeaseContext context) {
                HeldCharge.Leased leased = (HeldCharge.Leased) held;
                if (leased.slots().isPresent()) {
                    free(leased.lentSlots(reservation.number()), leased.key(), context);
                } else if (how.kind() != RequestKind.RELEASE) {
                    settle(leased, reservation.cost(), how.cost(), context);
                }
            }
        }
    }

    private static void free(LentSlots slots, StateKey key, LeaseContext context) {
        WritableLeases leases = context.leases();
        leases.put(key, leases.book(key).free(slots, leases.terms(key), context.nowMs()));
    }

    private static void settle(HeldCharge.Leased held, long cost, long actualCost, LeaseContext context) {
        WritableLeases leases = context.leases();
        LeaseBook book = leases.book(held.key());
        long nowMs = context.nowMs();
        if (actualCost < cost) {
            LeaseTerms terms = leases.terms(held.key());
            leases.put(held.key(), book.refund(held.parts(), cost - actualCost, held.chargedAtMs(), terms, nowMs));
        } else if (actualCost > cost) {
            leases.put(held.key(), book.settle(actualCost - cost, nowMs, book.decisionTimeMs(nowMs)));
        }
    }

    private void renew(ReservationRecord reservation, ReservationRecord renewed, long nowMs) {
        for (HeldCharge held : reservation.held()) {
            if (held instanceof HeldCharge.Counted counted) {
                state(reservation, counted, nowMs).ifPresent(state -> put(counted, state.renewed(renewed)));
            }
        }
    }

    /**
     * Cancels the reservation of a request that a queue has taken and will not release. Does nothing if another
     * reservation has the key, or this one has ended. The time is that of the latest charge to one of its keys, so the
     * clock of queues has no effect.
     */
    void cancelQueued(RequestKey key, long number) {
        ReservationRecord reservation = states.reservations().get(key);
        if (reservation == null
                || reservation.number() != number
                || reservation.ending().isPresent()) {
            return;
        }
        long nowMs = ReservationOpening.nowMs(reservation.fromMs(), reservation, states);
        if (reservation.endMs() > nowMs) {
            ReservationRecord.Ending how = new ReservationRecord.Ending(RequestKind.CANCEL, 0, nowMs);
            end(reservation, how, Long.MIN_VALUE);
            states.reservations().change(key, reservation.ended(how));
        }
    }

    /** Makes the charges of a reservation final that nobody has ended in time. */
    void expire(ReservationRecord reservation) {
        for (HeldCharge held : reservation.held()) {
            if (held instanceof HeldCharge.Counted counted) {
                state(reservation, counted, Long.MIN_VALUE).ifPresent(state -> put(counted, state.forgotten()));
            }
        }
    }

    /** Returns what a reservation holds of a key, at the time of the key or at {@code nowMs} if that is later. */
    private Optional<HeldState> state(ReservationRecord reservation, HeldCharge.Counted held, long nowMs) {
        PolicyState stored = states.get(held.key());
        if (stored == null) {
            return Optional.empty();
        }
        long atMs = Math.max(nowMs, stored.lastRequestMs());
        Policy policy = policies.inForce(held.key().policyId(), atMs);
        return Optional.of(HeldState.of(stored, reservation, held, policy, atMs))
                .filter(HeldState::isHeld);
    }

    private void put(HeldCharge.Counted held, HeldState state) {
        if (state.isChanged()) {
            states.put(held.key(), state.toStore());
        }
    }
}
