package dev.weir.topics;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** Creates missing topics with the settings that Weir requires. Existing topics are not changed. */
public final class TopicSetup {

    /** The clock that sets the timestamps of requests. */
    public enum RequestTime {
        /** The broker's clock at the append, so that a client gains nothing from a wrong clock. */
        LOG_APPEND,
        /** The producer's clock, for traffic of the past. Retention by age is off, as it would delete the records. */
        CREATE;

        private Map<String, String> settings() {
            return switch (this) {
                case LOG_APPEND ->
                    Map.of(
                            TopicConfig.CLEANUP_POLICY_CONFIG,
                            TopicConfig.CLEANUP_POLICY_DELETE,
                            TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG,
                            "LogAppendTime");
                case CREATE ->
                    Map.of(
                            TopicConfig.CLEANUP_POLICY_CONFIG, TopicConfig.CLEANUP_POLICY_DELETE,
                            TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG, "CreateTime",
                            TopicConfig.RETENTION_MS_CONFIG, "-1");
            };
        }
    }

    /** The minimum {@code max.message.bytes} of topics that Weir writes: the largest request plus Weir's own fields. */
    static final int MAX_RECORD_BYTES = 3 << 20;

    /** The minimum {@code max.message.bytes} of the topics of rules, which is Kafka's default. */
    static final int MAX_RULE_BYTES = 1_048_588;

    /** How long replies are kept. Requesters read them at once. */
    private static final String REPLY_RETENTION_MS = String.valueOf(TimeUnit.MINUTES.toMillis(10));

    private static final int TIMEOUT_SECONDS = 30;
    private static final int POLL_MS = 20;

    /** The settings of topics that Weir writes. */
    private static final Map<String, String> WRITTEN_BY_WEIR = Map.of(
            TopicConfig.CLEANUP_POLICY_CONFIG,
            TopicConfig.CLEANUP_POLICY_DELETE,
            TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG,
            "LogAppendTime",
            TopicConfig.MAX_MESSAGE_BYTES_CONFIG,
            String.valueOf(MAX_RECORD_BYTES));

    private static final Map<String, String> COMPACTED = Map.of(
            TopicConfig.CLEANUP_POLICY_CONFIG,
            TopicConfig.CLEANUP_POLICY_COMPACT,
            TopicConfig.MAX_MESSAGE_BYTES_CONFIG,
            String.valueOf(MAX_RULE_BYTES));

    private TopicSetup() {}

    /**
     * Creates the missing topics and waits until the brokers list them.
     *
     * @throws UnreachableException if no broker responds, or it rejects a request
     */
    public static void createMissing(Admin admin, WeirConfig config, RequestTime requestTime) {
        try {
            Set<String> existing = admin.listTopics().names().get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
            List<NewTopic> missing =
                    new ArrayList<>(topics(config, requestTime, requests(admin, config, requestTime, existing)));
            missing.removeIf(topic -> existing.contains(topic.name()));
            for (Map.Entry<String, KafkaFuture<Void>> created :
                    admin.createTopics(missing).values().entrySet()) {
                await(created.getKey(), created.getValue());
            }
            awaitKnown(admin, missing);
            awaitLeaders(admin, missing);
        } catch (ExecutionException e) {
            throw new UnreachableException(
                    "cannot create the topics: " + UnreachableException.causeMessage(e.getCause()), e);
        } catch (TimeoutException e) {
            throw new UnreachableException(
                    "no broker responds at " + KafkaSettings.admin(config).getProperty("bootstrap.servers") + " ("
                            + UnreachableException.LOOK_AT + ")",
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted while creating the topics", e);
        }
    }

    /** Returns the properties of the request topic, which may not exist yet. */
    private static RequestTopic requests(Admin admin, WeirConfig config, RequestTime time, Set<String> existing)
            throws ExecutionException, InterruptedException, TimeoutException {
        String requests = Topics.of(config).requests();
        return existing.contains(requests)
                ? RequestTopic.read(admin, requests)
                : RequestTopic.of(config.topics().partitions(), time.settings());
    }

    /**
     * Waits until the leaders of all partitions answer. Before that, they reject records. If the leader rejects the
     * first batch of an idempotent producer and accepts the second, the first can never be written.
     */
    private static void awaitLeaders(Admin admin, List<NewTopic> created)
            throws ExecutionException, InterruptedException, TimeoutException {
        Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
        for (NewTopic topic : created) {
            for (int partition = 0; partition < topic.numPartitions(); partition++) {
                ends.put(new TopicPartition(topic.name(), partition), OffsetSpec.latest());
            }
        }
        long deadlineNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_SECONDS);
        while (!haveLeaders(admin, ends, System.nanoTime() - deadlineNanos > 0)) {
            Thread.sleep(POLL_MS);
        }
    }

