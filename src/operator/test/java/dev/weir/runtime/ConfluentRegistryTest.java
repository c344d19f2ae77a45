package dev.weir.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.net.httpserver.HttpServer;
import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.testing.CommandRun;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.RegistryException;
import dev.weir.wire.SchemaRegistry;
import dev.weir.wire.SchemaRegistryProvider;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
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
 * Tests the enforcer with Confluent's API of a schema registry. The registry is a process of Apicurio Registry, from
 * the local Maven repository.
 */
@Tag("full")
class ConfluentRegistryTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final String VERSION = "2.6.13.Final";
    private static final String ARTIFACT = "io.apicurio:apicurio-registry-app:" + VERSION + ":tar.gz:all";
    private static final Path ARCHIVE = Path.of(
            System.getProperty("user.home"),
            ".m2/repository/io/apicurio/apicurio-registry-app",
            VERSION,
            "apicurio-registry-app-" + VERSION + "-all.tar.gz");

    /** A producer's own schema with an additional field and fewer optional ones. */
    private static final Schema ANOTHER = new Schema.Parser().parse("""
            {"type": "record", "name": "RequestEvent", "namespace": "com.acme", "fields": [
              {"name": "weight", "type": "double"},
              {"name": "client", "type": "string"},
              {"name": "requestId", "type": "string"}
            ]}""");

    @TempDir
    static Path directory;

    private static RegistryProcess process;

    @BeforeAll
    static void start() throws Exception {
        assumeTrue(
                Files.exists(ARCHIVE),
                "Confluent's API is not tested: run mvn dependency:get -Dtransitive=false -Dartifact=" + ARTIFACT);
        CommandRun unpacked = CommandRun.of(directory, "tar", "-xzf", ARCHIVE.toString());
        assertThat(unpacked.succeeded()).as(unpacked.output()).isTrue();
        process = new RegistryProcess(directory);
    }

    @AfterAll
    static void stop() {
        if (process != null) {
            process.close();
        }
    }

    @Test
    void requests_and_decisions_have_the_ids_of_the_registry() throws Exception {
        WeirConfig config = config("ids.");
        Topics topics = Topics.of(config);
        createTopics(config);
        int id = registry().id("other", ANOTHER.toString());
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            produce(config, framed(id, "r1"));
            produce(config, framed(0x7F000001, "lost"));
            byte[] decided = LiveTest.read(config, topics.decisions(), 1).get(0).value();
            Decision decision = new DecisionCodec(Optional.of(registry())).decode(decided);
            assertThat(decision.requestId()).isEqualTo("r1");
            assertThat(ByteBuffer.wrap(decided).getInt(1))
                    .isEqualTo(registry().id(topics.decisions(), schema("Decision")));
            ConsumerRecord<byte[], byte[]> dead =
                    LiveTest.read(config, topics.deadLetters(), 1).get(0);
            assertThat(header(dead, "weir.reason")).isEqualTo("UNKNOWN_SCHEMA");
            assertThat(header(dead, "weir.detail")).isEqualTo("the registry has no schema 2130706433");
        }
    }

    @Test
    void nothing_starts_while_the_registry_does_not_respond() throws Exception {
        WeirConfig config = config("confluent-away.");
        createTopics(config);
        int id = registry().id("other", ANOTHER.toString());
        process.pause();
        try {
            assertThatExceptionOfType(RegistryException.class)
                    .isThrownBy(() -> Enforcer.create(config, Optional.empty()))
                    .withMessage("the registry at " + process.confluentUrl() + " did not respond within 10s");
        } finally {
            process.resume();
        }
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            produce(config, framed(id, "r1"));
            assertThat(LiveTest.read(config, Topics.of(config).decisions(), 1)).hasSize(1);
        }
    }

    @Test
    void a_schema_is_not_registered_unless_the_configuration_permits_it() {
        SchemaRegistry registry = SchemaRegistryProvider.of(properties(process.confluentUrl(), "false"))
                .orElseThrow();
        assertThatExceptionOfType(RegistryException.class)
                .isThrownBy(() -> registry.id("unregistered", ANOTHER.toString()))
                .withMessage("the registry at " + process.confluentUrl() + " does not have the schema of"
                        + " unregistered-value, and registry.auto-register is false");
        int id = registry().id("registered", ANOTHER.toString());
        assertThat(registry.id("registered", ANOTHER.toString())).isEqualTo(id);
        assertThat(registry.schema(id).orElseThrow())
                .singleElement()
                .satisfies(text -> assertThat(new Schema.Parser().parse(text)).isEqualTo(ANOTHER));
    }

    @Test
    void a_response_of_a_proxy_does_not_make_a_schema_unknown() throws Exception {
        HttpServer proxy = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        proxy.createContext("/", exchange -> {
            exchange.sendResponseHeaders(404, -1);
            exchange.close();
        });
        proxy.start();
        try {
            String url = "http://localhost:" + proxy.getAddress().getPort();
            SchemaRegistry registry =
                    SchemaRegistryProvider.of(properties(url, "true")).orElseThrow();
            assertThatExceptionOfType(RegistryException.class)
                    .isThrownBy(() -> registry.schema(1))
                    .withMessage("the request to the registry at " + url + " failed: 404");
        } finally {
            proxy.stop(0);
        }
    }

    private static Map<String, String> properties(String url, String register) {
        return Map.of(
                SchemaRegistryProvider.URL,
                url,
                SchemaRegistryProvider.API,
                SchemaRegistryProvider.CONFLUENT,
                SchemaRegistryProvider.PREFIX + "auto-register",
                register);
    }

    private static SchemaRegistry registry() {
        return SchemaRegistryProvider.of(properties(process.confluentUrl(), "true"))
                .orElseThrow();
    }

    private static WeirConfig config(String prefix) {
        return WeirConfig.builder()
                .applicationId("confluent-" + prefix + "test")
                .threads(1)
                .topics("confluent-" + prefix, 1)
                .registry(Map.of("url", process.confluentUrl(), "api", "confluent"))
                .kafka(TestBroker.clientSettings())
                .stateDirectory(directory.resolve("weir-state"))
                .build();
    }

    private static void createTopics(WeirConfig config) {
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
    }

    private static byte[] framed(int schemaId, String requestId) throws Exception {
        GenericRecord event = new GenericData.Record(ANOTHER);
        event.put("weight", 0.5);
        event.put("client", "alice");
        event.put("requestId", requestId);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(ByteBuffer.allocate(5).put((byte) 0).putInt(schemaId).array());
        BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
        new GenericDatumWriter<GenericRecord>(ANOTHER).write(event, encoder);
        encoder.flush();
        return out.toByteArray();
    }

    private static void produce(WeirConfig config, byte[] value) throws Exception {
        Properties settings = KafkaSettings.producer(config);
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.send(new ProducerRecord<>(
                            Topics.of(config).requests(), "alice".getBytes(StandardCharsets.UTF_8), value))
                    .get();
        }
    }

    private static String schema(String name) throws Exception {
        return new Schema.Parser()
                .parse(Path.of("schemas", name + ".avsc").toFile())
                .toString();
    }

    private static String header(ConsumerRecord<byte[], byte[]> record, String name) {
        return new String(record.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
    }
}
