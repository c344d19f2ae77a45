package dev.weir.takeover;

import static dev.weir.testing.Await.await;
import static dev.weir.testing.Await.awaitValue;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.RequestBuilder;
import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.UnreachableException;
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
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two instances under load, of which one is suspected though it lives. */
@Tag("full")
class LiveInstanceRemovalTest {

    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final Duration SUSPECT_AFTER = Duration.ofSeconds(5);
    private static final String ADDRESS = "suspect.invalid:1";

    private final WeirConfig config = WeirConfig.builder()
            .named("live-" + UUID.randomUUID())
            .kafka(TestBroker.clientSettings())
            .build();
    private final ScheduledExecutorService load = Executors.newSingleThreadScheduledExecutor();
    private final AtomicInteger sent = new AtomicInteger();
    private final List<Decision> decided = new ArrayList<>();
    private Enforcer suspect;
    private Enforcer other;
    private RequestSender sender;
    private TopicReader<Decision> decisions;

    /** What the other instance sees of the suspect, which it does not remove. */
    private final class Looks implements PeerGroups {
        private final List<PeerActivity> seen = new ArrayList<>(); // without a failure in between
        private int removals;

        @Override
        public Optional<PeerActivity> activity(Announcement of) {
            try {
                Optional<PeerActivity> activity = other.takeover().groups().activity(of);
                activity.ifPresent(seen::add);
                return activity;
            } catch (UnreachableException e) {
                seen.clear();
                throw e;
            }
        }

        @Override
        public void remove(Announcement dead, Evidence evidence) {
            removals++;
        }

        /** Returns the partitions of requests that the suspect had at the last look. */
        Set<Integer> partitions() {
            return seen.get(seen.size() - 1).ends().keySet().stream()
                    .map(TopicPartition::partition)
                    .collect(Collectors.toSet());
        }
    }

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
            poll(Duration.ofMillis(50));
            return decided.size() >= before + more;
        });
    }

    private void poll(Duration timeout) {
        decisions.poll(timeout, decided::add);
    }

    /**
     * Waits until the instance that has these partitions has committed since now. The offsets and the decisions of a
     * transaction do not become visible at the same time, but both are before the partition's next transaction begins.
     */
    private void awaitCommit(Set<Integer> partitions) {
        int partition = awaitNextDecision(partitions);
        awaitNextDecision(Set.of(partition));
    }

    /** Waits until a request of these partitions that is sent from now on is decided. Returns its partition. */
    private int awaitNextDecision(Set<Integer> partitions) {
        int first = sent.get();
        int before = decided.size();
        return awaitValue("a further decision", PATIENCE, () -> {
            poll(Duration.ofMillis(50));
            return decided.stream()
                    .skip(before)
                    .filter(decision -> Integer.parseInt(decision.requestId().substring(1)) >= first)
                    .map(decision -> decision.source().partition())
                    .filter(partitions::contains)
                    .findFirst()
                    .orElse(null);
        });
    }

    private void assertEachIsDecidedOnce() throws Exception {
        load.shutdown();
        assertThat(load.awaitTermination(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .isTrue();
        sender.flush();
        awaitDecided(sent.get() - decided.size());
        poll(Duration.ofSeconds(1));
        assertThat(decided)
                .extracting(Decision::requestId)
                .doesNotHaveDuplicates()
                .hasSize(sent.get());
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

    /** The watch has a time of its own, so that the suspect has committed between any two looks. */
    @Test
    void an_instance_that_commits_is_not_removed_by_one_that_cannot_reach_it() {
        CompletableFuture<String> first =
                CompletableFuture.completedFuture(announced().json());
        AtomicInteger asked = new AtomicInteger();
        Looks looks = new Looks();
        VirtualTime time = new VirtualTime();
        PeerWatch watch = new PeerWatch(
                new TakeoverSource("watch", this::announced, () -> Set.of(ADDRESS), looks, SUSPECT_AFTER),
                (address, known) -> asked.getAndIncrement() == 0
                        ? first
                        : CompletableFuture.failedFuture(new IOException("no route")),
                address -> false,
                time::nanos,
                time,
                time);
        try (watch) {
            watch.start();
            await("what it commits is compared", PATIENCE, () -> {
                if (!looks.seen.isEmpty()) {
                    awaitCommit(looks.partitions());
                }
                time.pass(SUSPECT_AFTER);
                // The first look connects, and the second follows it at once.
                return looks.seen.size() >= 4 || looks.removals > 0;
            });
        }
        assertThat(looks.removals).isZero();
        for (int i = 2; i < looks.seen.size(); i++) {
            assertThat(looks.seen.get(i).isSilentSince(looks.seen.get(i - 1)))
                    .as("look %d", i)
                    .isFalse();
        }
    }
}
