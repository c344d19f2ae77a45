package dev.weir.cli;

import static dev.weir.testing.Await.await;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.weir.audit.finding.AuditRange;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.LeaseUsage;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.KafkaSettings;
import dev.weir.rules.PolicyTopic;
import dev.weir.topics.RecordReader;
import dev.weir.topics.TopicReader;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.DeadLetterHeaders;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.LeaseUsageAvro;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.Utils;

/**
 * A broker with the topics of real runs, which all audit tests of a JVM share. It copies topics, with or without forged
 * records, to another prefix, and audits them. Tests keep apart by these prefixes.
 */
final class AuditHarness {

    static final Duration PATIENCE = Duration.ofMinutes(5);
    static final int PARTITIONS = 2;
    static final DecisionCodec AVRO = new DecisionCodec();
    static final LeaseUsageAvro USAGE = new LeaseUsageAvro(Optional.empty());
    static final AuditRange ALL = new AuditRange(null, null, Duration.ofSeconds(30));

    private static final ObjectMapper JSON = new ObjectMapper();

    private static AuditHarness shared;

    private final Map<TopicPartition, List<Copied>> records = new HashMap<>();
    private final EmbeddedBroker broker;
    private final Path directory;

    /** The configuration of the topics without a prefix of their own, {@code weir.}. */
    private final WeirConfig config;

    /** A record to be copied. */
    @SuppressWarnings("ArrayRecordComponent") // carried, never compared
    record Copied(ConsumerRecord<byte[], byte[]> from, byte[] value) {
        Decision decision() {
            try {
                return AVRO.decode(value);
            } catch (UnreadableException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** Returns the values that take the place of a record. */
    interface Tampering {
        /** Returns the values to write in place of a record, null to copy it. */
        List<byte[]> instead(String topic, int partition, int index) throws Exception;
    }

    private AuditHarness() throws IOException {
        broker = EmbeddedBroker.start();
        directory = Files.createTempDirectory("weir-audit-");
        broker.beforeClose(() -> Utils.delete(directory.toFile()));
        config = config("weir.");
    }

    static synchronized AuditHarness shared() throws IOException {
        if (shared == null) {
            shared = new AuditHarness();
        }
        return shared;
    }

    WeirConfig config(String prefix) {
        return config("weir", prefix);
    }

    WeirConfig config(String applicationId, String prefix) {
        return WeirConfig.builder()
                .applicationId(applicationId)
                .threads(1)
                .topics(prefix, PARTITIONS)
                .kafka("bootstrap.servers", broker.bootstrapServers())
                .stateDirectory(directory.resolve(applicationId))
                .build();
    }

    /** Creates the topics of a run and applies its policies. */
    void create(WeirConfig to, String policies) throws Exception {
        try (Admin admin = Admin.create(KafkaSettings.admin(to))) {
            TopicSetup.createMissing(admin, to, TopicSetup.RequestTime.LOG_APPEND);
        }
        apply(to, policies);
    }

    void apply(WeirConfig to, String yaml) throws Exception {
        new PolicyTopic(to)
                .apply(PolicyFile.read("rules.yaml", yaml), PolicyTopic.Options.DEFAULTS, System.currentTimeMillis());
    }

    void awaitAnswers(WeirConfig of, int requests) {
        Set<Request.Source> answered = new HashSet<>();
        try (TopicReader<Decision> reader = TopicReader.decisions(of, TopicReader.From.BEGINNING, true)) {
            await(() -> answered.size() + " of " + requests + " decisions", PATIENCE, () -> {
                reader.poll(Duration.ofMillis(100), decision -> answered.add(decision.source()));
                return answered.size() >= requests;
            });
        }
    }

    CapturedRun audit(String... options) {
        List<String> args = new ArrayList<>(List.of("audit", "-b", broker.bootstrapServers()));
        args.addAll(List.of(options));
        return CapturedRun.of(Main::execute, args.toArray(String[]::new));
    }

    static JsonNode document(CapturedRun result) throws Exception {
        return JSON.readTree(result.out());
    }

    String configFile(String prefix) throws Exception {
        return Files.writeString(directory.resolve(prefix + "yaml"), "topics: {prefix: " + prefix + "}\n")
                .toString();
    }

    /** Returns all records of a partition that is no longer written. */
    List<Copied> read(String topic, int partition) {
        return records.computeIfAbsent(new TopicPartition(topic, partition), from -> {
            List<Copied> records = new ArrayList<>();
            try (RecordReader reader =
                    new RecordReader(config, topic, RecordReader.Options.of(IsolationLevel.READ_COMMITTED, PATIENCE))) {
                List<TopicPartition> one = List.of(from);
                reader.read(
                        reader.beginning(one),
                        reader.end(one),
                        record -> records.add(new Copied(record, record.value())));
            }
            return List.copyOf(records);
        });
    }

    /** Copies committed records to topics with another prefix. The times and offsets of requests stay the same. */
    void copy(String prefix, Tampering tampering) throws Exception {
        copy("weir.", prefix, tampering);
    }

    void copy(String source, String prefix, Tampering tampering) throws Exception {
        try (Admin admin = Admin.create(KafkaSettings.admin(config));
                KafkaProducer<byte[], byte[]> producer = producer()) {
            for (String name : TopicSetup.names(config)) {
                String topic = name.substring("weir.".length());
                boolean isRead = !topic.equals("replies")
                        && !topic.startsWith("admissions.")
                        && !topic.startsWith("lease-requests.")
                        && !topic.startsWith("lease-responses.")
                        && !topic.startsWith("routed-requests.");
                int partitions = topic.startsWith("polic") ? 1 : PARTITIONS;
                admin.createTopics(List.of(new NewTopic(prefix + topic, partitions, (short) 1)))
                        .all()
                        .get();
                for (int partition = 0; partition < partitions; partition++) {
                    List<Copied> records = isRead ? read(source + topic, partition) : List.of();
                    for (int i = 0; i < records.size(); i++) {
                        Copied record = records.get(i);
                        List<byte[]> instead = tampering.instead(topic, partition, i);
                        for (byte[] value : instead == null ? Collections.singletonList(record.value()) : instead) {
                            var unused = producer.send(new ProducerRecord<>(
                                    prefix + topic,
                                    partition,
                                    record.from().timestamp(),
                                    record.from().key(),
                                    value,
                                    letterHeaders(record.from(), prefix)));
                        }
                    }
                }
            }
        }
    }

    void send(String topic, int partition, long timestampMs, byte[] value) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer()) {
            producer.send(new ProducerRecord<>(topic, partition, timestampMs, null, value))
                    .get();
        }
    }

