package dev.weir.api;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.config.WeirConfig;
import dev.weir.decision.Decider;
import dev.weir.decision.state.PolicyStates;
import dev.weir.decision.state.lease.QuotaSource;
import dev.weir.decision.usage.OpenReservation;
import dev.weir.decision.usage.PolicyUsage;
import dev.weir.decision.usage.SharedPolicyUsage;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.fault.FaultsException;
import dev.weir.kafka.KafkaSettings;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.ledger.OutstandingLease;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.query.InstanceQueries;
import dev.weir.query.InstanceQueries.LedgerQuestion;
import dev.weir.query.InstanceQueries.Result;
import dev.weir.runtime.Enforcer;
import dev.weir.server.http.ProblemDetails;
import dev.weir.server.http.RequestBody;
import dev.weir.shape.QueueView;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.json.Json;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * All endpoints, with real definitions on a real broker and fixed query results of two instances. The caller validates
 * each response against the description of the service.
 */
@Tag("slow")
class WeirServiceTest {

    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final String TOKEN = "a-token-of-some-length";
    private static final String LIMITS = "\"limits\":[{\"algorithm\":\"gcra\",\"limit\":%d,\"per\":\"1m\"}]";
    private static final String ANY = "If-Match: *";
    private static final String JSON = "Content-Type: application/json";
    private static final String YAML = "Content-Type: application/yaml";

    private static final FixedAnswers HERE = new FixedAnswers();
    private static final FixedAnswers THERE = new FixedAnswers();

    @TempDir
    static Path directory;

    private static Enforcer enforcer;
    private static WeirService service;
    private static WeirService other;
    private static Caller trusted;
    private static Caller caller;

    @BeforeAll
    static void start() throws Exception {
        WeirConfig config = WeirConfig.builder()
                .named("rules")
                .topics("rules.", 2)
                .kafka(TestBroker.clientSettings())
                .build()
                .withStateDirectory(directory)
                .toBuilder()
                .service(WeirConfig.DEFAULTS.service().withPort(0))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        service = WeirService.open(config, Map.of(WeirConfig.Service.TOKEN_VARIABLE, TOKEN));
        other = WeirService.open(config, Map.of(WeirConfig.Service.TOKEN_VARIABLE, TOKEN));
        trusted = Caller.of(service.port(), TOKEN);
        caller = trusted.withToken(null);
        Reply early = caller.get("/v1/policies");
        assertThat(early.status()).isEqualTo(503);
        assertThat(early.detail()).isEqualTo("the enforcer is starting");

        enforcer = Enforcer.start(config);
        enforcer.awaitRunning(PATIENCE);
        service.attachEnforcer(enforcer.policies(), HERE);
        other.attachEnforcer(enforcer.policies(), THERE);
    }

    @AfterAll
    static void stop() {
        service.close();
        other.close();
        enforcer.close();
    }

    @BeforeEach
    void deleteDefinitions() {
        for (FixedAnswers answers : List.of(HERE, THERE)) {
            answers.usage = new Result.NotReady<>("the state is being restored");
            answers.check = request -> new Result.NotReady<>("the state is being restored");
            answers.queue = new Result.NotReady<>("the state is being restored");
            answers.request.set(null);
        }
    }

    @Test
    void a_running_enforcer_is_ready() throws IOException {
        service.setHealth(enforcer::health, enforcer::missing);
        await(
                "/v1/decide is connected",
                PATIENCE,
                () -> caller.get("/health/ready").status() == 200);
        for (String path : List.of("/health/live", "/health/ready")) {
            assertThat(caller.get(path).text()).isEqualTo("{\"status\":\"RUNNING\"}");
        }
    }

    @Test
    void a_policy_is_added_read_changed_and_deleted_and_has_a_history() throws IOException {
        Reply added = trusted.put("/v1/policies/free", "{" + LIMITS.formatted(5) + "}");
        assertThat(added.status()).isEqualTo(201);
        assertThat(added.header("Location")).isEqualTo("/v1/policies/free");
        assertThat(added.header("ETag")).isEqualTo("\"1\"");
        assertThat(added.json().get("effect").asText()).isEqualTo("added");

        Reply read = caller.get("/v1/policies/free");
        assertThat(read.header("ETag")).isEqualTo("\"1\"");
        assertThat(read.json().get("definition").toString()).isEqualTo("{\"id\":\"free\"," + LIMITS.formatted(5) + "}");
        assertThat(caller.get("/v1/policies/free", "If-None-Match: \"7\", \"1\"")
                        .status())
                .isEqualTo(304);
        assertThat(caller.get("/v1/policies/free", "If-None-Match: \"7\"").status())
                .isEqualTo(200);

        Reply changed = trusted.put("/v1/policies/free", "{" + LIMITS.formatted(6) + "}", "If-Match: \"1\"");
        assertThat(changed.status()).isEqualTo(200);
        assertThat(changed.header("ETag")).isEqualTo("\"2\"");
        assertThat(changed.json().at("/before/limits/0/limit").asInt()).isEqualTo(5);
        assertThat(changed.json().at("/details/0").asText()).startsWith("limits[0].limit: 5 -> ");
        assertThat(changed.json().at("/details/1").asText()).contains("counts the current usage of");
        assertThat(added.json().at("/details")).isEmpty();
        assertThat(changed.json().at("/after/limits/0/limit").asInt()).isEqualTo(6);
        assertThat(caller.get("/v1/policies/free").header("ETag")).isEqualTo("\"2\""); // already in force

        Reply same = trusted.put("/v1/policies/free", "{\"id\":\"free\"," + LIMITS.formatted(6) + "}", ANY);
        assertThat(same.json().get("effect").asText()).isEqualTo("unchanged");
        assertThat(same.header("ETag")).isEqualTo("\"2\"");

        assertThat(trusted.delete("/v1/policies/free", "If-Match: \"2\"").status())
                .isEqualTo(204);
        JsonNode versions = caller.get("/v1/policies/free/history").json().get("versions");
        assertThat(versions.findValuesAsText("version")).containsExactly("3", "2", "1");
        assertThat(versions.get(0).get("definition").isNull()).isTrue();
        Reply gone = caller.get("/v1/policies/free"); // no longer in force
        assertThat(gone.status()).isEqualTo(404);
        assertThat(gone.detail()).isEqualTo("there is no policy 'free'");
        assertThat(caller.get("/v1/policies/never/history").status()).isEqualTo(404);
    }

