package dev.weir.doctor;

import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.policy.DurationsAndSizes;
import dev.weir.topics.ReadPositions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Checks the consumer groups: their members, and the records that they have not read. */
final class ConsumerLagCheck {

    private static final long LATE_MS = 60_000;
    private static final Duration POLL = Duration.ofMillis(100);
    private static final long READ_TIMEOUT_MS = 5_000;

    /**
     * The lag of a group on a topic.
     *
     * @param records the number of unread offsets, which may include transaction markers
     * @param oldestMs the age of the oldest unread record; empty if its timestamp is from its producer
     */
    private record Lag(long records, int partitions, Optional<Long> oldestMs) {}

    private ConsumerLagCheck() {}

    private static Map<String, List<String>> topicsByGroup(ClusterView cluster) {
        Topics topics = cluster.topics();
        Map<String, List<String>> groups = new LinkedHashMap<>();
        groups.put(
                cluster.config().applicationId(),
                List.of(topics.requests(), topics.routedRequests(), topics.leaseResponses()));
        groups.put(KafkaSettings.shapingId(cluster.config()), List.of(topics.admissions(), topics.leaseRequests()));
        return groups;
    }

    private static boolean isUnused(ClusterView cluster, FindingCollector findings) {
        boolean isNew = !cluster.mayExist(ClusterView.OFFSETS);
        if (isNew) {
            findings.skip("no consumer group has been used yet: Weir has not run");
        }
        return isNew;
    }

    static void instances(ClusterView cluster, FindingCollector findings) {
        if (isUnused(cluster, findings)) {
            return;
        }
        topicsByGroup(cluster).forEach((group, topics) -> {
            try {
                instances(group, topics, cluster, findings);
            } catch (GroupAuthorizationException e) {
                findings.skip(
                        "this user is not permitted to describe the group " + group,
                        cluster.grantCommand("Describe", "--group " + group));
            }
        });
    }

    private static void instances(String group, List<String> topics, ClusterView cluster, FindingCollector findings) {
        Optional<ConsumerGroupDescription> described = describe(group, cluster);
        Collection<MemberDescription> members =
                described.map(ConsumerGroupDescription::members).orElse(List.of());
        if (members.isEmpty()) {
            findings.warn("group " + group + ": no instance is running", "weir run");
            return;
        }
        long assigned = members.stream()
                .flatMap(member -> member.assignment().topicPartitions().stream())
                .filter(partition -> topics.contains(partition.topic()))
                .count();
        int all = topics.stream()
                .map(cluster.descriptions()::get)
                .filter(Objects::nonNull)
                .mapToInt(topic -> topic.partitions().size())
                .sum();
        long instances =
                members.stream().map(ConsumerLagCheck::instance).distinct().count();
        GroupState state = described.orElseThrow().groupState();
        String found = "group " + group + ": " + BrokerChecks.count(instances, "instance") + ", "
                + BrokerChecks.count(members.size(), "thread") + ", " + assigned + " of "
                + BrokerChecks.count(all, "partition");
        if (state != GroupState.STABLE) {
            findings.warn(
                    found + ", " + state + ": partitions are being reassigned",
                    "check again in some seconds: " + cluster.tools().describeGroup(group));
        } else if (assigned < all) {
            findings.warn(
                    found + ": the other partitions are not processed",
                    cluster.tools().describeGroup(group));
        } else {
            findings.ok(found + (instances == 1 ? ", no standby instance" : ""));
        }
    }

    /** Returns the instance of a member. Group instance ids have the form {@code <instance>-<number>}. */
    private static String instance(MemberDescription member) {
        return member.groupInstanceId()
                .map(id -> id.substring(0, Math.max(0, id.lastIndexOf('-'))))
                .orElse(member.consumerId());
    }

    private static Optional<ConsumerGroupDescription> describe(String group, ClusterView cluster) {
        try {
            return Optional.of(cluster.await(cluster.admin()
                    .describeConsumerGroups(List.of(group))
                    .describedGroups()
                    .get(group)));
        } catch (GroupIdNotFoundException e) {
            return Optional.empty();
        }
    }

    static void lag(ClusterView cluster, FindingCollector findings) {
        if (isUnused(cluster, findings)) {
            return;
        }
        topicsByGroup(cluster).forEach((group, topics) -> {
            try {
                topics.forEach(topic -> lag(group, topic, cluster, findings));
            } catch (GroupAuthorizationException e) {
                findings.skip(
                        "this user is not permitted to describe the group " + group,
                        cluster.grantCommand("Describe", "--group " + group));
            }
        });
    }

    private static void lag(String group, String topic, ClusterView cluster, FindingCollector findings) {
        TopicDescription read = cluster.descriptions().get(topic);
        if (read == null) {
            findings.skip(topic + " does not exist, or this user is not permitted to describe it");
        } else {
            reportLag(group, topic, lag(group, read, cluster), cluster, findings);
        }
    }

