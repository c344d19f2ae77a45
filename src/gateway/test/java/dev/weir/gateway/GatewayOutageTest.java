package dev.weir.gateway;

import static dev.weir.testing.Await.await;
import static dev.weir.testing.Await.awaitValue;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.api.Caller;
import dev.weir.api.Reply;
import dev.weir.client.WeirClient;
import dev.weir.config.WeirConfig;
import dev.weir.config.WeirConfig.Service.TokenRule;
import dev.weir.definition.PolicyFile;
import dev.weir.gateway.envoy.EnvoyCalls;
import dev.weir.gateway.envoy.proto.HeaderValue;
import dev.weir.gateway.envoy.proto.RateLimitDescriptor;
import dev.weir.gateway.envoy.proto.RateLimitResponse;
import dev.weir.gateway.envoy.proto.RateLimitServiceGrpc;
import dev.weir.kafka.KafkaSettings;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.BrokerCluster;
import dev.weir.testing.CapturedLog;
import dev.weir.testing.ChildProcess;
import dev.weir.testing.Effort;
import dev.weir.topics.TopicSetup;
import io.grpc.ManagedChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A gateway whose three brokers, processes, stop responding or respond slowly while requests arrive on all routes. With
 * {@code -Dweir.effort=20}, the outage takes a minute.
 */
