package dev.weir.runtime;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.weir.client.RequestBuilder;
import dev.weir.client.WeirClient;
import dev.weir.client.decision.ClientDecision;
import dev.weir.client.release.ReleaseConsumer;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.registry.ApicurioRegistry;
import dev.weir.rules.PolicyTopic;
import dev.weir.testing.RegistryServer;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicReader;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.RegistryException;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.RequestCodec;
import dev.weir.wire.SchemaRegistry;
import dev.weir.wire.SchemaRegistryProvider;
import dev.weir.wire.json.RequestJson;
import io.apicurio.registry.serde.avro.AvroKafkaDeserializer;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests the enforcer with a schema registry: the encoding of records, and that Apicurio's serializers and deserializers
 * accept it. {@link RegistryServer} simulates the registry. With {@code -Dweir.registry=DIRECTORY}, a real registry
 * that is unpacked there is used.
 */
@Tag("full")
class RegistryTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);

    private static final String POLICIES = """
            policies:
              - {id: all, limits: [{algorithm: gcra, limit: 100, per: 1d}]}
              - {id: sms, priority: 1, match: {endpoint: /sms}, queue: sms}
            queues:
              - {id: sms, limit: 100, per: 1s}
            """;

    /** A producer's own schema with another namespace, an additional field and fewer optional ones. */
    private static final Schema ANOTHER = new Schema.Parser().parse("""
            {"type": "record", "name": "RequestEvent", "namespace": "com.acme", "fields": [
              {"name": "weight", "type": "double"},
              {"name": "client", "type": "string"},
              {"name": "requestId", "type": "string"},
              {"name": "cost", "type": "int"}
            ]}""");

    private static EmbeddedBroker broker;
    private static RegistryServer standIn;
    private static RegistryProcess real;
    private static String url;

    /** Caches the schema after the first decision. */
    private static DecisionCodec decisions;

    @TempDir
    Path directory;

    @BeforeAll
    static void start() throws Exception {
        broker = TestBroker.shared();
        String unpacked = System.getProperty("weir.registry");
        if (unpacked == null) {
            standIn = new RegistryServer();
            url = standIn.url();
        } else {
            real = new RegistryProcess(Path.of(unpacked).toAbsolutePath());
            url = real.url();
        }
        decisions = new DecisionCodec(registry());
    }

    private static ClientDecision ask(String prefix) {
        Map<String, String> kafka =
                Map.of("bootstrap.servers", broker.bootstrapServers(), SchemaRegistryProvider.PREFIX + "url", url);
        try (WeirClient client =
                WeirClient.builder(kafka).prefix(prefix).timeout(PATIENCE).start()) {
            return client.decide(RequestBuilder.of("bob").build()).join();
        }
    }

    @AfterAll
    static void stop() {
        if (real == null) {
            standIn.close();
        } else {
            real.close();
        }
    }

    @Test
    void public_records_have_a_zero_byte_and_the_schema_id() throws Exception {
        WeirConfig config = config("wire.");
        Topics topics = Topics.of(config);
        Request request = request("r1", "alice", "/a");
        try (Enforcer enforcer = enforcer(config);
                RequestSender sender = new RequestSender(config)) {
            enforcer.awaitRunning(PATIENCE);
            sender.send(request);
            sender.send(request("m1", "alice", "/sms"));
            sender.flush();

            byte[] requested = only(config, topics.requests(), 2, "r1");
            assertThat(requested).startsWith(header(topics.requests(), "RequestEvent"));
            assertThat(body(requested, 5)).isEqualTo(body(new RequestCodec().encode(request), 10));

            byte[] decided = only(config, topics.decisions(), 2, "r1");
            assertThat(decided).startsWith(header(topics.decisions(), "Decision"));
            Decision decision = new DecisionCodec(registry()).decode(decided);
            assertThat(decision.outcome().name()).isEqualTo("ALLOWED");
            assertThat(body(decided, 5)).isEqualTo(body(new DecisionCodec().encode(decision), 10));

            byte[] released = only(config, topics.releases(), 1, "m1");
            assertThat(released).startsWith(header(topics.releases(), "Release"));
            Release release = new ReleaseCodec(registry()).decode(released);
            assertThat(body(released, 5)).isEqualTo(body(new ReleaseCodec().encode(release), 10));

            assertThat(LiveTest.admission(config)).startsWith(0xC3, 0x01);
            assertThat(only(config, topics.policies(), 3, "\"per\":\"1s\"")).startsWith(0xC3, 0x01);
            apicuriosDeserializerReads(topics.decisions(), decided, "outcome", "ALLOWED");
            apicuriosDeserializerReads(topics.releases(), released, "queue", "sms");
            weirsOwnReadersReadThem(config);
            assertThat(ask("wire.").httpStatus()).isEqualTo(200);
        }
    }

    private static void apicuriosDeserializerReads(String topic, byte[] value, String field, String expected) {
        try (AvroKafkaDeserializer<GenericRecord> deserializer = new AvroKafkaDeserializer<>()) {
            deserializer.configure(apicurio(), false);
            assertThat(deserializer.deserialize(topic, value).get(field)).hasToString(expected);
        }
    }

    private void weirsOwnReadersReadThem(WeirConfig config) {
        Map<String, String> kafka = new HashMap<>(apicurio());
        kafka.put("bootstrap.servers", broker.bootstrapServers());
        kafka.put("group.id", config.applicationId() + "-workers");
        try (ReleaseConsumer releases = new ReleaseConsumer(kafka, "wire.releases")) {
            assertThat(releases.next(PATIENCE)).map(Release::requestId).hasValue("m1");
        }
        try (TopicReader<Decision> decisions = TopicReader.decisions(config, TopicReader.From.BEGINNING, true)) {
            int[] count = {0};
            long deadlineNanos = System.nanoTime() + PATIENCE.toNanos();
            while (count[0] < 2 && System.nanoTime() - deadlineNanos < 0) {
                decisions.poll(Duration.ofMillis(100), decision -> count[0]++);
            }
            assertThat(count[0]).isEqualTo(2);
        }
    }

    @Test
    void a_topic_can_mix_records_of_all_serializers() throws Exception {
        WeirConfig config = config("mixed.");
        Topics topics = new Topics("mixed.", "weir");
        try (Enforcer enforcer = enforcer(config)) {
            enforcer.awaitRunning(PATIENCE);
            byte[] single = new RequestCodec().encode(request("single", "alice", "/a"));
            ByteBuffer byHand = ByteBuffer.allocate(single.length - 5);
            byHand.put((byte) 0).putInt(registry().orElseThrow().id(topics.requests(), text("RequestEvent")));
            byHand.put(single, 10, single.length - 10);
            produce(config, topics.requests(), single);
            produce(config, topics.requests(), byHand.array());
            produce(config, topics.requests(), serialized(topics.requests(), event("builder")));
            produce(config, topics.requests(), serialized("another." + topics.requests(), another("another")));
            assertThat(decisions(config, topics, 4))
                    .extracting(decision -> decision.requestId() + " " + decision.remaining())
                    .containsExactly("single 99", "single 98", "builder 97", "another 94");
        }
    }

    @Test
    void a_record_with_an_unresolvable_schema_is_a_dead_letter_and_the_rest_continues() throws Exception {
        WeirConfig config = config("bad.");
        Topics topics = new Topics("bad.", "weir");
        try (Enforcer enforcer = enforcer(config)) {
            enforcer.awaitRunning(PATIENCE);
            Schema incompatible = new Schema.Parser()
                    .parse("{\"type\":\"record\",\"name\":\"RequestEvent\",\"fields\":"
                            + "[{\"name\":\"requestId\",\"type\":\"int\"}]}");
            GenericRecord record = new GenericData.Record(incompatible);
            record.put("requestId", 5);
            produce(config, topics.requests(), new byte[] {0, 0x7F, 0, 0, 1, 2, 3});
            produce(config, topics.requests(), serialized("bad.other", record));
            produce(config, topics.requests(), new byte[] {0, 1});
            produce(config, topics.requests(), new RequestCodec().encode(request("r1", "alice", "/a")));
            assertThat(LiveTest.read(config, topics.deadLetters(), 3))
                    .extracting(dead -> header(dead, "weir.reason") + ": "
                            + header(dead, "weir.detail").replaceAll("[0-9]+", "N"))
                    .containsExactlyInAnyOrder(
                            "UNKNOWN_SCHEMA: the registry has no schema N",
                            "UNKNOWN_SCHEMA: schema N is not compatible with dev.weir.avro.RequestEvent",
                            "UNKNOWN_FORMAT: the value is none of: JSON, which begins with {; Avro in single-object"
                                    + " encoding, which begins with cN N; Avro in Confluent's wire format, which begins"
                                    + " with N and needs a schema registry; it begins with N N. It looks like"
                                    + " Confluent's wire format, which needs registry.url and a schema id of N bytes");
            assertThat(decisions(config, topics, 1))
                    .extracting(Decision::requestId)
                    .containsExactly("r1");
        }
    }

    @Test
    void records_wait_for_an_unreachable_registry_and_none_is_lost() throws Exception {
        assumeTrue(real == null, "the real one cannot be sent away");
        WeirConfig config = config("registry-away.");
        Topics topics = new Topics("registry-away.", "weir");
        byte[] known = serialized(topics.requests(), event("known"));
        byte[] unknown = serialized("other." + topics.requests(), another("unknown"));
        try (Enforcer enforcer = enforcer(config)) {
            enforcer.awaitRunning(PATIENCE);
            produce(config, topics.requests(), known);
            decisions(config, topics, 1);
            standIn.goAway(503);
            produce(config, topics.requests(), known);
            decisions(config, topics, 2); // the schema is cached
            produce(config, topics.requests(), unknown);
            produce(config, topics.requests(), known);
            awaitCalls(2);
            standIn.goAway(404); // as a proxy in front of the registry might respond
            awaitCalls(2);
            standIn.goAway(0);
            assertThat(decisions(config, topics, 4))
                    .extracting(Decision::requestId)
                    .containsExactly("known", "known", "unknown", "known");
            assertThat(LiveTest.read(config, topics.deadLetters(), 0)).isEmpty();
        } finally {
            standIn.goAway(0);
        }
    }

    @Test
    void without_schema_ids_nothing_starts() throws Exception {
        WeirConfig config = config("none.").toBuilder()
                .registry(Map.of("url", "http://localhost:1/apis/registry/v3"))
                .build();
        createTopics(config);
        assertThatExceptionOfType(RegistryException.class)
                .isThrownBy(() -> Enforcer.create(config, Optional.empty()))
                .withMessageStartingWith("the request to the registry at http://localhost:1/apis/registry/v3 failed: ");
        WeirConfig unregistered = config("none.").toBuilder()
                .registry(Map.of("url", url, "auto-register", "false"))
                .build();
        assertThatExceptionOfType(RegistryException.class)
                .isThrownBy(() -> new RequestSender(unregistered))
                .withMessage("the registry at " + url + " does not have the schema of none.requests-value"
                        + " (in group default), and registry.auto-register is false");
    }

    @Test
    void registered_schemas_are_found_with_authentication() throws Exception {
        int id = registry().orElseThrow().id("found", text("Release"));
        SchemaRegistry registry = new ApicurioRegistry(Map.of(
                "apicurio.registry.url", url,
                "apicurio.registry.auto-register", "false",
                "apicurio.registry.auth.username", "weir",
                "apicurio.registry.auth.password", "hush"));
        assertThat(registry.id("found", text("Release"))).isEqualTo(id);
        assertThat(registry.schema(id)).hasValue(List.of(text("Release")));
        if (standIn != null) {
            String secret = Base64.getEncoder().encodeToString("weir:hush".getBytes(StandardCharsets.UTF_8));
            assertThat(standIn.authorization()).isEqualTo("Basic " + secret);
        }
    }

    private WeirConfig config(String prefix) {
        return WeirConfig.builder()
                .applicationId("weir-" + prefix + "test")
                .threads(1)
                .topics(prefix, 1)
                .registry(Map.of("url", url))
                .kafka(TestBroker.clientSettings())
                .stateDirectory(directory.resolve("weir-state"))
                .build();
    }

    private static void createTopics(WeirConfig config) {
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
    }

    private static Enforcer enforcer(WeirConfig config) throws Exception {
        createTopics(config);
        new PolicyTopic(config).apply(PolicyFile.read("p", POLICIES), PolicyTopic.Options.DEFAULTS, 0);
        return Enforcer.start(config);
    }

    private static Map<String, String> apicurio() {
        return Map.of(
                "apicurio.registry.url", url,
                "apicurio.registry.auto-register", "true",
                "apicurio.registry.http.adapter", "JDK");
    }

    private static Optional<SchemaRegistry> registry() {
        return SchemaRegistryProvider.of(apicurio());
    }

    /** Returns an event as encoded by Apicurio's own serializer. */
    private static <T> byte[] serialized(String topic, T event) {
        try (AvroKafkaSerializer<T> serializer = new AvroKafkaSerializer<>()) {
            serializer.configure(apicurio(), false);
            return serializer.serialize(topic, event);
        }
    }

    private static GenericRecord event(String requestId) throws Exception {
        return new GenericRecordBuilder(new Schema.Parser().parse(text("RequestEvent")))
                .set("requestId", requestId)
                .set("client", "alice")
                .build();
    }

    private static GenericRecord another(String requestId) {
        GenericRecord event = new GenericData.Record(ANOTHER);
        event.put("requestId", requestId);
        event.put("client", "alice");
        event.put("cost", 3);
        event.put("weight", 0.5);
        return event;
    }

    private static Request request(String id, String client, String endpoint) {
        String line = "{\"requestId\":\"%s\",\"client\":\"%s\",\"attributes\":{\"endpoint\":\"%s\"}}";
        return RequestJson.read(line.formatted(id, client, endpoint), 0, new Request.Source(0, 0));
    }

    /** Returns a schema in the form in which it is registered. */
    private static String text(String name) throws Exception {
        return new Schema.Parser()
                .parse(Path.of("schemas", name + ".avsc").toFile())
                .toString();
    }

    /** Returns the first bytes of all records of a topic. */
    private static byte[] header(String topic, String schema) throws Exception {
        int id = registry().orElseThrow().id(topic, text(schema));
        return ByteBuffer.allocate(5).put((byte) 0).putInt(id).array();
    }

    private static byte[] body(byte[] record, int from) {
        return Arrays.copyOfRange(record, from, record.length);
    }

    /** Reads {@code count} records and returns the only one that contains a text. */
    private static byte[] only(WeirConfig config, String topic, int count, String text) {
        List<byte[]> found = LiveTest.read(config, topic, count).stream()
                .map(ConsumerRecord::value)
                .filter(value -> new String(value, StandardCharsets.ISO_8859_1).contains(text))
                .toList();
        assertThat(found).hasSize(1);
        return found.get(0);
    }

    private static void produce(WeirConfig config, String topic, byte[] value) throws Exception {
        Properties settings = KafkaSettings.producer(config);
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.send(new ProducerRecord<>(topic, "alice".getBytes(StandardCharsets.UTF_8), value))
                    .get();
        }
    }

    private static List<Decision> decisions(WeirConfig config, Topics topics, int count) throws Exception {
        List<Decision> read = new ArrayList<>();
        for (ConsumerRecord<byte[], byte[]> record : LiveTest.read(config, topics.decisions(), count)) {
            read.add(decisions.decode(record.value()));
        }
        return read;
    }

    private static void awaitCalls(int more) {
        int calls = standIn.calls() + more;
        await("more than " + calls + " calls", PATIENCE, () -> standIn.calls() > calls);
    }

    private static String header(ConsumerRecord<byte[], byte[]> record, String name) {
        return new String(record.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
    }
}
