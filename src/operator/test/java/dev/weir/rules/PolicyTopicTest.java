package dev.weir.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.rules.PolicyTopic.Change;
import dev.weir.rules.PolicyTopic.Effect;
import dev.weir.rules.PolicyTopic.Expected;
import dev.weir.rules.PolicyTopic.Options;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.ChangeAuthor;
import dev.weir.wire.OutputFormat;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.PolicyAvro.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Concurrent writers of the policies topic, on a real broker. */
@Tag("full")
class PolicyTopicTest {

    private static EmbeddedBroker broker;

    @BeforeAll
    static void start() {
        broker = TestBroker.shared();
    }

    /** So a change whose commit was not acknowledged is neither repeated nor reported as a conflict. */
    @Test
    void each_record_is_read_although_another_writer_has_changed_the_same_key_since() throws Exception {
        WeirConfig config = config("read.");
        PolicyTopic topic = new PolicyTopic(config);
        topic.apply(limit(1), PolicyTopic.Options.DEFAULTS, 1);
        topic.apply(limit(2), PolicyTopic.Options.DEFAULTS, 2);
        List<Long> read = new ArrayList<>();
        try (PolicyLog log = new PolicyLog(config, Topics.of(config).policies())) {
            log.readAll(record -> read.add(record.version()));
            assertThat(log.onTopic().all())
                    .as("the last record only")
                    .extracting(PolicyAvro.Applied::version)
                    .containsExactly(2L);
        }
        assertThat(read).containsExactly(1L, 2L);
    }

    @Test
    void only_newer_definitions_replace_those_on_the_topic_if_it_is_asked() throws Exception {
        PolicyTopic topic = new PolicyTopic(config("newer."));
        Options file = Options.DEFAULTS
                .withOnlyNewer(true)
                .withChangedBy(new ChangeAuthor(Optional.of("weir"), Optional.of(PolicyTopic.RUN_FILE)));
        assertThat(effect(topic, 1, file)).isEqualTo("ADDED 1");
        assertThat(effect(topic, 1, file)).isEqualTo("UNCHANGED 1");
        assertThat(effect(topic, 2, file)).as("a newer file").isEqualTo("CHANGED 2");
        assertThat(effect(topic, 1, file)).as("the older file").isEqualTo("KEPT 2");
        assertThat(effect(topic, 1, file.withDryRun(true))).isEqualTo("KEPT 2");

        assertThat(effect(topic, 3, Options.DEFAULTS)).as("a live change").isEqualTo("CHANGED 3");
        assertThat(effect(topic, 2, file)).isEqualTo("KEPT 3");
        assertThat(effect(topic, 4, file)).as("a file that was never applied").isEqualTo("KEPT 3");
        assertThat(effect(topic, 3, file)).isEqualTo("UNCHANGED 3");
        assertThat(effect(topic, 4, file.withOnlyNewer(false)))
                .as("overwritten")
                .isEqualTo("CHANGED 4");
        assertThat(effect(topic, 5, file)).isEqualTo("CHANGED 5");

        topic.delete(Kind.POLICY, List.of("a"), Options.DEFAULTS, 1);
        assertThat(effect(topic, 5, file)).as("deleted live").isEqualTo("KEPT 6");
        assertThat(topic.read()).isEmpty();

        assertThat(queueEffect(topic, 1, file)).isEqualTo("ADDED 1");
        assertThat(queueEffect(topic, 2, file)).isEqualTo("CHANGED 2");
        assertThat(queueEffect(topic, 1, file)).isEqualTo("KEPT 2");
        assertThat(queueEffect(topic, 3, Options.DEFAULTS)).isEqualTo("CHANGED 3");
        assertThat(queueEffect(topic, 2, file)).isEqualTo("KEPT 3");
    }

    private static String effect(PolicyTopic topic, int limit, Options options) throws Exception {
        return effect(topic.apply(limit(limit), options, 1));
    }

    private static String queueEffect(PolicyTopic topic, int limit, Options options) throws Exception {
        return effect(
                topic.apply(PolicyFile.read("test", "queues: [{id: a, limit: " + limit + ", per: 1s}]"), options, 1));
    }

    private static String effect(List<Change> changes) {
        assertThat(changes).hasSize(1);
        return changes.get(0).effect() + " " + changes.get(0).version();
    }