    @Test
    void the_history_contains_author_and_reason() throws IOException {
        String path = "/v1/policies/signed";
        assertThat(trusted.put(path, body(1)).status()).isEqualTo(201);
        Reply changed =
                trusted.put(path, body(2), ANY, "X-Weir-Author: Zoë Żak", "X-Weir-Reason: more traffic <in> December");
        assertThat(changed.status()).isEqualTo(200);
        JsonNode current = caller.get(path).json();
        assertThat(current.get("author").asText()).isEqualTo("Zoë Żak");
        assertThat(current.get("reason").asText()).isEqualTo("more traffic <in> December");
        String named = "token-with-a-name-of-its-own";
        Path file = Files.writeString(directory.resolve("tokens"), "a-token-without-a-name\nci " + named + "\n");
        WeirConfig.Service settings =
                WeirConfig.DEFAULTS.service().withPort(0).withHealthPort(0).withTokenFile(file);
        try (WeirService ofTokens = WeirService.open(
                WeirConfig.builder()
                        .named("rules")
                        .topics("rules.", 2)
                        .kafka(TestBroker.clientSettings())
                        .service(settings)
                        .build(),
                Map.of())) {
            ofTokens.attachEnforcer(enforcer.policies(), HERE);
            Caller ci = Caller.of(ofTokens.port(), named);
            assertThat(ci.put(path, body(3), ANY).status()).isEqualTo(200);
            assertThat(ci.delete(path, ANY, "X-Weir-Author: alice", "X-Weir-Reason:  ")
                            .status())
                    .isEqualTo(204);
        }
        JsonNode versions = caller.get("/v1/policies/signed/history").json().get("versions");
        assertThat(versions.findValuesAsText("author")).containsExactly("alice (ci)", "ci", "Zoë Żak", "null");
        assertThat(versions.findValuesAsText("reason"))
                .containsExactly("null", "null", "more traffic <in> December", "null");

        Reply forged = trusted.put("/v1/policies/unsigned", body(1), "X-Weir-Author: bob (ci)");
        assertThat(forged.status()).isEqualTo(400);
        assertThat(forged.detail()).isEqualTo("X-Weir-Author must not contain parentheses");
        for (String header : List.of("X-Weir-Author: " + "a".repeat(201), "X-Weir-Reason: " + "a".repeat(513))) {
            Reply refused = trusted.put("/v1/policies/unsigned", body(1), header);
            assertThat(refused.status()).isEqualTo(400);
            assertThat(refused.detail()).contains("must have at most");
        }
    }

    @Test
    void a_change_names_the_version_that_it_replaces() throws IOException {
        String path = "/v1/policies/versioned";
        assertThat(trusted.put(path, body(1), "If-Match: \"1\"").json().has("currentVersion"))
                .isFalse();
        assertThat(trusted.put(path, body(1), ANY).status()).isEqualTo(412);
        assertThat(trusted.put(path, body(1), "If-None-Match: *").status()).isEqualTo(201);

        Reply unsaid = trusted.put(path, body(2));
        assertThat(unsaid.status()).isEqualTo(428);
        assertThat(unsaid.header("ETag")).isEqualTo("\"1\"");
        assertThat(unsaid.json().get("currentVersion").asInt()).isEqualTo(1);
        assertThat(trusted.delete(path).status()).isEqualTo(428);
        for (String condition :
                List.of("If-None-Match: *", "If-Match: \"2\"", "If-Match: W/\"1\"", "If-Match: \"x\"")) {
            Reply refused = trusted.put(path, body(2), condition);
            assertThat(refused.status()).as(condition).isEqualTo(412);
            assertThat(refused.json().get("currentVersion").asInt()).isEqualTo(1);
        }
        for (String condition : List.of("If-Match: 1", "If-Match: \"1\", \"2\"", "If-None-Match: \"1\"")) {
            assertThat(trusted.put(path, body(2), condition).status())
                    .as(condition)
                    .isEqualTo(400);
        }
        assertThat(trusted.put(path, body(2), ANY, "If-None-Match: *").status()).isEqualTo(400);
        assertThat(trusted.delete(path, "If-Match: \"9\"").status()).isEqualTo(412);
        assertThat(caller.get(path).json().get("version").asInt()).isEqualTo(1);
        assertThat(trusted.put(path, body(2), ANY).header("ETag")).isEqualTo("\"2\"");
        assertThat(trusted.delete(path, ANY).status()).isEqualTo(204);
        for (String condition : List.of(ANY, "If-Match: \"2\"", "X: y")) {
            assertThat(trusted.delete(path, condition).status()).as(condition).isEqualTo(404);
        }
    }

