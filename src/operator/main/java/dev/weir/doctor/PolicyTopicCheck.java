package dev.weir.doctor;

import dev.weir.policy.PolicyTable;
import dev.weir.policy.ThrottleConflict;
import dev.weir.query.MissingKeyFields;
import dev.weir.query.RequestSample;
import dev.weir.rules.PolicyTopic;
import dev.weir.rules.PolicyWarnings;
import dev.weir.wire.PolicyAvro;
import java.util.List;
import java.util.Set;

/** Checks the policies and queues in force. */
final class PolicyTopicCheck {

    /** The most warnings of each kind. */
    private static final int MAX_WARNINGS = 10;

    private PolicyTopicCheck() {}

    static void check(ClusterView cluster, FindingCollector notes) {
        if (!cluster.descriptions().containsKey(cluster.topics().policies())) {
            notes.skip(cluster.topics().policies() + " does not exist, or this user is not permitted to describe it");
            return;
        }
        PolicyTopic.Survey survey = new PolicyTopic(cluster.config()).survey();
        survey.broken()
                .forEach((key, why) -> notes.warn(
                        key + ": its last record is invalid (" + why + "); the definition before it stays in force",
                        "apply the correct definition with weir policies apply"));
        List<PolicyAvro.Applied> applied = survey.applied();
        long queues = applied.stream()
                .filter(one -> one.kind() == PolicyAvro.Kind.QUEUE)
                .count();
        if (applied.isEmpty()) {
            notes.warn("there are no policies: every request is allowed", "weir policies apply rules.yaml");
        } else {
            long policies = applied.size() - queues;
            notes.ok(policies + (policies == 1 ? " policy, " : " policies, ") + BrokerChecks.count(queues, "queue"));
        }
        warn(cluster, applied, notes);
    }

    /** Warns of policies that never apply, and of key fields that no recent request has. */
    private static void warn(ClusterView cluster, List<PolicyAvro.Applied> applied, FindingCollector notes) {
        long nowMs = System.currentTimeMillis();
        List<ThrottleConflict.InForce> inForce = PolicyTopic.policiesFrom(applied, nowMs);
        PolicyWarnings.ofAll(inForce, nowMs).stream().limit(MAX_WARNINGS).forEach(warning -> notes.warn(warning));
        if (!inForce.isEmpty()
                && cluster.descriptions().containsKey(cluster.topics().requests())) {
            PolicyTable table = PolicyTable.of(
                    inForce.stream().map(ThrottleConflict.InForce::policy).toList());
            MissingKeyFields.of(RequestSample.read(cluster.config()), table, Set.of(), nowMs).values().stream()
                    .flatMap(List::stream)
                    .limit(MAX_WARNINGS)
                    .forEach(warning -> notes.warn(
                            warning,
                            "correct the key, or send the field with each request; match: {FIELD: \"**\"} leaves others"
                                    + " out"));
        }
    }
}
