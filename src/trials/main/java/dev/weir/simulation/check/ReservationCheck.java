package dev.weir.simulation.check;

import static dev.weir.simulation.schedule.Violation.Promise.ENDS_ONCE;
import static dev.weir.simulation.schedule.Violation.Promise.WITHIN_LIMITS;

import dev.weir.audit.history.ReservationHistory;
import dev.weir.audit.history.ReservationHistory.Reserved;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.simulation.schedule.SchedulePolicies;
import dev.weir.simulation.schedule.Violation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The check of reservations, by the decisions alone. At no time are more slots in use than the highest limit permits.
 * Each reservation ends once, when the last decision said or before. At each admission, the final costs of the window,
 * each at its original time, are within the limit. No request settles more than its estimate.
 */
final class ReservationCheck {

    /**
     * What is known of a reservation.
     *
     * @param resets the number of RESETs before
     * @param durationMs how long after the request or a renewal it ends
     */
    private record Charged(int resets, long durationMs) {}

    private final SchedulePolicies rulebook;
    private final ReservationHistory<Charged> reservations = new ReservationHistory<>();
    private final Map<String, List<Reserved<Charged>>> byClient = new HashMap<>();
    private final Map<String, Integer> resets = new HashMap<>();

    ReservationCheck(SchedulePolicies rulebook) {
        this.rulebook = rulebook;
    }

    /** Must be called for all decisions of a client in their order. */
    void decided(Request request, Decision decision) {
        if (!request.client().startsWith(SchedulePolicies.SLOTS) || decision.repeated()) {
            return;
        }
        List<Reserved<Charged>> all = byClient.computeIfAbsent(request.client(), client -> new ArrayList<>());
        long atMs = decision.decidedAtMs();
        if (decision.reason() == Reason.USAGE_RESET) {
            resets.merge(request.client(), 1, Integer::sum);
        } else if (ReservationHistory.isChange(request, decision)) {
            boolean isOpen = reservations
                    .get(request)
                    .filter(reserved -> reserved.isOpenAt(atMs))
                    .isPresent();
            Violation.unless(isOpen, ENDS_ONCE, () -> decision + " is about a reservation that is not open");
            Charged charged =
                    reservations.follow(request, decision).orElseThrow().charged();
            checkEnd(decision, decision.reason() == Reason.RENEWED ? (Long) (atMs + charged.durationMs) : null);
        } else if (decision.reason() == Reason.ALREADY_ENDED) {
            Violation.unless(
                    reservations.get(request).filter(Reserved::isEnded).isPresent(),
                    ENDS_ONCE,
                    () -> decision + " is about a reservation that nobody has ended");
        } else if (request.kind() == RequestKind.CONSUME
                && decision.outcome() == Outcome.ALLOWED
                && decision.reason() != Reason.NO_POLICY) {
            Charged charged = new Charged(resets.getOrDefault(request.client(), 0), durationMs(request));
            checkEnd(decision, atMs + charged.durationMs);
            all.add(reservations.add(request, decision, charged));
            check(request, atMs, all, charged);
        }
    }

    /** @param endMs when the reservation ends, null if it has ended */
    private static void checkEnd(Decision decision, Long endMs) {
        Violation.unless(
                Objects.equals(decision.reservedUntilMs(), endMs),
                WITHIN_LIMITS,
                () -> decision + " should end at " + endMs);
    }

    private static long durationMs(Request request) {
        return request.reserveMs() == null
                ? SchedulePolicies.SLOTS_TTL_MS
                : Math.min(request.reserveMs(), SchedulePolicies.SLOTS_TTL_MS);
    }

    private void check(Request request, long atMs, List<Reserved<Charged>> all, Charged now) {
        long inUse = 0;
        long inWindow = 0;
        for (Reserved<Charged> held : all) {
            boolean counts = held.charged().resets == now.resets;
            inUse += counts && held.isOpenAt(atMs) ? held.estimate() : 0;
            inWindow += counts && held.startMs() > atMs - SchedulePolicies.SLOTS_WINDOW_MS ? held.finalCost() : 0;
        }
        long most = rulebook.mostLimit(SchedulePolicies.SLOTS);
        if (request.cost() > 0 && (inUse > most || inWindow > SchedulePolicies.SLOTS_A_WINDOW)) {
            String what = " has " + inUse + " of " + most + " slots in use at " + atMs + ", and " + inWindow + " of "
                    + SchedulePolicies.SLOTS_A_WINDOW + " in the window";
            throw new Violation(WITHIN_LIMITS, request.client() + what);
        }
    }
}
