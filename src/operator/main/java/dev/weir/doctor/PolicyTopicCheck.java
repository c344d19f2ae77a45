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

    static void check(ClusterView cluster, FindingCollector findings) {
        if (!cluster.descriptions().containsKey(cluster.topics().policies())) {
            findings.skip(
                    cluster.topics().policies() + " does not exist, or this user is not permitted to describe it");
            return;
        }
        PolicyTopic.Survey survey = new PolicyTopic(cluster.config()).survey();
        survey.broken()
                .forEach((key, why) -> findings.warn(
                        key + ": its last record is invalid (" + why + "); the definition before it stays in force",
                        "apply the correct definition with weir policies apply"));
        List<PolicyAvro.Applied> applied = survey.applied();
        long queues = applied.stream()
                .filter(one -> one.kind() == PolicyAvro.Kind.QUEUE)
                .count();
        if (applied.isEmpty()) {
            findings.warn("there are no policies: every request is allowed", "weir policies apply rules.yaml");
        } else {
            long policies = applied.size() - queues;
            findings.ok(policies + (policies == 1 ? " policy, " : " policies, ") + BrokerChecks.count(queues, "queue"));
        }
        warn(cluster, applied, findings);
    }

    /** Warns of policies that never apply, and of key fields that no recent request has. */
    private static void warn(ClusterView cluster, List<PolicyAvro.Applied> applied, FindingCollector findings) {
        long nowMs = System.currentTimeMillis();
        List<ThrottleConflict.InForce> inForce = PolicyTopic.policiesFrom(applied, nowMs);
        PolicyWarnings.ofAll(inForce, nowMs).stream().limit(MAX_WARNINGS).forEach(warning -> findings.warn(warning));
        if (!inForce.isEmpty()
                && cluster.descriptions().containsKey(cluster.topics().requests())) {
            PolicyTable table = PolicyTable.of(
                    inForce.stream().map(ThrottleConflict.InForce::policy).toList());
            MissingKeyFields.of(RequestSample.read(cluster.config()), table, Set.of(), nowMs).values().stream()
                    .flatMap(List::stream)
                    .limit(MAX_WARNINGS)
                    .forEach(warning -> findings.warn(
                            warning,
                            "correct the key, or send the field with each request; match: {FIELD: \"**\"} leaves others"
                                    + " out"));
        }
    }
}
