package dev.weir.client;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.kafka.RequestCorrelation;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.OutputFormat;
import dev.weir.wire.RequestCodec;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import javax.management.JMException;
import javax.management.ObjectName;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Copies of decisions on the topic of replies. */
@Tag("full")
class RepliesTest {

    private static final String PREFIX = "replies.";
    private static final int PARTITIONS = 16;

    private static final String POLICIES = """
            policies:
              - {id: own, match: {endpoint: /own}, limits: [{algorithm: fixed-window, limit: 100000, per: 1d}]}
              - {id: shared, match: {endpoint: /shared}, key: [], max-wait: 1m, limits: [{algorithm: fixed-window, limit: 100000, per: 1d}]}
              - {id: sms, match: {endpoint: /sms}, queue: sms}
            queues:
              - {id: sms, limit: 1, per: 1h}
            """;

    @TempDir
    static Path directory;

    private static WeirConfig config;
    private static Topics topics;
    private static Enforcer enforcer;
    private static KafkaProducer<byte[], byte[]> producer;

    private final DecisionCodec codec = new DecisionCodec();

    @BeforeAll
    static void start() throws Exception {
        config = WeirConfig.builder()
                .applicationId("replies")
                .topics(new WeirConfig.Topics(PREFIX, 2, PARTITIONS, Optional.empty(), OutputFormat.AVRO))
                .kafka(TestBroker.clientSettings())
                .stateDirectory(directory)
                .build();
        topics = Topics.of(config);
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config).apply(PolicyFile.read("policies.yaml", POLICIES), PolicyTopic.Options.DEFAULTS, 0);
        enforcer = Enforcer.start(config);
        enforcer.awaitRunning(LiveWeir.PATIENCE);
        producer = new KafkaProducer<>(
                new HashMap<>(config.kafka()), new ByteArraySerializer(), new ByteArraySerializer());
    }

    @AfterAll
    static void stop() {
        producer.close();
        enforcer.close();
    }

    private static RequestBuilder request(String client, String id, String endpoint) {
        return RequestBuilder.of(client).requestId(id).attribute("endpoint", endpoint);
    }

    /** Sends a request with a value of the header, or without one if it is null. */
    private static void send(Request request, Integer partition, String replyPartition) throws Exception {
        ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(
                topics.requests(),
                partition,
                request.client().getBytes(StandardCharsets.UTF_8),
                new RequestCodec().encode(request));
        record.headers().add("trace", request.requestId().getBytes(StandardCharsets.UTF_8));
        if (replyPartition != null) {
            record.headers().add(RequestCorrelation.REPLY_PARTITION, replyPartition.getBytes(StandardCharsets.UTF_8));
        }
        producer.send(record).get();
    }

    private static KafkaConsumer<byte[], byte[]> reader(String topic) {
        Map<String, Object> settings = new HashMap<>(config.kafka());
        settings.put("isolation.level", "read_committed");
        KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                .map(info -> new TopicPartition(topic, info.partition()))
                .toList();
        consumer.assign(partitions);
        consumer.seekToBeginning(partitions);
        return consumer;
    }

    /** Reads the committed decisions on requests of these clients until there are {@code count}. */
    private List<ConsumerRecord<byte[], byte[]>> read(String topic, Set<String> clients, int count) {
        List<ConsumerRecord<byte[], byte[]>> read = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer = reader(topic)) {
            await(count + " records of " + topic, LiveWeir.PATIENCE, () -> {
                consumer.poll(Duration.ofMillis(100)).forEach(record -> {
                    if (clients.contains(new String(record.key(), StandardCharsets.UTF_8))) {
                        read.add(record);
                    }
                });
                return read.size() >= count;
            });
        }
        return read;
    }

    private Decision decision(ConsumerRecord<byte[], byte[]> record) {
        try {
            return codec.decode(record.value());
        } catch (UnreadableException e) {
            throw new AssertionError(e);
        }
    }

    private static List<String> contents(List<ConsumerRecord<byte[], byte[]>> records) {
        return records.stream()
                .map(record -> Arrays.toString(record.key()) + Arrays.toString(record.value()) + record.headers())
                .sorted()
                .toList();
    }

    @Test
    void all_decisions_on_a_request_are_copied_to_its_partition() throws Exception {
        Set<String> clients = Set.of("copied-1", "copied-2", "copied-3");
        for (String client : clients) {
            send(request(client, "own", "/own").build(), null, "7");
            send(request(client, "misplaced-0", "/own").build(), 0, "7");
            send(request(client, "misplaced-1", "/own").build(), 1, "7");
            send(request(client, "shared", "/shared").build(), null, "7");
            send(request(client, "first", "/sms").build(), null, "7");
            send(request(client, "waits", "/sms").build(), null, "7");
            send(
                    request(client, "waits", "/sms")
                            .kind(RequestKind.CANCEL)
                            .queue("sms")
                            .build(),
                    null,
                    "7");
            send(request(client, "without", "/own").build(), null, null);
        }
        int each = 8; // the cancelled request has two: QUEUED, and the end of its wait
        List<ConsumerRecord<byte[], byte[]>> replies = read(topics.replies(), clients, clients.size() * each);
        List<ConsumerRecord<byte[], byte[]>> decisions = read(topics.decisions(), clients, clients.size() * (each + 1));
        assertThat(replies).extracting(ConsumerRecord::partition).containsOnly(7);
        assertThat(replies).hasSize(clients.size() * each);
        assertThat(replies).extracting(record -> decision(record).outcome()).contains(Outcome.ALLOWED, Outcome.QUEUED);
        assertThat(replies)
                .filteredOn(record -> decision(record).reason() == Reason.CANCELLED)
                .hasSize(2 * clients.size());
        decisions.removeIf(record -> decision(record).requestId().equals("without"));
        assertThat(contents(replies)).isEqualTo(contents(decisions));
    }

    @Test
    void a_partition_that_does_not_exist_is_ignored_and_counted() throws Exception {
        List<String> invalid =
                List.of("", "16", "-1", "+1", " 1", "1.0", "0x1", "99999", "999999999999", "\u0661", "a");
        double before = ignored();
        for (String value : invalid) {
            send(request("ignored", "r", "/own").build(), null, value);
        }
        send(request("ignored", "last", "/own").build(), null, "15");
        assertThat(read(topics.decisions(), Set.of("ignored"), invalid.size() + 1))
                .hasSize(invalid.size() + 1);
        assertThat(read(topics.replies(), Set.of("ignored"), 1)).singleElement().satisfies(record -> {
            assertThat(record.partition()).isEqualTo(15);
            assertThat(decision(record).requestId()).isEqualTo("last");
        });
        assertThat(ignored() - before).isEqualTo(invalid.size());
    }

    private static double ignored() {
        return enforcer.metrics()
                .scrape()
                .lines()
                .filter(line -> line.startsWith("weir_replies_ignored_total "))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.indexOf(' '))))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void a_client_receives_the_decisions_of_its_partition_only() throws Exception {
        int requests = 50;
        for (int count : List.of(1, 4, 16)) {
            List<WeirClient> clients = new ArrayList<>();
            try {
                for (int i = 0; i < count; i++) {
                    Map<String, String> kafka = new HashMap<>(config.kafka());
                    kafka.put("consumer.client.id", "replies-" + count + "-" + i);
                    clients.add(LiveWeir.ready(
                            WeirClient.builder(kafka).prefix(PREFIX).timeout(LiveWeir.PATIENCE)));
                }
                List<CompletableFuture<ClientDecision>> answers = new ArrayList<>();
                for (int i = 0; i < requests; i++) {
                    for (WeirClient client : clients) {
                        answers.add(client.decide(
                                request("traffic", String.valueOf(i), "/own").build()));
                    }
                }
                for (CompletableFuture<ClientDecision> answer : answers) {
                    assertThat(answer.get(LiveWeir.PATIENCE.toSeconds(), TimeUnit.SECONDS)
                                    .decision())
                            .isPresent();
                }
                Map<Integer, Long> sharing = clients.stream()
                        .collect(Collectors.groupingBy(WeirClient::replyPartition, Collectors.counting()));
                for (int i = 0; i < count; i++) {
                    int client = i;
                    long expected = requests * sharing.get(clients.get(i).replyPartition());
                    await("all replies are read", LiveWeir.PATIENCE, () -> received(count, client) == expected);
                }
            } finally {
                clients.forEach(WeirClient::close);
            }
        }
    }

    /** Returns the number of records that the consumer of a client has received. */
    private static double received(int count, int client) {
        try {
            ObjectName name = new ObjectName(
                    "kafka.consumer:type=consumer-fetch-manager-metrics,client-id=replies-" + count + "-" + client);
            return (double) ManagementFactory.getPlatformMBeanServer().getAttribute(name, "records-consumed-total");
        } catch (JMException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void clients_use_all_partitions_of_the_topic() throws Exception {
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            String topic = "growing.replies";
            WeirConfig growing = config.toBuilder()
                    .applicationId("growing")
                    .topics(new WeirConfig.Topics("growing.", 1, 1, Optional.empty(), OutputFormat.AVRO))
                    .build();
            TopicSetup.createMissing(admin, growing, TopicSetup.RequestTime.LOG_APPEND);
            admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3)))
                    .all()
                    .get();
            Set<Integer> used = new HashSet<>();
            await("all partitions are used", LiveWeir.PATIENCE, () -> {
                try (WeirClient client =
                        LiveWeir.ready(WeirClient.builder(config.kafka()).prefix("growing."))) {
                    used.add(client.replyPartition());
                }
                return used.equals(Set.of(0, 1, 2));
            });
        }
    }
}
