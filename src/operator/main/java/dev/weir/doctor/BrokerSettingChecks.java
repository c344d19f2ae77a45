package dev.weir.doctor;

import dev.weir.doctor.Finding.Verdict;
import dev.weir.topology.StreamsSettings;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ClusterAuthorizationException;

/** Checks the broker settings for topics, groups and transactions against those that Weir requires. */
final class BrokerSettingChecks {

    private static final long MAX_CLEANUP_INTERVAL_MS = 1_000;
    private static final long MIN_OFFSETS_RETENTION_MINUTES = 24 * 60;

    private static final String TIMESTAMP_TYPE = "log.message.timestamp.type";
    private static final String TIMESTAMP_AFTER_MAX = "log.message.timestamp.after.max.ms";

    /**
     * A required setting.
     *
     * @param condition tests the value; a broker that does not return the setting is not tested
     * @param consequence what happens if the condition fails
     */
    private record Requirement(
            String setting, Predicate<String> condition, Verdict verdict, String expected, String consequence) {}

    private BrokerSettingChecks() {}

    static void check(ClusterView cluster, FindingCollector findings) {
        Collection<Node> nodes = cluster.await(cluster.admin().describeCluster().nodes());
        List<Config> brokers = new ArrayList<>();
        try {
            for (Node node : nodes) {
                ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, node.idString());
                brokers.add(cluster.await(cluster.admin()
                        .describeConfigs(List.of(broker))
                        .values()
                        .get(broker)));
            }
        } catch (ClusterAuthorizationException e) {
            findings.skip(
                    "this user is not permitted to read the settings of the brokers",
                    cluster.grantCommand("DescribeConfigs", "--cluster"));
            return;
        }
        List<Requirement> rules = requirements(cluster, nodes.size());
        long broken = rules.stream()
                .filter(rule -> !checkRequirement(rule, brokers, cluster, findings))
                .count();
        if (areSupported(brokers, findings) && broken == 0) {
            findings.ok(rules.size() + " settings are as Weir requires them");
        }
    }

    /**
     * Returns whether the brokers accept the settings of Weir's changelogs, which Kafka before 3.6 rejects (KIP-937). A
     * broker that hides its settings counts as new enough.
     */
    static boolean areSupported(List<Config> brokers, FindingCollector findings) {
        boolean isOlder = brokers.stream()
                .anyMatch(broker -> broker.get(TIMESTAMP_TYPE) != null && broker.get(TIMESTAMP_AFTER_MAX) == null);
        if (isOlder) {
            findings.fail(
                    "a broker is older than Kafka 3.6: it rejects the topic setting message.timestamp.after.max.ms,"
                            + " so weir run cannot create the changelogs",
                    "upgrade all brokers to Kafka 3.6 or newer");
        }
        return !isOlder;
    }

    private static List<Requirement> requirements(ClusterView cluster, int brokers) {
        long sessionMs = StreamsSettings.session(cluster.config()).toMillis();
        long transactionMs =
                StreamsSettings.longestTransaction(cluster.config()).toMillis();
        List<Requirement> rules = new ArrayList<>(List.of(
                atMost(
                        "group.min.session.timeout.ms",
                        sessionMs,
                        Verdict.FAIL,
                        "the brokers reject the session timeout of all instances"),
                atLeast(
                        "group.max.session.timeout.ms",
                        sessionMs,
                        Verdict.FAIL,
                        "the brokers reject the session timeout of all instances"),
                atLeast(
                        "transaction.max.timeout.ms",
                        transactionMs,
                        Verdict.FAIL,
                        "the brokers reject the transaction timeout of all instances"),
                atMost(
                        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
                        MAX_CLEANUP_INTERVAL_MS,
                        Verdict.WARN,
                        "the partitions and policy changes of a failed instance are blocked for that long"),
                atLeast(
                        "offsets.retention.minutes",
                        MIN_OFFSETS_RETENTION_MINUTES,
                        Verdict.WARN,
                        "if all instances are stopped for that long, all retained requests are decided again"),
                new Requirement(
                        "auto.create.topics.enable",
                        "false"::equals,
                        Verdict.WARN,
                        "false",
                        "a misspelled name, or a write before the first start, creates a topic with wrong settings")));
        Map<String, String> factors = new TreeMap<>(Map.of(
                ClusterView.TRANSACTION_LOG, "transaction.state.log.replication.factor",
                ClusterView.OFFSETS, "offsets.topic.replication.factor"));
        factors.keySet().removeIf(cluster.descriptions()::containsKey); // fixed when they were created
        factors.values()
                .forEach(factor -> rules.add(
                        atMost(factor, brokers, Verdict.FAIL, "there are fewer brokers, so nothing can be committed")));
        return rules;
    }

    private static Requirement atMost(String setting, long most, Verdict verdict, String otherwise) {
        return new Requirement(
                setting, value -> Long.parseLong(value) <= most, verdict, String.valueOf(most), otherwise);
    }

    private static Requirement atLeast(String setting, long least, Verdict verdict, String otherwise) {
        return new Requirement(
                setting, value -> Long.parseLong(value) >= least, verdict, String.valueOf(least), otherwise);
    }

    /** Returns whether the requirement holds on all brokers. */
    private static boolean checkRequirement(
            Requirement rule, List<Config> brokers, ClusterView cluster, FindingCollector findings) {
        TreeSet<String> wrong = new TreeSet<>();
        boolean isFixed = false;
        for (Config broker : brokers) {
            ConfigEntry entry = broker.get(rule.setting);
            if (entry != null && entry.value() != null && !rule.condition.test(entry.value())) {
                wrong.add(entry.value());
                isFixed |= entry.isReadOnly();
            }
        }
        if (!wrong.isEmpty()) {
            findings.add(
                    rule.verdict,
                    rule.setting + " is " + String.join(", ", wrong) + ", should be " + rule.expected + ": "
                            + rule.consequence,
                    isFixed
                            ? "in server.properties of each broker, and restart it: " + rule.setting + "="
                                    + rule.expected
                            : cluster.tools().setBrokers(rule.setting, rule.expected));
        }
        return wrong.isEmpty();
    }
}