    @Test
    void kept_contents_are_read_once_and_then_continued() throws Exception {
        WeirConfig config = config("kept.");
        PolicyTopic other = new PolicyTopic(config);
        try (PolicyLog log = new PolicyLog(config, Topics.of(config).policies());
                PolicyTopic kept = PolicyTopic.keepingContents(config)) {
            List<Long> read = new ArrayList<>();
            for (int version = 1; version <= 3; version++) {
                PolicyTopic writer = version == 2 ? other : kept;
                assertThat(writer.apply(limit(version), PolicyTopic.Options.DEFAULTS, version))
                        .extracting(PolicyTopic.Change::version)
                        .containsExactly((long) version);
                log.readAll(record -> read.add(record.version()));
            }
            assertThat(read).as("each record once").containsExactly(1L, 2L, 3L);
            assertThat(kept.read()).isEqualTo(other.read());
            kept.close();
            assertThat(kept.read()).as("after it was closed").isEqualTo(other.read());
        }
    }

    @Test
    void concurrent_changes_never_write_the_same_version() throws Exception {
        WeirConfig config = config("race.");
        int operators = 6;
        int changes = 4;
        ExecutorService threads = Executors.newFixedThreadPool(operators);
        List<Long> versions = new ArrayList<>();
        try {
            List<Future<List<Long>>> all = new ArrayList<>();
            for (int i = 0; i < operators; i++) {
                int operator = i;
                all.add(threads.submit(() -> {
                    PolicyTopic topic = new PolicyTopic(config);
                    List<Long> written = new ArrayList<>();
                    for (int n = 1; n <= changes; n++) {
                        Change change = topic.apply(limit(1000 * operator + n), Options.DEFAULTS, n)
                                .get(0);
                        written.add(change.version());
                    }
                    return written;
                }));
            }
            for (Future<List<Long>> one : all) {
                assertThat(one.get()).isSorted();
                versions.addAll(one.get());
            }
        } finally {
            threads.shutdownNow();
        }
        List<Long> expected =
                LongStream.rangeClosed(1, (long) operators * changes).boxed().toList();
        assertThat(versions).containsExactlyInAnyOrderElementsOf(expected);
        List<PolicyAvro.Applied> history = new PolicyTopic(config).history(Kind.POLICY, "a");
        assertThat(history).extracting(PolicyAvro.Applied::version).containsExactlyElementsOf(reversed(expected));
        assertThat(history).extracting(PolicyAvro.Applied::definition).doesNotHaveDuplicates();
    }

    @Test
    void one_of_two_changes_of_the_same_version_is_a_conflict() throws Exception {
        PolicyTopic topic = new PolicyTopic(config("expect."));
        Options first = Options.DEFAULTS.withExpected(new Expected.Absent());
        assertThat(topic.apply(limit(1), first, 0)).extracting(Change::version).containsExactly(1L);
        assertThatThrownBy(() -> topic.apply(limit(2), first, 0)).isInstanceOf(ConflictException.class);
        Options second = Options.DEFAULTS.withExpected(new Expected.Version(1));
        assertThat(topic.apply(limit(2), second, 0)).extracting(Change::version).containsExactly(2L);
        assertThatThrownBy(() -> topic.delete(Kind.POLICY, List.of("a"), second, 0))
                .isInstanceOf(ConflictException.class);
        assertThat(topic.history(Kind.POLICY, "a")).hasSize(2);
    }

    @Test
    void a_dry_run_returns_all_changes_and_writes_nothing() throws Exception {
        PolicyTopic topic = new PolicyTopic(config("dry."));
        topic.apply(limit(1), Options.DEFAULTS, 0);
        List<PolicyAvro.Applied> before = topic.read();
        List<Change> changes = topic.apply(limit(2), Options.DEFAULTS.withDryRun(true), 0);
        assertThat(changes).hasSize(1);
        assertThat(changes.get(0).effect()).isEqualTo(Effect.CHANGED);
        assertThat(changes.get(0).version()).isEqualTo(2);
        assertThat(changes.get(0).before()).contains("\"limit\":1,");
        assertThat(changes.get(0).after()).contains("\"limit\":2,");
        assertThat(topic.delete(Kind.POLICY, List.of("a"), Options.DEFAULTS.withDryRun(true), 0))
                .extracting(Change::effect)
                .containsExactly(Effect.DELETED);
        assertThat(topic.read()).isEqualTo(before);
        assertThat(topic.history(Kind.POLICY, "a")).hasSize(1);
    }

