package dev.weir.failure.check;

import dev.weir.audit.history.ReservationHistory;
import dev.weir.audit.history.ReservationHistory.Reserved;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.failure.check.OrderedDecisions.Decided;
import dev.weir.failure.check.PolicyVersionHistory.Version;
import dev.weir.limit.AdmittedUse;
import dev.weir.limit.Concurrency;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.LongStream;

/**
 * The invariants of reservations, by the recorded decisions alone and without the algorithms of the enforcer:
 *
 * <pre>
 *   slots        at each admission, those of the open reservations of the key are within the limit in force
 *   times        a reservation ends a duration after the decision that made or renewed it, as this says
 *   ends         a reservation is ended once, while it is open; no answer denies that an open one exists, and its
 *                request is not admitted again
 *   settlement   the final costs, each at the time of its request, are within each limit, from one RESET to the next.
 *                What a request really cost above its estimate is left out
 * </pre>
 *
 * <p>Shared limits are checked by {@link SharedLimitInvariant}; here, only the ends of their reservations are.
 */
public final class ReservationInvariant {

    public static final String NAME = "10 reservations-end-once";

    /** The name of the result on settlement. */
    public static final String SETTLEMENT = "11 settled-within-limits";

    /** What one key of a policy counts since its last RESET. The limits are those of the first version. */
    private record KeyUse(Policy policy, List<Reserved<Long>> all) {}

    private final PolicyVersionHistory rules;
    private final Set<List<String>> shared = new HashSet<>(); // client and id of reservations of shared limits
    private final Map<StateKey, KeyUse> uses = new HashMap<>();
    private final ReservationHistory<Long> history = new ReservationHistory<>(); // with the duration of each
    private final Breach.Notes notes = new Breach.Notes(
            NAME,
            "reservations",
            "settled",
            "released",
            "cancelled",
            "renewed",
            "not ended",
            "ended again",
            "ended otherwise before",
            "not found",
            "retried",
            "denied",
            "resets");
    private final Breach.Notes settlement =
            new Breach.Notes(SETTLEMENT, "limits of keys", "refunded tokens", "tokens above estimates");
    private long mostSlots;

    private ReservationInvariant(PolicyVersionHistory rules) {
        this.rules = rules;
    }

    /** Checks the clients with reservations. Returns the results on slots and ends, and on settlement. */
    static List<Breach> check(OrderedDecisions ordered, PolicyVersionHistory rules) {
        ReservationInvariant check = new ReservationInvariant(rules);
        ordered.decided().stream()
                .filter(one -> ordered.reserving().contains(one.request().client()))
                .forEach(check::follow);
        check.uses.values().forEach(check::judge);
        check.notes.count("slots at most", check.mostSlots);
        return List.of(check.notes.done(), check.settlement.done());
    }

    private void follow(Decided decided) {
        Request request = decided.request();
        Decision decision = decided.decision();
        if (decision.reason() == Reason.USAGE_RESET) {
            reset(decided);
        } else if (request.isForReservation()) {
            followEnd(request, decision);
        } else if (decided.isAdmitted()) {
            admit(decided);
        } else if (request.kind() == RequestKind.CONSUME) {
            notes.count(decision.outcome() == Outcome.DENIED ? "denied" : "retried");
        }
    }

    private void reset(Decided decided) {
        notes.count("resets");
        String policyId = decided.request().policyId();
        for (Version version : decided.applicable(rules, decided.decision().decidedAtMs())) {
            if (policyId == null || policyId.equals(version.policy().id())) {
                KeyUse before = uses.remove(version.policy().stateKey(decided.request()));
                if (before != null) {
                    judge(before);
                }
            }
        }
    }

    private void followEnd(Request request, Decision decision) {
        long atMs = decision.decidedAtMs();
        Optional<Reserved<Long>> open = history.get(request).filter(reserved -> reserved.isOpenAt(atMs));
        if (ReservationHistory.isChange(request, decision)) {
            notes.count(decision.reason().name().toLowerCase(Locale.ROOT));
            if (open.isEmpty()) {
                notes.fault(() -> Oracle.at(request) + " is " + decision.reason() + " at " + atMs
                        + ", but no reservation is open");
                return;
            }
            if (decision.reason() == Reason.RENEWED) {
                checkEnd(
                        request,
                        decision,
                        Math.max(open.get().endMs(), atMs + open.get().charged()));
            }
            history.follow(request, decision).ifPresent(this::count);
            return;
        }
        notes.count(
                decision.repeated()
                        ? "ended again"
                        : decision.reason() == Reason.ALREADY_ENDED ? "ended otherwise before" : "not found");
        boolean isUnconfirmed = request.kind() == RequestKind.RENEW // the ledger may not answer within max-wait
                && shared.contains(List.of(request.client(), request.reservationId()));
        if (open.isPresent() && !isUnconfirmed) {
            notes.fault(() ->
                    Oracle.at(request) + " is " + decision.reason() + " at " + atMs + ", but its reservation is open");
        }
    }

