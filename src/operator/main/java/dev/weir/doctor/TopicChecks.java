package dev.weir.doctor;

import static org.apache.kafka.common.config.TopicConfig.MESSAGE_TIMESTAMP_AFTER_MAX_MS_CONFIG;
import static org.apache.kafka.common.config.TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG;
import static org.apache.kafka.common.config.TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG;
import static org.apache.kafka.common.config.TopicConfig.RETENTION_BYTES_CONFIG;
import static org.apache.kafka.common.config.TopicConfig.RETENTION_MS_CONFIG;
import static org.apache.kafka.common.config.TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG;

import dev.weir.kafka.Topics;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.topics.TopicCheck;
import dev.weir.topics.TopicRequirements;
import dev.weir.topics.TopicSetup;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicPartitionInfo;

/** Checks the topics: first for what {@code weir run} would reject, and then for what causes problems later. */
final class TopicChecks {

    private static final long MIN_RETENTION_MS = 24 * 3_600_000L;

    /** Kafka's default for its internal topics. */
    private static final int REPLICAS = 3;

    private TopicChecks() {}

    static void existence(ClusterView cluster, FindingCollector findings) {
        List<String> wanted = TopicSetup.names(cluster.config());
        Set<String> changelogs =
                new TopicRequirements(cluster.config()).changelogs().keySet();
        List<String> missing = missing(cluster, wanted);
        List<String> hidden =
                wanted.stream().filter(cluster.unauthorizedTopics()::contains).toList();
        long states =
                changelogs.stream().filter(cluster.descriptions()::containsKey).count();
        if (!missing.isEmpty()) {
            findings.fail("missing: " + String.join(", ", missing), "weir run, which creates them");
        }
        if (!hidden.isEmpty()) {
            findings.skip("this user is not permitted to describe " + String.join(", ", hidden)
                    + "; see the permissions below");
        }
        if (states > 0 && !missing(cluster, changelogs).isEmpty()) {
            findings.fail(
                    "missing: " + String.join(", ", missing(cluster, changelogs)) + ": their state is lost",
                    "weir run, which creates them; counts and queues start empty");
        }
        if (missing.isEmpty() && hidden.isEmpty()) {
            findings.ok(BrokerChecks.count(wanted.size(), "topic") + ", "
                    + (states == 0 ? "no changelogs: Weir has not run yet" : BrokerChecks.count(states, "changelog")));
        }
    }

    private static List<String> missing(ClusterView cluster, Iterable<String> names) {
        List<String> missing = new ArrayList<>();
        names.forEach(name -> {
            if (!cluster.descriptions().containsKey(name)
                    && !cluster.unauthorizedTopics().contains(name)) {
                missing.add(name);
            }
        });
        return missing;
    }

    static void settings(ClusterView cluster, FindingCollector findings) {
        long seen = cluster.names().stream()
                .filter(cluster.descriptions()::containsKey)
                .count();
        if (seen == 0) {
            findings.skip("there are no topics, or this user is not permitted to describe them");
            return;
        }
        TopicCheck.Findings found = TopicCheck.judge(cluster.admin(), cluster.config());
        found.faults().forEach(fault -> findings.fail(fault.topic() + ": " + fault.what(), lines(fault.fix())));
        found.warnings().forEach(warning -> findings.warn(warning.what(), lines(warning.fix())));
        List<String> early = changelogsRejectingTimestamps(cluster);
        for (String changelog : early) {
            findings.fail(
                    changelog + " rejects timestamps that requests may have: such a request would stop every instance",
                    cluster.tools()
                            .setTopic(
                                    changelog, MESSAGE_TIMESTAMP_AFTER_MAX_MS_CONFIG, String.valueOf(Long.MAX_VALUE)));
        }
        if (!found.notAllowed().isEmpty()) {
            findings.skip(
                    "this user is not permitted to read the settings of " + String.join(", ", found.notAllowed()),
                    cluster.grantCommand(
                            "DescribeConfigs",
                            prefixed(cluster.config().topics().prefix())),
                    cluster.grantCommand(
                            "DescribeConfigs", prefixed(cluster.config().applicationId() + "-")));
        } else if (found.faults().isEmpty() && found.warnings().isEmpty() && early.isEmpty()) {
            findings.ok(BrokerChecks.count(seen, "topic")
                    + ": partitions, cleanup policies, timestamps and sizes are as Weir requires them");
        }
    }

