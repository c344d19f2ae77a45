package dev.weir.failure.check;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.failure.check.Evidence.Entry;
import dev.weir.failure.check.PolicyVersionHistory.Version;
import dev.weir.limit.AdmittedUse;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The invariant that the usage of each shared limit by all clients, at the times of the decisions, is within the limit,
 * and that nothing is refunded.
 */
public final class SharedLimitInvariant {

    public static final String NAME = "8 never-above";

    /** The usage of one key of a policy. */
    private static final class Sum {
        final List<AdmittedUse> uses = new ArrayList<>();
    }

    private final Map<Policy, Map<Object, Sum>> sums = new HashMap<>();

    private SharedLimitInvariant() {}

    static Breach check(Evidence evidence, DecisionsByRequest answers, PolicyVersionHistory rules) {
        SharedLimitInvariant check = new SharedLimitInvariant();
        Breach.Notes notes = new Breach.Notes(NAME, "admissions", "denials", "denied refunds");
        for (Entry entry : evidence.requests()) {
            Request request = evidence.request(entry).request();
            List<Entry> reported = answers.to(entry.place());
            if (request != null && !reported.isEmpty()) {
                Decision decision = reported.get(0).decision();
                for (Version version : rules.applicable(request)) {
                    if (version.policy().isShared()) {
                        check.add(version.policy(), request, decision, notes);
                    }
                }
            }
        }
        check.sums.forEach((policy, byKey) -> byKey.forEach((key, sum) -> judge(policy, sum, notes)));
        return notes.done();
    }

    private void add(Policy policy, Request request, Decision decision, Breach.Notes notes) {
        Sum sum = sums.computeIfAbsent(policy, any -> new HashMap<>())
                .computeIfAbsent(policy.stateKey(request), any -> new Sum());
        if (request.kind() == RequestKind.SETTLE) {
            boolean isDenied = decision.reason() == Reason.SHARED_LIMIT_REFUND;
            if (isDenied) {
                notes.count("denied refunds");
            }
            if (isDenied != request.cost() < 0) {
                notes.fault(Oracle.at(request) + ": " + request.cost() + " tokens are settled, and the decision is "
                        + decision.outcome() + " " + decision.reason());
            }
        } else if (request.kind() == RequestKind.CONSUME && decision.outcome() == Outcome.ALLOWED) {
            sum.uses.add(new AdmittedUse(decision.decidedAtMs(), request.cost()));
            notes.count("admissions");
        } else if (request.kind() == RequestKind.CONSUME) {
            notes.count("denials");
        }
    }

    private static void judge(Policy policy, Sum sum, Breach.Notes notes) {
        sum.uses.sort(Comparator.comparingLong(AdmittedUse::timeMs));
        for (Policy.Term term : policy.terms()) {
            Limit<?> limit = term.limit();
            AdmittedUse.excess(LimitAccount.open(limit, 0), limit.capacity(), sum.uses)
                    .ifPresent(excess -> notes.fault("policy " + policy.id() + ", " + term.label() + ": " + excess));
        }
    }
}