    private void checkEnd(Request request, Decision decision, long endMs) {
        if (decision.reservedUntilMs() == null || decision.reservedUntilMs() != endMs) {
            notes.fault(() -> Oracle.at(request) + " is reserved until " + decision.reservedUntilMs()
                    + ", should be until " + endMs);
        }
    }

    private void count(Reserved<Long> reserved) {
        if (reserved.isEnded()) {
            notes.count("not ended", -1);
            settlement.count("refunded tokens", reserved.estimate() - reserved.finalCost());
            settlement.count("tokens above estimates", reserved.excess());
        }
    }

    private void admit(Decided decided) {
        Request request = decided.request();
        boolean isShared = rules.isShared(request);
        if (isShared) {
            shared.add(List.of(request.client(), request.requestId()));
        }
        long atMs = isShared ? request.timestampMs() : decided.decision().decidedAtMs();
        List<Version> versions = decided.applicable(rules, atMs);
        OptionalLong duration = durationMs(request, versions);
        if (duration.isEmpty()) {
            notes.fault(() -> Oracle.at(request) + " reserves nothing: this check knows no such requests");
            return;
        }
        long durationMs = duration.getAsLong();
        if (history.get(request).filter(earlier -> earlier.isOpenAt(atMs)).isPresent()) {
            notes.fault(() -> Oracle.at(request) + " is admitted again at " + atMs + ", but its reservation is open");
        }
        notes.count("reservations");
        notes.count("not ended");
        checkEnd(request, decided.decision(), decided.decision().decidedAtMs() + durationMs);
        Reserved<Long> reserved = history.add(request, decided.decision(), durationMs);
        for (Version version : versions) {
            if (!version.policy().isShared()) {
                KeyUse use = uses.computeIfAbsent(
                        version.policy().stateKey(request), key -> new KeyUse(version.policy(), new ArrayList<>()));
                use.all.add(reserved);
                checkSlots(request, version.policy(), use, atMs);
            }
        }
    }

    /** Returns how long the reservation lasts that a request creates; empty if it creates none. */
    private static OptionalLong durationMs(Request request, List<Version> versions) {
        LongStream requested = request.reserveMs() == null ? LongStream.empty() : LongStream.of(request.reserveMs());
        LongStream ttls = versions.stream()
                .flatMap(version -> version.policy().terms().stream())
                .filter(term -> term.limit() instanceof Concurrency)
                .mapToLong(term -> ((Concurrency) term.limit()).ttlMs());
        return LongStream.concat(requested, ttls).min();
    }

    private void checkSlots(Request request, Policy policy, KeyUse use, long atMs) {
        long inUse = use.all.stream()
                .filter(reserved -> reserved.isOpenAt(atMs))
                .mapToLong(Reserved::estimate)
                .sum();
        for (Policy.Term term : policy.terms()) {
            if (term.limit() instanceof Concurrency slots) {
                mostSlots = Math.max(mostSlots, inUse);
                if (inUse > slots.capacity()) {
                    notes.fault(() -> Oracle.at(request) + ", policy " + policy.id() + " version " + policy.version()
                            + ": " + inUse + " of " + slots.capacity() + " slots are in use at " + atMs);
                }
            }
        }
    }

    private void judge(KeyUse use) {
        List<AdmittedUse> costs = use.all.stream()
                .map(reserved -> new AdmittedUse(reserved.startMs(), reserved.finalCost()))
                .toList();
        for (Policy.Term term : use.policy.terms()) {
            Limit<?> limit = term.limit();
            if (!(limit instanceof Concurrency)) {
                settlement.count("limits of keys");
                AdmittedUse.excess(LimitAccount.open(limit, 0), limit.capacity(), costs)
                        .ifPresent(excess -> settlement.fault(
                                "policy " + use.policy.id() + ", " + term.label() + ": the final costs are " + excess));
            }
        }
    }
}
