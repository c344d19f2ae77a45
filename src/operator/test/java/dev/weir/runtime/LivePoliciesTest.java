package dev.weir.runtime;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.rules.PolicyTopic;
import dev.weir.rules.PolicyTopic.Options;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicLog;
import dev.weir.topics.TopicReader;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.PolicyAvro;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests changes of rules while the enforcer is running, with a real broker. */
@Tag("full")
class LivePoliciesTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final int PARTITIONS = 4;

    @TempDir
    Path directory;

    @Test
    void under_load_on_two_instances_each_partition_changes_once_and_no_request_is_lost() throws Exception {
        WeirConfig config = config("cut.", TopicSetup.RequestTime.LOG_APPEND);
        PolicyTopic topic = new PolicyTopic(config);
        topic.apply(limit(1_000_000, ""), Options.DEFAULTS, 0);
        Map<Integer, NavigableMap<Long, Long>> versions = new TreeMap<>(); // by partition and offset
        Set<String> answered = new HashSet<>();
        int sent = 0;
        try (Enforcer one = Enforcer.start(config);
                Enforcer other = Enforcer.start(config.withStateDirectory(directory.resolve("weir-other")));
                TopicReader<Decision> decisions = TopicReader.decisions(config, TopicReader.From.BEGINNING, true);
                RequestSender sender = new RequestSender(config)) {
            one.awaitRunning(PATIENCE);
            other.awaitRunning(PATIENCE);
            long deadline = System.nanoTime() + PATIENCE.toNanos();
            boolean changed = false;
            while (answered.size() < sent || partitionsAt(2, versions) < PARTITIONS) {
                assertThat(System.nanoTime()).isLessThan(deadline);
                if (!changed && partitionsAt(1, versions) == PARTITIONS) {
                    topic.apply(limit(2_000_000, ""), Options.DEFAULTS, 0);
                    changed = true;
                }
                if (partitionsAt(2, versions) < PARTITIONS) {
                    for (int i = 0; i < 100; i++) {
                        sender.send(request("r" + sent, "client" + sent % 40, 0));
                        sent++;
                    }
                    sender.flush();
                }
                decisions.poll(Duration.ofMillis(20), decision -> {
                    assertThat(answered.add(decision.requestId())).isTrue();
                    versions.computeIfAbsent(decision.source().partition(), none -> new TreeMap<>())
                            .put(decision.source().offset(), decision.policyVersion());
                });
            }
        }
        assertThat(answered).hasSize(sent);
        assertThat(versions).hasSize(PARTITIONS);
        assertThat(versions.values()).allSatisfy(ofPartition -> {
            assertThat(List.copyOf(ofPartition.values())).isSorted();
            assertThat(new TreeSet<>(ofPartition.values())).containsExactly(1L, 2L);
        });
    }

    private static long partitionsAt(long version, Map<Integer, NavigableMap<Long, Long>> versions) {
        return versions.values().stream()
                .filter(ofPartition -> ofPartition.lastEntry().getValue() == version)
                .count();
    }

    @Test
    void a_version_takes_over_on_all_partitions_at_the_same_record_time() throws Exception {
        WeirConfig config = config("from.", TopicSetup.RequestTime.CREATE);
        PolicyTopic topic = new PolicyTopic(config);
        long nowMs = System.currentTimeMillis();
        long fromMs = nowMs + 600_000;
        topic.apply(limit(1_000, ""), Options.DEFAULTS, nowMs);
        topic.apply(
                limit(2_000, ", effective-from: \"" + Instant.ofEpochMilli(fromMs) + "\""), Options.DEFAULTS, nowMs);
        int clients = 40;
        int half = 10;
        try (Enforcer enforcer = Enforcer.start(config);
                RequestSender sender = new RequestSender(config)) {
            enforcer.awaitRunning(PATIENCE);
            for (int i = 0; i < 2 * half; i++) {
                for (int client = 0; client < clients; client++) {
                    sender.send(request("r", "client" + client, fromMs - half + i));
                }
            }
            sender.flush();
            List<Decision> decisions = decisions(config, 2 * half * clients);
            assertThat(decisions).allSatisfy(decision -> assertThat(decision.policyVersion())
                    .isEqualTo(decision.decidedAtMs() < fromMs ? 1L : 2L));
            assertThat(decisions)
                    .filteredOn(decision -> decision.policyVersion() == 1)
                    .hasSize(half * clients);
            assertThat(decisions)
                    .extracting(decision -> decision.source().partition())
                    .contains(0, 1, 2, 3);
        }
    }

    @Test
    void a_bad_record_changes_nothing_now_or_after_a_restart_and_is_a_dead_letter_once() throws Exception {
        WeirConfig config = config("broken.", TopicSetup.RequestTime.LOG_APPEND);
        Topics topics = new Topics("broken.", "weir");
        PolicyTopic topic = new PolicyTopic(config);
        topic.apply(limit(1, ""), Options.DEFAULTS, 0);
        byte[] good = LiveTest.read(config, topics.policies(), 1).get(0).value();
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            write(config, "bad");
            ConsumerRecord<byte[], byte[]> letter =
                    LiveTest.read(config, topics.deadLetters(), 1).get(0);
            assertThat(new String(letter.headers().lastHeader("weir.reason").value(), StandardCharsets.UTF_8))
                    .isEqualTo("NOT_AVRO");
            assertThat(LiveTest.read(config, topics.policies(), 3).get(2).value())
                    .isEqualTo(good);
            assertThat(decided(config, 1)).isEqualTo(1);
        }
        write(config, "worse"); // while no instance is running
        try (Enforcer enforcer = Enforcer.start(config.withStateDirectory(directory.resolve("weir-elsewhere")))) {
            enforcer.awaitRunning(PATIENCE);
            assertThat(decided(config, 2)).isEqualTo(1);
            assertThat(LiveTest.read(config, topics.policies(), 5).get(4).value())
                    .isEqualTo(good);
            assertThat(LiveTest.read(config, topics.deadLetters(), 2)).hasSize(2);
            topic.apply(limit(2, ""), Options.DEFAULTS, 0); // check-policies has read what it wrote back
            write(config, "worst");
            assertThat(LiveTest.read(config, topics.policies(), 8)).hasSize(8);
            assertThat(LiveTest.read(config, topics.deadLetters(), 3)).hasSize(3);
        }
        assertThat(topic.read()).extracting(PolicyAvro.Applied::version).containsExactly(2L);
        List<Object> all = new ArrayList<>();
        try (TopicLog log = new TopicLog(config, topics.policies())) {
            log.readAll((key, value) -> all.add(value));
        }
        assertThat(all)
                .as("two good records, and three bad ones, each with the record that was written back")
                .hasSize(8);
    }

    @Test
    void versions_continue_after_the_topic_was_lost() throws Exception {
        WeirConfig config = config("lost.", TopicSetup.RequestTime.LOG_APPEND);
        Topics topics = new Topics("lost.", "weir");
        PolicyTopic topic = new PolicyTopic(config);
        topic.apply(limit(1, ""), Options.DEFAULTS, 0);
        topic.apply(limit(2, ""), Options.DEFAULTS, 0);
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            write(config, "bad");
            assertThat(LiveTest.read(config, topics.deadLetters(), 1)).hasSize(1); // check-policies has read both
        }
        delete(config, topics.policies());
        createTopics(config, TopicSetup.RequestTime.LOG_APPEND);
        assertThat(topic.apply(limit(3, ""), Options.DEFAULTS, 0))
                .extracting(PolicyTopic.Change::version)
                .containsExactly(3L);
        byte[] applied = LiveTest.read(config, topics.policies(), 1).get(0).value();
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            assertThat(decided(config, 1)).isEqualTo(3);
            write(config, "worse");
            assertThat(LiveTest.read(config, topics.deadLetters(), 2).get(1).value())
                    .isEqualTo("worse".getBytes(StandardCharsets.UTF_8));
            assertThat(LiveTest.read(config, topics.policies(), 3).get(2).value())
                    .isEqualTo(applied);
        }
    }

    private static void delete(WeirConfig config, String topic) throws Exception {
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            admin.deleteTopics(List.of(topic)).all().get();
            await(
                    topic + " is deleted",
                    PATIENCE,
                    () -> !admin.listTopics().names().get().contains(topic));
        }
    }

    /** Sends a request and returns the policy version of its decision, which is number {@code count} on the topic. */
    private static long decided(WeirConfig config, int count) throws Exception {
        try (RequestSender sender = new RequestSender(config)) {
            sender.send(request("r" + count, "alice", 0));
            sender.flush();
        }
        return decisions(config, count).stream()
                .filter(decision -> decision.requestId().equals("r" + count))
                .findFirst()
                .orElseThrow()
                .policyVersion();
    }

    private static List<Decision> decisions(WeirConfig config, int count) throws Exception {
        DecisionCodec avro = new DecisionCodec();
        List<Decision> decisions = new ArrayList<>();
        String topic = Topics.of(config).decisions();
        for (ConsumerRecord<byte[], byte[]> record : LiveTest.read(config, topic, count)) {
            decisions.add(avro.decode(record.value()));
        }
        return decisions;
    }

    private static void write(WeirConfig config, String nonsense) throws Exception {
        Properties settings = KafkaSettings.producer(config);
        String topic = Topics.of(config).policies();
        try (KafkaProducer<String, byte[]> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
            producer.send(new ProducerRecord<>(topic, 0, "policy/p", nonsense.getBytes(StandardCharsets.UTF_8)))
                    .get();
        }
    }

    private static Request request(String id, String client, long timestampMs) {
        return Request.builder(id, client).timestampMs(timestampMs).source(0, 0).build();
    }

    private static PolicyFile.Contents limit(int limit, String rest) throws Exception {
        return PolicyFile.read(
                "test",
                "policies: [{id: p, limits: [{algorithm: token-bucket, limit: " + limit + ", per: 1s}]" + rest + "}]");
    }

    private WeirConfig config(String prefix, TopicSetup.RequestTime requestTime) {
        WeirConfig config = WeirConfig.builder()
                .applicationId("weir-" + prefix + "test")
                .threads(1)
                .topics(prefix, PARTITIONS)
                .kafka(TestBroker.clientSettings())
                .stateDirectory(directory.resolve("weir-state"))
                .build();
        createTopics(config, requestTime);
        return config;
    }

    private static void createTopics(WeirConfig config, TopicSetup.RequestTime requestTime) {
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, requestTime);
        }
    }
}
