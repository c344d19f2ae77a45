package dev.weir.topics;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.TestBroker;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests with a real broker whose topics are misconfigured one by one. */
@Tag("full")
class TopicCheckTest {

    private static EmbeddedBroker broker;
    private static WeirConfig cluster;
    private static Admin admin;
    private static int cases;

    private WeirConfig config;

    @BeforeAll
    static void start() {
        broker = TestBroker.shared();
        cluster = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", broker.bootstrapServers());
        admin = Admin.create(KafkaSettings.admin(cluster));
    }

    @AfterAll
    static void stop() {
        admin.close();
    }

    @BeforeEach
    void create() {
        String name = "t" + cases++;
        config = WeirConfig.builder()
                .applicationId(name)
                .threads(1)
                .topics(name + ".", 2)
                .state(cluster.state())
                .requests(cluster.requests())
                .shaping(cluster.shaping())
                .service(cluster.service())
                .kafka(cluster.kafka())
                .build();
        TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
    }

    @Test
    void created_topics_pass_the_check() {
        assertThatCode(() -> TopicCheck.require(admin, config)).doesNotThrowAnyException();
    }

    @Test
    void created_topics_pass_the_check_with_any_broker_defaults() {
        Map<String, String> others = Map.of(
                "cleanup.policy", "compact,delete",
                "message.timestamp.type", "CreateTime",
                "max.message.bytes", "1000000");
        TopicRequirements rules = new TopicRequirements(config);
        rules.judge(
                TopicSetup.topics(config, TopicSetup.RequestTime.LOG_APPEND, new RequestTopic(2, Map.of())).stream()
                        .map(topic -> {
                            Map<String, String> settings = new HashMap<>(others);
                            settings.putAll(topic.configs());
                            return new TopicRequirements.Existing(topic.name(), topic.numPartitions(), 1, settings);
                        })
                        .toList(),
                true);
        assertThat(rules.faults()).isEmpty();
        assertThat(rules.warnings()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            requests         | cleanup.policy         | compact        | must be delete: compaction      | delete
            requests         | cleanup.policy         | compact,delete | must be delete: compaction      | delete
            decisions        | cleanup.policy         | compact        | must be delete: compaction      | delete
            replies          | cleanup.policy         | compact        | must be delete: compaction      | delete
            releases         | cleanup.policy         | compact        | must be delete: compaction      | delete
            dead-letters     | cleanup.policy         | compact        | must be delete: compaction      | delete
            routed-requests. | cleanup.policy         | compact        | must be delete: compaction      | delete
            routed-requests. | message.timestamp.type | CreateTime     | must be LogAppendTime:          | LogAppendTime
            admissions.      | cleanup.policy         | compact        | must be delete: compaction      | delete
            policies         | cleanup.policy         | delete         | must be compact: otherwise      | compact
            policies         | cleanup.policy         | compact,delete | must be compact: otherwise      | compact
            policy-history   | cleanup.policy         | delete         | must be compact: otherwise      | compact
            decisions        | message.timestamp.type | CreateTime     | must be LogAppendTime:          | LogAppendTime
            releases         | message.timestamp.type | CreateTime     | must be LogAppendTime:          | LogAppendTime
            dead-letters     | message.timestamp.type | CreateTime     | must be LogAppendTime:          | LogAppendTime
            admissions.      | message.timestamp.type | CreateTime     | must be LogAppendTime: its      | LogAppendTime
            decisions        | max.message.bytes      | 3145727        | must be at least 3145728        | 3145728
            dead-letters     | max.message.bytes      | 1048588        | must be at least 3145728        | 3145728
            policies         | max.message.bytes      | 1000000        | must be at least 1048588        | 1048588
            requests         | min.insync.replicas    | 2              | must be at most 1, the number   | 1
            """)
    void a_wrong_setting_is_reported_with_the_command_that_fixes_it(
            String topic, String setting, String value, String must, String mended) throws Exception {
        String name = config.topics().prefix() + topic + (topic.endsWith(".") ? config.applicationId() : "");
        set(name, setting, value);
        assertThat(refusal().lines()).hasSize(3).satisfies(lines -> {
            assertThat(lines.get(1)).startsWith(name + ": " + setting + " is " + value + ", " + must);
            assertThat(lines.get(2))
                    .isEqualTo("    kafka-configs.sh --bootstrap-server " + broker.bootstrapServers()
                            + " --alter --entity-type topics --entity-name " + name + " --add-config "
                            + setting + "=" + mended);
        });
        set(name, setting, mended);
        TopicCheck.require(admin, config);
    }

    @Test
    void all_faults_are_reported_at_once() throws Exception {
        set(config.topics().prefix() + "policies", "cleanup.policy", "delete");
        set(config.topics().prefix() + "decisions", "message.timestamp.type", "CreateTime");
        assertThat(refusal().lines()).hasSize(5);
    }

    @ParameterizedTest
    @CsvSource({"requests, CreateTime", "releases, LogAppendTime"})
    void create_times_and_other_partition_counts_are_permitted(String topic, String time) throws Exception {
        set(config.topics().prefix() + topic, "message.timestamp.type", time);
        grow(config.topics().prefix() + topic, 5);
        TopicCheck.require(admin, config);
        if (topic.equals("requests")) {
            assertThat(TopicCheck.judge(admin, config).warnings())
                    .anySatisfy(warning -> assertThat(warning.what())
                            .startsWith(config.topics().prefix()
                                    + "requests has 5 partitions, the state of clients has 2: "))
                    .anySatisfy(warning -> assertThat(warning.fix()).endsWith("weir repartition"));
        }
    }

    @Test
    void routed_requests_are_retained_as_long_as_requests() throws Exception {
        String requests = config.topics().prefix() + "requests";
        set(requests, "retention.ms", "1209600000");
        assertThat(TopicCheck.judge(admin, config).warnings())
                .singleElement()
                .satisfies(warning -> assertThat(warning.what())
                        .startsWith(
                                Topics.of(config).routedRequests() + " has a shorter retention.ms than " + requests))
                .satisfies(warning -> assertThat(warning.fix())
                        .singleElement()
                        .asString()
                        .endsWith("--entity-name " + Topics.of(config).routedRequests()
                                + " --add-config retention.ms=1209600000"));
        admin.deleteTopics(List.of(Topics.of(config).routedRequests())).all().get();
        await("the topic is deleted", Duration.ofMinutes(1), () -> !admin.listTopics()
                .names()
                .get()
                .contains(Topics.of(config).routedRequests()));
        TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        assertThat(setting(Topics.of(config).routedRequests(), "retention.ms")).isEqualTo("1209600000");
        assertThat(setting(Topics.of(config).routedRequests(), "message.timestamp.type"))
                .isEqualTo("LogAppendTime");
        assertThat(TopicCheck.judge(admin, config).warnings()).isEmpty();
    }

    @Test
    void rules_have_one_partition() throws Exception {
        grow(config.topics().prefix() + "policies", 2);
        assertThat(refusal())
                .contains(config.topics().prefix() + "policies: has 2 partitions, must have 1")
                .contains("kafka-topics.sh --bootstrap-server " + broker.bootstrapServers() + " --delete --topic "
                        + config.topics().prefix() + "policies\n")
                .contains("apply the rules again");
    }

    @Test
    void without_their_history_rules_stay_in_force() throws Exception {
        grow(config.topics().prefix() + "policy-history", 2);
        assertThat(refusal())
                .contains(config.topics().prefix() + "policy-history: has 2 partitions, must have 1")
                .contains("--delete --topic " + config.topics().prefix() + "policy-history\n")
                .contains("all rules stay in force")
                .doesNotContain("apply");
    }

    @Test
    void a_topic_keeps_its_partitions_once_there_is_state(@TempDir Path directory) throws Exception {
        try (Enforcer enforcer = Enforcer.start(config.withStateDirectory(directory))) {
            enforcer.awaitRunning(Duration.ofMinutes(2));
            Set<String> changelogs = admin.listTopics().names().get().stream()
                    .filter(name -> name.startsWith(config.applicationId() + "-"))
                    .collect(Collectors.toCollection(TreeSet::new));
            assertThat(changelogs)
                    .as("all topics that Kafka Streams creates are known")
                    .isEqualTo(new TreeSet<>(
                            new TopicRequirements(config).changelogs().keySet()));
        }
        TopicCheck.require(admin, config);
        String changelog = config.applicationId() + "-shaping-queue-entries-changelog";
        set(changelog, "cleanup.policy", "delete");
        assertThat(refusal()).contains(changelog + ": cleanup.policy is delete, must be compact");
        set(changelog, "cleanup.policy", "compact");
        grow(Topics.of(config).requests(), 3);
        grow(Topics.of(config).routedRequests(), 3);
        grow(Topics.of(config).leaseResponses(), 4);
        TopicCheck.require(admin, config);
        grow(Topics.of(config).admissions(), 3);
        assertThat(refusal())
                .contains(Topics.of(config).admissions()
                        + ": has 3 partitions, must have 2 like the state that was built from it");
        grow(config.applicationId() + "-policy-states-changelog", 3);
        assertThat(refusal())
                .contains(config.applicationId() + "-policy-states-changelog: has 3 partitions, ")
                .contains("decision-order-changelog has 2: a repartitioning is unfinished\n")
                .contains("weir repartition\n");
    }

    @ParameterizedTest
    @ValueSource(strings = {"requests", "routed-requests.", "lease-responses."})
    void a_topic_that_was_created_again_with_fewer_partitions_is_reported(String topic) throws Exception {
        String name = config.topics().prefix() + topic + (topic.endsWith(".") ? config.applicationId() : "");
        Topics topics = Topics.of(config);
        List<TopicRequirements.Existing> existing = new ArrayList<>();
        existing.add(new TopicRequirements.Existing(StatePartitions.changelog(config), 2, 1, Map.of()));
        for (String each : List.of(topics.requests(), topics.routedRequests(), topics.leaseResponses())) {
            existing.add(new TopicRequirements.Existing(each, each.equals(name) ? 1 : 2, 1, Map.of()));
        }
        TopicRequirements rules = new TopicRequirements(config);
        rules.judge(existing, true);
        assertThat(rules.faults())
                .singleElement()
                .asString()
                .startsWith(name + ": has 1 partitions, must have at least 2")
                .endsWith("--alter --topic " + name + " --partitions 2");
    }

    @Test
    void records_deleted_unread_are_reported() throws Exception {
        TopicPartition requests = new TopicPartition(config.topics().prefix() + "requests", 1);
        TopicPartition admissions = new TopicPartition(Topics.of(config).admissions(), 0);
        TopicPartition asks = new TopicPartition(Topics.of(config).leaseRequests(), 0);
        for (TopicPartition partition : List.of(requests, admissions, asks)) {
            write(partition, 10);
        }
        commit(config.applicationId(), requests, 3);
        commit(config.applicationId() + "-shaping", admissions, 11);
        assertThat(ReadPositions.gaps(admin, config))
                .containsExactly(
                        admissions + ": ends at offset 10, but the next offset to read is 11; the topic was deleted and"
                                + " created again, and is read from its beginning");

        commit(config.applicationId() + "-shaping", admissions, 10);
        assertThat(ReadPositions.gaps(admin, config)).isEmpty();

        admin.deleteRecords(Map.of(requests, RecordsToDelete.beforeOffset(3)))
                .all()
                .get();
        assertThat(ReadPositions.gaps(admin, config)).isEmpty();

        commit(config.applicationId() + "-shaping", asks, 5);
        admin.deleteRecords(Map.of(requests, RecordsToDelete.beforeOffset(8), asks, RecordsToDelete.beforeOffset(6)))
                .all()
                .get();
        assertThat(ReadPositions.gaps(admin, config))
                .containsExactly(
                        requests + ": offsets 3 to 7 were deleted before they were read; their records are lost, and"
                                + " reading continues after them",
                        asks + ": offsets 5 to 5 were deleted before they were read; their records are lost, and"
                                + " reading continues after them");
    }

    @Test
    void missing_partitions_and_topics_are_reported() throws Exception {
        String requests = config.topics().prefix() + "requests";
        write(new TopicPartition(requests, 0), 1);
        Map<TopicPartition, Long> committed =
                Map.of(new TopicPartition(requests, 0), 1L, new TopicPartition(requests, 2), 5L);
        assertThat(ReadPositions.gaps(admin, requests, committed))
                .containsExactly(requests + "-2: no longer exists; its records from offset 5 on are lost");
        assertThatThrownBy(() -> ReadPositions.gaps(
                        admin, "never-created.requests", Map.of(new TopicPartition("never-created.requests", 0), 1L)))
                .isInstanceOf(UnreachableException.class)
                .hasMessage(
                        "the topic never-created.requests has just been deleted; start Weir again, which creates it");
    }

    @Test
    void a_warning_for_many_topics_is_one_line() {
        TopicRequirements rules = new TopicRequirements(config);
        rules.judge(
                List.of(
                        replicated("b", 3, "1"),
                        replicated("a", 3, "1"),
                        replicated("c", 3, "2"),
                        replicated("d", 1, "1")),
                false);
        assertThat(rules.warnings())
                .extracting(TopicRequirements.Warning::what)
                .containsExactly(
                        "d has one replica: the data is lost if the broker is lost",
                        "a, b have min.insync.replicas=1: acknowledged records can be lost if one broker is lost");
    }

    private static TopicRequirements.Existing replicated(String name, int replicas, String inSync) {
        return new TopicRequirements.Existing(name, 1, replicas, Map.of("min.insync.replicas", inSync));
    }

    private String refusal() {
        return catchThrowableOfType(WrongTopicsException.class, () -> TopicCheck.require(admin, config))
                .getMessage();
    }

    private static void set(String topic, String setting, String value) throws Exception {
        admin.incrementalAlterConfigs(Map.of(
                        new ConfigResource(ConfigResource.Type.TOPIC, topic),
                        List.of(new AlterConfigOp(new ConfigEntry(setting, value), AlterConfigOp.OpType.SET))))
                .all()
                .get();
        await(
                topic + " has " + setting + "=" + value,
                Duration.ofMinutes(1),
                () -> value.equals(setting(topic, setting)));
    }

    private static String setting(String topic, String setting) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        return admin.describeConfigs(List.of(resource))
                .all()
                .get()
                .get(resource)
                .get(setting)
                .value();
    }

    private static void grow(String topic, int partitions) throws Exception {
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(partitions)))
                .all()
                .get();
        await(
                topic + " has " + partitions + " partitions",
                Duration.ofMinutes(1),
                () -> admin.describeTopics(List.of(topic))
                                .allTopicNames()
                                .get()
                                .get(topic)
                                .partitions()
                                .size()
                        == partitions);
    }

    private static void commit(String group, TopicPartition partition, long offset) throws Exception {
        admin.alterConsumerGroupOffsets(group, Map.of(partition, new OffsetAndMetadata(offset)))
                .all()
                .get();
    }

    private static void write(TopicPartition to, int records) {
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
                KafkaSettings.producer(cluster), new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < records; i++) {
                var unused = producer.send(new ProducerRecord<>(
                        to.topic(), to.partition(), new byte[] {1}, "r".getBytes(StandardCharsets.UTF_8)));
            }
        }
    }
}
