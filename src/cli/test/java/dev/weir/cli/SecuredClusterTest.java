package dev.weir.cli;

import static dev.weir.cli.SecuredCluster.PATIENCE;
import static dev.weir.cli.SecuredCluster.TOKEN;
import static dev.weir.cli.SecuredCluster.assertTellsNoSecret;
import static dev.weir.testing.Await.await;
import static dev.weir.testing.Await.awaitValue;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.fail;

import dev.weir.client.Fallback;
import dev.weir.client.RequestBuilder;
import dev.weir.client.WeirClient;
import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.release.ReleaseConsumer;
import dev.weir.client.release.ReleaseWorker;
import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.kafka.UnreachableException;
import dev.weir.runtime.Enforcer;
import dev.weir.takeover.Announcement;
import dev.weir.takeover.MemberRemoval;
import dev.weir.takeover.PeerGroups;
import dev.weir.testing.AclTable;
import dev.weir.testing.JavaProcess;
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
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
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

    private static SecuredCluster cluster;

    @BeforeAll
    static void start(@TempDir Path directory) throws Exception {
        cluster = SecuredCluster.start(directory);
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    @Test
    @Order(1)
    void each_role_works_with_the_documented_permissions_and_no_secret_is_printed() throws Exception {
        cluster.createTopics("topics");
        Map<String, String> client = cluster.client("enforcer", SecuredBroker.password("enforcer"));
        String jaas = client.put("sasl.jaas.config", "${env:TEST_JAAS}");
        ProcessBuilder builder = JavaProcess.of(
                        List.of("-Dlog4j2.configurationFile=" + cluster.write("log4j2.properties", DEBUG)),
                        Main.class,
                        "run",
                        "-c",
                        cluster.write("run.yaml", cluster.yaml(client)).toString())
                .redirectErrorStream(true)
                .redirectOutput(cluster.directory().resolve("run.log").toFile());
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
        assertThat(cluster.command("rules", "policies", "apply", cluster.rules(2)))
                .contains("added      free (version 1)");
        await("rules in force", PATIENCE, () -> isQueued(service));
        SecuredTraffic traffic = new SecuredTraffic(cluster, 0);
        traffic.send();
        awaitValue("answers", PATIENCE, () -> {
            requireAlive(enforcer);
            return traffic.isAnswered() ? true : null;
        });
        assertThat(cluster.command("reader", "watch", "decisions", "--from-beginning", "-n", "1"))
                .contains("\"outcome\":\"QUEUED\"");
        assertThat(cluster.command("reader", "watch", "releases", "--from-beginning", "-n", "1"))
                .contains("\"client\":\"client-0\"");
        assertThat(firstRelease()).isEqualTo("client-0");
        try (WeirClient weir = gateway()) {
            assertThat(weir.decide(RequestBuilder.of("client-0").build()).join().noDecisionReason())
                    .isEmpty();
        }
        slicesAreHeldAndTheFallbackDecidesWithoutTheRightToAskForThem();
        try (ReleaseWorker worker = worker(2)) { // the first attempt and the retry fail
            await("given up", PATIENCE, () -> worker.stats().givenUp() > 0);
            assertThat(worker.stats().attempts().retried()).isPositive();
        }
        assertThat(cluster.command("auditor", "audit")).contains(" 0  mismatches");
        assertThat(cluster.command("rules", "policies", "list", "-o", "json"))
                .contains("\"id\":\"free\",\"version\":1,");
        assertThat(cluster.command("rules", "policies", "history", "free", "-o", "json"))
                .contains("\"version\":1,");
        changesNeedWhatTheRulesRoleHas(service);
    }

    private static void slicesAreHeldAndTheFallbackDecidesWithoutTheRightToAskForThem() throws Exception {
        try (WeirClient open = leased(Fallback.FAIL_OPEN);
                WeirClient closed = leased(Fallback.FAIL_CLOSED)) {
            await("decision in process", PATIENCE, () -> isDecidedHere(closed, "one"));
            List<ClientDecision> without =
                    cluster.without(asking(), () -> List.of(answer(closed, "two"), answer(open, "two")));
            assertThat(without)
                    .extracting(ClientDecision::noDecisionReason)
                    .containsOnly(Optional.of(NoDecisionReason.NO_LEASE));
            assertThat(without).extracting(ClientDecision::allowed).containsExactly(false, true);
            await("decision with the permission granted again", PATIENCE, () -> isDecidedHere(closed, "two"));
            assertThat(closed.stats().sent()).isZero();
        }
        await("reported usage", PATIENCE, () -> !cluster.read("auditor", "weir.lease-usage")
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
        cluster.admin().createAcls(more).all().get();
        HttpResponse<String> changed = awaitValue("change", PATIENCE, () -> {
            HttpResponse<String> answer = put(service, 1);
            return answer.statusCode() == 503 ? null : answer;
        });
        assertThat(changed.statusCode()).as(changed.body()).isEqualTo(200);
        cluster.admin()
                .deleteAcls(more.stream().map(AclBinding::toFilter).toList())
                .all()
                .get();
        for (String path : List.of("/v1/policies/free", "/v1/policies/free/history", "/v1/openapi.json")) {
            assertTellsNoSecret(
                    send(HttpRequest.newBuilder(URI.create(service + path))).body());
        }
    }

    /** Returns whether the request of {@link SecuredTraffic} would be sent to its queue. */
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
        return WeirClient.builder(cluster.client("client")).timeout(PATIENCE).start();
    }

    private static WeirClient leased(Fallback fallback) {
        return WeirClient.builder(cluster.client("leased"))
                .leased(true)
                .fallback(fallback)
                .timeout(PATIENCE)
                .start();
    }

    /** Starts a worker whose handler always fails. */
    private static ReleaseWorker worker(int attempts) {
        Map<String, Object> settings = new HashMap<>(cluster.client("worker"));
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
            new SecuredTraffic(cluster, 0).write("enforcer", "weir.releases", "any", "no release");
        }
        try (ReleaseWorker worker = worker(givesUp ? 1 : 2)) {
            return awaitValue("failure", PATIENCE, () -> worker.failure()
                    .map(failure -> UnreachableException.causeMessage(failure))
                    .orElse(null));
        }
    }

    /** Returns the client of the first release that a worker receives. */
    private static String firstRelease() {
        Map<String, Object> settings = new HashMap<>(cluster.client("reader"));
        settings.put("group.id", "sms-workers");
        try (ReleaseConsumer releases = new ReleaseConsumer(settings)) {
            return releases.next(PATIENCE).orElseThrow().client();
        }
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
        assertThat(cluster.without(line, () -> use(line))).contains(line.says()).doesNotContain("\n");
    }

    /** Takes two minutes: {@code mvn test -Dtest=SecuredClusterTest -Dweir.acls=all}. */
    @ParameterizedTest
    @MethodSource("slowLines")
    @EnabledIfSystemProperty(named = "weir.acls", matches = "all")
    @Order(3)
    void without_one_permission_a_later_action_fails(AclTable.Line line) throws Exception {
        if (line.resource().name().equals("weir-") && line.operation() == AclOperation.CREATE) {
            cluster.admin()
                    .deleteTopics(cluster.admin().listTopics().names().get().stream()
                            .filter(name -> name.startsWith("weir-"))
                            .toList())
                    .all()
                    .get();
        }
        assertThat(cluster.without(line, () -> use(line))).contains(line.says()).doesNotContain("\n");
    }

    /** Does what needs the permission. Returns the message of the failure. */
    private static String use(AclTable.Line line) {
        try {
            return switch (line.fails()) {
                case "policies apply" ->
                    refusal(line, "policies", "apply", cluster.rules(3 + UNIQUE.incrementAndGet()));
                case "policies list" -> refusal(line, "policies", "list");
                case "policies history" -> refusal(line, "policies", "history", "free");
                case "send" ->
                    refusal(
                            line,
                            "send",
                            cluster.directory().resolve("request.ndjson").toString());
                case "replay" -> refusal(line, "dead-letters", "replay", "--all", "--again");
                case "audit" -> refusal(line, "audit");
                case "watch decisions" -> refusal(line, "watch", "decisions", "--from-beginning", "-n", "1");
                case "watch releases" -> refusal(line, "watch", "releases", "--from-beginning", "-n", "1");
                case "ReleaseConsumer" -> firstRelease();
                case "WeirClient" -> clientFailure(gateway());
                case "a leased client" -> clientFailure(leased(Fallback.FAIL));
                case "ReleaseWorker" -> workerFailure(line);
                case "a consumer" ->
                    String.valueOf(
                            cluster.read(line.role(), line.resource().name()).size());
                case "creating the topics" -> {
                    cluster.createTopics(line.role(), "weir.more" + UNIQUE.incrementAndGet() + ".");
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
        CapturedRun result = cluster.shell(line.role(), args);
        assertThat(result.err()).hasLineCount(1);
        assertThat(result.exit()).isEqualTo(args[0].equals("audit") ? 2 : 1);
        return result.err().strip().replaceFirst("^weir [a-z ]+: ", "");
    }

    /** Runs the enforcer until it has decided all requests, or ends. Returns the message of its failure. */
    private static String enforce() throws Exception {
        SecuredTraffic traffic = new SecuredTraffic(cluster, UNIQUE.incrementAndGet());
        WeirConfig config = ConfigFile.read(cluster.directory().resolve("enforcer.yaml"))
                .withStateDirectory(cluster.directory().resolve("state-" + traffic.number()));
        cluster.createTopics("enforcer");
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
        cluster.write("request.ndjson", "{\"requestId\":\"r\",\"client\":\"c\"}\n");
        String[] args =
                command.replace("{", cluster.directory() + "/").replace("}", "").split(" ");
        cluster.write("wrong.yaml", cluster.yaml(patient(cluster.client(role, "wrong-pass-66b1"))));
        CapturedRun wrong = cluster.shell("wrong", args);
        assertThat(wrong.err())
                .hasLineCount(1)
                .contains(
                        "no broker responds at ",
                        "(Authentication failed during authentication due to invalid credentials")
                .doesNotContain("wrong-pass");
        assertThat(wrong.exit()).isEqualTo(1);
        Map<String, String> client = cluster.client(role);
        client.keySet().removeIf(key -> key.startsWith("ssl."));
        cluster.write("untrusting.yaml", cluster.yaml(patient(client)));
        CapturedRun untrusting = cluster.shell("untrusting", args);
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
        Path wrong = cluster.write("wrong.yaml", cluster.yaml(patient(cluster.client(role, "wrong-pass-66b1"))));
        Process process = JavaProcess.of(List.of(), Main.class, command, "-c", wrong.toString())
                .redirectErrorStream(true)
                .redirectInput(cluster.write("request.ndjson", "{\"requestId\":\"r\",\"client\":\"c\"}\n")
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
        cluster.admin()
                .incrementalAlterConfigs(
                        Map.of(topic, List.of(new AlterConfigOp(uncompressed, AlterConfigOp.OpType.SET))))
                .all()
                .get();
        Map<String, Object> settings = new HashMap<>(cluster.client("requester"));
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

    private static String log() {
        try {
            return Files.readString(cluster.directory().resolve("run.log"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Fails with the log if the process has ended. The log is read only then, because at level DEBUG it is long. */
    @Test
    @Order(7)
    void an_enforcer_may_take_over_from_another_one() throws Exception {
        Map<String, Object> settings = new HashMap<>(cluster.client("enforcer"));
        Map<String, Object> ofConsumer = new HashMap<>(settings);
        ofConsumer.putAll(Map.of("group.id", "weir", "group.instance.id", "other-1"));
        Map<String, Object> ofProducer = new HashMap<>(settings);
        ofProducer.put("transactional.id", "weir-other-1");
        try (KafkaConsumer<byte[], byte[]> consumer =
                        new KafkaConsumer<>(ofConsumer, new ByteArrayDeserializer(), new ByteArrayDeserializer());
                KafkaProducer<byte[], byte[]> producer =
                        new KafkaProducer<>(ofProducer, new ByteArraySerializer(), new ByteArraySerializer());
                MemberRemoval removal =
                        new MemberRemoval(Set.of("weir"), "weir.requests", () -> Admin.create(settings))) {
            producer.initTransactions();
            consumer.subscribe(List.of("weir.requests"));
            await("the member has joined", PATIENCE, () -> {
                consumer.poll(Duration.ofMillis(50));
                return !consumer.assignment().isEmpty();
            });
            Announcement other = new Announcement(
                    "other",
                    List.of(new Announcement.Member(
                            "weir", "other-1", consumer.groupMetadata().memberId())),
                    List.of("weir-other-1"));
            assertThat(removal.activity(other)).isPresent();
            removal.remove(other, PeerGroups.Evidence.SILENT);
            assertThat(cluster.admin()
                            .describeConsumerGroups(List.of("weir"))
                            .all()
                            .get()
                            .get("weir")
                            .members())
                    .isEmpty();
            producer.beginTransaction();
            assertThatThrownBy(() -> {
                        producer.send(new ProducerRecord<>("weir.admissions.weir", new byte[1]))
                                .get();
                        producer.commitTransaction();
                    })
                    .hasStackTraceContaining("epoch");
        }
    }

    private static void requireAlive(Process enforcer) {
        if (!enforcer.isAlive()) {
            fail(log());
        }
    }
}
