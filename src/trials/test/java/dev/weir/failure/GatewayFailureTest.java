package dev.weir.failure;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.cli.Main;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.ChildProcess;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.dev.JavaProcess;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.topics.KafkaSettings;
import dev.weir.topics.TopicSetup;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/** A shared limit for four gateways in their own processes, of which one is killed and another one is paused. */
@Tag("several-processes")
class GatewayFailureTest {

    private static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final int GATEWAYS = 4;

    /** What all gateways together may allow in any hour. */
    private static final int LIMIT = 2_500;

    /** A killed gateway loses no more than its lease, which is a part of the limit. */
    private static final int LEAST = LIMIT / 2;

    /** The interval of requests to each gateway: 100 a second. */
    private static final long INTERVAL_MS = 10;

    private static final Duration TERM = Duration.ofSeconds(6);

    private static final String POLICIES = """
            policies:
              - {id: all, key: [], lease: client, limits: [{algorithm: sliding-window-log, limit: %d, per: 1h}]}
            """.formatted(LIMIT);

    @TempDir(cleanup = CleanupMode.ON_SUCCESS)
    Path directory;

    private final Deque<AutoCloseable> open = new ArrayDeque<>();
    private final List<GatewayProcess> gateways = new ArrayList<>();
    private final AtomicInteger allowed = new AtomicInteger();
    private final AtomicInteger denied = new AtomicInteger();

    /** A gateway with a fixed port, and a load of requests for it. */
    private final class GatewayProcess extends ChildProcess {
        private final int port = freePort();
        private final Path settings;
        private final HttpClient http = HttpClient.newHttpClient();
        private final AtomicInteger decided = new AtomicInteger();

        GatewayProcess(String name, String bootstrapServers) throws IOException {
            super(name, directory.resolve(name + ".log"));
            settings = Files.writeString(
                    directory.resolve(name + ".yaml"), """
                    kafka:
                      bootstrap.servers: %s
                    leases:
                      term: %ds
                      lead: 300ms
                    gateway:
                      http-port: %d
                      grpc-port: 0
                    """.formatted(bootstrapServers, TERM.toSeconds(), port));
        }

        @Override
        protected ProcessBuilder command() {
            return JavaProcess.of(
                    List.of("-Xmx128m", "-XX:+UseSerialGC"), Main.class, "gateway", "-c", settings.toString());
        }

        /** Sends a request, and counts the answer if Weir has decided it. */
        void ask() {
            HttpRequest request = HttpRequest.newBuilder(URI.create("http://localhost:" + port + "/v1/authorize/any"))
                    .header("X-Api-Key", name())
                    .timeout(PATIENCE)
                    .build();
            var unused = http.sendAsync(request, HttpResponse.BodyHandlers.discarding())
                    .thenAccept(response -> {
                        if (response.headers().firstValue("X-Weir-Fallback").isEmpty()) {
                            decided.incrementAndGet();
                            (response.statusCode() == 200 ? allowed : denied).incrementAndGet();
                        }
                    });
        }

        /** Waits until the gateway has decided requests after this call. */
        void awaitDecisions() {
            int before = decided.get();
            await(name() + " decides", PATIENCE, () -> {
                checkAlive();
                return decided.get() > before;
            });
        }
    }

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @BeforeEach
    void start() throws Exception {
        EmbeddedBroker broker = opened(EmbeddedBroker.start());
        WeirConfig config = WeirConfig.builder()
                .threads(1)
                .leases(new WeirConfig.Leases(TERM, Duration.ofMillis(300)))
                .kafka(Map.of("bootstrap.servers", broker.bootstrapServers()))
                .stateDirectory(directory.resolve("state"))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config).apply(PolicyFile.read("policies.yaml", POLICIES), PolicyTopic.Options.DEFAULTS, 0);
        Enforcer enforcer = opened(Enforcer.start(config));
        for (int i = 0; i < GATEWAYS; i++) {
            GatewayProcess gateway = opened(new GatewayProcess("gateway-" + i, broker.bootstrapServers()));
            gateways.add(gateway);
            gateway.start();
        }
        enforcer.awaitRunning(PATIENCE);
        ScheduledExecutorService load = Executors.newSingleThreadScheduledExecutor();
        open.push(load::shutdownNow);
        var unused = load.scheduleAtFixedRate(
                () -> gateways.forEach(GatewayProcess::ask), 0, INTERVAL_MS, TimeUnit.MILLISECONDS);
        gateways.forEach(GatewayProcess::awaitDecisions);
    }

    private <T extends AutoCloseable> T opened(T one) {
        open.push(one);
        return one;
    }

    @AfterEach
    void stop() throws Exception {
        while (!open.isEmpty()) {
            open.pop().close();
        }
    }

    @Test
    void gateways_together_never_exceed_the_limit_when_one_is_killed_and_one_is_paused() throws Exception {
        GatewayProcess killed = gateways.get(0);
        GatewayProcess paused = gateways.get(1);
        killed.kill();
        paused.pause();
        long pausedNanos = System.nanoTime();
        killed.start();
        killed.awaitDecisions();
        await(
                "the lease of the paused gateway has expired",
                PATIENCE,
                () -> System.nanoTime() - pausedNanos > TERM.multipliedBy(2).toNanos());
        paused.resume();
        paused.awaitDecisions();
        await("the limit is used up", PATIENCE, () -> {
            int before = allowed.get();
            int deniedBefore = denied.get();
            await("more decisions", PATIENCE, () -> denied.get() - deniedBefore > GATEWAYS * 100);
            return allowed.get() == before;
        });
        assertThat(allowed.get()).isBetween(LEAST, LIMIT);
    }
}
