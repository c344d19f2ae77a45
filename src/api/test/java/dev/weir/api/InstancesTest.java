package dev.weir.api;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.live.LimitedReport;
import dev.weir.query.InstanceQueries.Result;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.RequestSender;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.json.RequestJson;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two instances share the partitions, and each responds for every client and every queue. */
@Tag("full")
class InstancesTest {

    private static final String TOKEN = "a-token-of-some-length";
    private static final int CLIENTS = 24;
    private static final Duration PATIENCE = Duration.ofMinutes(5);

    @TempDir
    static Path directory;

    private static Running first;
    private static Running second;

    /** An instance with the same parts as in {@code weir run}. */
    private record Running(WeirService service, Enforcer enforcer, Caller caller) implements AutoCloseable {

        static Running start(String name) throws IOException {
            WeirConfig config = config(name);
            WeirService service = WeirService.open(config, Map.of(WeirConfig.Service.TOKEN_VARIABLE, TOKEN));
            Enforcer enforcer = Enforcer.start(config, Optional.of(service.address()));
            enforcer.awaitRunning(PATIENCE);
            service.attachEnforcer(enforcer.policies(), enforcer.queries());
            service.startLiveFeed(enforcer.live(), enforcer::others);
            return new Running(service, enforcer, Caller.of(service.port(), TOKEN));
        }

        @Override
        public void close() {
            service.close();
            enforcer.close();
        }
    }

    @BeforeAll
    static void start() throws IOException {
        try (Admin admin = Admin.create(KafkaSettings.admin(config("topics")))) {
            TopicSetup.createMissing(admin, config("topics"), TopicSetup.RequestTime.LOG_APPEND);
        }
        first = Running.start("first");
        second = Running.start("second");
    }

    @AfterAll
    static void stop() {
        first.close();
        second.close();
    }

    @Test
    void any_instance_responds_for_every_client_and_queue_also_after_one_has_left() throws Exception {
        assertThat(first.caller().put("/v1/policies/log", """
                                {"match": {"endpoint": "/a"},
                                 "limits": [{"algorithm": "sliding-window-log", "limit": 10, "per": "1h"}]}""").status()).isEqualTo(201);
        assertThat(first.caller().put("/v1/policies/blocked", """
                                {"match": {"endpoint": "/d"}, "limits": [{"algorithm": "gcra", "limit": 0}]}""").status()).isEqualTo(201);
        assertThat(first.caller()
                        .put("/v1/queues/slow", "{\"limit\":1,\"per\":\"1h\"}")
                        .status())
                .isEqualTo(201);
        assertThat(first.caller()
                        .put(
                                "/v1/policies/shaped",
                                "{\"queue\":\"slow\",\"priority\":1,\"match\":{\"endpoint\":\"/q\"}}")
                        .status())
                .isEqualTo(201);
        assertThat(first.caller()
                        .put("/v1/queues/hooks", "{\"key\":[\"client\"],\"limit\":1,\"per\":\"1h\"}")
                        .status())
                .isEqualTo(201);
        assertThat(first.caller()
                        .put(
                                "/v1/policies/hooked",
                                "{\"queue\":\"hooks\",\"priority\":2,\"match\":{\"endpoint\":\"/h\"}}")
                        .status())
                .isEqualTo(201);
        await(
                "the second instance has the policy",
                PATIENCE,
                () -> second.caller().get("/v1/policies/hooked").status() == 200);
        await(
                "each instance has some of the clients",
                PATIENCE,
                () -> answeredBy(first) > 0
                        && answeredBy(second) > 0
                        && answeredBy(first) + answeredBy(second) == CLIENTS);
        send();

        for (Running running : List.of(first, second)) {
            for (int i = 0; i < CLIENTS; i++) {
                awaitUsage(running, i);
                Reply check = running.caller()
                        .post("/v1/peek", "{\"client\":\"client " + i + "\",\"attributes\":{\"endpoint\":\"/a\"}}");
                assertThat(check.json().get("remaining").asInt()).isEqualTo(10 - used(i) - 1);
            }
            await("one request is released", PATIENCE, () -> waiting(running) == 2);
            assertThat(running.caller().get("/v1/queues/nowhere").detail()).isEqualTo("there is no queue 'nowhere'");
            askOfKeys(running);
            awaitLimited(running, CLIENTS, "[]");
        }
        seeAll();

        second.service().close();
        Reply half = first.caller().get("/v1/queues/hooks");
        assertThat(half.json().at("/state/keys").asInt()).isBetween(1, CLIENTS - 1);
        assertThat(half.json().get("missing").toString())
                .isEqualTo("[\"" + second.service().address() + "\"]");
        assertThat(first.caller().get("/v1/queues/nowhere").detail())
                .endsWith("did not respond: " + second.service().address());
        int here = first.enforcer()
                .live()
                .limitedSince(
                        0,
                        System.currentTimeMillis(),
                        new LimitedReport.Selection(
                                Optional.empty(), Optional.of("blocked"), Optional.empty(), CLIENTS))
                .clients()
                .size();
        assertThat(here).isBetween(1, CLIENTS - 1);
        awaitLimited(first, here, half.json().get("missing").toString());
        second.close();
        for (int i = 0; i < CLIENTS; i++) {
            awaitUsage(first, i);
        }
        await("two requests wait", PATIENCE, () -> waiting(first) == 2);
    }

