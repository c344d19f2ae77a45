package dev.weir.simulation;

import static dev.weir.simulation.Violation.Promise.ENDS_ONCE;
import static dev.weir.simulation.Violation.Promise.WITHIN_LIMITS;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The check of reservations, by the decisions alone: at no time are more slots in use than the highest limit permits,
 * each reservation ends once, and at each admission the final costs of the window, each at its original time, are
 * within the limit. No request settles more than its estimate.
 */
final class ReservationCheck {

    /** A request that was admitted. */
    private static final class Held {
        final String id;
        final long atMs;
        final long durationMs;
        final long slots;
        long cost;
        long endMs;
        boolean isOpen = true;
        boolean counts = true; // not since a RESET

        Held(Request request, long atMs) {
            this.id = request.requestId();
            this.atMs = atMs;
            this.durationMs = request.reserveMs() == null
                    ? SchedulePolicies.SLOTS_TTL_MS
                    : Math.min(request.reserveMs(), SchedulePolicies.SLOTS_TTL_MS);
            this.endMs = atMs + durationMs;
            this.slots = request.cost();
            this.cost = request.cost();
        }
    }

    private final SchedulePolicies rulebook;
    private final Map<String, List<Held>> byClient = new HashMap<>();

    ReservationCheck(SchedulePolicies rulebook) {
        this.rulebook = rulebook;
    }

    /** Must be called for all decisions of a client in their order. */
    void decided(Request request, Decision decision) {
        if (!request.client().startsWith(SchedulePolicies.SLOTS) || decision.repeated()) {
            return;
        }
        List<Held> all = byClient.computeIfAbsent(request.client(), client -> new ArrayList<>());
        if (decision.reason() == Reason.USAGE_RESET) {
            all.forEach(held -> held.counts = false);
        } else if (request.isForReservation()) {
            ended(request, decision, all);
        } else if (request.kind() == RequestKind.CONSUME
                && decision.outcome() == Outcome.ALLOWED
                && decision.reason() != Reason.NO_POLICY) {
            all.add(new Held(request, decision.decidedAtMs()));
            check(request, decision.decidedAtMs(), all);
        }
    }

    private static void ended(Request request, Decision decision, List<Held> all) {
        boolean ends = decision.reason() == Reason.SETTLED
                || decision.reason() == Reason.RELEASED
                || decision.reason() == Reason.CANCELLED;
        if (!ends && decision.reason() != Reason.RENEWED) {
            return;
        }
        long atMs = decision.decidedAtMs();
        Held held = null;
        for (Held one : all) {
            held = one.id.equals(request.reservationId()) && one.isOpen && one.endMs > atMs ? one : held;
        }
        Violation.unless(held != null, ENDS_ONCE, decision + " is about a reservation that is not open");
        if (ends) {
            held.isOpen = false;
            held.endMs = atMs;
            held.cost = decision.reason() == Reason.RELEASED
                    ? held.cost
                    : request.kind() == RequestKind.SETTLE ? request.cost() : 0;
        } else {
            held.endMs = atMs + held.durationMs;
        }
    }

    private void check(Request request, long atMs, List<Held> all) {
        long inUse = 0;
        long inWindow = 0;
        for (Held held : all) {
            inUse += held.counts && held.isOpen && held.endMs > atMs ? held.slots : 0;
            inWindow += held.counts && held.atMs > atMs - SchedulePolicies.SLOTS_WINDOW_MS ? held.cost : 0;
        }
        long most = rulebook.mostLimit(SchedulePolicies.SLOTS);
        if (request.cost() > 0 && (inUse > most || inWindow > SchedulePolicies.SLOTS_A_WINDOW)) {
            String what = " has " + inUse + " of " + most + " slots in use at " + atMs + ", and " + inWindow + " of "
                    + SchedulePolicies.SLOTS_A_WINDOW + " in the window";
            throw new Violation(WITHIN_LIMITS, request.client() + what);
        }
    }
}
