package dev.weir.runtime;

import static dev.weir.testing.Await.await;
import static java.util.stream.Collectors.groupingBy;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.weir.config.WeirConfig;
import dev.weir.decision.usage.PolicyUsage;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.query.InstanceQueries;
import dev.weir.rules.PolicyTopic;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.RequestCodec;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.zip.CRC32;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests with a real broker that limits hold whatever partitions and keys producers choose. */
@Tag("full")
class AnyProducerTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final int PARTITIONS = 4;
    private static final int LIMIT = 5;
    private static final int REQUESTS_A_CLIENT = 40;
    private static final String PYTHON = "/usr/bin/python3";

    private static final String POLICIES = """
            queues: [{id: q, limit: 1, per: 1d, capacity: 100}]
            policies:
              - {id: own, limits: [{algorithm: token-bucket, limit: 5, per: 30d}]}
              - {id: all, layer: shared, match: {tier: shared}, key: [], max-wait: 20s,
                 limits: [{algorithm: token-bucket, limit: 12, per: 30d}]}
              - {id: slow, priority: 1, match: {tier: slow}, on-exceed: shape, queue: q}
            """;

    private static EmbeddedBroker broker;
    private static WeirConfig config;
    private static Topics topics;
    private static Enforcer enforcer;
    private static KafkaProducer<byte[], byte[]> producer;
    private static KafkaConsumer<byte[], byte[]> decisions;
    private static final Map<String, Decision> DECIDED = new LinkedHashMap<>();
    private static final List<String> TWICE = new ArrayList<>();

    @TempDir
    static Path directory;

    /** The ways in which producers choose partitions. */
    private enum Choice {
        NO_KEY,
        OTHER_KEY,
        CRC32,
        FNV_1A,
        RANDOM,
        MURMUR2_AND_CRC32
    }

    @BeforeAll
    static void start() throws Exception {
        broker = TestBroker.shared();
        config = WeirConfig.builder()
                .applicationId("any")
                .threads(1)
                .topics("any.", PARTITIONS)
                .kafka(TestBroker.clientSettings())
                .stateDirectory(directory.resolve("weir-state"))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config).apply(PolicyFile.read("policies.yaml", POLICIES), PolicyTopic.Options.DEFAULTS, 0);
        topics = Topics.of(config);
        enforcer = Enforcer.start(config);
        enforcer.awaitRunning(PATIENCE);
        producer = new KafkaProducer<>(
                KafkaSettings.producer(config), new ByteArraySerializer(), new ByteArraySerializer());
        Properties settings = KafkaSettings.consumer(config);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        decisions = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        List<TopicPartition> partitions = decisions.partitionsFor(topics.decisions()).stream()
                .map(info -> new TopicPartition(info.topic(), info.partition()))
                .toList();
        decisions.assign(partitions);
        decisions.seekToBeginning(partitions);
    }

    @AfterAll
    static void stop() {
        decisions.close();
        producer.close();
        enforcer.close();
    }

    @Test
    void exactly_the_limit_is_allowed_for_any_partition_and_key() throws Exception {
        Random random = new Random(7);
        List<Request> sent = new ArrayList<>();
        for (int i = 0; i < REQUESTS_A_CLIENT; i++) {
            for (Choice choice : Choice.values()) {
                Request request = request(choice + "-" + i, "client-" + choice, null);
                sent.add(request);
                send(choice, request, i, random);
            }
        }
        assertThat(TWICE).isEmpty();
        Map<String, List<Decision>> byClient = decisionsOf(sent).stream().collect(groupingBy(Decision::client));
        byClient.forEach((client, of) -> {
            assertAllowed(client, of, LIMIT);
            assertInOrder(of);
            assertUsedUp(client);
        });
        assertThat(byClient).hasSize(Choice.values().length);
        long misplaced = byClient.values().stream()
                .flatMap(List::stream)
                .filter(decision -> decision.source().partition() != partition(decision.client()))
                .count();
        assertThat(misplacedByMetric())
                .isGreaterThanOrEqualTo((double) misplaced)
                .isPositive();
        assertThat(byClient.get("client-RANDOM").stream()
                        .map(decision -> decision.source().partition()))
                .as("the requests were on all partitions")
                .contains(0, 1, 2, 3);
    }

    @ParameterizedTest
    @CsvSource({"consistent_random, true", "consistent_random, false", "murmur2_random, true", "fnv1a_random, true"})
    void librdkafka_may_write_with_any_partitioner_with_and_without_keys(String partitioner, boolean hasKey)
            throws Exception {
        assumeLibrdkafka();
        List<Request> sent = new ArrayList<>();
        for (int i = 0; i < REQUESTS_A_CLIENT; i++) {
            for (int client = 0; client < 8; client++) {
                String name = partitioner + "-" + hasKey + "-" + client;
                sent.add(request(name + "-" + i, name, null));
            }
        }
        List<Integer> partitions = librdkafka(partitioner, hasKey, sent);
        long misplaced = 0;
        for (int i = 0; i < sent.size(); i++) {
            misplaced += partition(sent.get(i).client()) == partitions.get(i) ? 0 : 1;
        }
        assertThat(misplaced > 0)
                .as("misplaced: " + misplaced + " of " + sent.size())
                .isEqualTo(!partitioner.startsWith("murmur2"));
        decisionsOf(sent).stream().collect(groupingBy(Decision::client)).forEach((client, of) -> {
            assertAllowed(client, of, LIMIT);
            assertInOrder(of);
            assertUsedUp(client);
        });
    }

    @Test
    void a_shared_limit_holds_for_requests_on_random_partitions() throws Exception {
        Random random = new Random(8);
        List<Request> sent = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            Request request = request("shared-" + i, "sharing-" + i % 20, "shared");
            sent.add(request);
            send(Choice.RANDOM, request, i, random);
        }
        List<Decision> decided = decisionsOf(sent);
        assertThat(decided.stream().filter(decision -> decision.outcome() == Outcome.ALLOWED))
                .hasSizeBetween(1, 12);
    }

    @Test
    void a_queued_request_is_cancelled_whatever_partition_either_was_on() throws Exception {
        String client = "shaped";
        int right = partition(client);
        Request request = request("q1", client, "slow");
        write((right + 1) % PARTITIONS, null, request); // the first request of the queue is released at once
        write((right + 1) % PARTITIONS, null, request("q2", client, "slow"));
        decisionsOf(List.of(request, request("q2", client, "slow")));
        Request cancel = Request.builder("q2", client)
                .kind(RequestKind.CANCEL)
                .tier("slow")
                .queue("q")
                .build();
        write((right + 2) % PARTITIONS, null, cancel);
        awaitDecided(
                "the cancellation and its answer",
                () -> DECIDED.containsKey("q2 DENIED CANCELLED") && DECIDED.containsKey("q2 ALLOWED CANCELLED"));
    }

    /** Returns the value of the metric. Other tests add to it. */
    private static double misplacedByMetric() {
        return enforcer.metrics()
                .scrape()
                .lines()
                .filter(line -> line.startsWith("weir_requests_misplaced_total "))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.indexOf(' '))))
                .sum();
    }

    private static void assertAllowed(String client, List<Decision> of, int limit) {
        assertThat(of).as(client).hasSize(REQUESTS_A_CLIENT);
        assertThat(of.stream().filter(decision -> decision.outcome() == Outcome.ALLOWED))
                .as(client)
                .hasSize(limit);
    }

    /** Asserts that in the order of the decisions, the offsets of each partition increase. */
    private static void assertInOrder(List<Decision> of) {
        Map<Integer, Long> last = new HashMap<>();
        for (Decision decision : of) {
            Long before =
                    last.put(decision.source().partition(), decision.source().offset());
            assertThat(before == null || before < decision.source().offset())
                    .as(decision + " after offset " + before)
                    .isTrue();
        }
    }

    private static void assertUsedUp(String client) {
        Request peek = request("peek", client, null);
        InstanceQueries.Result<List<PolicyUsage>> usage = enforcer.queries().usage(peek);
        assertThat(usage).isInstanceOf(InstanceQueries.Result.Local.class);
        assertThat(((InstanceQueries.Result.Local<List<PolicyUsage>>) usage)
                        .value()
                        .get(0)
                        .limits()
                        .get(0)
                        .remaining())
                .as(client)
                .isZero();
        InstanceQueries.Result<Decision> check = enforcer.queries().check(peek);
        assertThat(((InstanceQueries.Result.Local<Decision>) check).value().outcome())
                .as(client)
                .isEqualTo(Outcome.DENIED);
    }

    private static void send(Choice choice, Request request, int number, Random random) {
        byte[] client = bytes(request.client());
        switch (choice) {
            case NO_KEY -> write(random.nextInt(PARTITIONS), null, request);
            case OTHER_KEY -> write(null, bytes("key-" + number), request);
            case CRC32 -> write(crc32(client), client, request);
            case FNV_1A -> write(fnv1a(client), client, request);
            case RANDOM -> write(random.nextInt(PARTITIONS), client, request);
            case MURMUR2_AND_CRC32 -> write(number % 2 == 0 ? null : (Integer) crc32(client), client, request);
        }
    }

    private static void write(Integer partition, byte[] key, Request request) {
        var unused = producer.send(
                new ProducerRecord<>(topics.requests(), partition, key, new RequestCodec().encode(request)));
    }

    private static int crc32(byte[] key) {
        CRC32 crc = new CRC32();
        crc.update(key);
        return (int) (crc.getValue() % PARTITIONS);
    }

    private static int fnv1a(byte[] key) {
        int hash = 0x811C9DC5;
        for (byte b : key) {
            hash = (hash ^ (b & 0xFF)) * 0x01000193;
        }
        return (hash & Integer.MAX_VALUE) % PARTITIONS;
    }

    private static int partition(String client) {
        return BuiltInPartitioner.partitionForKey(bytes(client), PARTITIONS);
    }

    private static void assumeLibrdkafka() throws Exception {
        boolean isThere = Files.isExecutable(Path.of(PYTHON))
                && new ProcessBuilder(PYTHON, "-c", "import confluent_kafka")
                                .redirectErrorStream(true)
                                .start()
                                .waitFor()
                        == 0;
        assumeTrue(isThere, "librdkafka is not tested: install Debian's python3-confluent-kafka");
    }

    /** Returns the partitions that librdkafka chose. */
    private static List<Integer> librdkafka(String partitioner, boolean hasKey, List<Request> requests)
            throws Exception {
        StringBuilder lines = new StringBuilder();
        Base64.Encoder base64 = Base64.getEncoder();
        for (Request request : requests) {
            lines.append(hasKey ? base64.encodeToString(bytes(request.client())) : "-")
                    .append('\t')
                    .append(base64.encodeToString(new RequestCodec().encode(request)))
                    .append('\n');
        }
        Path input = Files.writeString(directory.resolve("records"), lines);
        Path output = directory.resolve("partitions");
        Path errors = directory.resolve("errors");
        Process process = new ProcessBuilder(
                        PYTHON,
                        "src/operator/test/resources/producers/librdkafka.py",
                        broker.bootstrapServers(),
                        topics.requests(),
                        partitioner)
                .redirectInput(input.toFile())
                .redirectOutput(output.toFile())
                .redirectError(errors.toFile())
                .start();
        try {
            assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(process.exitValue()).as(Files.readString(errors)).isZero();
        return Files.readAllLines(output).stream().map(Integer::valueOf).toList();
    }

    /** Reads until all requests have a decision. Returns the decisions in order. */
    private static List<Decision> decisionsOf(List<Request> requests) throws IOException {
        producer.flush();
        Set<String> ids = new HashSet<>();
        requests.forEach(request -> ids.add(request.requestId()));
        awaitDecided("decisions", () -> DECIDED.keySet().containsAll(ids));
        return DECIDED.values().stream()
                .filter(decision -> ids.contains(decision.requestId()))
                .toList();
    }

    private static void awaitDecided(String what, BooleanSupplier condition) {
        await(what, PATIENCE, () -> {
            decisions.poll(Duration.ofMillis(50)).forEach(AnyProducerTest::take);
            return condition.getAsBoolean();
        });
    }

    private static void take(ConsumerRecord<byte[], byte[]> record) {
        try {
            Decision decision = new DecisionCodec().decode(record.value());
            boolean isEnd = decision.queueing() != null && decision.outcome() != Outcome.QUEUED;
            String id = decision.requestId() + (isEnd ? " " + decision.outcome() + " " + decision.reason() : "");
            assertThat(record.key()).isEqualTo(bytes(decision.client()));
            if (DECIDED.put(id, decision) != null) {
                TWICE.add(id);
            }
        } catch (UnreadableException e) {
            throw new AssertionError(e);
        }
    }

    private static Request request(String id, String client, String tier) {
        return Request.builder(id, client).tier(tier).build();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
