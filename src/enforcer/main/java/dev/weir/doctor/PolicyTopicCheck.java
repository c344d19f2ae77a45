package dev.weir.doctor;

import dev.weir.rules.PolicyTopic;
import dev.weir.wire.PolicyAvro;
import java.util.List;

/** What requests are decided by. */
final class PolicyTopicCheck {

    private PolicyTopicCheck() {}

    static void check(ClusterView cluster, FindingCollector notes) {
        if (!cluster.descriptions().containsKey(cluster.topics().policies())) {
            notes.skip("the topic " + cluster.topics().policies() + " is not there, or not allowed");
            return;
        }
        PolicyTopic.Survey survey = new PolicyTopic(cluster.config()).survey();
        survey.broken()
                .forEach((key, why) -> notes.warn(
                        key + ": its last record is no rule (" + why + "); what was applied before it holds on",
                        "weir policies apply, with the rule as it should be"));
        List<PolicyAvro.Applied> applied = survey.applied();
        long queues = applied.stream()
                .filter(one -> one.kind() == PolicyAvro.Kind.QUEUE)
                .count();
        if (applied.isEmpty()) {
            notes.warn("none: every request is allowed", "weir policies apply rules.yaml");
        } else {
            long policies = applied.size() - queues;
            notes.ok(policies + (policies == 1 ? " policy, " : " policies, ") + BrokerChecks.count(queues, "queue"));
        }
    }
}
