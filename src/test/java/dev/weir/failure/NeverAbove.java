package dev.weir.failure;

import dev.weir.failure.Evidence.Entry;
import dev.weir.failure.RuleHistory.Version;
import dev.weir.lease.Promise;
import dev.weir.lease.Promise.Use;
import dev.weir.limit.Account;
import dev.weir.limit.Limit;
import dev.weir.policy.Decision;
import dev.weir.policy.Kind;
import dev.weir.policy.Outcome;
import dev.weir.policy.Policy;
import dev.weir.policy.Reason;
import dev.weir.policy.Request;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What all clients were let do of a limit that they share, by the times of the decisions, keeps what the limit promises, and nothing is
 * given back.
 */
final class NeverAbove {

    static final String NAME = "8 never-above";

    /** Of one key of a policy. */
    private static final class Sum {
        final List<Use> uses = new ArrayList<>();
    }

    private final Map<Policy, Map<Object, Sum>> sums = new HashMap<>();

    private NeverAbove() {}

    static Finding check(Evidence evidence, Answers answers, RuleHistory rules) {
        NeverAbove check = new NeverAbove();
        Finding.Notes notes = new Finding.Notes(NAME, "admissions", "denials", "denied refunds");
        for (Entry entry : evidence.requests()) {
            Request request = evidence.request(entry).request();
            List<Entry> told = answers.to(entry.place());
            if (request != null && !told.isEmpty()) {
                Decision decision = told.get(0).decision();
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

    private void add(Policy policy, Request request, Decision decision, Finding.Notes notes) {
        Sum sum = sums.computeIfAbsent(policy, any -> new HashMap<>())
                .computeIfAbsent(policy.stateKey(request), any -> new Sum());
        if (request.kind() == Kind.SETTLE) {
            boolean isDenied = decision.reason() == Reason.SHARED_LIMIT_REFUND;
            if (isDenied) {
                notes.count("denied refunds");
            }
            if (isDenied != request.cost() < 0) {
                notes.fault(Oracle.at(request) + ": " + request.cost() + " tokens are settled, and the decision is "
                        + decision.outcome() + " " + decision.reason());
            }
        } else if (request.kind() == Kind.CONSUME && decision.outcome() == Outcome.ALLOWED) {
            sum.uses.add(new Use(decision.decidedAtMs(), request.cost()));
            notes.count("admissions");
        } else if (request.kind() == Kind.CONSUME) {
            notes.count("denials");
        }
    }

    private static void judge(Policy policy, Sum sum, Finding.Notes notes) {
        sum.uses.sort(Comparator.comparingLong(Use::timeMs));
        for (Policy.Term term : policy.terms()) {
            Limit<?> limit = term.limit();
            String broken = Promise.brokenBy(Account.open(limit, 0), limit.capacity(), sum.uses);
            if (broken != null) {
                notes.fault("policy " + policy.id() + ", " + term.label() + ": " + broken);
            }
        }
    }
}
