package dev.weir.failure.check;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.failure.check.OrderedDecisions.Decided;
import dev.weir.failure.check.PolicyVersionHistory.Version;
import dev.weir.limit.LimitOracle;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The invariant that no limit has admitted more than it may in any window, by the definitions of the limits ({@link
 * LimitOracle}) and the recorded decisions. The check does not use the algorithms of the enforcer.
 *
 * <pre>
 *   charged       every policy that applies, with the cost           ALLOWED, not repeated, not PEEK
 *                 except those that would have denied and observe    (observedBy)
 *                 except the one that shapes                         sent to a queue, whatever its end there
 *   corrected     every policy that applies, even beyond its limit   SETTLE
 *                 every limit with count-denied                      DENIED
 *   time          decidedAt + delay; not before the last charge of the key. A policy that observes goes by the later of
 *                 decidedAt and its own last request
 *   order         the recorded order of each task's decisions, which includes requests that were routed to the task
 *   versions      those in force when the request was decided, among the changes that the decision records
 * </pre>
 *
 * <p>Shared limits are checked by {@link SharedLimitInvariant}. A policy counts as not charged if the decision does not
 * show whether it was (several policies observe, and one of them would have denied; a policy observes or throttles, and
 * another one shapes). This can hide an excess, but never reports a false one. The time of the charge of a late request
 * is not known if its decision does not contain it. Nor is it if the policy observes, and its key received a refund or
 * such a request at a later time, which can have advanced the time of the key. An excess of such a request is no fault.
 * Neither is that of a delayed request if a SETTLE was charged between its decision and its start.
 */
final class LimitInvariant {

    /** How many earlier decisions of its client a fault lists. */
    private static final int MAX_EARLIER = 40;

    private final PolicyVersionHistory rules;
    private final List<Decided> followed = new ArrayList<>();
    private final Breach.Notes notes = new Breach.Notes("3 within-limits", "admissions", "limits", "keys");
    private final Set<List<Object>> limits = new HashSet<>();
    private final Map<List<String>, PolicyUsageModel> usages = new HashMap<>();

    /** A request, with the position of its decision among those of its task. */
    private LimitInvariant(PolicyVersionHistory rules) {
        this.rules = rules;
    }

    /** Checks the clients without reservations. */
    static Breach check(OrderedDecisions ordered, PolicyVersionHistory rules) {
        LimitInvariant check = new LimitInvariant(rules);
        ordered.decided().stream()
                .filter(one -> !ordered.reserving().contains(one.request().client()))
                .forEach(check::follow);
        check.usages.values().forEach(usage -> check.start(usage, Long.MAX_VALUE));
        check.notes.count("keys", check.usages.size());
        check.notes.count("limits", check.limits.size());
        return check.notes.done();
    }

    private void follow(Decided decided) {
        followed.add(decided);
        Request request = decided.request();
        Decision decision = decided.decision();
        int count = decided.changes();
        boolean takesNothing = request.kind() == RequestKind.PEEK || request.kind() == RequestKind.CANCEL;
        boolean tooLarge = decision.outcome() == Outcome.DENIED && decision.reason() == Reason.TOO_LARGE;
        boolean isMismatch = decision.reason() == Reason.IDEMPOTENCY_MISMATCH;
        boolean isRefund = decision.outcome() == Outcome.DENIED && decision.reason() == Reason.SHARED_LIMIT_REFUND;
        if (takesNothing || decision.repeated() || tooLarge || isMismatch || isRefund) {
            return;
        }
        long nowMs = decidedAtMs(request, decision, count);
        if (!tellsWhen(request, decision, count) && mayBeLater(request, nowMs, count)) {
            return;
        }
        for (Version version : rules.applicable(request, nowMs, count)) {
            if (!version.policy().isShared()) {
                charge(version, request, decision, isAdmitted(version.policy(), decision), nowMs);
            }
        }
    }

    /**
     * Returns the time at which limits that are not shared decided a request: its timestamp, or the last charge of one
     * of its keys, if that is later. The decision contains this time unless a queue or a shared limit, which have their
     * own time, had a part in it.
     */
    private long decidedAtMs(Request request, Decision decision, int count) {
        if (tellsWhen(request, decision, count)) {
            return decision.decidedAtMs();
        }
        long nowMs = Long.MIN_VALUE;
        long latestMs = request.timestampMs();
        while (latestMs > nowMs) {
            nowMs = latestMs;
            for (Version version : rules.applicable(request, nowMs, count)) {
                latestMs = version.policy().observes()
                        ? latestMs
                        : Math.max(latestMs, usage(version, request).requestedMs());
            }
        }
        return nowMs;
    }

