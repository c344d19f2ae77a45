package dev.weir.failure;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.WeirClient;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.failure.process.InstanceProcess;
import dev.weir.kafka.KafkaSettings;
import dev.weir.rules.PolicyTopic;
import dev.weir.testing.ChildProcess;
import dev.weir.testing.JavaProcess;
import dev.weir.topics.TopicSetup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Slots return when who used them was killed, and when the enforcer was killed while they were freed. */
@Tag("full")
class ReservationHealingTest {

    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final int SLOTS = 10;
    private static final String POLICIES =
            "policies: [{id: slots, limits: [{algorithm: concurrency, limit: 10, ttl: %s}]}]";

    @TempDir
    Path directory;

    private EmbeddedBroker broker;
    private WeirConfig config;

    @BeforeEach
    void start() {
        broker = EmbeddedBroker.start();
    }

    @AfterEach
    void stop() {
        broker.close();
    }

    private void apply(String ttl) throws Exception {
        config = WeirConfig.builder()
                .topics("weir.", 1)
                .kafka(Map.of("bootstrap.servers", broker.bootstrapServers()))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config)
                .apply(PolicyFile.read("policies.yaml", POLICIES.formatted(ttl)), PolicyTopic.Options.DEFAULTS, 0);
    }

    private InstanceProcess enforcer() throws Exception {
        InstanceProcess instance =
                new InstanceProcess("enforcer", directory, 1, Map.of("bootstrap.servers", broker.bootstrapServers()));
        instance.start();
        instance.awaitReady();
        return instance;
    }

    private static WeirClient client(String bootstrapServers) throws InterruptedException {
        WeirClient client = WeirClient.builder(Map.of("bootstrap.servers", bootstrapServers))
                .timeout(PATIENCE)
                .start();
        assertThat(client.awaitReady(PATIENCE)).isTrue();
        return client;
    }

    private static CompletableFuture<Decision> send(WeirClient client, RequestKind kind, String id) {
        Request request = Request.builder(id, "alice").kind(kind).build();
        return client.decide(request).thenApply(decision -> decision.decision().orElseThrow());
    }

    private static Decision decide(WeirClient client, RequestKind kind, String id) throws Exception {
        return send(client, kind, id).get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** A process that takes all slots, and then works for ever. */
    static final class Worker extends ChildProcess {
        private static final String WORKS = "all slots are taken";
        private final String bootstrapServers;

        Worker(Path directory, String bootstrapServers) {
            super("worker", directory.resolve("worker.log"));
            this.bootstrapServers = bootstrapServers;
        }

        @Override
        protected ProcessBuilder command() {
            return JavaProcess.of(List.of("-Xmx128m"), Worker.class, bootstrapServers);
        }

        void awaitWorking() {
            await("it has all slots", PATIENCE, () -> Files.readString(log()).contains(WORKS));
        }

        public static void main(String[] args) throws Exception {
            try (WeirClient client = client(args[0])) {
                for (int i = 0; i < SLOTS; i++) {
                    assertThat(decide(client, RequestKind.CONSUME, "work-" + i).outcome())
                            .isEqualTo(Outcome.ALLOWED);
                }
                System.out.println(WORKS);
                Thread.sleep(Long.MAX_VALUE);
            }
        }
    }

    @Test
    void the_slots_of_a_killed_client_return_after_the_ttl() throws Exception {
        apply("30s");
        try (InstanceProcess instance = enforcer();
                Worker worker = new Worker(directory, broker.bootstrapServers());
                WeirClient client = client(broker.bootstrapServers())) {
            worker.start();
            worker.awaitWorking();
            Decision denied = decide(client, RequestKind.PEEK, "peek");
            worker.kill();
            assertThat(denied.outcome()).isEqualTo(Outcome.DENIED);
            await("the slots return", PATIENCE, () -> {
                instance.checkAlive();
                return decide(client, RequestKind.PEEK, "peek").remaining() == SLOTS;
            });
            Decision allowed = decide(client, RequestKind.CONSUME, "next");
            assertThat(allowed.outcome()).isEqualTo(Outcome.ALLOWED);
            assertThat(allowed.remaining()).isEqualTo(SLOTS - 1);
        }
    }

    @Test
    void an_enforcer_that_is_killed_frees_each_slot_once() throws Exception {
        apply("30d");
        try (InstanceProcess instance = enforcer();
                WeirClient client = client(broker.bootstrapServers())) {
            List<CompletableFuture<Decision>> released = new ArrayList<>();
            int rounds = 100;
            for (int round = 0; round < rounds; round++) {
                for (int i = 0; i < SLOTS; i++) {
                    released.add(send(client, RequestKind.CONSUME, "work-" + round + "-" + i));
                }
                for (int i = 0; i < SLOTS; i++) {
                    released.add(send(client, RequestKind.RELEASE, "work-" + round + "-" + i));
                }
                if (round == rounds / 2) {
                    released.get(0).get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
                    instance.kill(); // while most are on their way
                    instance.start();
                }
            }
            for (int i = 0; i < released.size(); i++) {
                Decision decision = released.get(i).get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
                boolean isRelease = i / SLOTS % 2 == 1;
                assertThat(decision.outcome()).as("request " + i).isEqualTo(Outcome.ALLOWED);
                assertThat(decision.reason())
                        .as("request " + i)
                        .isEqualTo(isRelease ? Reason.RELEASED : Reason.WITHIN_LIMITS);
            }
            assertThat(decide(client, RequestKind.PEEK, "peek").remaining()).isEqualTo(SLOTS);
            assertThat(decide(client, RequestKind.RELEASE, "work-3-3").reason()).isEqualTo(Reason.RELEASED);
            assertThat(decide(client, RequestKind.PEEK, "peek").remaining()).isEqualTo(SLOTS);
        }
    }
}
