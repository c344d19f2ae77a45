package dev.weir.takeover;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.RequestBuilder;
import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.kafka.KafkaSettings;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.Health;
import dev.weir.runtime.RequestSender;
import dev.weir.takeover.PeerGroups.Evidence;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicReader;
import dev.weir.topics.TopicSetup;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two instances under load, of which one is suspected though it lives. */
@Tag("full")
class LiveInstanceRemovalTest {

    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final String ADDRESS = "suspect.invalid:1";

    private final WeirConfig config = WeirConfig.builder()
            .named("live-" + UUID.randomUUID())
            .kafka(TestBroker.clientSettings())
            .build();
    private final ScheduledExecutorService load = Executors.newSingleThreadScheduledExecutor();
    private final AtomicInteger sent = new AtomicInteger();
    private final List<String> decided = new ArrayList<>();
    private Enforcer suspect;
    private Enforcer other;
    private RequestSender sender;
    private TopicReader<Decision> decisions;

    @BeforeEach
    void start(@TempDir Path directory) throws Exception {
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        suspect = Enforcer.start(config.withStateDirectory(directory.resolve("suspect")));
        other = Enforcer.start(config.withStateDirectory(directory.resolve("other")));
        suspect.awaitRunning(PATIENCE);
        other.awaitRunning(PATIENCE);
        sender = new RequestSender(config);
        decisions = TopicReader.decisions(config, TopicReader.From.BEGINNING, true);
        var unused = load.scheduleAtFixedRate(
                () -> {
                    int number = sent.getAndIncrement();
                    sender.send(RequestBuilder.of("c" + number % 100)
                            .requestId("r" + number)
                            .build());
                },
                0,
                10,
                TimeUnit.MILLISECONDS);
        await("all members are announced", PATIENCE, () -> announced().members().size() == 2);
        awaitDecided(100);
    }

    @AfterEach
    void stop() throws IOException {
        load.shutdownNow();
        decisions.close();
        sender.close();
        suspect.close();
        other.close();
    }

    private Announcement announced() {
        return suspect.takeover().announcement().get();
    }

    /** Waits until this many further requests are decided. */
    private void awaitDecided(int more) {
        int before = decided.size();
        await("further decisions", PATIENCE, () -> {
            decisions.poll(Duration.ofMillis(50), decision -> decided.add(decision.requestId()));
            return decided.size() >= before + more;
        });
    }

    private void assertEachIsDecidedOnce() throws Exception {
        load.shutdown();
        assertThat(load.awaitTermination(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .isTrue();
        sender.flush();
        awaitDecided(sent.get() - decided.size());
        decisions.poll(Duration.ofSeconds(1), decision -> decided.add(decision.requestId()));
        assertThat(decided).doesNotHaveDuplicates().hasSize(sent.get());
    }

    @Test
    void an_instance_that_is_removed_joins_again_and_each_request_is_decided_once() throws Exception {
        Announcement before = announced();
        other.takeover().groups().remove(before, Evidence.SILENT);
        await("it has joined again, and announces nothing for a while", PATIENCE, () -> announced()
                .members()
                .isEmpty());
        assertThat(other.takeover().groups().activity(before))
                .as("at most once a minute")
                .isEmpty();
        await("both run", PATIENCE, () -> suspect.health() == Health.RUNNING && other.health() == Health.RUNNING);
        awaitDecided(200);
        assertEachIsDecidedOnce();
        assertThat(suspect.hasEnded()).isFalse();
    }

    @Test
    void an_instance_that_commits_is_not_removed_by_one_that_cannot_reach_it() throws Exception {
        CompletableFuture<String> first =
                CompletableFuture.completedFuture(announced().json());
        AtomicInteger asked = new AtomicInteger();
        AtomicInteger looked = new AtomicInteger();
        PeerGroups groups = new PeerGroups() {
            @Override
            public Optional<PeerActivity> activity(Announcement of) {
                looked.getAndIncrement();
                return other.takeover().groups().activity(of);
            }

            @Override
            public void remove(Announcement dead, Evidence evidence) {
                other.takeover().groups().remove(dead, evidence);
            }
        };
        PeerWatch watch = new PeerWatch(
                new TakeoverSource("watch", this::announced, () -> Set.of(ADDRESS), groups, Duration.ofSeconds(5)),
                (address, known) -> asked.getAndIncrement() == 0
                        ? first
                        : CompletableFuture.failedFuture(new IOException("no route")));
        List<Announcement.Member> members = announced().members();
        try (watch) {
            watch.start();
            await("what it commits is compared", PATIENCE, () -> looked.get() >= 4); // the first connects
        }
        assertThat(announced().members()).isEqualTo(members);
        assertEachIsDecidedOnce();
    }
}