    static String prefixed(String prefix) {
        return "--topic " + prefix + " --resource-pattern-type prefixed";
    }

    /** Returns the changelogs that accept timestamps less far ahead than the request topic does. */
    private static List<String> changelogsRejectingTimestamps(ClusterView cluster) {
        String requests = cluster.topics().requests();
        Map<String, Map<String, String>> settings = cluster.settings(cluster.names());
        Map<String, String> ofRequests = settings.getOrDefault(requests, Map.of());
        if (!"CreateTime".equals(ofRequests.get(MESSAGE_TIMESTAMP_TYPE_CONFIG))) {
            return List.of();
        }
        return new TopicRequirements(cluster.config())
                .changelogs().keySet().stream()
                        .filter(settings::containsKey)
                        .filter(name -> aheadMs(settings.get(name)) < aheadMs(ofRequests))
                        .toList();
    }

    private static long aheadMs(Map<String, String> settings) {
        return Long.parseLong(settings.get(MESSAGE_TIMESTAMP_AFTER_MAX_MS_CONFIG));
    }

    /**
     * Checks the present replicas of Weir's topics, and of the internal topics, which every transaction and committed
     * offset needs.
     */
    static void replicas(ClusterView cluster, FindingCollector findings) {
        int brokers = cluster.await(cluster.admin().describeCluster().nodes()).size();
        Map<String, Map<String, String>> settings =
                cluster.settings(cluster.descriptions().keySet());
        boolean isWhole = true;
        for (TopicDescription topic : cluster.descriptions().values()) {
            int needed = Integer.parseInt(
                    settings.getOrDefault(topic.name(), Map.of()).getOrDefault(MIN_IN_SYNC_REPLICAS_CONFIG, "1"));
            isWhole &= areInSync(topic, needed, cluster, findings);
            if (topic.isInternal()) {
                isWhole &= isInternalReplicated(topic, needed, brokers, cluster, findings);
            }
        }
        List<String> hidden = cluster.unauthorizedTopics().stream()
                .filter(name -> name.startsWith("__"))
                .toList();
        if (!hidden.isEmpty()) {
            findings.skip(
                    "this user is not permitted to describe " + String.join(", ", hidden),
                    hidden.stream()
                            .map(name -> cluster.grantCommand("Describe", "--topic " + name))
                            .toArray(String[]::new));
        }
        if (isWhole && !cluster.descriptions().isEmpty()) {
            findings.ok(BrokerChecks.count(cluster.descriptions().size(), "topic") + ": all replicas are in sync");
        }
    }

    static boolean areInSync(TopicDescription topic, int needed, ClusterView cluster, FindingCollector findings) {
        List<TopicPartitionInfo> all = topic.partitions();
        String offline = numbers(all.stream()
                .filter(one -> one.leader() == null || one.leader().isEmpty())
                .toList());
        String refusing = numbers(all.stream()
                .filter(one ->
                        one.isr().size() < Math.min(needed, one.replicas().size()))
                .toList());
        String behind = numbers(all.stream()
                .filter(one -> one.isr().size() < one.replicas().size())
                .toList());
        String advice = cluster.tools().describeTopic(topic.name());
        String look = "start the brokers that are missing: ";
        if (!offline.isEmpty()) {
            findings.fail(topic.name() + ": no leader for partitions " + offline, look + advice);
        } else if (!refusing.isEmpty()) {
            findings.fail(
                    topic.name() + ": too few in-sync replicas to write to partitions " + refusing, look + advice);
        } else if (!behind.isEmpty()) {
            findings.warn(topic.name() + ": replicas are not in sync in partitions " + behind, look + advice);
        }
        return offline.isEmpty() && behind.isEmpty();
    }

    private static String numbers(List<TopicPartitionInfo> partitions) {
        return partitions.stream().map(one -> String.valueOf(one.partition())).collect(Collectors.joining(", "));
    }

