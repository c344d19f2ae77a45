package dev.weir.gateway;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.BrokerCluster;
import dev.weir.dev.ChildProcess;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.service.Caller;
import dev.weir.service.Reply;
import dev.weir.testing.CapturedLog;
import dev.weir.topics.KafkaSettings;
import dev.weir.topics.TopicSetup;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A gateway whose broker, a process, stops responding while requests arrive. */
class GatewayOutageTest {

    private static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final String POLICIES =
            "policies: [{id: all, limits: [{algorithm: sliding-window-log, limit: 1000000, per: 1h}]}]";
    private static final String FILE = """
            gateway:
              routes:
                - {id: open, match: {path: /open}, timeout: 200ms, on-timeout: allow}
                - {id: closed, match: {path: /closed}, timeout: 200ms, on-timeout: deny}
                - {id: patient, match: {path: /patient}, timeout: 10s, on-timeout: deny}
            """;

    @TempDir
    Path directory;

    @Test
    void the_fallback_of_each_route_answers_during_an_outage_and_decisions_return_after_it() throws Exception {
        try (BrokerCluster brokers = BrokerCluster.start(directory, 1)) {
            ChildProcess broker = brokers.brokers().get(0);
            WeirConfig config = WeirConfig.builder()
                    .kafka(Map.of("bootstrap.servers", brokers.bootstrapServers()))
                    .topics("weir.", 1)
                    .stateDirectory(directory.resolve("state"))
                    .build();
            try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
                TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
            }
            new PolicyTopic(config).apply(PolicyFile.read("test", POLICIES), PolicyTopic.Options.DEFAULTS, 1);
            GatewayConfig routes =
                    GatewayFile.read("gateway.yaml", FILE).gateway().withHttpPort(0);
            try (CapturedLog log = new CapturedLog(BrokerLog.class);
                    Enforcer enforcer = Enforcer.start(config);
                    Gateway gateway = Gateway.open(config, routes, Map.of())) {
                enforcer.awaitRunning(PATIENCE);
                Caller caller = Caller.unchecked(gateway.httpPort());
                await("a request is decided", PATIENCE, () -> isDecided(caller.get("/v1/authorize/patient")));
                broker.pause();
                try {
                    assertAnsweredByFallbacks(caller);
                } finally {
                    broker.resume();
                }
                await("requests are decided again", PATIENCE, () -> isDecided(caller.get("/v1/authorize/patient")));
                await("the end of the outage is logged", PATIENCE, () -> {
                    caller.get("/v1/authorize/patient"); // the circuit closes after some decisions
                    return log.lines().size() >= 3;
                });
                assertThat(log.lines().get(0).text()).startsWith("The gateway has connected to the brokers after ");
                assertThat(log.lines().get(1).text())
                        .startsWith("Too many requests over the topics got no decision (TIMED_OUT: ");
                assertThat(log.lines().get(2).text())
                        .startsWith("Requests over the topics are decided again; the fallbacks decided for ");
            }
        }
    }

    private static boolean isDecided(Reply reply) {
        return reply.status() == 200 && reply.header("X-Weir-Fallback") == null;
    }

    private static void assertAnsweredByFallbacks(Caller caller) {
        ExecutorService callers = Executors.newFixedThreadPool(16);
        try {
            List<CompletableFuture<Reply>> open = IntStream.range(0, 60)
                    .mapToObj(i -> CompletableFuture.supplyAsync(() -> get(caller, "/v1/authorize/open"), callers))
                    .toList();
            List<CompletableFuture<Reply>> closed = IntStream.range(0, 60)
                    .mapToObj(i -> CompletableFuture.supplyAsync(() -> get(caller, "/v1/authorize/closed"), callers))
                    .toList();
            assertThat(open.stream().map(CompletableFuture::join)).allSatisfy(reply -> {
                assertThat(reply.status()).isEqualTo(200);
                assertThat(reply.header("X-Weir-Fallback")).isNotNull();
            });
            assertThat(closed.stream().map(CompletableFuture::join)).allSatisfy(reply -> {
                assertThat(reply.status()).isEqualTo(503);
                assertThat(reply.header("X-Weir-Fallback")).isNotNull();
            });
            await("the circuit is open", PATIENCE, () -> "CIRCUIT_OPEN"
                    .equals(get(caller, "/v1/authorize/open").header("X-Weir-Fallback")));
        } finally {
            callers.shutdownNow();
        }
    }

    private static Reply get(Caller caller, String path) {
        try {
            return caller.get(path);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
