package dev.weir.api;

import static dev.weir.testing.Await.await;
import static dev.weir.testing.Await.awaitValue;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.backtest.BacktestBudget;
import dev.weir.backtest.RecentRequests;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.RequestSender;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.RequestCodec;
import dev.weir.wire.json.RequestJson;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Recent decisions, backtests and the live feed, with a real broker. */
@Tag("full")
class RecentTrafficTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final int EACH = 10;
    private static final List<String> CLIENTS =
            IntStream.range(0, 8).mapToObj(i -> "client " + i).toList();

    /** A client whose only request is not in the partition of the client. */
    private static final String MISPLACED = "client 8";

    private static final int REQUESTS = EACH * CLIENTS.size() + 1;

    /** More records than the topic has. */
    private static final int ALL = REQUESTS + 10;

    private static final String TOKEN = "0123456789abcdef";

    private static final String POLICIES = """
            policies:
              - {id: two, match: {endpoint: /two}, limits: [{algorithm: fixed-window, limit: 2, per: 30d}]}
              - {id: all, layer: site, key: [endpoint], match: {endpoint: "/*"}, max-wait: 1m, limits: [{algorithm: gcra, limit: 9999, per: 1s}]}
            """;

    @TempDir
    static Path directory;

    /** The addresses of instances that accept connections and do not answer. */
    private static volatile Set<String> silent = Set.of();

    private static WeirConfig config;
    private static WeirService service;
    private static Enforcer enforcer;
    private static Caller caller;

    @BeforeAll
    static void work() throws Exception {
        config = WeirConfig.builder()
                .named("looking")
                .kafka(TestBroker.clientSettings())
                .service(WeirConfig.DEFAULTS.service().withPort(0))
                .build()
                .withStateDirectory(directory);
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config).apply(PolicyFile.read("test", POLICIES), PolicyTopic.Options.DEFAULTS, 1);
        service = WeirService.open(config, Map.of("WEIR_TOKEN", TOKEN));
        enforcer = Enforcer.start(config, Optional.of(service.address()));
        enforcer.awaitRunning(PATIENCE);
        service.attachEnforcer(enforcer.policies(), enforcer.queries());
        service.startLiveFeed(enforcer.live(), () -> silent);
        caller = Caller.of(service.port(), null);
        // Otherwise, on a slow machine, the first requests are denied since the ledger has not answered yet.
        await("a response of the ledger", PATIENCE, () -> caller.post(
                        "/v1/peek", "{\"client\": \"early\", \"attributes\": {\"endpoint\": \"/two\"}}")
                .json()
                .at("/outcome")
                .asText()
                .equals("ALLOWED"));
        try (RequestSender sender = new RequestSender(config)) {
            for (int i = 0; i < EACH; i++) {
                for (String client : CLIENTS) {
                    sender.send(request(client, i));
                }
            }
        }
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(KafkaSettings.producer(config), new StringSerializer(), new StringSerializer())) {
            var unused = producer.send(new ProducerRecord<>("looking.requests", "unseen", "no request"));
        }
        try (KafkaProducer<String, byte[]> producer = new KafkaProducer<>(
                KafkaSettings.producer(config), new StringSerializer(), new ByteArraySerializer())) {
            byte[] misplaced = new RequestCodec().encode(request(MISPLACED, 0));
            int partitions = config.topics().partitions();
            int right = BuiltInPartitioner.partitionForKey(MISPLACED.getBytes(StandardCharsets.UTF_8), partitions);
            int wrong = (right + 1) % partitions;
            var unused = producer.send(new ProducerRecord<>("looking.requests", wrong, "unseen", misplaced));
        }
        await(
                "all decisions",
                PATIENCE,
                () -> decisions("client 0", "").get("decisions").size() == EACH
                        && decisions("client 7", "").get("decisions").size() == EACH
                        && decisions(MISPLACED, "").get("decisions").size() == 1);
    }

    @AfterAll
    static void stop() {
        service.close();
        enforcer.close();
    }

    private static Request request(String client, int number) {
        return RequestJson.read(
                "{\"requestId\": \"r%d\", \"client\": \"%s\", \"attributes\": {\"endpoint\": \"/two\"}}"
                        .formatted(number, client),
                System.currentTimeMillis(),
                new Request.Source(0, 0));
    }

    private static JsonNode decisions(String client, String query) throws Exception {
        return caller.get("/v1/decisions/" + client.replace(" ", "%20") + query).json();
    }

    private static List<String> texts(JsonNode list, String field) {
        return StreamSupport.stream(list.spliterator(), false)
                .map(one -> one.get(field).asText())
                .toList();
    }

    @Test
    void the_last_decisions_of_a_client_are_listed_newest_first() throws Exception {
        for (String client : CLIENTS) {
            JsonNode recent = decisions(client, "?most=9");
            assertThat(texts(recent.get("decisions"), "requestId"))
                    .containsExactly("r9", "r8", "r7", "r6", "r5", "r4", "r3", "r2", "r1");
            assertThat(texts(recent.get("decisions"), "client")).containsOnly(client);
            assertThat(texts(recent.get("decisions"), "outcome")).endsWith("DENIED", "ALLOWED");
            assertThat(recent.get("read").asInt()).isGreaterThanOrEqualTo(EACH);
        }
    }

    @Test
    void decisions_are_selected_by_outcome_policy_reason_and_tier() throws Exception {
        assertThat(texts(decisions("client 0", "?outcome=allowed").get("decisions"), "outcome"))
                .isNotEmpty()
                .containsOnly("ALLOWED");
        assertThat(texts(
                        decisions("client 0", "?most=3&reason=LIMIT_EXCEEDED&policy=two")
                                .get("decisions"),
                        "requestId"))
                .containsExactly("r9", "r8", "r7");
        assertThat(decisions("client 0", "?policy=other").get("decisions")).isEmpty();
        assertThat(decisions("client 0", "?tier=gold").get("decisions")).isEmpty();
        Reply bad = caller.get("/v1/decisions/x?outcome=maybe");
        assertThat(bad.status()).isEqualTo(400);
        assertThat(bad.json().get("detail").asText())
                .isEqualTo("outcome must be one of ALLOWED, DENIED, QUEUED, EXPIRED, is 'maybe'");
    }

    @Test
    void limited_clients_are_listed_by_policy_and_reason() throws Exception {
        JsonNode all = awaitValue("the sampled figures", PATIENCE, () -> {
            JsonNode limited = caller.get("/v1/live/limited?minutes=1440").json();
            return limited.get("requests").asInt() == CLIENTS.size() * (EACH - 2) ? limited : null;
        });
        assertThat(all.get("clients")).hasSize(CLIENTS.size());
        assertThat(all.get("exact").asBoolean()).isTrue();
        assertThat(all.get("missing")).isEmpty();
        assertThat(all.at("/clients/0"))
                .hasToString("{\"client\":\"client 0\",\"policy\":\"two\",\"reason\":\"LIMIT_EXCEEDED\",\"requests\":"
                        + (EACH - 2) + "}");
        assertThat(all.at("/policies/0/policy").asText()).isEqualTo("two");
        String one = "/v1/live/limited?minutes=60&client=client+3&policy=two&reason=limit_exceeded&most=1";
        assertThat(texts(caller.get(one).json().get("clients"), "client")).containsExactly("client 3");
        assertThat(caller.get("/v1/live/limited?policy=none").json().get("clients"))
                .isEmpty();
        assertThat(caller.get("/v1/live/limited?minutes=1441").status()).isEqualTo(400);
        assertThat(caller.get("/v1/live/limited?reason=no").status()).isEqualTo(400);
    }

    @Test
    void an_unknown_client_has_no_decisions() throws Exception {
        assertThat(decisions("nobody", "").get("decisions")).isEmpty();
    }

    @Test
    void a_backtest_compares_the_change_with_the_definitions_in_force() throws Exception {
        JsonNode whatIf = caller.post("/v1/backtest?minutes=5", """
                        {"policies": [{"id": "two", "effective-from": "2999-01-01T00:00:00Z",
                          "limits": [{"algorithm": "fixed-window", "limit": 7, "per": "30d"}]}]}""").json();
        assertThat(whatIf.get("requests").asInt()).isEqualTo(REQUESTS);
        assertThat(whatIf.get("complete").asBoolean()).isTrue();
        assertThat(whatIf.get("before").toString())
                .isEqualTo("{\"allowed\":17,\"denied\":64,\"queued\":0,\"expired\":0}");
        assertThat(whatIf.get("after").toString())
                .isEqualTo("{\"allowed\":57,\"denied\":24,\"queued\":0,\"expired\":0}");
        assertThat(whatIf.get("policies").toString())
                .isEqualTo("[{\"policy\":\"two\",\"before\":{\"allowed\":17,\"denied\":64,\"queued\":0},"
                        + "\"after\":{\"allowed\":57,\"denied\":24,\"queued\":0}}]");
        assertThat(whatIf.get("shared").toString()).isEqualTo("[\"all\"]");
        assertThat(whatIf.get("clients")).hasSize(CLIENTS.size());
        assertThat(whatIf.get("clients").get(0).toString())
                .isEqualTo("{\"client\":\"client 0\",\"deniedBefore\":8,\"deniedAfter\":3}");
    }

    @Test
    void the_usage_includes_policies_of_recent_requests_that_have_no_state_of_the_client() throws Exception {
        String path = "/v1/usage/client%200";
        assertThat(texts(caller.get(path).json().get("usage"), "policyId")).containsExactly("two");
        JsonNode usage = caller.get(path + "?recent=true").json().get("usage");
        assertThat(texts(usage, "policyId")).containsExactly("all", "two");
        assertThat(usage.at("/0/key/endpoint").asText()).isEqualTo("/two");
        assertThat(caller.get(path + "?recent=perhaps").status()).isEqualTo(400);
    }

    @Test
    void the_history_is_by_the_minute_and_bounded() throws Exception {
        JsonNode history = caller.get("/v1/live/history?hours=24").json();
        assertThat(history.get("minutes").isArray()).isTrue();
        assertThat(history.get("missing")).isEmpty();
        assertThat(caller.get("/v1/live/history?hours=25").status()).isEqualTo(400);
        assertThat(caller.get("/v1/live/report?minutes=true")
                        .json()
                        .get("seconds")
                        .isArray())
                .isTrue();
    }

    @Test
    void a_backtest_of_a_queue_queues_requests_that_were_denied() throws Exception {
        JsonNode whatIf = caller.post("/v1/backtest", """
                        {"policies": [{"id": "two", "queue": "tried"}],
                         "queues": [{"id": "tried", "limit": 10, "per": "1s", "capacity": 50}]}""").json();
        assertThat(whatIf.get("after").get("queued").asInt()).isGreaterThanOrEqualTo(50);
        assertThat(whatIf.get("before").get("queued").asInt()).isZero();
    }

    @Test
    void an_invalid_definition_is_reported_with_its_line() throws Exception {
        Reply reply = caller.send(
                "POST", "/v1/backtest", "policies:\n  - {id: two, limit: 3}\n", "Content-Type: application/yaml");
        assertThat(reply.status()).isEqualTo(422);
        assertThat(reply.json().at("/faults/0/line").asInt()).isEqualTo(2);
        assertThat(caller.post("/v1/backtest?minutes=0", "{}").status()).isEqualTo(400);
        assertThat(caller.post("/v1/backtest?minutes=61", "{}").status()).isEqualTo(400);
    }

    @Test
    void the_newest_requests_up_to_the_maximum_are_read() {
        long nowMs = System.currentTimeMillis();
        List<Request> all = RecentRequests.read(config, 0, nowMs, ALL, budget(Long.MAX_VALUE))
                .requests();
        assertThat(all).hasSize(REQUESTS);
        for (int most : new int[] {8, 20, 60}) {
            RecentRequests few = RecentRequests.read(config, 0, nowMs, most, budget(Long.MAX_VALUE));
            assertThat(few.isComplete()).isFalse();
            assertThat(few.requests()).isNotEmpty().hasSizeLessThanOrEqualTo(most);
            assertThat(few.fromMs()).isEqualTo(few.requests().get(0).timestampMs());
            assertThat(few.requests().get(few.requests().size() - 1).timestampMs())
                    .isEqualTo(all.get(all.size() - 1).timestampMs());
        }
    }

    @Test
    void the_newest_requests_up_to_the_memory_are_kept() {
        long nowMs = System.currentTimeMillis();
        List<Request> all = RecentRequests.read(config, 0, nowMs, ALL, budget(Long.MAX_VALUE))
                .requests();
        RecentRequests few = RecentRequests.read(config, 0, nowMs, ALL, budget(20_000));
        assertThat(few.isComplete()).isFalse();
        assertThat(few.requests()).hasSizeBetween(10, 70);
        assertThat(all).containsAll(few.requests());
        List<Request> leftOut = new ArrayList<>(all);
        leftOut.removeAll(few.requests());
        assertThat(leftOut).allMatch(request -> request.timestampMs() <= few.fromMs());
        assertThat(few.fromMs()).isEqualTo(few.requests().get(0).timestampMs());
    }

    private static BacktestBudget budget(long heapBytes) {
        return new BacktestBudget(Duration.ofMinutes(1), () -> true, heapBytes);
    }

    @Test
    void a_clock_behind_does_not_exceed_the_maximum() {
        assertThat(RecentRequests.read(config, 0, 1, 20, budget(Long.MAX_VALUE)).requests())
                .hasSizeBetween(1, 20);
    }

    @Test
    void a_dead_letter_is_listed_and_replayed() throws Exception {
        await("the dead letter", PATIENCE, () -> !deadLetters("").isEmpty());
        JsonNode letter = deadLetters("?reason=UNKNOWN_FORMAT&most=1").get(0);
        assertThat(letter.at("/value/text").asText()).isEqualTo("no request");
        assertThat(letter.get("sourceTopic").asText()).isEqualTo("looking.requests");
        assertThat(deadLetters("?reason=NO_CLIENT")).isEmpty();
        assertThat(caller.get("/v1/dead-letters?reason=bad").status()).isEqualTo(400);
        int before = deadLetters("").size();
        String body = "{\"positions\": [\"" + letter.get("position").asText() + "\", \"7:99\"]}";
        assertThat(caller.post("/v1/dead-letters/replay", body).status()).isEqualTo(401);
        Caller operator = Caller.of(service.port(), TOKEN);
        Reply replayed = operator.post("/v1/dead-letters/replay", body);
        assertThat(replayed.status()).isEqualTo(200);
        assertThat(replayed.json().get("replayed").asInt()).isEqualTo(1);
        assertThat(replayed.json().at("/firstSkipped/0/position").asText()).isEqualTo("7:99");
        await("it is rejected again", PATIENCE, () -> deadLetters("").size() == before + 1);
        for (String bad :
                List.of("{}", "[]", "{\"positions\": []}", "{\"positions\": [7]}", "{\"positions\": [\"7\"]}")) {
            assertThat(operator.post("/v1/dead-letters/replay", bad).status()).isEqualTo(400);
        }
    }

    private static JsonNode deadLetters(String query) throws Exception {
        return caller.get("/v1/dead-letters" + query).json().get("deadLetters");
    }

    @Test
    void an_instance_that_does_not_answer_occupies_no_threads() throws Exception {
        HttpClient http = HttpClient.newHttpClient();
        try (ServerSocket paused = new ServerSocket(0, 100, InetAddress.getLoopbackAddress())) {
            silent = Set.of("127.0.0.1:" + paused.getLocalPort());
            HttpRequest history = HttpRequest.newBuilder(URI.create(service.url() + "/v1/live/history"))
                    .build();
            List<CompletableFuture<HttpResponse<String>>> waiting = IntStream.range(0, 50)
                    .mapToObj(i -> http.sendAsync(history, HttpResponse.BodyHandlers.ofString()))
                    .toList();
            assertThat(caller.get("/v1/policies").status()).isEqualTo(200);
            assertThat(waiting).noneMatch(CompletableFuture::isDone);
            assertThat(waiting.get(0).get(1, TimeUnit.MINUTES).body()).contains("\"missing\":[\"127.0.0.1:");
        } finally {
            silent = Set.of();
        }
    }

    @Test
    void a_head_request_does_not_subscribe() throws Exception {
        for (int i = 0; i < 20; i++) {
            assertThat(caller.send("HEAD", "/v1/live", "").status()).isEqualTo(200);
        }
        try (LiveStream watch = new LiveStream(service, null)) {
            assertThat(watch.status()).isEqualTo(200);
        }
    }

    @Test
    void a_viewer_gets_the_history_and_then_an_event_each_second() throws Exception {
        try (LiveStream watch = new LiveStream(service, null)) {
            LiveStream.Event history = watch.next();
            assertThat(history.name()).isEqualTo("history");
            assertThat(watch.next().name()).isEqualTo("now");
            long last = history.data().get(history.data().size() - 1).get("at").asLong();
            for (int ticks = 0; ticks < 3; ) {
                LiveStream.Event event = watch.next();
                if (event.name().equals("tick")) {
                    long at = event.data().get("at").asLong();
                    assertThat(at).isGreaterThan(last);
                    last = at;
                    ticks++;
                } else {
                    assertThat(event.data().at("/instances/0/health").asText()).isEqualTo("RUNNING");
                    assertThat(event.data().at("/instances/0/process/startedAt").asLong())
                            .isPositive();
                    assertThat(texts(event.data().get("recentClients"), "client"))
                            .contains(MISPLACED, "client 7");
                }
            }
        }
    }

    @Test
    void viewers_are_bounded_and_disconnecting_frees_a_place() throws Exception {
        LiveStream[] watches = new LiveStream[16];
        for (int i = 0; i < watches.length; i++) {
            LiveStream watch = new LiveStream(service, null);
            watches[i] = watch;
            assertThat(watch.status()).isEqualTo(200);
        }
        try (LiveStream tooMany = new LiveStream(service, null)) {
            assertThat(tooMany.status()).isEqualTo(503);
        }
        for (LiveStream watch : watches) {
            watch.close();
        }
        await("room for a watcher", PATIENCE, () -> {
            try (LiveStream again = new LiveStream(service, null)) {
                return again.status() == 200;
            }
        });
    }
}
