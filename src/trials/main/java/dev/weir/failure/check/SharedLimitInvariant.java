package dev.weir.failure.check;

import dev.weir.audit.history.ReservationHistory;
import dev.weir.audit.history.ReservationHistory.Reserved;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.failure.check.PolicyVersionHistory.Version;
import dev.weir.limit.AdmittedUse;
import dev.weir.limit.Concurrency;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.PeakOfUses;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The invariant that the usage of each shared limit by all clients, at the times of the decisions, is within the limit.
 * A reservation counts with its final cost; what it really cost above its estimate is left out. Nothing else is refunded.
 * Slots are in use from the decision until the request that ends the reservation, or until its last decision said.
 */
public final class SharedLimitInvariant {

    public static final String NAME = "8 never-above";

    /** The usage of one key of a policy. */
    private static final class Sum {
        final List<AdmittedUse> uses = new ArrayList<>();
        final List<Reserved<Request>> reserved = new ArrayList<>();
    }

    private final Map<Policy, Map<Object, Sum>> sums = new HashMap<>();
    private final ReservationHistory<Request> history = new ReservationHistory<>();

    private SharedLimitInvariant() {}

    static Breach check(OrderedDecisions ordered, PolicyVersionHistory rules) {
        SharedLimitInvariant check = new SharedLimitInvariant();
        Breach.Notes notes = new Breach.Notes(
                NAME,
                "admissions",
                "denials",
                "denied refunds",
                "reservations",
                "refunds",
                "refunded tokens",
                "slots at most",
                "slots renewed");
        for (OrderedDecisions.Decided one : ordered.decided()) {
            check.follow(one, rules, notes);
        }
        check.sums.forEach((policy, byKey) -> byKey.forEach((key, sum) -> judge(policy, sum, notes)));
        return notes.done();
    }

    private void follow(OrderedDecisions.Decided one, PolicyVersionHistory rules, Breach.Notes notes) {
        Request request = one.request();
        if (ReservationHistory.isChange(request, one.decision())) {
            history.follow(request, one.decision()).ifPresent(reserved -> {
                long refund = reserved.estimate() - reserved.finalCost();
                notes.count("refunds", refund > 0 ? 1 : 0);
                notes.count("refunded tokens", refund);
                boolean hasSlots = rules.applicable(reserved.charged()).stream()
                        .anyMatch(version ->
                                version.policy().isShared() && version.policy().limitsConcurrency());
                notes.count("slots renewed", hasSlots && !reserved.isEnded() ? 1 : 0);
            });
            return;
        }
        List<Policy> shared = rules.applicable(request).stream()
                .map(Version::policy)
                .filter(Policy::isShared)
                .toList();
        if (!shared.isEmpty() && one.isAdmitted() && one.decision().reservedUntilMs() != null) {
            notes.count("reservations");
            Reserved<Request> reserved = history.add(request, one.decision(), request);
            shared.forEach(policy -> sum(policy, request).reserved.add(reserved));
        } else if (!request.isForReservation()) {
            shared.forEach(policy -> add(policy, request, one.decision(), notes));
        }
    }

    private Sum sum(Policy policy, Request request) {
        return sums.computeIfAbsent(policy, any -> new HashMap<>())
                .computeIfAbsent(policy.stateKey(request), any -> new Sum());
    }

    private void add(Policy policy, Request request, Decision decision, Breach.Notes notes) {
        Sum sum = sum(policy, request);
        if (request.kind() == RequestKind.SETTLE) {
            boolean isDenied = decision.reason() == Reason.SHARED_LIMIT_REFUND;
            if (isDenied) {
                notes.count("denied refunds");
            }
            if (isDenied != request.cost() < 0) {
                notes.fault(Oracle.at(request) + ": " + request.cost() + " tokens are settled, and the decision is "
                        + decision.outcome() + " " + decision.reason());
            }
        } else if (request.kind() == RequestKind.CONSUME
                && decision.outcome() == Outcome.ALLOWED
                && !decision.repeated()) {
            sum.uses.add(new AdmittedUse(decision.decidedAtMs(), request.cost()));
            notes.count("admissions");
        } else if (request.kind() == RequestKind.CONSUME && !decision.repeated()) {
            notes.count("denials");
        }
    }

    private static void judge(Policy policy, Sum sum, Breach.Notes notes) {
        List<AdmittedUse> uses = new ArrayList<>(sum.uses);
        sum.reserved.forEach(reserved -> uses.add(new AdmittedUse(reserved.startMs(), reserved.finalCost())));
        for (Policy.Term term : policy.terms()) {
            Limit<?> limit = term.limit();
            if (limit instanceof Concurrency slots) {
                PeakOfUses inUse = new PeakOfUses();
                sum.reserved.forEach(reserved -> inUse.add(reserved.estimate(), reserved.startMs(), reserved.endMs()));
                notes.count("slots at most", inUse.most());
                if (inUse.most() > slots.limit()) {
                    notes.fault("policy " + policy.id() + ": " + inUse.most() + " of " + slots.limit()
                            + " slots were in use at once");
                }
                continue;
            }
            AdmittedUse.excess(LimitAccount.open(limit, 0), limit.capacity(), uses)
                    .ifPresent(excess -> notes.fault("policy " + policy.id() + ", " + term.label() + ": " + excess));
        }
    }
}