    /** Returns whether all leaders answer. A broker that was asked may be the last to learn of a topic. */
    private static boolean haveLeaders(Admin admin, Map<TopicPartition, OffsetSpec> ends, boolean isLate)
            throws ExecutionException, InterruptedException, TimeoutException {
        try {
            admin.listOffsets(ends).all().get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
            return true;
        } catch (ExecutionException e) {
            if (isLate || !(e.getCause() instanceof UnknownTopicOrPartitionException)) {
                throw e;
            }
            return false;
        }
    }

    /** Waits until the brokers list the topics. They learn of new topics from the controller with a delay. */
    private static void awaitKnown(Admin admin, List<NewTopic> created)
            throws ExecutionException, InterruptedException, TimeoutException {
        List<String> names = created.stream().map(NewTopic::name).toList();
        long deadlineNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_SECONDS);
        while (!admin.listTopics()
                .names()
                .get(TIMEOUT_SECONDS, TimeUnit.SECONDS)
                .containsAll(names)) {
            if (System.nanoTime() - deadlineNanos > 0) {
                throw new UnreachableException(
                        "the topics were created, but this user does not see them; grant DESCRIBE on them", null);
            }
            Thread.sleep(POLL_MS);
        }
    }

    private static void await(String topic, KafkaFuture<Void> created)
            throws ExecutionException, InterruptedException, TimeoutException {
        try {
            created.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof TopicAuthorizationException) {
                throw new UnreachableException(
                        "this user does not see the topic " + topic
                                + " and may not create it; grant DESCRIBE or CREATE",
                        e);
            }
            if (!(e.getCause() instanceof TopicExistsException)) { // another instance was first
                throw e;
            }
        }
    }

    /** Returns the names of all topics that must exist. */
    public static List<String> names(WeirConfig config) {
        RequestTopic requests = new RequestTopic(config.topics().partitions(), Map.of());
        return topics(config, RequestTime.LOG_APPEND, requests).stream()
                .map(NewTopic::name)
                .toList();
    }

    /** @param ofRequests the properties of the request topic, which may not exist yet */
    static List<NewTopic> topics(WeirConfig config, RequestTime requestTime, RequestTopic ofRequests) {
        Topics topics = Topics.of(config);
        int partitions = config.topics().partitions();
        Map<String, String> routed = new HashMap<>(WRITTEN_BY_WEIR);
        routed.putAll(ofRequests.retention());
        Map<String, String> replies = new HashMap<>(WRITTEN_BY_WEIR);
        replies.put(TopicConfig.RETENTION_MS_CONFIG, REPLY_RETENTION_MS);
        replies.put(TopicConfig.SEGMENT_MS_CONFIG, REPLY_RETENTION_MS); // the broker deletes whole segments
        return List.of(
                topic(config, topics.requests(), partitions, requestTime.settings()),
                topic(config, topics.routedRequests(), ofRequests.partitions(), routed),
                topic(config, topics.decisions(), partitions, WRITTEN_BY_WEIR),
                topic(config, topics.replies(), config.topics().replyPartitions(), replies),
                topic(config, topics.leaseUsage(), partitions, WRITTEN_BY_WEIR),
                topic(config, topics.releases(), partitions, WRITTEN_BY_WEIR),
                topic(config, topics.deadLetters(), partitions, WRITTEN_BY_WEIR),
                topic(config, topics.admissions(), partitions, WRITTEN_BY_WEIR),
                topic(config, topics.leaseRequests(), partitions, WRITTEN_BY_WEIR),
                topic(config, topics.leaseResponses(), ofRequests.partitions(), WRITTEN_BY_WEIR),
                topic(config, topics.policies(), 1, COMPACTED),
                topic(config, topics.policyHistory(), 1, COMPACTED));
    }

    private static NewTopic topic(WeirConfig config, String name, int partitions, Map<String, String> settings) {
        Optional<Short> replicas = config.topics().replicationFactor().map(Integer::shortValue);
        return new NewTopic(name, Optional.of(partitions), replicas).configs(settings);
    }
}
