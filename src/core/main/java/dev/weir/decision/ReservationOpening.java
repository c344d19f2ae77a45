package dev.weir.decision;

import dev.weir.decision.state.FirstAnswer;
import dev.weir.decision.state.HeldCharge;
import dev.weir.decision.state.PolicyState;
import dev.weir.decision.state.ReservationRecord;
import dev.weir.decision.state.ReservationTable;
import dev.weir.decision.state.WritablePolicyStates;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.LimitStatus;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.ContentHash;
import dev.weir.policy.RequestKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Creates the reservations of requests that pass, and finds those of repeated ones. */
final class ReservationOpening {

    private static final int UNPROCESSABLE = 422;
    private static final int UNAVAILABLE = 503;

    private ReservationOpening() {}

    /**
     * Returns the reservation that an earlier request with this client and requestId created, if its time is not over;
     * empty if there is none, or only a hidden one.
     */
    static Optional<ReservationRecord> earlier(Request request, WritablePolicyStates states) {
        if (request.kind() != RequestKind.CONSUME || states.reservations().isEmpty()) {
            return Optional.empty();
        }
        ReservationRecord reservation = states.reservations().get(key(request));
        return reservation == null
                        || reservation.isHidden()
                        || reservation.endMs() <= nowMs(request, reservation, states)
                ? Optional.empty()
                : Optional.of(reservation);
    }

    /** Returns the key of the reservation that a request creates, ends or prolongs. */
    static RequestKey key(Request request) {
        return new RequestKey(request.client(), RequestKind.CONSUME, request.reservationId());
    }

    /**
     * Returns the time of a request about a reservation: that of its timestamp or, if that is later, of the latest request
     * that was charged to a key which the reservation holds.
     */
    static long nowMs(Request request, ReservationRecord reservation, WritablePolicyStates states) {
        return nowMs(request.timestampMs(), reservation, states);
    }

    /** Returns {@code timestampMs} or, if that is later, the time of the latest charge to a key of a reservation. */
    static long nowMs(long timestampMs, ReservationRecord reservation, WritablePolicyStates states) {
        long nowMs = timestampMs;
        for (HeldCharge held : reservation.held()) {
            PolicyState state = held.observes() ? null : states.get(held.key());
            nowMs = state == null ? nowMs : Math.max(nowMs, state.lastRequestMs());
        }
        return nowMs;
    }

    /** Returns whether a repeat has the content of the request that created the reservation. */
    static boolean isSameContent(Request request, ReservationRecord reservation) {
        return reservation.first().orElseThrow().content().equals(ContentHash.of(request));
    }

    /** Returns the first answer, addressed to this request, with the current end of the reservation. */
    static DecisionResult repeatAnswer(Request request, ReservationRecord reservation) {
        DecisionResult answer = IdempotencyCheck.repeatAnswer(
                request, reservation.first().orElseThrow().answer(), reservation.endMs());
        return until(answer, reservation);
    }

    /** Returns a repeated answer with the current end of the reservation that the first request created, if it is open. */
    static DecisionResult repeatUntil(DecisionResult answer, Request request, WritablePolicyStates states) {
        return earlier(request, states)
                .map(reservation -> until(answer, reservation))
                .orElseGet(() -> until(answer, (Long) null));
    }

    private static DecisionResult until(DecisionResult answer, ReservationRecord reservation) {
        return until(answer, reservation.ending().isPresent() ? null : (Long) reservation.endMs());
    }

    private static DecisionResult until(DecisionResult answer, Long endMs) {
        return answer instanceof Admission admission
                ? admission.withReservedUntilMs(endMs)
                : ((Decision) answer).withReservedUntilMs(endMs);
    }

    /**
     * Returns the denial of a request with the id of a reservation but other content. Policies have no part in it.
     */
    static Decision mismatch(Request request, long nowMs) {
        return Decision.denied(request, Reason.IDEMPOTENCY_MISMATCH, UNPROCESSABLE, nowMs)
                .withLimit(null, LimitStatus.of("reservation", null));
    }

    /**
     * Returns the denial of a request that finds the table full.
     *
     * @param retryAfterMs when there is a place; null if that is unknown
     */
    static Decision tooMany(Request request, Long retryAfterMs, long nowMs) {
        return Decision.denied(request, Reason.TOO_MANY_RESERVATIONS, UNAVAILABLE, nowMs)
                .withRetryAfterMs(retryAfterMs);
    }

    /**
     * Stores the reservation of a request that has passed, and returns its answer, with the end of the reservation unless
     * this is hidden. An admission is returned with the time until which the queue must store its answer.
     *
     * @param evaluated the checks before the charge
     * @param charged the checks after the charge
     */
    static DecisionResult opened(
            Request request,
            DecisionResult result,
            Evaluation evaluated,
            Evaluation charged,
            Reserving reserving,
            ReservationTable table) {
        Optional<FirstAnswer> first = reserving.isHidden()
                ? Optional.empty()
                : Optional.of(FirstAnswer.of(
                        ContentHash.of(request),
                        result instanceof Admission admission ? admission.sent() : (Decision) result));
        table.open(
                key(request),
                new ReservationRecord(
                        reserving.number(),
                        first,
                        request.cost(),
                        reserving.startMs(),
                        reserving.durationMs(),
                        held(evaluated, charged, reserving),
                        Optional.empty()));
        if (result instanceof Admission admission) {
            Admission holding = admission.withReservation(reserving.number());
            return reserving.isHidden()
                    ? holding
                    : until(holding.withIdempotentUntilMs(reserving.endMs()), reserving.endMs());
        }
        return reserving.isHidden() ? result : until(result, reserving.endMs(((Decision) result).decidedAtMs()));
    }

    private static List<HeldCharge> held(Evaluation evaluated, Evaluation charged, Reserving reserving) {
        List<HeldCharge> held = new ArrayList<>();
        for (int i = 0; i < charged.checks().length; i++) {
            PolicyCheck check = charged.checks()[i];
            if (!reserving.holds(check)
                    || evaluated.checks()[i].refuses()
                    || !check.policy().countsUsage()) {
                continue;
            }
            if (check instanceof LeasedCheck leased) {
                held.add(leased.held((LeasedCheck) evaluated.checks()[i], reserving));
            } else {
                held.add(((CountedCheck) check).held(reserving));
            }
        }
        return held;
    }
}