    private static boolean isInternalReplicated(
            TopicDescription topic, int needed, int brokers, ClusterView cluster, FindingCollector findings) {
        int replicas = topic.partitions().stream()
                .mapToInt(one -> one.replicas().size())
                .min()
                .orElse(0);
        if (needed > replicas) {
            findings.fail(
                    topic.name() + ": min.insync.replicas is " + needed + ", but there "
                            + (replicas == 1 ? "is 1 replica" : "are " + replicas + " replicas")
                            + ": nothing can be committed",
                    cluster.tools().setTopic(topic.name(), MIN_IN_SYNC_REPLICAS_CONFIG, String.valueOf(replicas)));
            return false;
        }
        if (replicas < Math.min(brokers, REPLICAS)) {
            findings.warn(
                    topic.name() + " has " + BrokerChecks.count(replicas, "replica") + " on " + brokers
                            + " brokers: a broker failure can block all commits",
                    lines(cluster.tools().reassignment()));
            return false;
        }
        return true;
    }

    /**
     * Checks the topics of which Weir must read each record. Retention deletes records whether they have been read
     * or not.
     */
    static void retention(ClusterView cluster, FindingCollector findings) {
        Topics topics = cluster.topics();
        List<String> read =
                List.of(topics.requests(), topics.routedRequests(), topics.admissions(), topics.leaseRequests());
        Map<String, Map<String, String>> settings = cluster.settings(read);
        boolean isLong = true;
        for (Map.Entry<String, Map<String, String>> topic : settings.entrySet()) {
            String ms = topic.getValue().get(RETENTION_MS_CONFIG);
            String bytes = topic.getValue().get(RETENTION_BYTES_CONFIG);
            if (!ms.equals("-1") && Long.parseLong(ms) < MIN_RETENTION_MS) {
                isLong = false;
                findings.warn(
                        topic.getKey() + ": retention.ms is " + ms + " ("
                                + DurationsAndSizes.duration(Long.parseLong(ms))
                                + "): records that are not read by then are lost, so it must be longer than any outage",
                        cluster.tools().setTopic(topic.getKey(), RETENTION_MS_CONFIG, "604800000"));
            }
            if (!bytes.equals("-1")) {
                isLong = false;
                findings.warn(
                        topic.getKey() + ": retention.bytes is " + bytes + ": a flood deletes unread records",
                        cluster.tools().setTopic(topic.getKey(), RETENTION_BYTES_CONFIG, "-1"));
            }
        }
        if (settings.isEmpty()) {
            findings.skip("there are no topics, or this user is not permitted to describe them");
        } else if (isLong) {
            findings.ok(settings.entrySet().stream()
                    .map(topic -> topic.getKey() + " "
                            + (topic.getValue().get(RETENTION_MS_CONFIG).equals("-1")
                                    ? "unlimited"
                                    : DurationsAndSizes.duration(
                                            Long.parseLong(topic.getValue().get(RETENTION_MS_CONFIG)))))
                    .collect(Collectors.joining(", ")));
        }
    }

    /**
     * Checks for unclean elections. A leader that lacks records deletes them from all replicas, among them
     * decided requests.
     */
    static void elections(ClusterView cluster, FindingCollector findings) {
        Map<String, Map<String, String>> settings = cluster.settings(cluster.names());
        Set<String> unclean = new TreeSet<>();
        settings.forEach((name, values) -> {
            if ("true".equals(values.get(UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG))) {
                unclean.add(name);
            }
        });
        if (settings.isEmpty()) {
            findings.skip("there are no topics, or this user is not permitted to describe them");
        } else if (unclean.isEmpty()) {
            findings.ok("replicas that lack records cannot become leaders");
        } else {
            findings.warn(
                    "unclean.leader.election.enable is true for " + String.join(", ", unclean)
                            + ": committed records may be lost when a broker fails",
                    unclean.stream()
                            .map(name -> cluster.tools().setTopic(name, UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG, "false"))
                            .toArray(String[]::new));
        }
    }

    private static String[] lines(List<String> lines) {
        return lines.toArray(String[]::new);
    }
}