    /**
     * Each client has sent one request more than its number to a queue with key fields. One request of each has
     * been released.
     */
    private static void askOfKeys(Running running) throws Exception {
        int all = CLIENTS * (CLIENTS - 1) / 2;
        await(
                "one request of each key is released",
                PATIENCE,
                () -> running.caller()
                                .get("/v1/queues/hooks")
                                .json()
                                .at("/state/waiting")
                                .asInt()
                        == all);
        JsonNode queue = running.caller().get("/v1/queues/hooks").json();
        assertThat(queue.get("missing")).isEmpty();
        assertThat(queue.at("/state/keys").asInt()).isEqualTo(CLIENTS);
        assertThat(queue.at("/state/longest")).hasSize(CLIENTS - 1); // no request of the first client waits
        assertThat(queue.at("/state/longest/0/key/client").asText()).isEqualTo("client " + (CLIENTS - 1));
        assertThat(queue.at("/state/longest/0/waiting").asInt()).isEqualTo(CLIENTS - 1);
        for (int i = 0; i < CLIENTS; i++) {
            JsonNode key = running.caller()
                    .get("/v1/queues/hooks/keys/client=client+" + i)
                    .json();
            assertThat(key.at("/state/waiting").asInt()).isEqualTo(i);
            assertThat(key.at("/state/released").asInt()).isEqualTo(1);
        }
        Reply unused = running.caller().get("/v1/queues/hooks/keys/client=nobody");
        assertThat(unused.status()).isEqualTo(200);
        assertThat(unused.json().at("/state/waiting").asInt(-1)).isZero();
    }

    /** Waits until an instance lists the limited clients of all instances that respond. */
    private static void awaitLimited(Running running, int clients, String missing) throws Exception {
        await("the limited clients", PATIENCE, () -> {
            JsonNode limited = running.caller()
                    .get("/v1/live/limited?minutes=60&policy=blocked&most=100")
                    .json();
            return limited.get("clients").size() == clients
                    && limited.get("missing").toString().equals(missing);
        });
    }

    private static void send() {
        List<Request> requests = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            for (int j = 0; j < used(i); j++) {
                requests.add(request("client " + i, "/a"));
            }
        }
        for (int i = 0; i < CLIENTS; i++) {
            requests.add(request("client " + i, "/d"));
        }
        for (int i = 0; i < 3; i++) {
            requests.add(request("client 0", "/q"));
        }
        for (int i = 0; i < CLIENTS; i++) {
            for (int j = 0; j <= i; j++) {
                requests.add(request("client " + i, "/h"));
            }
        }
        try (RequestSender sender = new RequestSender(config("sender"))) {
            requests.forEach(sender::send);
            sender.flush();
        }
    }

    private static Request request(String client, String endpoint) {
        return RequestJson.read(
                "{\"requestId\":\"r\",\"client\":\"" + client + "\",\"attributes\":{\"endpoint\":\"" + endpoint
                        + "\"}}",
                System.currentTimeMillis(),
                new Request.Source(0, 0));
    }

    private static int used(int client) {
        return client % 9;
    }

    private static void awaitUsage(Running running, int client) throws Exception {
        await("the usage of client " + client, PATIENCE, () -> {
            Reply usage = running.caller().get("/v1/usage/client%20" + client + "?attribute.endpoint=/a");
            return usage.status() == 200
                    && usage.json().at("/usage/0/limits/0/used").asInt(-1) == used(client);
        });
    }

    private static int sent() {
        return IntStream.range(0, CLIENTS).map(InstancesTest::used).sum();
    }

    /** Reads the events of one instance until they include all decisions and queues of both. */
    private static void seeAll() throws Exception {
        try (LiveStream watch = new LiveStream(second.service(), TOKEN)) {
            int allowed = 0;
            JsonNode now = null;
            while (allowed < sent() || now == null || now.get("queues").size() < 2) {
                LiveStream.Event event = watch.next();
                switch (event.name()) {
                    case "history" -> {
                        for (JsonNode tick : event.data()) {
                            allowed += tick.at("/decisions/ALLOWED").asInt();
                        }
                    }
                    case "tick" ->
                        allowed += event.data().at("/decisions/ALLOWED").asInt();
                    default -> now = event.data();
                }
            }
            assertThat(allowed).isEqualTo(sent());
            assertThat(now.get("instances")).hasSize(2);
            assertThat(now.at("/instances/0/self").asBoolean())
                    .isNotEqualTo(now.at("/instances/1/self").asBoolean());
            assertThat(now.at("/queues/1/id").asText()).isEqualTo("slow");
        }
    }

    private static int waiting(Running running) throws IOException {
        JsonNode waiting = running.caller().get("/v1/queues/slow").json().at("/state/waiting");
        return waiting.asInt(-1);
    }

    /** Returns the number of clients whose state an instance has. */
    private static int answeredBy(Running instance) {
        int here = 0;
        for (int i = 0; i < CLIENTS; i++) {
            if (instance.enforcer().queries().usage(request("client " + i, "/a")) instanceof Result.Local) {
                here++;
            }
        }
        return here;
    }

    private static WeirConfig config(String name) {
        return WeirConfig.builder()
                .named("instances")
                .kafka(TestBroker.clientSettings())
                .build()
                .withStateDirectory(directory.resolve(name))
                .toBuilder()
                .service(WeirConfig.DEFAULTS.service().withPort(0))
                .build();
    }
}
