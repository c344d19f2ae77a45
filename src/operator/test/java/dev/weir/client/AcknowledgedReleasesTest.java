package dev.weir.client;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.release.ReleaseConsumer;
import dev.weir.client.release.ReleaseTask;
import dev.weir.client.release.ReleaseWorker;
import dev.weir.client.release.WorkerBuilder;
import dev.weir.event.Acknowledgement.Result;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.TestBroker;
import dev.weir.wire.DeadLetterHeaders;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests workers that acknowledge the releases of queues with slots, with a real broker and an enforcer. */
@Tag("full")
class AcknowledgedReleasesTest {

    private static final String POLICIES = """
            policies:
              - {id: jobs, match: {endpoint: /jobs}, queue: jobs}
              - {id: never, match: {endpoint: /never}, queue: never}
              - {id: hand, match: {endpoint: /hand}, queue: hand}
            queues:
              - {id: jobs, max-in-flight: 4, ack-timeout: 3s, max-attempts: 1000, retry-backoff: 0ms}
              - {id: never, max-in-flight: 1, max-attempts: 3, retry-backoff: 10ms}
              - {id: hand, max-in-flight: 1}
            """;

    @TempDir
    static Path directory;

    private static final AtomicInteger PREFIXES = new AtomicInteger();

    private LiveWeir up;
    private Enforcer enforcer;

    /** The attempts that have started, by requestId. */
    private final Map<String, List<Integer>> started = new ConcurrentHashMap<>();

    private final Set<String> finished = ConcurrentHashMap.newKeySet();

    @BeforeEach
    void start() throws Exception { // each test with topics of its own, since a worker handles all queues
        String prefix = "acknowledged" + PREFIXES.incrementAndGet() + ".";
        up = LiveWeir.create(TestBroker.shared(), directory, prefix, POLICIES);
        enforcer = up.enforce();
    }

    @AfterEach
    void stop() {
        enforcer.close();
    }

