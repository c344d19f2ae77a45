package dev.weir.cli;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.RequestSender;
import dev.weir.testing.JavaProcess;
import dev.weir.topics.TopicReader;
import dev.weir.topics.TopicSetup;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Starts and stops {@code weir run} as a process, as a supervisor does. */
@Tag("full")
class RunTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final int SIGTERM = 128 + 15;
    private static final int REQUESTS = 5_000;
    private static final Pattern SERVICE = Pattern.compile("API on (http://\\S+)/v1,");

    @TempDir
    Path directory;

    private final Instant started = Instant.now().truncatedTo(ChronoUnit.MILLIS);
    private final HttpClient http = HttpClient.newHttpClient();
    private EmbeddedBroker broker;
    private WeirConfig config;
    private Admin admin;

    @BeforeEach
    void start() {
        broker = EmbeddedBroker.start();
        config = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", broker.bootstrapServers());
        admin = Admin.create(KafkaSettings.admin(config));
        TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
    }

    @AfterEach
    void stop() {
        admin.close();
        broker.close();
    }

    /** The timeouts of sessions and transactions are long, so members and transactions left behind would be visible. */
    @Test
    void an_interrupted_instance_leaves_nothing_behind_and_another_continues() throws Exception {
        Set<String> decided = new HashSet<>();
        try (TopicReader<Decision> reader = TopicReader.decisions(config, TopicReader.From.BEGINNING, true);
                RequestSender sender = new RequestSender(config)) {
            Process one = run("one", 0);
            try {
                awaitLog("one", "weir is ready");
                await("one is ready", PATIENCE, () -> isReady("one"));
                for (int i = 0; i < REQUESTS; i++) {
                    sender.send(request(i));
                }
                read(reader, decided, 1);
                one.destroy(); // SIGTERM
                assertThat(one.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            } finally {
                one.destroyForcibly();
            }
            assertThat(one.exitValue()).isEqualTo(SIGTERM);
            assertThat(log("one").lines())
                    .as("success is not logged")
                    .singleElement()
                    .asString()
                    .startsWith("weir is ready");
            for (String group : List.of("weir", "weir-shaping")) {
                await("the consumer group is empty", PATIENCE, () -> admin.describeConsumerGroups(List.of(group))
                        .all()
                        .get()
                        .get(group)
                        .members()
                        .isEmpty());
            }
            await("no transaction is open", PATIENCE, () -> ends(IsolationLevel.READ_COMMITTED)
                    .equals(ends(IsolationLevel.READ_UNCOMMITTED)));

            Process two = run("two", 0);
            try {
                read(reader, decided, REQUESTS);
            } finally {
                two.destroyForcibly().waitFor();
            }
        }
        assertThat(decided).hasSize(REQUESTS);
    }

    @Test
    void an_instance_interrupted_before_it_is_ready_stops_and_verbose_twice_logs_kafkas_clients() throws Exception {
        Process weir = runBeside(0, "--log-format", "json", "--verbose", "--verbose");
        try {
            await("the state directory exists", PATIENCE, () -> Files.exists(directory.resolve("weir-state")));
            await("Kafka's clients log", PATIENCE, () -> errors().contains("org.apache.kafka."));
            weir.destroy();
            assertThat(weir.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        } finally {
            weir.destroyForcibly();
        }
        assertThat(weir.exitValue()).isEqualTo(SIGTERM);
        await("no transaction is open", PATIENCE, () -> ends(IsolationLevel.READ_COMMITTED)
                .equals(ends(IsolationLevel.READ_UNCOMMITTED)));
        assertThat(objects()).anyMatch(line -> line.get("logger").asText().startsWith("org.apache.kafka."));
    }

    @Test
    void a_failed_enforcer_names_the_application_and_the_cause_and_exits_1() throws Exception {
        Process weir = run("weir", 1000);
        try {
            awaitLog("weir", "weir is ready");
            admin.deleteTopics(List.of("weir.admissions.weir")).all().get();
            assertThat(weir.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        } finally {
            weir.destroyForcibly();
        }
        assertThat(weir.exitValue()).isEqualTo(1);
        List<String> lines = log("weir").lines().toList();
        assertThat(lines.get(lines.size() - 1))
                .isEqualTo("weir run: shaping (weir-shaping) failed: One or more source topics were missing during"
                        + " rebalance");
        assertThat(lines).as("no long stack traces").hasSizeLessThan(80);
    }

    @Test
    void verbose_logs_a_few_lines_of_progress() throws Exception {
        new PolicyTopic(config).apply(PolicyFile.read("test", """
                        policies: [{id: p, limits: [{algorithm: gcra, limit: 1, per: 1s}]}]
                        """), PolicyTopic.Options.DEFAULTS, 0);
        runAndStop("--log-format", "json", "--verbose");
        List<JsonNode> lines = objects();
        String id = Files.readString(directory.resolve("weir-state/instance-id"));
        assertThat(lines)
                .hasSizeLessThan(30)
                .allSatisfy(line -> assertThat(line.get("level").asText()).isEqualTo("INFO"))
                .extracting(line -> line.get("message").asText())
                .contains(
                        "policy/p version 1 is applied",
                        "deciding (weir) is REBALANCING",
                        "deciding (weir) is RUNNING",
                        "shaping (weir-shaping) is RUNNING",
                        "Instance " + id + " has stopped")
                .startsWith("Instance " + id + " is starting: "
                        + read("out").strip().replace("weir is ready: ", ""));
    }

    @Test
    void success_is_not_logged_and_a_failure_is_one_json_object() throws Exception {
        Process weir = runBeside(1000, "--log-format", "json");
        try {
            await("weir is ready", PATIENCE, () -> read("out").contains("weir is ready"));
            assertThat(errors()).isEmpty();
            admin.deleteTopics(List.of("weir.admissions.weir")).all().get();
            assertThat(weir.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        } finally {
            weir.destroyForcibly();
        }
        assertThat(weir.exitValue()).isEqualTo(1);
        List<JsonNode> lines = objects();
        JsonNode last = lines.get(lines.size() - 1);
        assertThat(last.get("level").asText()).isEqualTo("ERROR");
        assertThat(last.get("message").asText())
                .isEqualTo("shaping (weir-shaping) failed: One or more source topics were missing during rebalance");
        assertThat(last.get("error").asText())
                .contains("MissingSourceTopicException: ", "\n\tat ", "UnreachableException: ");
    }

    @Test
    void each_fault_of_a_configuration_is_one_json_object() throws Exception {
        Path wrong = Files.writeString(directory.resolve("wrong.yaml"), "threads: 0\ntopics: {partition: 1}\n");
        Process weir = started("--log-format", "json", "-c", wrong.toString());
        assertThat(weir.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(weir.exitValue()).isEqualTo(2);
        assertThat(objects())
                .hasSize(2)
                .allSatisfy(line -> assertThat(line.get("message").asText()).startsWith(wrong + ":"));
    }

    @Test
    void wrong_topic_settings_are_reported_and_exit_2() throws Exception {
        ConfigResource requests = new ConfigResource(ConfigResource.Type.TOPIC, "weir.requests");
        AlterConfigOp compact =
                new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(requests, List.of(compact))).all().get();
        await("the topic is compacted", PATIENCE, () -> admin.describeConfigs(List.of(requests))
                .all()
                .get()
                .get(requests)
                .get("cleanup.policy")
                .value()
                .equals("compact"));
        assertThat(Shell.run(
                        "run", "--service-port", "0", "-c", settings("weir", 0).toString()))
                .isEqualTo(new CapturedRun(2, "", """
                        weir run: some topics do not meet Weir's requirements
                        weir.requests: cleanup.policy is compact, must be delete: compaction would keep only the last record of each key
                            kafka-configs.sh --bootstrap-server %s --alter --entity-type topics --entity-name weir.requests --add-config cleanup.policy=delete
                        """.formatted(broker.bootstrapServers())));
    }

    private void runAndStop(String... options) throws Exception {
        Process weir = runBeside(0, options);
        try {
            await("weir is ready", PATIENCE, () -> read("out").contains("weir is ready"));
            weir.destroy();
            assertThat(weir.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        } finally {
            weir.destroyForcibly();
        }
        assertThat(weir.exitValue()).isEqualTo(SIGTERM);
    }

    private Process runBeside(int metadataMaxAgeMs, String... options) throws IOException {
        List<String> args =
                new ArrayList<>(List.of("-c", settings("weir", metadataMaxAgeMs).toString()));
        args.addAll(List.of(options));
        return started(args.toArray(String[]::new));
    }

    /** Starts {@code weir run} with standard output and standard error in one file each. */
    private Process started(String... options) throws IOException {
        List<String> args = new ArrayList<>(List.of("run", "--service-port", "0"));
        args.addAll(List.of(options));
        return JavaProcess.of(List.of(), Main.class, args.toArray(String[]::new))
                .redirectOutput(directory.resolve("out").toFile())
                .redirectError(directory.resolve("err").toFile())
                .start();
    }

    private String read(String file) throws IOException {
        return Files.readString(directory.resolve(file));
    }

    private String errors() throws IOException {
        return read("err");
    }

    /** Returns the lines of standard error as JSON. */
    private List<JsonNode> objects() throws IOException {
        ObjectMapper mapper = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
        List<JsonNode> objects = new ArrayList<>();
        for (String line : errors().lines().toList()) {
            assertThat(line).doesNotContainPattern("[\\x00-\\x1F\\x7F-\\x9F]");
            JsonNode object = mapper.readTree(line);
            assertThat(object.fieldNames()).toIterable().contains("time", "level", "logger", "thread", "message");
            assertThat(Instant.parse(object.get("time").asText())).isBetween(started, Instant.now());
            objects.add(object);
        }
        return objects;
    }

    private static Request request(int i) {
        return Request.builder("r" + i, "client " + i % 100)
                .timestampMs(System.currentTimeMillis())
                .source(0, 0)
                .build();
    }

    private Map<TopicPartition, Long> ends(IsolationLevel level) throws Exception {
        Map<TopicPartition, OffsetSpec> all = IntStream.range(0, config.topics().partitions())
                .mapToObj(partition -> new TopicPartition("weir.decisions", partition))
                .collect(Collectors.toMap(partition -> partition, partition -> OffsetSpec.latest()));
        return admin.listOffsets(all, new ListOffsetsOptions(level)).all().get().entrySet().stream()
                .collect(Collectors.toMap(
                        Map.Entry::getKey, end -> end.getValue().offset()));
    }

    private static void read(TopicReader<Decision> reader, Set<String> decided, int until) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (decided.size() < until && System.nanoTime() - deadline < 0) {
            reader.poll(Duration.ofMillis(20), decision -> assertThat(decided.add(decision.requestId()))
                    .as("a second decision for %s", decision.requestId())
                    .isTrue());
        }
        assertThat(decided.size()).isGreaterThanOrEqualTo(until);
    }

    private void awaitLog(String name, String text) throws Exception {
        await("the log of " + name + " contains: " + text, PATIENCE, () -> log(name)
                .contains(text));
    }

    /** Returns the readiness of the instance, from the address in its log. */
    private boolean isReady(String name) throws Exception {
        Matcher service = SERVICE.matcher(log(name));
        if (!service.find()) {
            return false;
        }
        HttpRequest ask = HttpRequest.newBuilder(URI.create(service.group(1) + "/health/ready"))
                .timeout(PATIENCE)
                .build();
        return http.send(ask, HttpResponse.BodyHandlers.discarding()).statusCode() == 200;
    }

    private String log(String name) throws IOException {
        return Files.readString(directory.resolve(name + ".log"));
    }

    /** @param metadataMaxAgeMs the interval in which metadata is refreshed; 0 for Kafka's default */
    private Path settings(String name, int metadataMaxAgeMs) throws IOException {
        return Files.writeString(directory.resolve(name + ".yaml"), """
                state: {directory: "%s"}
                kafka:
                  bootstrap.servers: "%s"
                  main.consumer.session.timeout.ms: 600000
                  producer.transaction.timeout.ms: 600000
                %s
                """.formatted(
                        directory.resolve(name + "-state"),
                        broker.bootstrapServers(),
                        metadataMaxAgeMs == 0 ? "" : "  metadata.max.age.ms: " + metadataMaxAgeMs));
    }

    private Process run(String name, int metadataMaxAgeMs) throws IOException {
        Path settings = settings(name, metadataMaxAgeMs);
        return JavaProcess.of(List.of(), Main.class, "run", "--service-port", "0", "-c", settings.toString())
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve(name + ".log").toFile())
                .start();
    }
}