    @Test
    void one_of_several_concurrent_changes_succeeds() throws Exception {
        String path = "/v1/policies/contended";
        trusted.put(path, body(1));
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<Reply>> replies = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                String body = body(10 + i);
                replies.add(threads.submit(() -> trusted.put(path, body, "If-Match: \"1\"")));
            }
            List<Integer> statuses = new ArrayList<>();
            for (Future<Reply> reply : replies) {
                statuses.add(reply.get().status());
            }
            assertThat(statuses).containsExactlyInAnyOrder(200, 412, 412, 412);
        } finally {
            threads.shutdown();
        }
        assertThat(caller.get(path).header("ETag")).isEqualTo("\"2\"");
    }

    @Test
    void a_failed_deletion_is_not_reported_as_not_found() throws Exception {
        String path = "/v1/policies/stays";
        trusted.put(path, body(1));
        ExecutorService threads = Executors.newFixedThreadPool(14);
        try {
            List<Future<Reply>> replies = new ArrayList<>();
            for (int i = 0; i < 14; i++) {
                replies.add(threads.submit(() -> trusted.delete(path, "If-Match: \"7\"")));
            }
            for (Future<Reply> reply : replies) {
                assertThat(reply.get().status()).isIn(412, 503);
            }
        } finally {
            threads.shutdown();
        }
        assertThat(caller.get(path).status()).isEqualTo(200);
        assertThat(trusted.delete(path, "If-Match: \"1\"").status()).isEqualTo(204);
        assertThat(trusted.delete(path, "If-Match: \"1\"").status()).isEqualTo(404);
    }

    @Test
    void every_fault_of_a_definition_is_reported_with_its_line() throws IOException {
        Reply faults = trusted.send(
                "PUT",
                "/v1/policies/bad",
                "limits: [{algorithm: gcra, limit: x}]\nfoo: 1\nqueue: nowhere\nid: worse\n",
                YAML);
        assertThat(faults.status()).isEqualTo(422);
        assertThat(faults.json().get("faults").findValuesAsText("path"))
                .contains("limits[0].limit", "limits[0].per", "foo", "queue", "id");
        assertThat(faults.json().at("/faults").findValuesAsText("line")).contains("1", "2", "3", "4");
        for (String body : List.of("", "[", "42", "{}", "a: &x 1", "---\n---\n")) {
            assertThat(trusted.send("PUT", "/v1/policies/bad", body, YAML).status())
                    .as(body)
                    .isEqualTo(422);
            assertThat(trusted.send("PUT", "/v1/queues/bad", body, JSON).status())
                    .as(body)
                    .isEqualTo(422);
        }
        assertThat(trusted.put("/v1/policies/a%20b", body(1)).status()).isEqualTo(422);
        assertThat(caller.get("/v1/policies/bad").status()).isEqualTo(404);
    }

    @Test
    void a_policy_that_throttles_what_another_one_shapes_is_rejected_with_the_reason() throws IOException {
        String slow =
                "{\"layer\":\"pace\",\"match\":{\"endpoint\":\"/mail/*\"},\"on-exceed\":\"throttle\",\"max-delay\":\"1m\","
                        + LIMITS.formatted(1) + "}";
        String waits = "{\"match\":{\"endpoint\":\"%s\"},\"queue\":\"mail\"}";
        assertThat(trusted.put("/v1/queues/mail", "{\"limit\":100,\"per\":\"1s\"}")
                        .status())
                .isEqualTo(201);
        assertThat(trusted.put("/v1/policies/waits", waits.formatted("/mail/send"))
                        .status())
                .isEqualTo(201);
        Reply rejected = trusted.put("/v1/policies/slow", slow);
        assertThat(rejected.status()).isEqualTo(409);
        assertThat(rejected.detail())
                .contains(
                        "policy 'slow' in layer 'pace' throttles requests that policy 'waits'", "nothing was changed");
        assertThat(caller.get("/v1/policies/slow").status()).isEqualTo(404);

        assertThat(trusted.put("/v1/policies/waits", waits.formatted("/sms"), ANY)
                        .status())
                .isEqualTo(200);
        assertThat(trusted.put("/v1/policies/slow", slow).status()).isEqualTo(201);
        Reply alsoRejected = trusted.put("/v1/policies/waits", waits.formatted("/mail/send"), ANY);
        assertThat(alsoRejected.status()).isEqualTo(409);
        assertThat(alsoRejected.detail()).isEqualTo(rejected.detail());
        for (String path : List.of("/v1/policies/slow", "/v1/policies/waits", "/v1/queues/mail")) {
            assertThat(trusted.delete(path, ANY).status()).isEqualTo(204);
        }
    }

    @Test
    void a_used_queue_is_not_deleted_and_its_state_is_returned() throws IOException {
        assertThat(trusted.put("/v1/queues/sms", "{\"limit\":100,\"per\":\"1s\"}")
                        .status())
                .isEqualTo(201);
        assertThat(trusted.put("/v1/policies/all-sms", "{\"queue\":\"sms\"}").status())
                .isEqualTo(201);
        Reply refused = trusted.delete("/v1/queues/sms", ANY);
        assertThat(refused.status()).isEqualTo(409);
        assertThat(refused.detail()).contains("policy all-sms sends to queue sms");

        assertThat(caller.get("/v1/queues/sms").status()).isEqualTo(503);
        QueueRules rules = QueueRules.builder("sms", 100, 1_000).build();
        List<QueueView.TierView> tiers = List.of(
                new QueueView.TierView("gold", new TierShare(1, 4), 2),
                new QueueView.TierView(null, TierShare.DEFAULT, 1));
        long releaseAtMs = System.currentTimeMillis();
        HERE.queue = new Result.Local<>(new QueueView(
                rules,
                false,
                new QueueView.BacklogView(3, 7, tiers, 5_000L, 0),
                new QueueView.OneBucket(42, releaseAtMs * 1_000_000 + 20_000)));
        Reply live = caller.get("/v1/queues/sms");
        assertThat(live.header("ETag")).isEqualTo("\"1\"");
        assertThat(live.json().at("/definition/per").asText()).isEqualTo("1s");
        JsonNode state = live.json().get("state");
        assertThat(state.get("waiting").asInt()).isEqualTo(3);
        assertThat(state.get("oldestWaitMs").asLong()).isEqualTo(5_000L);
        assertThat(live.text()).contains("\"nextReleaseAt\":" + releaseAtMs + ".02,");
        assertThat(state.at("/tiers/0/tier").asText()).isEqualTo("gold");
        assertThat(state.at("/tiers/1/tier").isNull()).isTrue();
        assertThat(caller.get("/v1/queues").json().at("/queues/0/id").asText()).isEqualTo("sms");

        HERE.queue = new Result.Local<>(new QueueView(
                rules, false, new QueueView.BacklogView(0, 0, List.of(), null, 0), new QueueView.OneBucket(42, null)));
        assertThat(caller.get("/v1/queues/sms").json().at("/state/oldestWaitMs").isNull())
                .isTrue();
        Reply unkeyed = caller.get("/v1/queues/sms/keys/tenant=acme");
        assertThat(unkeyed.status()).isEqualTo(400);
        assertThat(unkeyed.detail()).isEqualTo("queue 'sms' has no key fields: use /v1/queues/sms");
        assertThat(caller.get("/v1/queues/sms?key.tenant=acme").detail()).isEqualTo("unknown parameter 'key.tenant'");
        HERE.queue = new Result.Local<>(null); // the instance that has the queue does not have its definition yet
        assertThat(caller.get("/v1/queues/sms").json().get("state").isNull()).isTrue();

        trusted.delete("/v1/policies/all-sms", ANY);
        assertThat(trusted.delete("/v1/queues/sms", ANY).status()).isEqualTo(204);
        assertThat(caller.get("/v1/queues/sms").detail()).isEqualTo("there is no queue 'sms'");
        HERE.queue = new Result.Local<>(new QueueView(
                rules, true, new QueueView.BacklogView(3, 7, tiers, 5_000L, 0), new QueueView.OneBucket(42, 0L)));
        Reply draining = caller.get("/v1/queues/sms");
        assertThat(draining.json().get("definition").isNull()).isTrue();
        assertThat(draining.json().at("/state/deleted").asBoolean()).isTrue();
        assertThat(caller.get("/v1/queues/sms/history").json().get("versions")).hasSize(2);
    }

    @Test
    void a_queue_with_a_key_is_returned_in_total_and_by_key() throws IOException {
        String definition = "{\"key\":[\"tenant\",\"model\"],\"limit\":5,\"per\":\"1s\"}";
        assertThat(trusted.put("/v1/queues/hooks", definition).status()).isEqualTo(201);
        QueueRules rules = QueueRules.builder("hooks", 5, 1_000)
                .key(List.of("tenant", "model"))
                .build();
        List<QueueView.KeyView> longest =
                List.of(new QueueView.KeyView(Map.of("tenant", "acme", "model", "large"), 2, 6, 5_000, 1_000));
        HERE.queue = new Result.Partial<>(
                new QueueView(
                        rules,
                        false,
                        new QueueView.BacklogView(3, 7, List.of(), 5_000L, 1_000),
                        new QueueView.SeveralBuckets(2, 1, longest)),
                Set.of());
        Reply whole = caller.get("/v1/queues/hooks");
        assertThat(whole.json().get("missing")).isEmpty();
        JsonNode all = whole.json().get("state");
        assertThat(all.get("drainMs").asInt()).isEqualTo(1_000);
        assertThat(all.get("longest")).hasSize(1);
        assertThat(all.at("/longest/0").toString())
                .isEqualTo("{\"key\":{\"model\":\"large\",\"tenant\":\"acme\"},\"waiting\":2,"
                        + "\"waitingTokens\":6,\"oldestWaitMs\":5000,\"drainMs\":1000}");
        assertThat(all.get("keys").asInt()).isEqualTo(2);
        assertThat(all.get("released").isNull()).isTrue();
        HERE.queue = new Result.Local<>(new QueueView(
                rules, false, new QueueView.BacklogView(1, 1, List.of(), 5_000L, 0), new QueueView.OneBucket(9, null)));
        Reply one = caller.get("/v1/queues/hooks/keys/tenant=a%26b%2F%3D+%C3%A9&mod%65l=");
        assertThat(HERE.requestedKey.get()).isEqualTo(Map.of("tenant", "a&b/= é", "model", ""));
        assertThat(one.json().get("key").toString()).isEqualTo("{\"model\":\"\",\"tenant\":\"a&b/= é\"}");
        assertThat(one.json().get("id").asText()).isEqualTo("hooks");
        assertThat(one.json().at("/state/released").asInt()).isEqualTo(9);
        assertThat(one.json().at("/state/keys").isNull()).isTrue();
        for (String key : List.of("tenant=acme", "tenant=acme&model=large&x=", "tenant=acme&Model=large")) {
            Reply wrong = caller.get("/v1/queues/hooks/keys/" + key);
            assertThat(wrong.status()).as(key).isEqualTo(400);
            assertThat(wrong.detail())
                    .isEqualTo("the key fields of queue 'hooks' are tenant, model: use"
                            + " /v1/queues/hooks/keys/tenant=VALUE&model=VALUE");
        }
        for (String key : List.of("acme", "tenant=acme&", "=acme", "tenant=a&model=b&tenant=c")) {
            Reply wrong = caller.get("/v1/queues/hooks/keys/" + key);
            assertThat(wrong.status()).as(key).isEqualTo(400);
        }
        assertThat(caller.get("/v1/queues/hooks/keys/acme").detail()).contains("NAME=VALUE pairs joined by &");
        assertThat(caller.get("/v1/queues/hooks/keys/a=1&a=2").detail()).isEqualTo("the key has 'a' twice");
        HERE.queue = new Result.Local<>(null);
        assertThat(caller.get("/v1/queues/hooks/keys/a=1").detail()).isEqualTo("there is no queue 'hooks'");
        Reply refused = trusted.put("/v1/queues/hooks", definition.replace("\"model\"", "\"region\""), ANY);
        assertThat(refused.status()).isEqualTo(409);
        assertThat(refused.detail())
                .contains("the key of queue hooks is [tenant, model] and would be [tenant, region]");
        assertThat(trusted.delete("/v1/queues/hooks", ANY).status()).isEqualTo(204);
    }

    @Test
    void lists_are_paged() throws IOException {
        for (String id : List.of("page-1", "page-2", "page-3")) {
            trusted.put("/v1/policies/" + id, body(1));
        }
        JsonNode first = caller.get("/v1/policies?after=page-&limit=2").json();
        assertThat(first.get("policies").findValuesAsText("version")).hasSize(2);
        assertThat(first.get("next").asText()).isEqualTo("page-2");
        JsonNode rest = caller.get("/v1/policies?after=page-2&limit=10000").json();
        assertThat(rest.at("/policies/0/id").asText()).isEqualTo("page-3");
        assertThat(rest.get("next").isNull()).isTrue();
        for (String query : List.of("limit=0", "limit=10001", "limit=x", "limit=1&limit=2", "offset=1")) {
            assertThat(caller.get("/v1/policies?" + query).status()).as(query).isEqualTo(400);
        }
    }

    @Test
    void a_dry_run_of_a_file_changes_nothing() throws IOException {
        trusted.put("/v1/policies/tried", body(1));
        String file = """
                policies:
                  - {id: tried, limits: [{unlimited: true}]}
                  - {id: s, queue: q}
                queues: [{id: q, limit: 1, per: 1s}]
                """;
        Reply tried = caller.send("POST", "/v1/validate", file, YAML);
        assertThat(tried.status()).as(tried.toString()).isEqualTo(200);
        List<String> effects = new ArrayList<>();
        tried.json()
                .get("changes")
                .forEach(change -> effects.add(
                        change.get("effect").asText() + " " + change.get("id").asText()));
        assertThat(effects).containsExactly("added q", "changed tried", "added s");
        assertThat(caller.send("POST", "/v1/validate?prune=true", "policies: []", YAML)
                        .json()
                        .get("changes")
                        .findValuesAsText("effect"))
                .contains("deleted")
                .doesNotContain("added");
        Reply faults = caller.send(
                "POST", "/v1/validate", file.replace("id: s", "id: tried").replace("1s", "soon"), YAML);
        assertThat(faults.json().get("faults").findValuesAsText("path"))
                .containsExactly("policies[1].id", "queues[0].per");
        assertThat(caller.post("/v1/validate?prune=maybe", "{}").status()).isEqualTo(400);
        assertThat(caller.get("/v1/policies/tried").json().get("version").asInt())
                .isEqualTo(1);
        assertThat(caller.get("/v1/policies/s").status()).isEqualTo(404);
    }

    @Test
    void yaml_is_accepted_and_returned() throws IOException {
        String definition = """
                match:
                  tier: "no"
                  country: [NO, "1.10", 'null', "~"]
                limits:
                - {algorithm: gcra, limit: 1_000, per: 1m}
                """;
        for (String type : List.of("application/yaml", "text/yaml", "application/x-yaml; charset=UTF-8")) {
            assertThat(trusted.send("PUT", "/v1/policies/yaml", definition, "Content-Type: " + type)
                            .status())
                    .as(type)
                    .isIn(201, 428);
        }
        Reply yaml = caller.get("/v1/policies/yaml", "Accept: application/json;q=0.5, text/yaml");
        assertThat(yaml.contentType()).isEqualTo("application/yaml");
        JsonNode back = ApiDocument.YAML.readTree(yaml.text());
        assertThat(back).isEqualTo(caller.get("/v1/policies/yaml").json());
        String written = ApiDocument.YAML.writeValueAsString(back.get("definition"));
        assertThat(trusted.send("PUT", "/v1/policies/yaml", written, ANY, YAML).header("ETag"))
                .isEqualTo("\"1\""); // the definition is unchanged
        assertThat(trusted.send("PUT", "/v1/policies/yaml2", definition, YAML, "Accept: text/yaml")
                        .contentType())
                .isEqualTo("application/yaml");
    }

    @Test
    void the_format_is_negotiated() throws IOException {
        for (String accept :
                List.of("*/*", "application/*", "text/html, */*;q=0.1", "application/json, text/yaml;q=0.9")) {
            assertThat(caller.get("/v1/policies", "Accept: " + accept).contentType())
                    .as(accept)
                    .isEqualTo("application/json");
        }
        for (String accept :
                List.of("text/yaml", "application/json;q=0, */*", "application/x-yaml, application/json;q=.2")) {
            assertThat(caller.get("/v1/policies", "Accept: " + accept).contentType())
                    .as(accept)
                    .isEqualTo("application/yaml");
        }
        for (String accept : List.of("text/html", "application/json;q=0", "x")) {
            assertThat(caller.get("/v1/policies", "Accept: " + accept).status())
                    .as(accept)
                    .isEqualTo(406);
        }
        assertThat(trusted.put("/v1/policies/refused", body(1), "Accept: text/html")
                        .status())
                .isEqualTo(406);
        assertThat(caller.get("/v1/policies/refused").status()).isEqualTo(404);
        for (String type : List.of("text/plain", "application/json; charset=latin1", "x")) {
            assertThat(trusted.put("/v1/policies/refused", body(1), "Content-Type: " + type)
                            .status())
                    .as(type)
                    .isEqualTo(415);
        }
        assertThat(trusted.send("PUT", "/v1/policies/refused", body(1)).status())
                .isEqualTo(415);
    }

    @Test
    void a_body_is_bounded_with_any_framing() throws IOException {
        byte[] large =
                ("{" + LIMITS.formatted(1) + "}" + " ".repeat(RequestBody.MAX_BYTES)).getBytes(StandardCharsets.UTF_8);
        String length = "Content-Length: " + large.length;
        assertThat(trusted.raw("PUT", "/v1/policies/large", large, length, JSON).status())
                .isEqualTo(413);
        assertThat(trusted.raw("PUT", "/v1/policies/large", new byte[0], "Content-Length: 99999999999", JSON)
                        .status())
                .isEqualTo(413); // before the body is read
        assertThat(trusted.raw("PUT", "/v1/policies/large", chunked(large), "Transfer-Encoding: chunked", JSON)
                        .status())
                .isEqualTo(413);
        byte[] small = body(1).getBytes(StandardCharsets.UTF_8);
        assertThat(trusted.raw("PUT", "/v1/policies/small", chunked(small), "Transfer-Encoding: chunked", JSON)
                        .status())
                .isEqualTo(201);
        byte[] broken = "5\r\n{\r\n\r\nno chunk\r\n".getBytes(StandardCharsets.UTF_8);
        assertThat(trusted.raw("PUT", "/v1/policies/large", broken, "Transfer-Encoding: chunked", JSON)
                        .status())
                .isEqualTo(400);
        byte[] latin1 = {'{', (byte) 0xE4, '}'};
        assertThat(trusted.raw("PUT", "/v1/policies/large", latin1, "Content-Length: 3", JSON)
                        .status())
                .isEqualTo(400);
    }

    @Test
    void usage_is_queried_with_tier_and_attributes() throws Exception {
        assertThat(caller.get("/v1/usage/alice").header("Retry-After")).isEqualTo("1");
        Policy policy = PolicyFile.parse(
                "test", "{\"id\":\"p\",\"key\":[\"client\",\"endpoint\"]," + LIMITS.formatted(5) + "}", 3);
        HERE.usage = new Result.Local<>(List.of(
                new PolicyUsage(
                        policy,
                        List.of("endpoint", "/a"),
                        1_000L,
                        List.of(new PolicyUsage.LimitUsage("gcra 5/1m", 5L, 60_000L, 2L, 3L, 24_000)),
                        2L,
                        null),
                new PolicyUsage(
                        policy,
                        List.of(),
                        null,
                        List.of(new PolicyUsage.LimitUsage("unlimited", null, null, null, null, 0)),
                        null,
                        null)));
        Reply usage = caller.get("/v1/usage/a%2Fb%20%C3%A9?tier=free&attribute.endpoint=/a%26b&attribute.x=");
        assertThat(usage.json().get("client").asText()).isEqualTo("a/b é");
        assertThat(usage.json().at("/usage/0/key").toString()).isEqualTo("{\"client\":\"a/b é\",\"endpoint\":\"/a\"}");
        assertThat(usage.json().at("/usage/0/limits/0/used").asInt()).isEqualTo(2);
        assertThat(usage.json().at("/usage/0/reserved").asInt()).isEqualTo(2);
        Request request = HERE.request.get();
        assertThat(request.client()).isEqualTo("a/b é");
        assertThat(request.tier()).isEqualTo("free");
        assertThat(request.attributes()).isEqualTo(Map.of("endpoint", "/a&b", "x", ""));
        assertThat(request.timestampMs()).isEqualTo(usage.json().get("at").asLong());
        assertThat(caller.get("/v1/usage/%2E%2E").json().get("client").asText()).isEqualTo("..");
        for (String path :
                List.of("alice?teir=free", "alice?tier=a&tier=b", "x".repeat(257), "alice?tier=" + "x".repeat(257))) {
            assertThat(caller.get("/v1/usage/" + path).status()).as(path).isEqualTo(400);
        }
    }

    @Test
    void reservations_are_queried_by_client_and_page() throws Exception {
        assertThat(caller.get("/v1/reservations/alice").status()).isEqualTo(503);
        HERE.reservations = new Result.Local<>(new InstanceQueries.ReservationPage(
                List.of(new OpenReservation(
                        "r/1",
                        7,
                        1_000,
                        61_000,
                        List.of(new OpenReservation.Holding(
                                "p", List.of("endpoint", "/a"), true, Optional.of(31_000L))))),
                Optional.of("r/2")));
        JsonNode page = caller.get("/v1/reservations/a%2Fb?after=r%2F0&limit=7").json();
        assertThat(HERE.request.get().client()).isEqualTo("a/b");
        assertThat(HERE.request.get().requestId()).isEqualTo("r/0");
        assertThat(HERE.request.get().cost()).isEqualTo(7);
        assertThat(page.get("reservations")).isEqualTo(Json.read("""
                        [{"requestId":"r/1","cost":7,"since":1000,"ends":61000,"policies":[
                        {"policyId":"p","key":{"client":"a/b","endpoint":"/a"},"observes":true,"slotsUntil":31000}]}]"""));
        assertThat(page.get("next").asText()).isEqualTo("r/2");
        caller.get("/v1/reservations/alice");
        assertThat(HERE.request.get().cost()).as("the size of a page").isEqualTo(100);
    }

    @Test
    void usage_of_a_shared_limit_is_returned_with_its_holders() throws Exception {
        assertThat(caller.get("/v1/shared/all").status()).isEqualTo(503);
        Policy policy =
                PolicyFile.parse("test", "{\"id\":\"p\",\"key\":[\"endpoint\"]," + LIMITS.formatted(5) + "}", 3);
        List<PolicyUsage.LimitUsage> limits =
                List.of(new PolicyUsage.LimitUsage("gcra 5/1m", 5L, 60_000L, 1L, 4L, 24_000));
        List<OutstandingLease> leases = List.of(
                new OutstandingLease(7, "p1", 1, 0, 1, 5_000, 5_000),
                new OutstandingLease(8, "weir/0", 1, 0, 1, 6_000, 6_000),
                new OutstandingLease(9, "p1", 2, 0, 2, 7_000, 7_000));
        LeaseResponse.Checked check = new LeaseResponse.Checked(0, 5_000, 0, 12_000, true);
        HERE.shared = key -> new Result.Local<>(
                key.equals(Map.of("endpoint", "/a&b"))
                        ? new SharedPolicyUsage(policy, List.of("endpoint", "/a&b"), limits, 0, leases, check)
                        : null);
        Reply shared = caller.get("/v1/shared/p?key.endpoint=/a%26b");
        assertThat(shared.json().get("key").toString()).isEqualTo("{\"endpoint\":\"/a&b\"}");
        assertThat(shared.json().at("/limits/0/used").asInt()).isEqualTo(1);
        assertThat(shared.json().get("free").asInt()).isZero();
        assertThat(shared.json().get("lendable").asInt()).isZero();
        assertThat(shared.json().get("retryAfterMs").asInt()).isEqualTo(12_000);
        assertThat(shared.json().get("heldUnused").asBoolean()).isTrue();
        assertThat(shared.json().get("holders").toString())
                .isEqualTo(
                        "[{\"holder\":\"p1\",\"lent\":3,\"until\":7000},{\"holder\":\"weir/0\",\"lent\":1,\"until\":6000}]");
        assertThat(caller.get("/v1/shared/p").status()).isEqualTo(404);
        assertThat(caller.get("/v1/shared/p?endpoint=/a").status()).isEqualTo(400);
        assertThat(caller.get("/v1/shared/p?cost=0").status()).isEqualTo(400);
        HERE.usage = new Result.Local<>(
                List.of(new PolicyUsage(policy, List.of("endpoint", "/a"), null, List.of(), 0L, 17L)));
        Reply usage = caller.get("/v1/usage/alice?attribute.endpoint=/a");
        assertThat(usage.json().at("/usage/0/held").asInt()).isEqualTo(17);
        assertThat(usage.json().at("/usage/0/key").toString()).isEqualTo("{\"endpoint\":\"/a\"}");
    }

    @Test
    void a_peek_returns_the_decision_on_a_request() throws IOException {
        HERE.check = request -> new Result.Local<>(decision(request));
        Reply checked = caller.post(
                "/v1/peek", "{\"client\":\"alice\",\"tier\":\"free\",\"attributes\":{\"endpoint\":\"/a\"}}");
        assertThat(checked.status()).isEqualTo(200);
        assertThat(checked.json().get("requestId").asText()).isEqualTo("peek");
        assertThat(checked.json().get("outcome").asText()).isEqualTo("ALLOWED");
        assertThat(HERE.request.get().attributes()).isEqualTo(Map.of("endpoint", "/a"));
        assertThat(HERE.request.get().timestampMs()).isPositive();
        Reply yaml =
                caller.send("POST", "/v1/peek", "client: bob\nrequestId: r7\ncost: 3\n", YAML, "Accept: text/yaml");
        assertThat(yaml.text()).contains("requestId: \"r7\"");
        assertThat(HERE.request.get().cost()).isEqualTo(3);
        for (String body : List.of(
                "",
                "{",
                "[]",
                "null",
                "{}",
                "{\"client\":\"\"}",
                "{\"client\":1}",
                "{\"client\":\"a\",\"colour\":1}",
                "{\"client\":\"a\",\"cost\":-1}",
                "{\"client\":\"a\",\"cost\":1.5}",
                "{\"client\":\"a\"} {}",
                "{\"client\":\"a\",\"cost\":" + "1".repeat(2_000) + "}",
                "{\"client\":\"a\",\"" + "n".repeat(60_000) + "\":1}",
                "{\"client\":\"a\",\"attributes\":" + "[".repeat(2_000) + "]".repeat(2_000) + "}")) {
            assertThat(caller.post("/v1/peek", body).status()).as(body).isEqualTo(400);
        }
    }

    @Test
    void a_peek_of_shared_limits_asks_their_ledgers_wherever_they_are() throws IOException {
        LedgerQuestion here = new LedgerQuestion("p", Map.of("endpoint", "/a&b"), 3, "weir/0");
        LedgerQuestion there = new LedgerQuestion("p", Map.of("endpoint", "/c d"), 1, "weir/0");
        HERE.check = request -> HERE.answered.get().isEmpty()
                ? new Result.Dependent<>(Set.of(here, there))
                : new Result.Local<>(decision(request));
        HERE.shared = key -> key.equals(here.key())
                ? new Result.Local<>(shared(new LeaseResponse.Checked(0, 5_000, 2, 9_000, true)))
                : new Result.Remote<>(other.address());
        THERE.shared = key -> new Result.Local<>(
                key.equals(there.key()) ? shared(new LeaseResponse.Checked(0, 6_000, 7, Long.MAX_VALUE, false)) : null);
        Reply peeked = caller.post("/v1/peek", "{\"client\":\"alice\"}");
        assertThat(peeked.json().get("outcome").asText()).isEqualTo("ALLOWED");
        assertThat(HERE.answered.get().get(here)).isEqualTo(new LeaseResponse.Checked(0, 5_000, 2, 9_000, true));
        LeaseResponse.Checked remote = HERE.answered.get().get(there);
        assertThat(remote.free()).isEqualTo(7);
        assertThat(remote.retryAfterMs()).isEqualTo(Long.MAX_VALUE);
        HERE.shared = key -> new Result.NotReady<>("the partitions are not assigned yet");
        Reply moving = caller.post("/v1/peek", "{\"client\":\"alice\"}");
        assertThat(moving.status()).isEqualTo(503);
        assertThat(moving.json().get("detail").asText()).contains("the partitions are not assigned yet");
    }

    private static SharedPolicyUsage shared(LeaseResponse.Checked check) throws IllegalStateException {
        try {
            Policy policy =
                    PolicyFile.parse("test", "{\"id\":\"p\",\"key\":[\"endpoint\"]," + LIMITS.formatted(5) + "}", 3);
            return new SharedPolicyUsage(policy, List.of(), List.of(), 0, List.of(), check);
        } catch (FaultsException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void a_query_is_forwarded_to_the_instance_that_has_the_state() throws IOException {
        HERE.check = request -> new Result.Remote<>(other.address());
        HERE.usage = new Result.Remote<>(other.address());
        HERE.queue = new Result.Remote<>(other.address());
        THERE.check = request -> new Result.Local<>(decision(request));
        THERE.usage = new Result.Local<>(List.of());
        THERE.queue = new Result.Local<>(null);
        Reply checked = caller.post("/v1/peek", "{\"client\":\"alice\",\"requestId\":\"r1\"}");
        assertThat(checked.json().get("requestId").asText()).isEqualTo("r1");
        assertThat(checked.contentType()).isEqualTo("application/json");
        assertThat(caller.get("/v1/usage/a%2Fb?attribute.x=%26", "Accept: text/yaml")
                        .contentType())
                .isEqualTo("application/yaml");
        assertThat(THERE.request.get().client()).isEqualTo("a/b");
        assertThat(THERE.request.get().attributes()).isEqualTo(Map.of("x", "&"));
        assertThat(caller.get("/v1/usage/a'(b)?attribute.x={|}\"").status()).isEqualTo(200);
        assertThat(THERE.request.get().client()).isEqualTo("a'(b)");
        assertThat(THERE.request.get().attributes()).isEqualTo(Map.of("x", "{|}\""));
        Reply missing = caller.get("/v1/queues/nowhere");
        assertThat(missing.status()).isEqualTo(404);
        assertThat(missing.detail()).isEqualTo("there is no queue 'nowhere'");
    }

    @Test
    void a_query_is_forwarded_only_once() throws IOException {
        HERE.usage = new Result.Remote<>(other.address());
        THERE.usage = new Result.Remote<>(service.address());
        Reply circle = caller.get("/v1/usage/alice");
        assertThat(circle.status()).isEqualTo(503);
        assertThat(circle.detail())
                .isEqualTo("the instance that has the state, " + other.address() + ", cannot respond now");
        THERE.usage = new Result.NotReady<>("the state is being restored");
        assertThat(caller.get("/v1/usage/alice").status()).isEqualTo(503);
        HERE.usage = new Result.Remote<>("127.0.0.1:1");
        assertThat(caller.get("/v1/usage/alice").detail())
                .isEqualTo("the instance that has the state, 127.0.0.1:1, does not respond");
    }

    @Test
    void an_endless_response_of_another_instance_is_aborted() throws Exception {
        try (ServerSocket endless = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            HERE.usage = new Result.Remote<>("127.0.0.1:" + endless.getLocalPort());
            ExecutorService thread = Executors.newSingleThreadExecutor();
            try {
                Future<Reply> reply = thread.submit(() -> caller.get("/v1/usage/alice"));
                try (Socket socket = endless.accept()) {
                    socket.getOutputStream()
                            .write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{"
                                    .getBytes(StandardCharsets.US_ASCII));
                    assertThat(reply.get().status()).isEqualTo(503);
                    socket.setSoTimeout(5_000);
                    socket.getInputStream().readAllBytes(); // times out unless the service closes the connection
                }
            } finally {
                thread.shutdown();
            }
        }
    }

    @Test
    void errors_are_problem_details() throws IOException {
        assertThat(caller.get("/v1").status()).isEqualTo(404);
        assertThat(caller.get("/v2/policies").status()).isEqualTo(404);
        assertThat(caller.get("/v1/policies/a/b/c").status()).isEqualTo(404);
        assertThat(caller.get("/v1/queues/").status()).isEqualTo(404);
        assertThat(caller.post("/v1/policies", "{}").header("Allow")).isEqualTo("GET, HEAD");
        assertThat(caller.send("PATCH", "/v1/policies/a", "").header("Allow")).isEqualTo("DELETE, GET, HEAD, PUT");
        assertThat(caller.send("OPTIONS", "/v1/peek", "").status()).isEqualTo(405);
        Reply head = caller.send("HEAD", "/v1/policies", "");
        assertThat(head.contentType()).isEqualTo("application/json");
    }

    @Test
    void the_live_page_loads_only_its_own_files() throws IOException {
        assertThat(caller.get("/").header("Location")).isEqualTo("/live");
        for (String path : List.of("/live", "/live/weir.css", "/live/app.js", "/live/chart.js")) {
            Reply file = caller.get(path);
            assertThat(file.status()).as(path).isEqualTo(200);
            assertThat(file.header("Content-Security-Policy")).startsWith("default-src 'self';");
        }
        for (String path : List.of("/live/none.js", "/live/openapi.yaml", "/live/..%2fopenapi.yaml", "/live/app.js/")) {
            assertThat(caller.get(path).status()).as(path).isIn(400, 404);
        }
    }

    @Test
    void quoted_input_is_one_line_of_bounded_length() throws IOException {
        String cancel = "{\"requestId\":\"r\",\"client\":\"alice\",\"kind\":\"CANCEL\",\"queue\":\"%s\"}"
                .formatted("a\\n".repeat(100_000));
        for (Reply reply : List.of(caller.post("/v1/peek", cancel), caller.get("/v1/policies?a%0Ab=1"))) {
            assertThat(reply.status()).isEqualTo(400);
            assertThat(reply.detail()).contains("a\\u000a").hasSizeLessThan(600);
        }
    }

    @Test
    void unexpected_errors_reveal_no_internals() throws IOException {
        HERE.check = request -> {
            throw new IllegalStateException("secret");
        };
        Reply failed = caller.post("/v1/peek", "{\"client\":\"alice\"}");
        assertThat(failed.status()).isEqualTo(500);
        assertThat(failed.text()).doesNotContain("secret", "Exception", "dev.weir");
    }

    @Test
    void malformed_http_is_a_problem() throws IOException {
        Reply garbage = caller.raw("GET", "/v1/policies", new byte[0], "Host: a b\r\nHost: c", "no colon");
        assertThat(garbage.status()).isEqualTo(400);
        assertThat(garbage.contentType()).isEqualTo(ProblemDetails.CONTENT_TYPE);
        Reply header = caller.get("/v1/policies", "X: " + "x".repeat(20_000));
        assertThat(header.status()).isEqualTo(431);
    }

    private static Decision decision(Request request) {
        return (Decision)
                Decider.readOnly(PolicyStates.NONE, QuotaSource.local()).decide(request, PolicyTable.EMPTY);
    }

    private static String body(int limit) {
        return "{" + LIMITS.formatted(limit) + "}";
    }

    private static byte[] chunked(byte[] body) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int from = 0; from < body.length; from += 10_000) {
            int length = Math.min(10_000, body.length - from);
            out.write((Integer.toHexString(length) + "\r\n").getBytes(StandardCharsets.UTF_8));
            out.write(body, from, length);
            out.write("\r\n".getBytes(StandardCharsets.UTF_8));
        }
        out.write("0\r\n\r\n".getBytes(StandardCharsets.UTF_8));
        return out.toByteArray();
    }
}
