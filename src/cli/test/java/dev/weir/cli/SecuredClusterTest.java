package dev.weir.cli;

import static dev.weir.testing.Await.await;
import static dev.weir.testing.Await.awaitValue;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import dev.weir.client.ClientDecision;
import dev.weir.client.Fallback;
import dev.weir.client.NoDecisionReason;
import dev.weir.client.RequestBuilder;
import dev.weir.client.WeirClient;
import dev.weir.client.release.ReleaseConsumer;
import dev.weir.client.release.ReleaseWorker;
import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.UnreachableException;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.AclTable;
import dev.weir.testing.JavaProcess;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.RequestCodec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.config.provider.FileConfigProvider;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Weir on brokers that require TLS and a password, and grant only the permissions in the table of
 * {@code how-to/secure.md}.
 */
@Tag("full")
@Timeout(value = 240, unit = TimeUnit.SECONDS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class SecuredClusterTest {

    private static final Duration PATIENCE = Duration.ofMinutes(4);
    private static final String TOKEN = "token-0f3a9c55e1b7";
    private static final String[] ROLES = {
        "topics", "enforcer", "rules", "requester", "replayer", "reader", "client", "leased", "worker", "auditor"
    };

    private static final String RULES = """
            policies:
              - id: free
                match: {tier: free}
                limits: [{algorithm: sliding-window-log, limit: 2, per: 1m}]
              - id: sms
                layer: sms
                match: {endpoint: /sms}
                queue: sms
              - id: pools
                key: [pool]
                match: {pool: "*"}
                lease: client
                limits: [{algorithm: fixed-window, limit: 1000, per: 1h}]
            queues:
              - id: sms
                limit: 10
                per: 1s
            """;

    @TempDir
    static Path directory;

    private static SecuredBroker broker;
    private static Admin admin;

    @BeforeAll
    static void start() throws Exception {
        broker = SecuredBroker.start(directory, ROLES);
        admin = Admin.create(new HashMap<>(broker.admin()));
        admin.createAcls(AclTable.read().stream().map(AclTable.Line::binding).toList())
                .all()
                .get();
        awaitAcls(AclTable.read().size());
        for (String role : ROLES) {
            write(role + ".yaml", yaml(withSecretsInFile(role)));
        }
        rules(1);
    }

    @AfterAll
    static void stop() {
        admin.close();
        broker.close();
    }

    @Test
    @Order(1)
    void each_role_works_with_the_documented_permissions_and_no_secret_is_printed() throws Exception {
        createTopics("topics");
        Map<String, String> client = broker.client("enforcer", SecuredBroker.password("enforcer"));
        String jaas = client.put("sasl.jaas.config", "${env:TEST_JAAS}");
        ProcessBuilder builder = JavaProcess.of(
                        List.of("-Dlog4j2.configurationFile=" + write("log4j2.properties", DEBUG)),
                        Main.class,
                        "run",
                        "-c",
                        write("run.yaml", yaml(client)).toString())
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("run.log").toFile());
        builder.environment().putAll(Map.of("TEST_JAAS", jaas, "WEIR_TOKEN", TOKEN));
        Process enforcer = builder.start();
        try {
            work(enforcer);
        } finally {
            enforcer.destroy();
        }
        assertThat(enforcer.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(log()).contains("DEBUG ", "ssl.truststore.password = [hidden]", "sasl.jaas.config = [hidden]");
        assertTellsNoSecret(log());
    }

    private static final String DEBUG = """
            status = warn
            shutdownHook = disable
            appender.console.type = Console
            appender.console.name = out
            appender.console.layout.type = PatternLayout
            appender.console.layout.pattern = %d{HH:mm:ss.SSS} %-5p %c{1} %m%n
            logger.jetty.name = org.eclipse.jetty
            logger.jetty.level = info
            rootLogger.level = debug
            rootLogger.appenderRef.out.ref = out
            """;

    private static void work(Process enforcer) throws Exception {
        String service = awaitValue("ready", PATIENCE, () -> {
            requireAlive(enforcer);
            return log().lines()
                    .filter(line -> line.startsWith("weir is ready"))
                    .map(line -> line.replaceFirst(".* API on (http://[^/]*)/v1,.*", "$1"))
                    .findFirst()
                    .orElse(null);
        });
        assertThat(send(HttpRequest.newBuilder(URI.create(service + "/health/ready")))
                        .body())
                .isEqualTo("{\"status\":\"RUNNING\",\"missing\":"
                        + "[\"POST /v1/decide lacks permissions of the role leased\"]}");
        assertThat(command("rules", "policies", "apply", rules(2))).contains("added      free (version 1)");
        await("rules in force", PATIENCE, () -> isQueued(service));
        Traffic traffic = new Traffic(0);
        traffic.send();
        awaitValue("answers", PATIENCE, () -> {
            requireAlive(enforcer);
            return traffic.isAnswered() ? true : null;
        });
        assertThat(command("reader", "watch", "decisions", "--from-beginning", "-n", "1"))
                .contains("\"outcome\":\"QUEUED\"");
        assertThat(command("reader", "watch", "releases", "--from-beginning", "-n", "1"))
                .contains("\"client\":\"client-0\"");
        assertThat(firstRelease()).isEqualTo("client-0");
        try (WeirClient weir = gateway()) {
            assertThat(weir.decide(RequestBuilder.of("client-0").build()).join().noDecisionReason())
                    .isEmpty();
        }
        slicesAreHeldAndTheFallbackDecidesWithoutTheRightToAskForThem();
        try (ReleaseWorker worker = worker(2)) { // the first attempt and the retry fail
            await("given up", PATIENCE, () -> worker.stats().givenUp() > 0);
            assertThat(worker.stats().retried()).isPositive();
        }
        assertThat(command("auditor", "audit")).contains(" 0  mismatches");
        assertThat(command("rules", "policies", "list", "-o", "json")).contains("\"id\":\"free\",\"version\":1,");
        assertThat(command("rules", "policies", "history", "free", "-o", "json"))
                .contains("\"version\":1,");
        changesNeedWhatTheRulesRoleHas(service);
    }

    private static void slicesAreHeldAndTheFallbackDecidesWithoutTheRightToAskForThem() throws Exception {
        try (WeirClient open = leased(Fallback.FAIL_OPEN);
                WeirClient closed = leased(Fallback.FAIL_CLOSED)) {
            await("decision in process", PATIENCE, () -> isDecidedHere(closed, "one"));
            List<ClientDecision> without = without(asking(), () -> List.of(answer(closed, "two"), answer(open, "two")));
            assertThat(without)
                    .extracting(ClientDecision::noDecisionReason)
                    .containsOnly(Optional.of(NoDecisionReason.NO_LEASE));
            assertThat(without).extracting(ClientDecision::allowed).containsExactly(false, true);
            await("decision with the permission granted again", PATIENCE, () -> isDecidedHere(closed, "two"));
            assertThat(closed.stats().sent()).isZero();
        }
        await("reported usage", PATIENCE, () -> !read("auditor", "weir.lease-usage")
                .isEmpty());
    }

    private static AclTable.Line asking() throws IOException {
        return AclTable.read().stream()
                .filter(line ->
                        line.role().equals("leased") && line.resource().name().equals("weir.lease-requests.weir"))
                .findFirst()
                .orElseThrow();
    }

    private static boolean isDecidedHere(WeirClient weir, String pool) {
        return answer(weir, pool)
                .decision()
                .filter(decision -> decision.source().equals(Request.Source.NONE))
                .isPresent();
    }

    private static ClientDecision answer(WeirClient weir, String pool) {
        return weir.decide(RequestBuilder.of("client-0").attribute("pool", pool).build())
                .join();
    }

    private static void changesNeedWhatTheRulesRoleHas(String service) throws Exception {
        HttpResponse<String> refused = put(service, 1);
        assertThat(refused.statusCode()).as(refused.body()).isEqualTo(503);
        assertThat(refused.body()).doesNotContain("uthori");
        assertThat(log()).contains("weir.policies: Transactional Id authorization failed.");
        Set<AclBinding> more = AclTable.read().stream()
                .filter(line -> line.role().equals("rules"))
                .map(line -> line.bindingFor("enforcer"))
                .collect(Collectors.toSet());
        more.removeAll(AclTable.read().stream().map(AclTable.Line::binding).toList());
        admin.createAcls(more).all().get();
        HttpResponse<String> changed = awaitValue("change", PATIENCE, () -> {
            HttpResponse<String> answer = put(service, 1);
            return answer.statusCode() == 503 ? null : answer;
        });
        assertThat(changed.statusCode()).as(changed.body()).isEqualTo(200);
        admin.deleteAcls(more.stream().map(AclBinding::toFilter).toList()).all().get();
        for (String path : List.of("/v1/policies/free", "/v1/policies/free/history", "/v1/openapi.json")) {
            assertTellsNoSecret(
                    send(HttpRequest.newBuilder(URI.create(service + path))).body());
        }
    }

    /** Returns whether the request of {@link Traffic} would be sent to its queue. */
    private static boolean isQueued(String service) {
        return send(HttpRequest.newBuilder(URI.create(service + "/v1/peek"))
                        .header("Authorization", "Bearer " + TOKEN)
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString(
                                "{\"client\":\"client-0\",\"tier\":\"free\",\"attributes\":{\"endpoint\":\"/sms\"}}")))
                .body()
                .contains("QUEUED");
    }

    private static HttpResponse<String> put(String service, int version) {
        return send(
                HttpRequest.newBuilder(URI.create(service + "/v1/policies/free"))
                        .header("Authorization", "Bearer " + TOKEN)
                        .header("If-Match", "\"" + version + "\"")
                        .header("Content-Type", "application/json")
                        .PUT(
                                HttpRequest.BodyPublishers.ofString(
                                        "{\"match\":{\"tier\":\"free\"},\"limits\":[{\"algorithm\":\"gcra\",\"limit\":5,\"per\":\"1m\"}]}")));
    }

    private static HttpResponse<String> send(HttpRequest.Builder request) {
        try {
            return HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static WeirClient gateway() {
        return WeirClient.builder(client("client")).timeout(PATIENCE).start();
    }

    private static WeirClient leased(Fallback fallback) {
        return WeirClient.builder(client("leased"))
                .leased(true)
                .fallback(fallback)
                .timeout(PATIENCE)
                .start();
    }

    /** Starts a worker whose handler always fails. */
    private static ReleaseWorker worker(int attempts) {
        Map<String, Object> settings = new HashMap<>(client("worker"));
        settings.put("group.id", "mail-workers");
        return ReleaseWorker.builder(settings, work -> {
                    throw new IllegalStateException("not yet");
                })
                .attempts(attempts)
                .backOff(Duration.ofMillis(20), Duration.ofMillis(20))
                .start();
    }

    /** Returns the failure that keeps a client from being ready, and closes the client. */
    private static String clientFailure(WeirClient client) {
        try (client) {
            return awaitValue(
                    "readiness or a failure",
                    PATIENCE,
                    () -> client.isReady()
                            ? "no failure"
                            : client.failure()
                                    .map(UnreachableException::causeMessage)
                                    .orElse(null));
        }
    }

    private static String workerFailure(AclTable.Line line) throws Exception {
        boolean givesUp = line.resource().name().equals("weir.dead-letters");
        if (givesUp) {
            Traffic.write("enforcer", "weir.releases", "any", "no release");
        }
        try (ReleaseWorker worker = worker(givesUp ? 1 : 2)) {
            return awaitValue("failure", PATIENCE, () -> worker.failure()
                    .map(failure -> UnreachableException.causeMessage(failure))
                    .orElse(null));
        }
    }

    /** Returns the client of the first release that a worker receives. */
    private static String firstRelease() {
        Map<String, Object> settings = new HashMap<>(client("reader"));
        settings.put("group.id", "sms-workers");
        try (ReleaseConsumer releases = new ReleaseConsumer(settings)) {
            return releases.next(PATIENCE).orElseThrow().client();
        }
    }

    /** A request for a queue, an invalid request record, an invalid policy record, and a misplaced request. */
    private record Traffic(int number) {

        void send() throws Exception {
            command(
                    "requester",
                    "send",
                    write("request.ndjson", """
                    {"requestId":"r","client":"client-%d","tier":"free","attributes":{"endpoint":"/sms"}}
                    """.formatted(number)).toString());
            write("requester", "weir.requests", "any", "no request " + number);
            write("rules", "weir.policies", "policy/free", "no policy " + number);
        }

        /** Sends a request without a key to a partition other than that of its client. */
        void misplace() throws Exception {
            Request request = Request.builder("r", misplaced()).tier("free").build();
            try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
                    new HashMap<>(client("requester")), new ByteArraySerializer(), new ByteArraySerializer())) {
                int partitions = producer.partitionsFor("weir.requests").size();
                byte[] client = misplaced().getBytes(StandardCharsets.UTF_8);
                int other = (BuiltInPartitioner.partitionForKey(client, partitions) + 1) % partitions;
                producer.send(new ProducerRecord<>("weir.requests", other, null, new RequestCodec().encode(request)))
                        .get();
            }
        }

        boolean isMisplacedDecided() {
            return read("reader", "weir.decisions").stream()
                    .anyMatch(one -> one.key().equals(misplaced()));
        }

        private String misplaced() {
            return "misplaced-" + number;
        }

        boolean isAnswered() {
            List<String> deadLetters = read("reader", "weir.dead-letters").stream()
                    .map(SecuredClusterTest::text)
                    .toList();
            return deadLetters.containsAll(List.of("no request " + number, "no policy " + number))
                    && read("reader", "weir.releases").stream()
                            .anyMatch(one -> one.key().equals("client-" + number))
                    && read("rules", "weir.policies").stream()
                            .filter(one -> one.key().equals("policy/free"))
                            .reduce((one, later) -> later)
                            .filter(last -> !text(last).equals("no policy " + number))
                            .isPresent();
        }

        private static void write(String role, String topic, String key, String value) throws Exception {
            try (KafkaProducer<String, byte[]> producer = new KafkaProducer<>(
                    new HashMap<>(client(role)), new StringSerializer(), new ByteArraySerializer())) {
                producer.send(new ProducerRecord<>(topic, key, value.getBytes(StandardCharsets.UTF_8)))
                        .get();
            }
        }

        private static Path write(String name, String text) throws IOException {
            return SecuredClusterTest.write(name, text);
        }
    }

    private static String text(ConsumerRecord<String, byte[]> record) {
        return new String(record.value(), StandardCharsets.UTF_8);
    }

    /** Returns all committed records of a topic. */
    private static List<ConsumerRecord<String, byte[]>> read(String role, String topic) {
        Map<String, Object> settings = new HashMap<>(client(role));
        settings.put("isolation.level", "read_committed");
        List<ConsumerRecord<String, byte[]>> records = new ArrayList<>();
        try (KafkaConsumer<String, byte[]> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                    .map(info -> new TopicPartition(topic, info.partition()))
                    .toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
                consumer.poll(Duration.ofMillis(100)).forEach(records::add);
            }
        }
        return records;
    }

    /** Returns the lines whose absence fails at once. */
    static List<AclTable.Line> quickLines() throws IOException {
        return AclTable.read().stream()
                .filter(line -> !line.role().equals("enforcer") && line.operation() != AclOperation.DESCRIBE)
                .toList();
    }

    static List<AclTable.Line> slowLines() throws IOException {
        List<AclTable.Line> lines = new ArrayList<>(AclTable.read());
        lines.removeAll(quickLines());
        return lines;
    }

    @ParameterizedTest
    @MethodSource("quickLines")
    @Order(2)
    void without_one_permission_the_documented_action_fails(AclTable.Line line) throws Exception {
        assertThat(without(line, () -> use(line))).contains(line.says()).doesNotContain("\n");
    }

    /** Takes two minutes: {@code mvn test -Dtest=SecuredClusterTest -Dweir.acls=all}. */
    @ParameterizedTest
    @MethodSource("slowLines")
    @EnabledIfSystemProperty(named = "weir.acls", matches = "all")
    @Order(3)
    void without_one_permission_a_later_action_fails(AclTable.Line line) throws Exception {
        if (line.resource().name().equals("weir-") && line.operation() == AclOperation.CREATE) {
            admin.deleteTopics(admin.listTopics().names().get().stream()
                            .filter(name -> name.startsWith("weir-"))
                            .toList())
                    .all()
                    .get();
        }
        assertThat(without(line, () -> use(line))).contains(line.says()).doesNotContain("\n");
    }

    /** Does what needs the permission. Returns the message of the failure. */
    private static String use(AclTable.Line line) {
        try {
            return switch (line.fails()) {
                case "policies apply" -> refusal(line, "policies", "apply", rules(3 + UNIQUE.incrementAndGet()));
                case "policies list" -> refusal(line, "policies", "list");
                case "policies history" -> refusal(line, "policies", "history", "free");
                case "send" ->
                    refusal(line, "send", directory.resolve("request.ndjson").toString());
                case "replay" -> refusal(line, "dead-letters", "replay", "--all", "--again");
                case "audit" -> refusal(line, "audit");
                case "watch decisions" -> refusal(line, "watch", "decisions", "--from-beginning", "-n", "1");
                case "watch releases" -> refusal(line, "watch", "releases", "--from-beginning", "-n", "1");
                case "ReleaseConsumer" -> firstRelease();
                case "WeirClient" -> clientFailure(gateway());
                case "a leased client" -> clientFailure(leased(Fallback.FAIL));
                case "ReleaseWorker" -> workerFailure(line);
                case "a consumer" ->
                    String.valueOf(read(line.role(), line.resource().name()).size());
                case "creating the topics" -> {
                    createTopics(line.role(), "weir.more" + UNIQUE.incrementAndGet() + ".");
                    yield "no failure";
                }
                case "run" -> enforce();
                default -> throw new IllegalArgumentException(line.fails());
            };
        } catch (UnreachableException e) {
            return e.getMessage();
        } catch (KafkaException e) {
            return UnreachableException.causeMessage(e);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static final AtomicInteger UNIQUE = new AtomicInteger();

    /** Runs a command that fails. Returns its message without the name of the command. */
    private static String refusal(AclTable.Line line, String... args) {
        CapturedRun result = shell(line.role(), args);
        assertThat(result.err()).hasLineCount(1);
        assertThat(result.exit()).isEqualTo(args[0].equals("audit") ? 2 : 1);
        return result.err().strip().replaceFirst("^weir [a-z ]+: ", "");
    }

    private static <T> T without(AclTable.Line line, Supplier<T> action) throws Exception {
        int all = acls();
        admin.deleteAcls(List.of(line.binding().toFilter())).all().get();
        awaitAcls(all - 1);
        try {
            return action.get();
        } finally {
            admin.createAcls(List.of(line.binding())).all().get();
            awaitAcls(all);
        }
    }

    /** Runs the enforcer until it has decided all requests, or ends. Returns the message of its failure. */
    private static String enforce() throws Exception {
        Traffic traffic = new Traffic(UNIQUE.incrementAndGet());
        WeirConfig config = ConfigFile.read(directory.resolve("enforcer.yaml"))
                .withStateDirectory(directory.resolve("state-" + traffic.number()));
        createTopics("enforcer");
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            traffic.send();
            traffic.misplace();
            CompletableFuture<String> ended = CompletableFuture.supplyAsync(() -> end(enforcer));
            return awaitValue(
                    "end",
                    PATIENCE,
                    () -> ended.isDone()
                            ? ended.join()
                            : traffic.isAnswered() && traffic.isMisplacedDecided() ? "everything answered" : null);
        }
    }

    private static String end(Enforcer enforcer) {
        try {
            return enforcer.awaitEnd().map(UnreachableException::causeMessage).orElse("it ended");
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            rules     | policies list
            rules     | policies apply {rules-file.yaml}
            requester | send {request.ndjson}
            reader    | watch decisions
            enforcer  | run
            """)
    @Order(4)
    void a_wrong_password_or_a_certificate_that_is_not_trusted_is_one_line_and_exit_1(String role, String command)
            throws Exception {
        write("request.ndjson", "{\"requestId\":\"r\",\"client\":\"c\"}\n");
        String[] args = command.replace("{", directory + "/").replace("}", "").split(" ");
        write("wrong.yaml", yaml(patient(broker.client(role, "wrong-pass-66b1"))));
        CapturedRun wrong = shell("wrong", args);
        assertThat(wrong.err())
                .hasLineCount(1)
                .contains(
                        "no broker responds at ",
                        "(Authentication failed during authentication due to invalid credentials")
                .doesNotContain("wrong-pass");
        assertThat(wrong.exit()).isEqualTo(1);
        Map<String, String> client = client(role);
        client.keySet().removeIf(key -> key.startsWith("ssl."));
        write("untrusting.yaml", yaml(patient(client)));
        CapturedRun untrusting = shell("untrusting", args);
        assertThat(untrusting.err())
                .hasLineCount(1)
                .contains("no broker responds at ", "(SSL handshake failed: unable to find valid certification path");
        assertThat(untrusting.exit()).isEqualTo(1);
    }

    /** Returns settings with a longer time-out, so that a slow login succeeds and no warning is printed. */
    private static Map<String, String> patient(Map<String, String> client) {
        Map<String, String> settings = new HashMap<>(client);
        settings.put("default.api.timeout.ms", "60000");
        return settings;
    }

    @ParameterizedTest
    @CsvSource({"send,requester", "run,enforcer"})
    @Order(5)
    void a_failed_login_is_exactly_one_line(String command, String role) throws Exception {
        Path wrong = write("wrong.yaml", yaml(patient(broker.client(role, "wrong-pass-66b1"))));
        Process process = JavaProcess.of(List.of(), Main.class, command, "-c", wrong.toString())
                .redirectErrorStream(true)
                .redirectInput(write("request.ndjson", "{\"requestId\":\"r\",\"client\":\"c\"}\n")
                        .toFile())
                .start();
        String reported = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(reported).startsWith("weir " + command + ": ").hasLineCount(1);
        assertThat(process.waitFor()).isEqualTo(1);
    }

    @Test
    @Order(6)
    void a_topic_without_compression_rejects_records_that_decompress_beyond_the_maximum() throws Exception {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, "weir.requests");
        ConfigEntry uncompressed = new ConfigEntry(TopicConfig.COMPRESSION_TYPE_CONFIG, "uncompressed");
        admin.incrementalAlterConfigs(Map.of(topic, List.of(new AlterConfigOp(uncompressed, AlterConfigOp.OpType.SET))))
                .all()
                .get();
        Map<String, Object> settings = new HashMap<>(client("requester"));
        settings.putAll(Map.of("compression.type", "gzip", "max.request.size", 1 << 26, "buffer.memory", 1 << 26));
        try (KafkaProducer<String, byte[]> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
            awaitValue("refusal", PATIENCE, () -> {
                try {
                    producer.send(new ProducerRecord<>("weir.requests", "client", new byte[1 << 24]))
                            .get();
                    return null; // the broker has not applied the setting yet
                } catch (ExecutionException e) {
                    return e.getCause() instanceof RecordTooLargeException ? true : null;
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
        }
    }

    private static void assertTellsNoSecret(String text) {
        Stream.concat(Stream.of(ROLES).map(SecuredBroker::password), Stream.of(TOKEN, SecuredBroker.storePassword()))
                .forEach(secret -> assertThat(text.lines().filter(line -> line.contains(secret)))
                        .as(secret)
                        .isEmpty());
    }

    private static String command(String role, String... args) {
        CapturedRun result = shell(role, args);
        assertThat(result.exit()).as(result.err()).isZero();
        assertTellsNoSecret(result.out() + result.err());
        return result.out();
    }

    private static CapturedRun shell(String role, String... args) {
        List<String> all = new ArrayList<>(List.of(args));
        all.addAll(List.of("-c", directory.resolve(role + ".yaml").toString()));
        return Shell.run(all.toArray(String[]::new));
    }

    private static void createTopics(String role) throws Exception {
        createTopics(role, "weir.");
    }

    private static void createTopics(String role, String prefix) throws Exception {
        Path file = write("topics-" + role + ".yaml", yaml(client(role)) + "topics: {prefix: " + prefix + "}\n");
        WeirConfig config = ConfigFile.read(file);
        try (Admin own = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(own, config, TopicSetup.RequestTime.LOG_APPEND);
        }
    }

    private static String yaml(Map<String, String> kafka) {
        StringBuilder text = new StringBuilder(
                "service: {port: 0}\nstate: {directory: " + directory.resolve("state") + "}\nkafka:\n");
        kafka.forEach((key, value) -> text.append("  %s: '%s'\n".formatted(key, value)));
        return text.toString();
    }

    private static String log() {
        try {
            return Files.readString(directory.resolve("run.log"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns client settings that read the secrets from a file, which this method writes. */
    private static Map<String, String> withSecretsInFile(String role) throws IOException {
        Map<String, String> client = client(role);
        StringBuilder secrets = new StringBuilder();
        for (String key : List.of("sasl.jaas.config", "ssl.truststore.password")) {
            secrets.append(key + "=" + client.get(key) + "\n");
            client.put(key, "${file:" + directory.resolve(role + ".properties") + ":" + key + "}");
        }
        write(role + ".properties", secrets.toString());
        client.put("config.providers", "file");
        client.put("config.providers.file.class", FileConfigProvider.class.getName());
        return client;
    }

    private static Map<String, String> client(String role) {
        return broker.client(role, SecuredBroker.password(role));
    }

    /** Writes a policy file with a limit. Returns its path. */
    private static String rules(int limit) throws IOException {
        return write("rules-file.yaml", RULES.replace("limit: 2", "limit: " + limit))
                .toString();
    }

    private static Path write(String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text);
    }

    private static void awaitAcls(int count) {
        await(count + " permissions", PATIENCE, () -> acls() == count);
    }

    /** Fails with the log if the process has ended. The log is read only then, because at level DEBUG it is long. */
    private static void requireAlive(Process enforcer) {
        if (!enforcer.isAlive()) {
            fail(log());
        }
    }

    private static int acls() {
        try {
            return admin.describeAcls(AclBindingFilter.ANY).values().get().size();
        } catch (ExecutionException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