    private static void reportLag(
            String group, String topic, Lag unread, ClusterView cluster, FindingCollector findings) {
        if (unread.records == 0) {
            findings.ok("no unread records on " + topic);
            return;
        }
        String found = BrokerChecks.count(unread.records, "unread record") + " on " + topic + ", in "
                + BrokerChecks.count(unread.partitions, "partition")
                + unread.oldestMs
                        .map(age -> ", the oldest from " + DurationsAndSizes.rounded(age) + " ago")
                        .orElse("");
        boolean isNobodyThere =
                describe(group, cluster).map(one -> one.members().isEmpty()).orElse(true);
        if (isNobodyThere && topic.equals(cluster.topics().leaseResponses())) {
            findings.warn(found + ", and no instance is running: the leases are returned when they end", "weir run");
        } else if (isNobodyThere) {
            findings.fail(found + ", and no instance is running", "weir run");
        } else if (unread.oldestMs.orElse(0L) > LATE_MS) {
            findings.warn(
                    found + ": the instances lag behind",
                    "start another instance, or find the thread that is blocked: "
                            + cluster.tools().describeGroup(group));
        } else {
            findings.ok(found);
        }
    }

    /**
     * Counts committed records only: even a group that has read everything is some transaction markers behind the end.
     */
    private static Lag lag(String group, TopicDescription topic, ClusterView cluster) {
        Map<TopicPartition, OffsetAndMetadata> committed =
                cluster.await(cluster.admin().listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata());
        List<TopicPartition> partitions = topic.partitions().stream()
                .map(one -> new TopicPartition(topic.name(), one.partition()))
                .toList();
        Properties settings = KafkaSettings.consumer(cluster.config());
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
        settings.put(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, ClusterView.TIMEOUT_MS);
        // The check `offsets` reports records that were deleted.
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 1);
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            Map<TopicPartition, Long> first = consumer.beginningOffsets(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            Map<TopicPartition, Long> next = new HashMap<>();
            for (TopicPartition partition : partitions) {
                OffsetAndMetadata position = committed.get(partition);
                next.put(partition, Math.max(first.get(partition), position == null ? 0 : position.offset()));
            }
            next.entrySet().removeIf(one -> one.getValue() >= ends.get(one.getKey()));
            consumer.assign(next.keySet());
            next.forEach(consumer::seek);
            return lag(consumer, next, ends);
        }
    }

    /** Reads the first unread record of each partition that has one. */
    private static Lag lag(
            KafkaConsumer<byte[], byte[]> consumer, Map<TopicPartition, Long> next, Map<TopicPartition, Long> ends) {
        List<ConsumerRecord<byte[], byte[]>> oldest = new ArrayList<>();
        Set<TopicPartition> open = new HashSet<>(next.keySet());
        long deadlineNanos = System.nanoTime() + READ_TIMEOUT_MS * 1_000_000;
        while (!open.isEmpty() && System.nanoTime() - deadlineNanos < 0) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
                TopicPartition partition = new TopicPartition(record.topic(), record.partition());
                if (open.remove(partition)) {
                    oldest.add(record);
                    consumer.pause(List.of(partition));
                }
            }
            open.removeIf(partition -> consumer.position(partition) >= ends.get(partition));
        }
        Set<TopicPartition> unread = oldest.stream()
                .map(record -> new TopicPartition(record.topic(), record.partition()))
                .collect(Collectors.toSet());
        unread.addAll(open); // no response in time
        long records = unread.stream()
                .mapToLong(partition -> ends.get(partition) - next.get(partition))
                .sum();
        long now = System.currentTimeMillis();
        Optional<Long> oldestMs = oldest.stream()
                .filter(record -> record.timestampType() == TimestampType.LOG_APPEND_TIME)
                .map(record -> Math.max(0, now - record.timestamp()))
                .max(Long::compare);
        return new Lag(records, unread.size(), oldestMs);
    }

    static void offsets(ClusterView cluster, FindingCollector findings) {
        if (isUnused(cluster, findings)) {
            return;
        }
        if (!topicsByGroup(cluster).values().stream()
                .flatMap(List::stream)
                .allMatch(cluster.descriptions()::containsKey)) {
            findings.skip("the topics do not exist, or this user is not permitted to describe them");
            return;
        }
        List<String> gaps = ReadPositions.gaps(cluster.admin(), cluster.config());
        gaps.forEach(gap -> findings.fail(
                gap,
                "the deleted records are lost; to prevent this from happening again:",
                cluster.tools()
                        .setTopic(
                                gap.substring(0, gap.indexOf(':')).replaceAll("-[0-9]+$", ""),
                                "retention.ms",
                                "604800000")));
        if (gaps.isEmpty()) {
            findings.ok("no record was deleted before it was read");
        }
    }
}
