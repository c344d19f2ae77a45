package dev.weir.doctor;

import dev.weir.rules.PolicyTopic;
import dev.weir.wire.PolicyAvro;
import java.util.List;

/** Checks the policies and queues in force. */
final class PolicyTopicCheck {

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
    }
}