@Tag("full")
class GatewayOutageTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final Duration OUTAGE = Duration.ofSeconds(Effort.times(3));
    private static final int CALLERS = 16;

    /** The number of calls of each kind in a round. */
    private static final int EACH = 16;

    private static final long STEP_MS = 150;
    private static final int SLOW_CALLS = 10;
    private static final int LIMIT = 1_000_000;
    private static final int LENT = 100;

    private static final String POLICIES = """
            policies:
              - {id: own, match: {path: /own/**}, idempotency: 1h,
                 limits: [{algorithm: sliding-window-log, limit: %d, per: 1h}]}
              - {id: lent, match: {path: /lent}, key: [], lease: client,
                 limits: [{algorithm: sliding-window-log, limit: %d, per: 1h}]}
            """.formatted(LIMIT, LENT);

    private static final String FILE = """
            gateway:
              http-port: 0
              routes:
                - {id: open, match: {path: /own/open}, timeout: 200ms, on-timeout: allow,
                   request-id: "{header.x-id}"}
                - {id: closed, match: {path: /own/closed}, timeout: 200ms, on-timeout: deny,
                   request-id: "{header.x-id}"}
                - {id: lent, match: {path: /lent}, timeout: 200ms, on-timeout: deny}
              envoy: {timeout: 200ms, on-timeout: deny, request-id: [id]}
            """;

    @TempDir
    static Path directory;

    private static BrokerCluster brokers;
    private static Enforcer enforcer;
    private static CapturedLog log;
    private static Gateway gateway;
    private static Caller caller;
    private static ManagedChannel channel;
    private static ExecutorService callers;

    /** How many requests Weir has allowed by the policy that lends. */
    private static final AtomicInteger lent = new AtomicInteger();

    @BeforeAll
    static void start() throws Exception {
        brokers = BrokerCluster.start(directory, BrokerCluster.FAULT_TOLERANT_SIZE);
        WeirConfig config = WeirConfig.builder()
                .threads(1)
                .kafka(Map.of("bootstrap.servers", brokers.bootstrapServers()))
                .topics("weir.", 1)
                .service(WeirConfig.DEFAULTS.service().withDecideToken(TokenRule.LOOPBACK))
                .stateDirectory(directory.resolve("state"))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config).apply(PolicyFile.read("test", POLICIES), PolicyTopic.Options.DEFAULTS, 1);
        enforcer = Enforcer.start(config);
        log = new CapturedLog(WeirClient.class);
        gateway = Gateway.open(config, GatewayFile.read("gateway.yaml", FILE).gateway(), Map.of());
        caller = Caller.unchecked(gateway.httpPort());
        channel = EnvoyCalls.channel(gateway.grpcPort());
        callers = Executors.newFixedThreadPool(CALLERS);
        enforcer.awaitRunning(PATIENCE);
        awaitDecisions();
    }

    @AfterAll
    static void stop() throws Exception {
        resumeAll();
        callers.shutdownNow();
        channel.shutdownNow();
        gateway.close();
        log.close();
        enforcer.close();
        brokers.close();
    }

    /**
     * An answer on any route.
     *
     * @param fallback why the fallback has decided, empty if Weir has
     */
    private record Answer(boolean isAllowed, Optional<String> fallback) {

        private static Answer of(Reply reply) {
            return new Answer(reply.status() == 200, Optional.ofNullable(reply.header("X-Weir-Fallback")));
        }
    }

    /** The kinds of calls. */
    private enum Kind {
        OPEN,
        CLOSED,
        LENT,
        DECIDE,
        ENVOY;

        private Answer ask(String client, String id) throws Exception {
            return switch (this) {
                case OPEN -> authorize("/own/open", client, id);
                case CLOSED -> authorize("/own/closed", client, id);
                case LENT -> counted(authorize("/lent", client, id));
                case DECIDE -> decided(GatewayOutageTest.decide(client, id, "timeout=200ms&fallback=allow"));
                case ENVOY -> envoy(client, id);
            };
        }

        private static Answer counted(Answer answer) {
            if (answer.isAllowed() && answer.fallback().isEmpty()) {
                lent.incrementAndGet();
            }
            return answer;
        }

        private static Answer authorize(String path, String client, String id) throws Exception {
            return Answer.of(caller.get("/v1/authorize" + path, "X-Api-Key: " + client, "X-Id: " + id));
        }

        private static Answer decided(JsonNode json) {
            return new Answer(
                    json.get("outcome").asText().equals("ALLOWED"),
                    Optional.ofNullable(json.get("noDecision")).map(JsonNode::asText));
        }

        private static Answer envoy(String client, String id) {
            RateLimitDescriptor descriptor = EnvoyCalls.descriptor("path", "/own/envoy", "client", client, "id", id);
            RateLimitResponse response =
                    RateLimitServiceGrpc.newBlockingStub(channel).shouldRateLimit(EnvoyCalls.request(descriptor));
            return new Answer(
                    response.getOverallCode() == RateLimitResponse.Code.OK,
                    response.getResponseHeadersToAddList().stream()
                            .filter(header -> header.getKey().equals("x-weir-fallback"))
                            .map(HeaderValue::getValue)
                            .findFirst());
        }
    }

    private static JsonNode decide(String client, String id, String parameters) throws Exception {
        String body = "{\"client\":\"%s\",\"requestId\":\"%s\",\"attributes\":{\"path\":\"/own/decide\"}}"
                .formatted(client, id);
        return caller.post("/v1/decide?" + parameters, body).json();
    }

    /** Waits until Weir decides the requests of all kinds. */
    private static void awaitDecisions() {
        for (Kind kind : Kind.values()) {
            await(kind + " is decided", PATIENCE, () -> kind.ask("first", "any")
                    .fallback()
                    .isEmpty());
        }
    }

    private static void resumeAll() throws Exception {
        for (ChildProcess broker : brokers.brokers()) {
            broker.resume();
        }
    }

    /** Sends calls of all kinds at once, and returns their answers. */
    private static Map<Kind, List<Answer>> askAll(String client, int each) throws Exception {
        Map<Kind, List<Future<Answer>>> pending = new EnumMap<>(Kind.class);
        for (int i = 0; i < each; i++) {
            String id = client + "-" + i;
            for (Kind kind : Kind.values()) {
                Callable<Answer> call = () -> kind.ask(client, kind + id);
                pending.computeIfAbsent(kind, any -> new ArrayList<>()).add(callers.submit(call));
            }
        }
        Map<Kind, List<Answer>> answers = new EnumMap<>(Kind.class);
        for (Kind kind : Kind.values()) {
            List<Answer> ofKind = new ArrayList<>();
            for (Future<Answer> answer : pending.get(kind)) {
                ofKind.add(answer.get(PATIENCE.toSeconds(), TimeUnit.SECONDS));
            }
            answers.put(kind, ofKind);
        }
        return answers;
    }

    private static boolean isLogged(String begin) {
        return log.lines().stream().anyMatch(line -> line.text().startsWith(begin));
    }

    private static double metric(String line) throws Exception {
        return caller.get("/metrics")
                .text()
                .lines()
                .filter(one -> one.startsWith(line + " "))
                .mapToDouble(one -> Double.parseDouble(one.substring(line.length() + 1)))
                .sum();
    }

    private static double fallbacks() throws Exception {
        return metric("weir_authorize_requests_total{result=\"FALLBACK_ALLOWED\",route=\"open\"}")
                + metric("weir_authorize_requests_total{result=\"FALLBACK_DENIED\",route=\"closed\"}")
                + metric("weir_envoy_fallbacks_total")
                + metric("weir_decide_fallback_total{as=\"FAIL_OPEN\"}");
    }

    @Test
    void the_fallback_of_each_route_answers_during_an_outage_and_decisions_return_after_it() throws Exception {
        double fallbacksBefore = fallbacks();
        Set<String> reasons = new HashSet<>();
        int rounds = 0;
        for (ChildProcess broker : brokers.brokers()) {
            broker.pause();
        }
        try {
            long pausedNanos = System.nanoTime();
            while (System.nanoTime() - pausedNanos < OUTAGE.toNanos() || !reasons.contains("CIRCUIT_OPEN")) {
                Map<Kind, List<Answer>> answers = askAll("during", EACH);
                rounds++;
                answers.remove(Kind.LENT); // its leases may last for a while
                answers.forEach(
                        (kind, ofKind) -> assertThat(ofKind).as(kind.name()).allSatisfy(answer -> {
                            assertThat(answer.isAllowed()).isEqualTo(kind == Kind.OPEN || kind == Kind.DECIDE);
                            reasons.add(answer.fallback().orElseThrow());
                        }));
            }
            assertThat(fallbacks() - fallbacksBefore).isEqualTo(rounds * EACH * 4.0);
        } finally {
            resumeAll();
        }
        awaitDecisions();
        await("the end of the outage is logged", PATIENCE, () -> {
            Kind.CLOSED.ask("first", "any"); // the circuit closes after some decisions
            return isLogged("Requests over the topics are decided again; the fallback decided for ");
        });
        assertThat(isLogged("Too many requests over the topics got no decision ("))
                .isTrue();
        assertThat(log.lines().get(0).text()).startsWith("The client has connected to the brokers after ");
        await("the lent limit is used up", PATIENCE, () -> {
            Answer answer = Kind.LENT.ask("after", "any");
            return !answer.isAllowed() && answer.fallback().isEmpty();
        });
        assertThat(lent).hasValueBetween(1, LENT);
    }

    @Test
    void slow_brokers_lose_no_request_and_count_none_twice() throws Exception {
        List<ChildProcess> all = brokers.brokers();
        ScheduledExecutorService pauses = Executors.newSingleThreadScheduledExecutor();
        pauses.submit(() -> {
            for (int i = 0; !Thread.currentThread().isInterrupted(); i++) {
                all.get(i % all.size()).pause();
                try {
                    TimeUnit.MILLISECONDS.sleep(STEP_MS);
                } finally {
                    all.get(i % all.size()).resume();
                }
            }
            return null;
        });
        try {
            askAll("slow", SLOW_CALLS).forEach((kind, answers) -> assertThat(answers)
                    .as(kind.name())
                    .allSatisfy(answer -> assertThat(
                                    answer.isAllowed() || answer.fallback().isPresent() || kind == Kind.LENT)
                            .isTrue()));
        } finally {
            pauses.shutdownNow();
            pauses.awaitTermination(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            resumeAll();
        }
        Set<Kind> repeated = EnumSet.complementOf(EnumSet.of(Kind.LENT));
        for (Kind kind : repeated) {
            for (int i = 0; i < SLOW_CALLS; i++) {
                remaining(kind + "slow-" + i);
            }
        }
        assertThat(remaining("last")).isEqualTo(LIMIT - repeated.size() * SLOW_CALLS - 1);
    }

    /** Repeats a request until it is decided, and returns what remains after it. */
    private static int remaining(String id) {
        return awaitValue(id + " is decided", PATIENCE, () -> {
            JsonNode json = decide("slow", id, "timeout=5s");
            return json.has("remaining") ? json.get("remaining").asInt() : null;
        });
    }
}
