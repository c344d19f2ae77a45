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
import dev.weir.limit.PeakOfUses;
import dev.weir.rules.PolicyTopic;
import dev.weir.testing.ChildProcess;
import dev.weir.testing.JavaProcess;
import dev.weir.topics.TopicSetup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Slots return when who used them was killed, and when the enforcer was killed while they were freed. */
@Tag("full")
class ReservationHealingTest {

    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final int SLOTS = 10;
    private static final int PARTITIONS = 3;
    private static final String POLICIES =
            "policies: [{id: slots, %slimits: [{algorithm: concurrency, limit: 10, ttl: %s}]}]";

    /** Whose slots they are: those of one client, or of many, whose requests are on several partitions. */
    enum Sharing {
        OWN(""),
        SHARED("key: [], lease: client, max-wait: 1m, ");

        private final String terms;

        Sharing(String terms) {
            this.terms = terms;
        }

        String client(int number) {
            return this == OWN ? "alice" : "client-" + number;
        }
    }

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

    private void apply(Sharing sharing, String ttl) throws Exception {
        config = WeirConfig.builder()
                .topics("weir.", PARTITIONS)
                .kafka(Map.of("bootstrap.servers", broker.bootstrapServers()))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config)
                .apply(
                        PolicyFile.read("policies.yaml", POLICIES.formatted(sharing.terms, ttl)),
                        PolicyTopic.Options.DEFAULTS,
                        0);
    }

    private InstanceProcess enforcer() throws Exception {
        InstanceProcess instance =
                new InstanceProcess("enforcer", directory, 1, Map.of("bootstrap.servers", broker.bootstrapServers()));
        instance.start();
        instance.awaitReady();
        return instance;
    }

    private static WeirClient client(String bootstrapServers) throws InterruptedException {
        return client(bootstrapServers, false);
    }

    /** @param committed whether it waits until decisions are committed, so that a kill does not change them */
    private static WeirClient client(String bootstrapServers, boolean committed) throws InterruptedException {
        WeirClient client = WeirClient.builder(Map.of("bootstrap.servers", bootstrapServers))
                .timeout(PATIENCE)
                .leased(true)
                .committed(committed)
                .start();
        assertThat(client.awaitReady(PATIENCE)).isTrue();
        return client;
    }

    private static CompletableFuture<Decision> send(WeirClient client, String of, RequestKind kind, String id) {
        Request request = Request.builder(id, of).kind(kind).build();
        return client.decide(request).thenApply(decision -> decision.decision().orElseThrow());
    }

    private static Decision decide(WeirClient client, String of, RequestKind kind, String id) throws Exception {
        return send(client, of, kind, id).get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** Waits until a number of slots are free. */
    private static void awaitFree(WeirClient client, InstanceProcess instance, String of, long free) {
        await(free + " slots are free", PATIENCE, () -> {
            instance.checkAlive();
            Long remaining = decide(client, of, RequestKind.PEEK, "peek").remaining();
            return remaining != null && remaining == free;
        });
    }

    /** A process that takes all slots, and then works for ever. */
    static final class Worker extends ChildProcess {
        private static final String WORKS = "all slots are taken until ";
        private final Sharing sharing;
        private final String bootstrapServers;

        Worker(Path directory, Sharing sharing, String bootstrapServers) {
            super("worker", directory.resolve("worker.log"));
            this.sharing = sharing;
            this.bootstrapServers = bootstrapServers;
        }

        @Override
        protected ProcessBuilder command() {
            return JavaProcess.of(List.of("-Xmx128m"), Worker.class, bootstrapServers, sharing.name());
        }

        /** Waits until it works. Returns when the first slot ends, by the time of the broker. */
        long awaitWorking() throws IOException {
            await("it has all slots", PATIENCE, () -> Files.readString(log()).contains(WORKS));
            String line = Files.readAllLines(log()).stream()
                    .filter(each -> each.startsWith(WORKS))
                    .findFirst()
                    .orElseThrow();
            return Long.parseLong(line.substring(WORKS.length()));
        }

        public static void main(String[] args) throws Exception {
            Sharing sharing = Sharing.valueOf(args[1]);
            long firstEndMs = Long.MAX_VALUE;
            try (WeirClient client = client(args[0])) {
                for (int i = 0; i < SLOTS; i++) {
                    Decision decision = decide(client, sharing.client(i), RequestKind.CONSUME, "work-" + i);
                    assertThat(decision.outcome()).isEqualTo(Outcome.ALLOWED);
                    firstEndMs = Math.min(firstEndMs, decision.reservedUntilMs());
                }
                System.out.println(WORKS + firstEndMs);
                Thread.sleep(Long.MAX_VALUE);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void the_slots_of_a_killed_client_return_after_the_ttl(Sharing sharing) throws Exception {
        apply(sharing, "15s");
        try (InstanceProcess instance = enforcer();
                Worker worker = new Worker(directory, sharing, broker.bootstrapServers());
                WeirClient client = client(broker.bootstrapServers())) {
            worker.start();
            long firstEndMs = worker.awaitWorking();
            worker.kill();
            await("a slot is free", PATIENCE, () -> {
                instance.checkAlive();
                Decision next = decide(client, sharing.client(1), RequestKind.CONSUME, "next-" + System.nanoTime());
                assertThat(next.outcome() == Outcome.ALLOWED && next.decidedAtMs() < firstEndMs)
                        .as("%s, but the first slot ends at %d", next, firstEndMs)
                        .isFalse();
                return next.outcome() == Outcome.ALLOWED;
            });
            awaitFree(client, instance, sharing.client(2), SLOTS);
        }
    }

    @Test
    void an_enforcer_that_is_killed_frees_each_slot_once() throws Exception {
        apply(Sharing.OWN, "30d");
        try (InstanceProcess instance = enforcer();
                WeirClient client = client(broker.bootstrapServers())) {
            List<CompletableFuture<Decision>> released = new ArrayList<>();
            int rounds = 100;
            for (int round = 0; round < rounds; round++) {
                for (int i = 0; i < SLOTS; i++) {
                    released.add(send(client, "alice", RequestKind.CONSUME, "work-" + round + "-" + i));
                }
                for (int i = 0; i < SLOTS; i++) {
                    released.add(send(client, "alice", RequestKind.RELEASE, "work-" + round + "-" + i));
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
            awaitFree(client, instance, "alice", SLOTS);
            assertThat(decide(client, "alice", RequestKind.RELEASE, "work-3-3").reason())
                    .isEqualTo(Reason.RELEASED);
            awaitFree(client, instance, "alice", SLOTS);
        }
    }

    /** A client that takes and frees a slot again and again. */
    private static final class Caller {
        private final WeirClient client;
        private final String name;
        private final PeakOfUses inUse;
        private final AtomicInteger decided;
        private int number;
        private volatile int allowed;

        Caller(WeirClient client, String name, PeakOfUses inUse, AtomicInteger decided) {
            this.client = client;
            this.name = name;
            this.inUse = inUse;
            this.decided = decided;
        }

        CompletableFuture<Void> work(int rounds) {
            return rounds == 0
                    ? CompletableFuture.completedFuture(null)
                    : send(client, name, RequestKind.CONSUME, "work-" + number++)
                            .thenCompose(this::release)
                            .thenCompose(done -> work(rounds - 1));
        }

        private CompletableFuture<Void> release(Decision taken) {
            decided.incrementAndGet();
            if (taken.outcome() != Outcome.ALLOWED) {
                return CompletableFuture.completedFuture(null);
            }
            allowed = number;
            return send(client, name, RequestKind.RELEASE, taken.requestId()).thenAccept(freed -> {
                boolean isFreed = freed.reason() == Reason.RELEASED;
                assertThat(isFreed || freed.reason() == Reason.NOTHING_RESERVED).isTrue();
                long endMs = isFreed ? freed.decidedAtMs() : taken.reservedUntilMs();
                synchronized (inUse) {
                    inUse.add(1, taken.decidedAtMs(), endMs);
                }
            });
        }
    }

    @Test
    void an_enforcer_that_is_killed_while_shared_slots_are_freed_lends_none_twice() throws Exception {
        apply(Sharing.SHARED, "15s");
        PeakOfUses inUse = new PeakOfUses();
        AtomicInteger decided = new AtomicInteger();
        int rounds = 40;
        try (InstanceProcess instance = enforcer();
                WeirClient client = client(broker.bootstrapServers(), true)) {
            List<Caller> callers = new ArrayList<>();
            List<CompletableFuture<Void>> done = new ArrayList<>();
            for (int i = 0; i < 2 * SLOTS; i++) {
                callers.add(new Caller(client, Sharing.SHARED.client(i), inUse, decided));
                done.add(callers.get(i).work(rounds));
            }
            for (int kills = 1; kills <= 2; kills++) {
                int enough = kills * rounds * callers.size() / 3;
                await(enough + " are decided", PATIENCE, () -> decided.get() >= enough);
                instance.kill();
                instance.start();
                instance.awaitReady();
            }
            for (CompletableFuture<Void> one : done) {
                one.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            }
            assertThat(callers).allSatisfy(caller -> assertThat(caller.allowed).isPositive());
            assertThat(inUse.most()).isBetween(1L, (long) SLOTS);
            awaitFree(client, instance, Sharing.SHARED.client(0), SLOTS);
        }
    }
}