    void send(String topic, int partition, ConsumerRecord<byte[], byte[]> record, Headers headers) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer()) {
            producer.send(new ProducerRecord<>(
                            topic, partition, record.timestamp(), record.key(), record.value(), headers))
                    .get();
        }
    }

    void sendBad(String key, byte[] value) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer()) {
            producer.send(new ProducerRecord<>("weir.requests", key == null ? null : key.getBytes(UTF_8), value))
                    .get();
        }
    }

    void delete(String topic, int partition, long before) {
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            admin.deleteRecords(Map.of(new TopicPartition(topic, partition), RecordsToDelete.beforeOffset(before)))
                    .all()
                    .get();
        } catch (ExecutionException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static String header(Copied record, String name) {
        return new String(record.from().headers().lastHeader(name).value(), UTF_8);
    }

    static Headers letterHeaders(ConsumerRecord<byte[], byte[]> record, String prefix) {
        Headers headers = new RecordHeaders(record.headers().toArray());
        if (headers.lastHeader(DeadLetterHeaders.TOPIC) != null) {
            headers.remove(DeadLetterHeaders.TOPIC);
            headers.add(DeadLetterHeaders.TOPIC, (prefix + "requests").getBytes(UTF_8));
        }
        return headers;
    }

    /** Returns a usage report of a leased client, for a single time. */
    static byte[] usage(String policy, long cost, long atMs) {
        return USAGE.encode(new LeaseUsage(
                new LeaseUsage.Origin("c-1", 1, 1),
                new PolicyVersion(policy, 1),
                Map.of(),
                new LeaseUsage.Amount(cost, cost, 0),
                atMs,
                atMs));
    }

    KafkaProducer<byte[], byte[]> producer() {
        Properties settings = KafkaSettings.producer(config);
        // On a topic that has just been created, a second batch in flight may be appended before the first.
        settings.put(ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION, 1);
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }
}
