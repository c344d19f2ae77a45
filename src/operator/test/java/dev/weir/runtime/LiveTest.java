package dev.weir.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.backtest.DemoTrace;
import dev.weir.backtest.HeapStates;
import dev.weir.config.WeirConfig;
import dev.weir.decision.Decider;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.RequestRules;
import dev.weir.rules.PolicyTopic;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.RequestCodec;
import dev.weir.wire.json.RequestJson;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the enforcer with a real broker. */
@Tag("full")
class LiveTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);

    @TempDir
    Path directory;

    /** Policies with all values of {@code on-exceed}, a calendar limit, and {@code effective-from} within the trace. */
    private static final String EVERY_WAY = """
            policies:
              - id: daily
                layer: daily
                match: {tier: [free, commercial]}
                idempotency: 10m
                deny-status: 503
                limits: [{algorithm: fixed-window, limit: 60, per: 1 day, timezone: Asia/Tokyo}]
              - id: academic
                match: {tier: academic}
                limits: [{algorithm: gcra, limit: 6, per: 1m, burst: 3}]
                on-exceed: throttle
                max-delay: 30s
              - id: commercial
                match: {tier: commercial}
                limits: [{algorithm: sliding-window-log, limit: 20, per: 10m, count-denied: true}]
                on-exceed: throttle
                max-delay: 2m
              - id: free
                match: {tier: free}
                limits: [{algorithm: token-bucket, limit: 6, per: 1m, burst: 10}]
                on-exceed: shadow-ban
              - id: trial
                layer: trial
                effective-from: 1995-08-01T10:26:40Z
                max-size: 100KB
                limits: [{algorithm: sliding-window-counter, limit: 10, per: 1m}]
                on-exceed: observe
            """;

    @Test
    void live_and_backtest_decisions_are_identical_across_restarts() throws Exception {
        // a queue drains by the wall clock
        String policies = DemoTrace.policies().replaceAll("queue: (archive|shuttle)", "limits: [{unlimited: true}]");
        List<Request> requests = DemoTrace.requests().subList(0, 12_000);
        assertThat(decideAlike(config("same."), policies, requests)).hasSize(12_000);
    }

    @Test
    void live_and_backtest_decisions_are_identical_for_all_on_exceed_modes_and_repeats() throws Exception {
        List<Request> requests = new ArrayList<>();
        for (Request request : DemoTrace.requests().subList(0, 20_000)) {
            requests.add(request);
            if (requests.size() % 7 == 0) {
                requests.add(requests.get(requests.size() - 5));
            }
        }
        List<Decision> decisions = decideAlike(config("ways."), EVERY_WAY, requests);
        assertThat(decisions).hasSizeGreaterThan(23_000);
        List<Predicate<Decision>> ways = List.of(
                Decision::repeated,
                Decision::observed,
                Decision::shadowBanned,
                decision -> decision.delayMs() != null && decision.delayMs() > 0,
                decision -> decision.httpStatus() == 503,
                decision -> decision.observedBy().equals(List.of("trial")),
                decision -> "commercial".equals(decision.policyId()) && decision.outcome() == Outcome.DENIED);
        for (int i = 0; i < ways.size(); i++) {
            assertThat(decisions.stream().filter(ways.get(i)).count())
                    .as("way %d", i)
                    .isGreaterThan(20);
        }
    }

    /**
     * Returns the decisions of three successive instances, after comparing them with those of the same code without
     * a broker.
     */
    private List<Decision> decideAlike(WeirConfig config, String policies, List<Request> requests) throws Exception {
        create(config, TopicSetup.RequestTime.CREATE);
        new PolicyTopic(config).apply(PolicyFile.read("policies.yaml", policies), PolicyTopic.Options.DEFAULTS, 0);
        Map<Request.Source, byte[]> live = new HashMap<>();
        List<WeirConfig> instances = List.of(
                config, // starts without state
                config, // continues with the state on disk
                config.withStateDirectory(directory.resolve("weir-elsewhere"))); // restores all state
        for (int i = 0; i < instances.size(); i++) {
            int from = requests.size() * i / instances.size();
            int to = requests.size() * (i + 1) / instances.size();
            try (Enforcer enforcer = Enforcer.start(instances.get(i))) {
                enforcer.awaitRunning(PATIENCE);
                send(config, requests.subList(from, to));
                live.putAll(decisions(config, to));
            }
        }

        PolicyTable table = table(policies);
        HeapStates states = new HeapStates(config.state());
        DecisionCodec avro = new DecisionCodec();
        RequestCodec requestCodec = new RequestCodec();
        List<Decision> compared = new ArrayList<>();
        for (ConsumerRecord<byte[], byte[]> record : read(config, topics(config).requests(), requests.size())) {
            Request.Source source = new Request.Source(record.partition(), record.offset());
            Request request = requestCodec.decode(record.value(), record.timestamp(), source);
            Decision decision = (Decision) Decider.local(states).decide(request, table);
            assertThat(live.get(source))
                    .as(request.requestId())
                    .isEqualTo(avro.encode(decision.withContext(new DecisionContext(null, table.checksum()))));
            compared.add(decision);
        }
        return compared;
    }

    @Test
    void usage_of_a_client_is_written_once_per_commit() throws Exception {
        WeirConfig config = config("hot.");
        create(config, TopicSetup.RequestTime.LOG_APPEND);
        String policies = "policies: [{id: p, limits: [{algorithm: gcra, limit: 9000, per: 1m}]}]";
        new PolicyTopic(config).apply(PolicyFile.read("p", policies), PolicyTopic.Options.DEFAULTS, 0);
        List<Request> requests = new ArrayList<>();
        for (int i = 0; i < 4_000; i++) {
            requests.add(RequestJson.read("{\"requestId\":\"r\",\"client\":\"alice\"}", 0, new Request.Source(0, i)));
        }
        send(config, requests);
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            decisions(config, requests.size());
        }
        assertThat(written(config, config.applicationId() + "-policy-states-changelog"))
                .isBetween(1L, 1_000L);
    }

    @Test
    void an_enforcer_whose_clock_is_set_back_stops_and_another_takes_over() throws Exception {
        WeirConfig config = config("step.");
        create(config, TopicSetup.RequestTime.LOG_APPEND);
        AtomicLong stepMs = new AtomicLong();
        try (Enforcer enforcer =
                Enforcer.create(config, Optional.empty(), () -> System.currentTimeMillis() + stepMs.get())) {
            enforcer.begin();
            enforcer.awaitRunning(PATIENCE);
            assertThat(enforcer.mustRestart()).isFalse();
            stepMs.set(-10_000);
            assertThat(enforcer.awaitEnd()).hasValueSatisfying(why -> assertThat(why)
                    .isInstanceOf(ClockStepException.class)
                    .hasMessageMatching("the wall clock was set back by [0-9.]+m?s"));
            assertThat(enforcer.mustRestart()).isTrue();
            assertThat(enforcer.health()).isEqualTo(Health.STARTING);
        }
        try (Enforcer other = Enforcer.start(config)) {
            other.awaitRunning(PATIENCE);
        }
    }

    /** Returns the number of offsets in all partitions of a topic. */
    private static long written(WeirConfig config, String topic) throws Exception {
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
            for (int partition = 0; partition < config.topics().partitions(); partition++) {
                ends.put(new TopicPartition(topic, partition), OffsetSpec.latest());
            }
            return admin.listOffsets(ends).all().get().values().stream()
                    .mapToLong(end -> end.offset())
                    .sum();
        }
    }

    @Test
    void topics_are_created_with_the_required_settings() throws Exception {
        WeirConfig config = config("fresh.");
        create(config, TopicSetup.RequestTime.LOG_APPEND);
        create(config, TopicSetup.RequestTime.LOG_APPEND); // a second time changes nothing
        Topics topics = topics(config);
        assertThat(setting(config, topics.requests(), TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG))
                .isEqualTo("LogAppendTime");
        assertThat(setting(config, topics.policies(), TopicConfig.CLEANUP_POLICY_CONFIG))
                .isEqualTo("compact");
        for (String written : List.of(
                topics.routedRequests(),
                topics.decisions(),
                topics.replies(),
                topics.releases(),
                topics.admissions(),
                topics.deadLetters())) {
            assertThat(setting(config, written, TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG))
                    .isEqualTo("LogAppendTime");
            assertThat(setting(config, written, TopicConfig.MAX_MESSAGE_BYTES_CONFIG))
                    .isEqualTo(String.valueOf(3 << 20));
        }
        assertThat(setting(config, topics.replies(), TopicConfig.RETENTION_MS_CONFIG))
                .isEqualTo("600000");
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            List<String> created = admin.listTopics().names().get().stream()
                    .filter(name -> name.startsWith("fresh."))
                    .toList();
            assertThat(admin.describeTopics(created).allTopicNames().get().values())
                    .extracting(topic -> topic.name() + " " + topic.partitions().size())
                    .containsExactlyInAnyOrder(
                            "fresh.requests 4",
                            "fresh.routed-requests." + config.applicationId() + " 4",
                            "fresh.decisions 4",
                            "fresh.replies 4",
                            "fresh.lease-usage 4",
                            "fresh.releases 4",
                            "fresh.admissions." + config.applicationId() + " 4",
                            "fresh.lease-requests." + config.applicationId() + " 4",
                            "fresh.lease-responses." + config.applicationId() + " 4",
                            "fresh.dead-letters 4",
                            "fresh.policies 1",
                            "fresh.policy-history 1");
        }
    }

    @Test
    void hostile_records_stop_nothing() throws Exception {
        WeirConfig config = config("hostile.");
        NewTopic topic = new NewTopic(topics(config).requests(), 1, (short) 1)
                .configs(Map.of(
                        TopicConfig.RETENTION_MS_CONFIG,
                        "-1", // otherwise the broker would delete records with timestamps in 1970
                        TopicConfig.MESSAGE_TIMESTAMP_AFTER_MAX_MS_CONFIG,
                        String.valueOf(Long.MAX_VALUE)));
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            admin.createTopics(List.of(topic)).all().get();
        }
        create(config, TopicSetup.RequestTime.CREATE);
        new PolicyTopic(config)
                .apply(
                        PolicyFile.read("p", "policies: [{id: p, limits: [{algorithm: gcra, limit: 9, per: 1s}]}]"),
                        PolicyTopic.Options.DEFAULTS,
                        0);
        Properties settings = KafkaSettings.producer(config);
        settings.put(ProducerConfig.COMPRESSION_TYPE_CONFIG, "gzip"); // the broker bounds the compressed size
        settings.put(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, 32 << 20);
        byte[] key = "alice".getBytes(StandardCharsets.UTF_8);
        byte[] request = new RequestCodec()
                .encode(RequestJson.read("{\"requestId\":\"r\",\"client\":\"alice\"}", 0, new Request.Source(0, 0)));
        byte[] asLarge = new byte[(2 << 20) - key.length];
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            String name = topics(config).requests();
            producer.send(new ProducerRecord<>(name, 0, 1L, key, asLarge)).get();
            producer.send(new ProducerRecord<>(name, 0, 1L, key, new byte[8 << 20]))
                    .get();
            ProducerRecord<byte[], byte[]> headers = new ProducerRecord<>(name, 0, 1L, key, request);
            headers.headers().add("huge", new byte[8 << 20]);
            producer.send(headers).get();
            ProducerRecord<byte[], byte[]> wide = new ProducerRecord<>(name, 0, 1L, key, request);
            wide.headers().add("€".repeat(1_900_000), null); // three bytes each
            producer.send(wide).get();
            ProducerRecord<byte[], byte[]> hollow = new ProducerRecord<>(name, 0, 1L, key, request);
            for (int i = 0; i < 2_500_000; i++) {
                hollow.headers().add("", null); // two bytes each, without contents
            }
            producer.send(hollow).get();
            producer.send(new ProducerRecord<>(name, 0, RequestRules.MAX_TIMESTAMP_MS, key, request))
                    .get();
            producer.send(new ProducerRecord<>(name, 0, 1L, key, request)).get();
        }
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            List<ConsumerRecord<byte[], byte[]>> dead =
                    read(config, topics(config).deadLetters(), 6);
            assertThat(dead.get(0).value()).isEqualTo(asLarge);
            assertThat(dead.subList(1, 5)).allMatch(record -> record.value() == null);
            assertThat(new String(
                            dead.get(5).headers().lastHeader("weir.reason").value(), StandardCharsets.UTF_8))
                    .isEqualTo("TIMESTAMP_AHEAD");
            assertThat(read(config, topics(config).decisions(), 1)).hasSize(1);
        }
    }

    @Test
    void applied_policies_are_versioned_listed_and_deleted() throws Exception {
        WeirConfig config = config("versions.");
        create(config, TopicSetup.RequestTime.LOG_APPEND);
        PolicyTopic topic = new PolicyTopic(config);
        String one =
                "policies: [{id: a, limits: [{algorithm: gcra, limit: 1, per: 1s}]}, {id: b, limits: [{limit: 0, algorithm: gcra, per: 1s}]}]";
        String two = "policies: [{id: a, limits: [{algorithm: gcra, limit: 2, per: 1s}]}]";
        assertThat(topic.apply(PolicyFile.read("one", one), PolicyTopic.Options.DEFAULTS, 5))
                .extracting(LiveTest::reported)
                .containsExactly(change("a", PolicyTopic.Effect.ADDED, 1), change("b", PolicyTopic.Effect.ADDED, 1));
        assertThat(topic.apply(PolicyFile.read("two", two), PolicyTopic.Options.DEFAULTS, 6))
                .extracting(LiveTest::reported)
                .containsExactly(change("a", PolicyTopic.Effect.CHANGED, 2));
        assertThat(topic.apply(PolicyFile.read("two", two), PolicyTopic.Options.DEFAULTS.withPrune(true), 7))
                .extracting(LiveTest::reported)
                .containsExactly(
                        change("a", PolicyTopic.Effect.UNCHANGED, 2), change("b", PolicyTopic.Effect.DELETED, 2));
        assertThat(topic.read()).extracting(PolicyAvro.Applied::key).containsExactly("policy/a");
        assertThat(topic.delete(PolicyAvro.Kind.POLICY, List.of("a", "nobody"), PolicyTopic.Options.DEFAULTS, 8))
                .extracting(LiveTest::reported)
                .containsExactly(change("a", PolicyTopic.Effect.DELETED, 3));
        assertThat(topic.read()).isEmpty();
        assertThat(topic.apply(
                        PolicyFile.read("two", two), PolicyTopic.Options.DEFAULTS, 9)) // no version is ever used twice
                .extracting(LiveTest::reported)
                .containsExactly(change("a", PolicyTopic.Effect.ADDED, 4));
    }

    private static String change(String id, PolicyTopic.Effect effect, long version) {
        return effect + " policy/" + id + " " + version;
    }

    private static String reported(PolicyTopic.Change change) {
        return change.effect() + " " + PolicyAvro.key(change.kind(), change.id()) + " " + change.version();
    }

    private WeirConfig config(String prefix) {
        return WeirConfig.builder()
                .applicationId("weir-" + prefix + "test")
                .threads(1)
                .topics(prefix, 4)
                .kafka(TestBroker.clientSettings())
                .stateDirectory(directory.resolve("weir-state"))
                .build();
    }

    private static Topics topics(WeirConfig config) {
        return Topics.of(config);
    }

    private static void create(WeirConfig config, TopicSetup.RequestTime time) {
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, time);
        }
    }

    private static String setting(WeirConfig config, String topic, String name) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            return admin.describeConfigs(List.of(resource))
                    .all()
                    .get()
                    .get(resource)
                    .get(name)
                    .value();
        }
    }

    private static void send(WeirConfig config, List<Request> requests) {
        try (RequestSender sender = new RequestSender(config)) {
            requests.forEach(sender::send);
            sender.flush();
        }
    }

    /** Returns the decisions by request. Each request must have one decision. */
    private static Map<Request.Source, byte[]> decisions(WeirConfig config, int count) throws Exception {
        DecisionCodec avro = new DecisionCodec();
        Map<Request.Source, byte[]> decisions = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> record : read(config, topics(config).decisions(), count)) {
            assertThat(decisions.put(avro.decode(record.value()).source(), record.value()))
                    .isNull();
        }
        return decisions;
    }

    /** Returns the value of the only admission. Markers, which have no key, are ignored. */
    static byte[] admission(WeirConfig config) {
        return read(config, topics(config).admissions(), 1, record -> record.key() != null)
                .get(0)
                .value();
    }

    /** Reads a topic from the beginning and asserts that it has this many records. */
    static List<ConsumerRecord<byte[], byte[]>> read(WeirConfig config, String topic, int count) {
        return read(config, topic, count, record -> true);
    }

    private static List<ConsumerRecord<byte[], byte[]>> read(
            WeirConfig config, String topic, int count, Predicate<ConsumerRecord<byte[], byte[]>> which) {
        Properties settings = KafkaSettings.consumer(config);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                    .map(info -> new TopicPartition(topic, info.partition()))
                    .toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long deadline = System.nanoTime() + PATIENCE.toNanos();
            while (records.size() < count && System.nanoTime() - deadline < 0) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    if (which.test(record)) {
                        records.add(record);
                    }
                }
            }
        }
        assertThat(records).hasSize(count);
        return records;
    }

    private static PolicyTable table(String yaml) throws Exception {
        return PolicyFile.read("policies.yaml", yaml).table();
    }
}
