package dev.weir.api;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.client.RequestBuilder;
import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.RequestSender;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicReader;
import dev.weir.topics.TopicReader.From;
import dev.weir.topics.TopicSetup;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Commands to queues over HTTP, on a real broker: once one returns, it is in effect, also after a restart. */
@Tag("full")
class QueueCommandsTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final String TOKEN = "a-token-of-some-length";
    private static final int TENANTS = 12;

    @TempDir
    static Path directory;

    private static WeirConfig config;
    private static WeirService service;
    private static Enforcer enforcer;
    private static Caller trusted;

    @BeforeAll
    static void start() throws Exception {
        String name = "commands-" + UUID.randomUUID(); // the test may run twice on one broker
        config = WeirConfig.builder()
                .named(name)
                .topics(name + ".", 3)
                .kafka(TestBroker.clientSettings())
                .build()
                .withStateDirectory(directory)
                .toBuilder()
                .service(WeirConfig.DEFAULTS.service().withPort(0).withHealthPort(0))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        open();
        assertThat(trusted.put("/v1/queues/hooks", "{\"key\":[\"tenant\"],\"limit\":1000,\"per\":\"1s\"}")
                        .status())
                .isEqualTo(201);
        assertThat(trusted.put("/v1/queues/sms", "{\"limit\":1000,\"per\":\"1s\"}")
                        .status())
                .isEqualTo(201);
        assertThat(trusted.put("/v1/policies/hooks", "{\"queue\":\"hooks\"}").status())
                .isEqualTo(201);
    }

    private static void open() throws IOException {
        service = WeirService.open(config, Map.of(WeirConfig.Service.TOKEN_VARIABLE, TOKEN));
        enforcer = Enforcer.start(config, Optional.of(service.address()));
        enforcer.awaitRunning(PATIENCE);
        service.attachEnforcer(enforcer.policies(), enforcer.queries());
        trusted = Caller.of(service.port(), TOKEN);
    }

    @AfterAll
    static void stop() {
        service.close();
        enforcer.close();
    }

    private static JsonNode command(String action, String more) throws IOException {
        Reply reply = trusted.post(
                "/v1/queues/hooks/commands?timeoutMs=20000",
                "{\"action\":\"" + action + "\",\"reason\":\"because: żółw\",\"author\":\"ann\"" + more + "}");
        assertThat(reply.status()).as(reply.text()).isEqualTo(200);
        assertThat(reply.json().get("pending"))
                .as("in effect on all partitions")
                .isEmpty();
        return reply.json();
    }

    /** Sends a request of each tenant. */
    private static void send(String id) {
        try (RequestSender sender = new RequestSender(config)) {
            for (int tenant = 0; tenant < TENANTS; tenant++) {
                Request request = RequestBuilder.of("c" + tenant)
                        .requestId(id)
                        .attribute("tenant", "t" + tenant)
                        .build();
                sender.send(request);
            }
            sender.flush();
        }
    }

    private static JsonNode state() throws IOException {
        return trusted.get("/v1/queues/hooks").json().path("state"); // missing while an instance does not respond
    }

    private static void awaitWaiting(int count) {
        await(count + " requests wait", PATIENCE, () -> {
            JsonNode state = state();
            return state.isObject() && state.get("waiting").asInt() == count;
        });
    }

    @Test
    void a_command_is_in_effect_when_it_returns_and_stays_so_after_a_restart() throws Exception {
        try (TopicReader<Release> released = TopicReader.releases(config, From.BEGINNING, true);
                TopicReader<Decision> decided = TopicReader.decisions(config, From.BEGINNING, true)) {
            List<String> releases = new ArrayList<>();
            List<Decision> decisions = new ArrayList<>();
            Runnable read = () -> {
                released.poll(Duration.ofMillis(100), release -> releases.add(release.requestId()));
                decided.poll(Duration.ofMillis(100), decisions::add);
            };

            JsonNode paused = command("pause", "");
            assertThat(paused.get("partitions").asInt()).isEqualTo(3);
            send("a");
            awaitWaiting(TENANTS);
            assertThat(state().at("/paused/reason").asText()).isEqualTo("because: żółw");
            assertThat(state().at("/paused/author").asText()).startsWith("ann");
            assertThat(listed("hooks").at("/paused/author").asText()).startsWith("ann");
            assertThat(listed("sms").get("paused").isNull()).isTrue();

            service.close();
            enforcer.close();
            open();
            awaitWaiting(TENANTS);
            assertThat(state().get("paused").isObject()).isTrue();
            read.run();
            assertThat(releases).isEmpty();

            assertThat(command("purge", ",\"key\":{\"tenant\":\"t3\"}")
                            .get("partitions")
                            .asInt())
                    .as("the partition of the key")
                    .isEqualTo(1);
            awaitWaiting(TENANTS - 1);
            command("resume", "");
            await("the others are released", PATIENCE, () -> {
                read.run();
                return releases.size() == TENANTS - 1;
            });

            command("drain", "");
            send("b");
            await("all are denied", PATIENCE, () -> {
                read.run();
                return count(decisions, Reason.QUEUE_DRAINING) == TENANTS;
            });
            command("resume", "");
            command("pause", "");
            send("c");
            awaitWaiting(TENANTS);
            command("purge", "");
            await("all are purged", PATIENCE, () -> {
                read.run();
                return count(decisions, Reason.PURGED) == TENANTS + 1;
            });
            await("the purge is over", PATIENCE, () -> !state().get("purging").asBoolean());
            command("resume", "");
            assertThat(state().get("paused").isNull()).isTrue();
            assertThat(releases).hasSize(TENANTS - 1);
        }
        JsonNode past = trusted.get("/v1/queues/hooks/commands").json().get("commands");
        assertThat(past.findValuesAsText("action"))
                .containsExactly("resume", "purge", "pause", "resume", "drain", "resume", "purge", "pause");
        assertThat(past.at("/6/key/tenant").asText()).isEqualTo("t3");
        assertThat(past.at("/0/number").asInt()).isEqualTo(8);
        assertThat(trusted.get("/v1/queues/hooks/history").json().get("versions"))
                .as("commands are no versions")
                .hasSize(1);
    }

    private static JsonNode listed(String id) throws IOException {
        for (JsonNode queue : trusted.get("/v1/queues").json().get("queues")) {
            if (queue.get("id").asText().equals(id)) {
                return queue;
            }
        }
        throw new AssertionError(id + " is not listed");
    }

    private static long count(List<Decision> decisions, Reason reason) {
        return decisions.stream()
                .filter(decision -> decision.reason() == reason)
                .count();
    }

    @Test
    void invalid_commands_are_rejected_and_change_nothing() throws IOException {
        String reason = "\"reason\":\"because\"";
        Map<String, String> bodies = Map.of(
                "{\"action\":\"stop\"," + reason + "}",
                "the body must be an object",
                "{" + reason + "}",
                "the body must be an object",
                "{\"action\":\"pause\"}",
                "reason is missing",
                "{\"action\":\"pause\",\"reason\":\"  \"}",
                "reason is missing",
                "{\"action\":\"purge\",\"key\":{}," + reason + "}",
                "the body must be an object",
                "{\"action\":\"purge\",\"key\":\"t1\"," + reason + "}",
                "the body must be an object",
                "{\"action\":\"purge\",\"key\":{\"tenant\":1}," + reason + "}",
                "key.tenant must be a string",
                "{\"action\":\"purge\",\"keys\":{\"tenant\":\"a\"}," + reason + "}",
                "the body must be an object",
                "{\"action\":\"purge\",\"key\":{\"client\":\"a\"}," + reason + "}",
                "the key fields of queue 'sms2'",
                "{\"action\":\"pause\",\"author\":\"ann (ops)\"," + reason + "}",
                "author must not contain parentheses");
        assertThat(trusted.put("/v1/queues/sms2", "{\"key\":[\"tenant\"],\"limit\":1,\"per\":\"1s\"}")
                        .status())
                .isEqualTo(201);
        for (Map.Entry<String, String> body : bodies.entrySet()) {
            Reply reply = trusted.post("/v1/queues/sms2/commands", body.getKey());
            assertThat(reply.status()).as(body.getKey()).isEqualTo(400);
            assertThat(reply.detail()).as(body.getKey()).startsWith(body.getValue());
        }
        String valid = "{\"action\":\"pause\"," + reason + "}";
        assertThat(trusted.post("/v1/queues/nowhere/commands", valid).status()).isEqualTo(404);
        assertThat(trusted.post("/v1/queues/sms2/commands?timeoutMs=20001", valid)
                        .status())
                .isEqualTo(400);
        assertThat(trusted.withToken(null)
                        .post("/v1/queues/sms2/commands", valid)
                        .status())
                .isEqualTo(401);
        assertThat(trusted.post(
                                "/v1/queues/sms/commands",
                                "{\"action\":\"pause\",\"key\":{\"tenant\":\"a\"}," + reason + "}")
                        .detail())
                .isEqualTo("queue 'sms' has no key fields: leave out key");
        assertThat(trusted.get("/v1/queues/sms2/commands").json().get("commands"))
                .isEmpty();
        assertThat(trusted.get("/v1/queues/nowhere/commands").status()).isEqualTo(404);
    }
}
