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

/**
 * The check of reservations, by the decisions alone: at no time are more slots in use than the highest limit permits,
 * each reservation ends once, and at each admission the final costs of the window, each at its original time, are
 * within the limit. No request settles more than its estimate.
 */
final class ReservationCheck {

    /** Since when usage counts, as the number of RESETs before. */
    private record Charged(int resets) {}

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
            Violation.unless(
                    reservations.follow(request, decision).isPresent(),
                    ENDS_ONCE,
                    () -> decision + " is about a reservation that is not open");
        } else if (decision.reason() == Reason.ALREADY_ENDED) {
            Violation.unless(
                    reservations.get(request).filter(Reserved::isEnded).isPresent(),
                    ENDS_ONCE,
                    () -> decision + " is about a reservation that nobody has ended");
        } else if (request.kind() == RequestKind.CONSUME
                && decision.outcome() == Outcome.ALLOWED
                && decision.reason() != Reason.NO_POLICY) {
            Charged charged = new Charged(resets.getOrDefault(request.client(), 0));
            all.add(reservations.add(request, atMs, durationMs(request), charged));
            check(request, atMs, all, charged);
        }
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
            boolean counts = held.charged().equals(now);
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