    @Test
    void history_keeps_a_hundred_versions_with_deletions() throws Exception {
        PolicyTopic topic = new PolicyTopic(config("history."));
        assertThat(topic.history(Kind.POLICY, "a")).isEmpty();
        for (int n = 1; n <= 102; n++) {
            if (n == 50) {
                topic.delete(Kind.POLICY, List.of("a"), Options.DEFAULTS, n);
            } else {
                topic.apply(limit(n), Options.DEFAULTS, n);
            }
        }
        List<PolicyAvro.Applied> history = topic.history(Kind.POLICY, "a");
        assertThat(history)
                .extracting(PolicyAvro.Applied::version)
                .containsExactlyElementsOf(
                        reversed(LongStream.rangeClosed(3, 102).boxed().toList()));
        assertThat(history).allMatch(version -> version.isDeleted() == (version.version() == 50));
        assertThat(history).allMatch(version -> version.appliedAtMs() == version.version());
        assertThat(topic.history(Kind.QUEUE, "a")).isEmpty();
    }

    @Test
    void the_transaction_of_a_killed_writer_is_aborted_by_the_next() throws Exception {
        WeirConfig config = config("died.");
        PolicyTopic topic = new PolicyTopic(config);
        topic.apply(limit(1), Options.DEFAULTS, 0);
        Properties settings = KafkaSettings.producer(config);
        settings.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, "died.policies-writer");
        try (KafkaProducer<String, byte[]> dead =
                new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
            dead.initTransactions();
            dead.beginTransaction();
            dead.send(new ProducerRecord<>("died.policies", 0, "policy/a", new byte[9]))
                    .get();
            assertThat(topic.apply(limit(2), Options.DEFAULTS, 0))
                    .extracting(Change::version)
                    .containsExactly(2L);
            assertThat(topic.read()).extracting(PolicyAvro.Applied::version).containsExactly(2L);
        }
    }

    @Test
    void a_change_waits_for_the_transaction_timeout_of_a_killed_instance() throws Exception {
        WeirConfig config = config("open.");
        PolicyTopic topic = new PolicyTopic(config);
        topic.apply(limit(1), Options.DEFAULTS, 0);
        Properties settings = KafkaSettings.producer(config);
        settings.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, "an-instance");
        settings.put(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, 500);
        PolicyAvro.Applied newer = new PolicyAvro.Applied(Kind.POLICY, "a", 7, "{\"id\":\"a\",\"queue\":\"b\"}", 0);
        try (KafkaProducer<String, byte[]> killed =
                new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
            killed.initTransactions();
            killed.beginTransaction();
            killed.send(new ProducerRecord<>("open.policies", 0, "policy/a", new PolicyAvro().encode(newer)))
                    .get();
            assertThat(topic.apply(limit(2), Options.DEFAULTS, 0))
                    .extracting(Change::version)
                    .containsExactly(2L);
            assertThat(topic.read()).extracting(PolicyAvro.Applied::version).containsExactly(2L);
        }
    }

    @Test
    void a_nonexistent_topic_is_named() {
        WeirConfig nowhere = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", broker.bootstrapServers());
        assertThatThrownBy(() -> new PolicyTopic(nowhere).read())
                .isInstanceOf(UnreachableException.class)
                .hasMessage("topic weir.policies does not exist; `weir run` creates it");
    }

    private static PolicyFile.Contents limit(int limit) throws Exception {
        return PolicyFile.read(
                "test", "policies: [{id: a, limits: [{algorithm: gcra, limit: " + limit + ", per: 1s}]}]");
    }

    private static List<Long> reversed(List<Long> versions) {
        return IntStream.range(0, versions.size())
                .mapToObj(i -> versions.get(versions.size() - 1 - i))
                .toList();
    }

    private static WeirConfig config(String prefix) {
        WeirConfig config = WeirConfig.builder()
                .applicationId("weir-" + prefix + "test")
                .threads(1)
                .topics(new WeirConfig.Topics(
                        prefix, 1, 1, WeirConfig.DEFAULTS.topics().replicationFactor(), OutputFormat.AVRO))
                .kafka(TestBroker.clientSettings())
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        return config;
    }
}