    @Test
    void another_worker_finishes_what_a_dead_one_held_and_each_attempt_starts_at_most_once() throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        try (WeirClient weir = up.client().start()) {
            queue(weir, "job", 12, "/jobs");
            ReleaseWorker dying = worker("pool", work -> {
                        note(work);
                        awaitForEver(never);
                    })
                    .finishWithin(Duration.ZERO)
                    .start();
            await("all slots are held", LiveWeir.PATIENCE, () -> dying.stats().inProgress() == 4);
            dying.close(); // its handlers ignore the interruption, so nothing is completed
            Set<String> held = Set.copyOf(started.keySet());
            try (ReleaseWorker living = worker("pool", work -> {
                        note(work);
                        finished.add(work.release().requestId());
                    })
                    .start()) {
                await("all jobs are done", LiveWeir.PATIENCE, () -> finished.size() == 12);
                await(
                        "all jobs are acknowledged",
                        LiveWeir.PATIENCE,
                        () -> living.stats().inProgress() == 0);
            }
            assertThat(held).hasSize(4);
            assertThat(started.values())
                    .allSatisfy(attempts -> assertThat(attempts).doesNotHaveDuplicates());
            assertThat(held)
                    .allSatisfy(
                            job -> assertThat(started.get(job)).startsWith(1).hasSizeGreaterThan(1));
        } finally {
            never.countDown();
        }
    }

    @Test
    void a_request_that_always_fails_becomes_a_dead_letter_with_the_last_error() throws Exception {
        try (WeirClient weir = up.client().start();
                ReleaseWorker worker = worker("failing", work -> {
                            note(work);
                            throw new IllegalStateException("failure " + work.attempt());
                        })
                        .start()) {
            queue(weir, "never", 1, "/never");
            await(
                    "the last attempt is completed",
                    LiveWeir.PATIENCE,
                    () -> worker.stats().attempts().retried() == 3);
            ConsumerRecord<byte[], byte[]> letter = deadLetter("ATTEMPTS_EXHAUSTED");
            assertThat(new RequestCodec()
                            .decode(letter.value(), 0, Request.Source.NONE)
                            .requestId())
                    .isEqualTo("never0");
            assertThat(header(letter, DeadLetterHeaders.DETAIL))
                    .isEqualTo("queue never, after 3 attempts: java.lang.IllegalStateException: failure 3");
            assertThat(started).isEqualTo(Map.of("never0", List.of(1, 2, 3)));
            assertThat(worker.stats().givenUp()).isZero();
        }
    }

    @Test
    void a_program_can_claim_and_complete_releases_by_itself() throws Exception {
        try (WeirClient weir = up.client().start();
                ReleaseConsumer releases = new ReleaseConsumer(
                        up.group("hand"), up.config().topics().prefix() + "releases")) {
            queue(weir, "hand", 2, "/hand");
            Release first = next(releases);
            assertThat(reason(weir.extend(first))).isEqualTo(Reason.EXTENDED);
            assertThat(reason(weir.complete(first, Result.RETRY, "busy"))).isEqualTo(Reason.COMPLETED);
            assertThat(reason(weir.complete(first))).isEqualTo(Reason.STALE_ATTEMPT);
            Set<String> done = ConcurrentHashMap.newKeySet();
            for (int i = 0; i < 2; i++) {
                Release release = next(releases);
                assertThat(reason(weir.complete(release))).isEqualTo(Reason.COMPLETED);
                done.add(release.requestId() + " " + release.attempt().number());
            }
            assertThat(done).containsExactlyInAnyOrder("hand0 2", "hand1 1");
        }
    }

    private static Release next(ReleaseConsumer releases) {
        List<Release> found = new ArrayList<>();
        await("a release", LiveWeir.PATIENCE, () -> {
            releases.next(Duration.ofMillis(100)).ifPresent(found::add);
            return !found.isEmpty();
        });
        return found.get(0);
    }

    private static Reason reason(CompletableFuture<ClientDecision> answer) throws Exception {
        return answer.get(5, TimeUnit.MINUTES).decision().orElseThrow().reason();
    }

    private void note(ReleaseTask work) {
        started.computeIfAbsent(work.release().requestId(), id -> new CopyOnWriteArrayList<>())
                .add(work.attempt());
    }

    private static void awaitForEver(CountDownLatch never) {
        while (true) {
            try {
                never.await();
                return;
            } catch (InterruptedException e) {
                // like a handler that hangs
            }
        }
    }

    private static void queue(WeirClient weir, String prefix, int count, String endpoint)
            throws InterruptedException, ExecutionException {
        List<CompletableFuture<ClientDecision>> pending = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Request request = RequestBuilder.of("c" + i % 2)
                    .requestId(prefix + i)
                    .attribute("endpoint", endpoint)
                    .build();
            pending.add(weir.decide(request));
        }
        for (CompletableFuture<ClientDecision> answer : pending) {
            assertThat(answer.get().decision().orElseThrow().outcome()).isEqualTo(Outcome.QUEUED);
        }
    }

    private WorkerBuilder worker(String group, ReleaseTask.Handler handler) {
        return ReleaseWorker.builder(up.group(group), handler)
                .prefix(up.config().topics().prefix());
    }

    private ConsumerRecord<byte[], byte[]> deadLetter(String reason) {
        List<ConsumerRecord<byte[], byte[]>> found = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                new HashMap<>(up.config().kafka()), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            String topic = up.config().topics().prefix() + "dead-letters";
            List<TopicPartition> partitions = List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            await("a dead letter", LiveWeir.PATIENCE, () -> {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    if (reason.equals(header(record, DeadLetterHeaders.REASON))) {
                        found.add(record);
                    }
                }
                return !found.isEmpty();
            });
        }
        return found.get(0);
    }

    private static String header(ConsumerRecord<byte[], byte[]> record, String name) {
        return new String(record.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
    }
}