    private boolean tellsWhen(Request request, Decision decision, int count) {
        return !isSent(decision)
                && rules.applicable(request, request.timestampMs(), count).stream()
                        .noneMatch(version ->
                                version.policy().isShared() && !version.policy().observes());
    }

    private boolean mayBeLater(Request request, long nowMs, int count) {
        return rules.applicable(request, nowMs, count).stream()
                .anyMatch(version ->
                        !version.policy().observes() && usage(version, request).mayBeAfter(nowMs));
    }

    private void charge(Version version, Request request, Decision decision, boolean admitted, long decidedMs) {
        PolicyUsageModel usage = usage(version, request);
        long nowMs = version.policy().observes() ? Math.max(decidedMs, usage.requestedMs()) : decidedMs;
        start(usage, usage.notBefore(nowMs));
        boolean throttles = version.policy().onExceed() instanceof OnExceed.Throttle;
        boolean isUncertain = version.policy().observes() && usage.mayBeAfter(nowMs);
        if (isSent(decision) && (version.policy().observes() || throttles)) {
            usage.mayAdvance(nowMs);
        }
        boolean putOff = admitted && request.kind() == RequestKind.CONSUME && decision.delayMs() != null;
        long startMs = decidedMs + (putOff ? decision.delayMs() : 0);
        long atMs = putOff && throttles ? startMs : usage.notBefore(nowMs);
        boolean settles = request.kind() == RequestKind.SETTLE;
        boolean charges = request.cost() != 0
                && (admitted || settles || version.limits().stream().anyMatch(PolicyTerms::countDenied));
        if (!charges && usage.isUnused(usage.notBefore(nowMs))) {
            return; // the enforcer stores nothing, so a late request can still be decided under an earlier version
        }
        usage.goBy(version, nowMs, usage.notBefore(nowMs));
        if (!throttles && startMs > atMs && request.cost() > 0) {
            usage.defer(new PolicyUsageModel.Deferred(request, nowMs, startMs, false));
            return;
        }
        for (int i = 0; i < version.limits().size(); i++) {
            PolicyTerms terms = version.limits().get(i).of(request);
            if (settles || (!admitted && terms.countDenied())) {
                usage.correct(i, terms, request.cost(), !settles, nowMs, usage.notBefore(nowMs));
            } else if (admitted) {
                admit(usage, i, request, nowMs, atMs, isUncertain);
            }
        }
    }

    /** Records the requests that a policy of another layer delayed, and which have started. */
    private void start(PolicyUsageModel usage, long atMs) {
        for (PolicyUsageModel.Deferred started : usage.startedBy(atMs)) {
            for (int i = 0; i < usage.version().limits().size(); i++) {
                admit(usage, i, started.request(), started.requestMs(), started.startMs(), started.mayExceed());
            }
        }
    }

    private void admit(
            PolicyUsageModel usage, int index, Request request, long requestMs, long atMs, boolean mayExceed) {
        Version version = usage.version();
        PolicyTerms terms = version.limits().get(index).of(request);
        notes.count("admissions");
        limits.add(List.of(version.policy().id(), version.policy().version(), index));
        long excess = usage.admit(index, terms, request.cost(), requestMs, atMs);
        if (excess > 0 && !mayExceed) {
            notes.fault(() -> Oracle.at(request) + ", policy "
                    + version.policy().id() + " version "
                    + version.policy().version() + ", " + terms + ": cost " + request.cost()
                    + " exceeded the limit at " + atMs
                    + earlier(request.client()));
        }
    }

    /** Returns the last decisions of a client, latest first: without them, a fault of a long run cannot be explained. */
    private String earlier(String client) {
        StringBuilder lines = new StringBuilder();
        int listed = 0;
        for (int i = followed.size() - 1; i >= 0 && listed < MAX_EARLIER; i--) {
            Decided decided = followed.get(i);
            if (decided.request().client().equals(client)) {
                lines.append("\n        ").append(decided);
                listed++;
            }
        }
        return lines.toString();
    }

    /** Returns whether the decision proves that this policy admitted the request and was charged for it. */
    private static boolean isAdmitted(Policy policy, Decision decision) {
        if (isSent(decision)) {
            return !policy.shapes() && !policy.observes() && !(policy.onExceed() instanceof OnExceed.Throttle);
        }
        return decision.outcome() == Outcome.ALLOWED && !decision.observedBy().contains(policy.id());
    }

    private static boolean isSent(Decision decision) {
        return decision.queueing() != null;
    }

    private PolicyUsageModel usage(Version version, Request request) {
        List<String> key = new ArrayList<>(List.of(version.policy().id(), request.client()));
        for (String field : version.policy().key()) {
            if (!field.equals("client")) {
                String value = request.field(field);
                key.add(field);
                key.add(value == null ? "" : value);
            }
        }
        return usages.computeIfAbsent(key, absent -> new PolicyUsageModel());
    }
}
