package dev.weir.client;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.release.RefusedException;
import dev.weir.client.release.ReleaseConsumer;
import dev.weir.client.release.ReleaseFailedException;
import dev.weir.client.release.ReleaseTask;
import dev.weir.client.release.ReleaseWorker;
import dev.weir.client.release.WorkerBuilder;
import dev.weir.client.release.WorkerMetricsBinder;
import dev.weir.client.release.WorkerStats;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Outcome;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.TestBroker;
import dev.weir.wire.DeadLetterHeaders;
import dev.weir.wire.ReleaseCodec;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
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
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests a worker with a real broker, with releases from an enforcer's queue and with releases that the tests write. */
@Tag("full")
class ReleaseWorkerTest {

    private static final String POLICIES = """
            policies:
              - {id: sms, match: {endpoint: /sms}, queue: sms}
              - {id: twice, match: {endpoint: /twice}, queue: twice, layer: twice}
              - id: burst
                match: {endpoint: /twice}
                limits: [{algorithm: fixed-window, limit: 2, per: 1 day}]
            queues:
              - {id: sms, limit: 500, per: 1s}
              - {id: twice, limit: 500, per: 1s}
            """;

    private static final Duration MOMENT = Duration.ofMillis(20);

    @TempDir
    static Path directory;

    private static EmbeddedBroker broker;
    private static LiveWeir up;
    private static Enforcer enforcer;
    private static Admin admin;

    /** The tasks that were passed to handlers, by request id. */
    private final Map<String, List<ReleaseTask>> handled = new ConcurrentHashMap<>();

    @BeforeAll
    static void start() throws Exception {
        broker = TestBroker.shared();
        admin = Admin.create(Map.of("bootstrap.servers", broker.bootstrapServers()));
        up = LiveWeir.create(broker, directory, "worker.", POLICIES);
        enforcer = up.enforce();
    }

    @AfterAll
    static void stop() {
        enforcer.close();
        admin.close();
    }

    @Test
    void each_release_is_handled_once_not_before_its_time_and_committed() throws Exception {
        AtomicInteger early = new AtomicInteger();
        try (WeirClient weir = up.client().start();
                ReleaseWorker worker = worker(up, "once", work -> {
                            early.addAndGet(
                                    work.release().releaseAtNanos() / 1_000_000 > System.currentTimeMillis() ? 1 : 0);
                            note(work);
                        })
                        .start()) {
            List<CompletableFuture<ClientDecision>> pending = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                pending.add(weir.decide(sms("once" + i, "/sms")));
            }
            for (CompletableFuture<ClientDecision> answer : pending) {
                assertThat(answer.get(5, TimeUnit.MINUTES)
                                .decision()
                                .orElseThrow()
                                .outcome())
                        .isEqualTo(Outcome.QUEUED);
            }
            await("all releases are handled", LiveWeir.PATIENCE, () -> count("once") == 200);
            await("all releases are committed", LiveWeir.PATIENCE, () -> committed(up, "once")
                    .equals(ends(up)));
            assertThat(handled.entrySet())
                    .filteredOn(entry -> entry.getKey().startsWith("once")) // other tests use the same map
                    .hasSize(200)
                    .allMatch(entry -> entry.getValue().size() == 1);
            assertThat(early).hasValue(0);
            assertThat(worker.stats().duplicates()).isZero();
        }
    }

    @Test
    void a_failed_release_is_queued_again_and_finally_a_dead_letter() throws Exception {
        try (WeirClient weir = up.client().start();
                ReleaseWorker worker = worker(up, "again", work -> {
                            note(work);
                            boolean fails = work.firstRequestId().startsWith("never")
                                    || (work.firstRequestId().startsWith("third") && work.attempt() < 3);
                            if (fails) {
                                throw new AssertionError("not yet");
                            }
                        })
                        .attempts(3)
                        .backOff(MOMENT, MOMENT)
                        .start()) {
            for (String id : List.of("first", "third", "never")) {
                weir.decide(sms(id, "/sms")).get(5, TimeUnit.MINUTES);
            }
            await(
                    "the release is given up",
                    LiveWeir.PATIENCE,
                    () -> worker.stats().givenUp() == 1);
            SimpleMeterRegistry registry = new SimpleMeterRegistry();
            WorkerMetricsBinder.of(worker).bindTo(registry);
            assertThat(registry.get("weir.worker.given.up").functionCounter().count())
                    .isEqualTo(1);
            assertThat(registry.getMeters())
                    .hasSize(WorkerStats.Attempts.class.getRecordComponents().length
                            + WorkerStats.class.getRecordComponents().length
                            - 1);
            await(
                    "the others are done",
                    LiveWeir.PATIENCE,
                    () -> worker.stats().attempts().handled() >= 2 && count("third") == 3);
            assertThat(handled.get("first")).extracting(ReleaseTask::attempt).containsExactly(1);
            assertThat(handled.get("third")).extracting(ReleaseTask::attempt).containsExactly(1, 2, 3);
            assertThat(handled.get("third"))
                    .extracting(work -> work.release().requestId())
                    .containsExactly("third", "third~2", "third~3");
            assertThat(handled.get("third"))
                    .extracting(work -> work.release().sequence())
                    .isSorted()
                    .doesNotHaveDuplicates();
            assertThat(handled.get("third"))
                    .allMatch(work -> new String(work.release().payload(), StandardCharsets.UTF_8).equals("hello")
                            && work.release().tier().equals("gold")
                            && work.release().cost() == 2);
            assertThat(handled.get("never")).extracting(ReleaseTask::attempt).containsExactly(1, 2, 3);
            ConsumerRecord<byte[], byte[]> letter = deadLetter(up, "ATTEMPTS_FAILED");
            assertThat(new ReleaseCodec().decode(letter.value()).requestId()).isEqualTo("never~3");
            assertThat(header(letter, DeadLetterHeaders.DETAIL)).isEqualTo("java.lang.AssertionError: not yet");
            assertThat(header(letter, DeadLetterHeaders.TOPIC)).isEqualTo("worker.releases");
            assertThat(header(letter, "weir.first-request-id")).isEqualTo("never");
            assertThat(worker.stats().attempts().retried()).isEqualTo(4);
        }
    }

    @Test
    void a_denied_next_attempt_counts_as_failed_and_the_callback_is_retried_until_it_succeeds() throws Exception {
        LinkedBlockingQueue<Throwable> reported = new LinkedBlockingQueue<>();
        try (WeirClient weir = up.client().start();
                ReleaseWorker worker = worker(up, "refused", work -> {
                            if (work.release().queue().equals("twice")) {
                                note(work);
                                throw new IllegalStateException("not yet");
                            }
                        })
                        .attempts(3)
                        .backOff(MOMENT, MOMENT)
                        .givenUp((work, cause) -> {
                            reported.add(cause);
                            if (reported.size() == 1) {
                                throw new IllegalStateException("ask later");
                            }
                        })
                        .start()) {
            // the limit is two a day: this request and the second attempt are allowed, the third attempt is denied
            weir.decide(sms("refused", "/twice")).get(5, TimeUnit.MINUTES);
            await("the second attempt", LiveWeir.PATIENCE, () -> count("refused") == 2);
            assertThat(handled.get("refused")).extracting(ReleaseTask::attempt).containsExactly(1, 2);
            await(
                    "the third attempt is denied",
                    LiveWeir.PATIENCE,
                    () -> worker.stats().attempts().refused() == 1);
            await(
                    "the release is given up",
                    LiveWeir.PATIENCE,
                    () -> worker.stats().givenUp() == 1);
            assertThat(reported)
                    .hasSize(2)
                    .allMatch(cause -> cause instanceof RefusedException refused
                            && refused.decision().outcome() == Outcome.DENIED
                            && refused.getCause().getMessage().equals("not yet"));
        }
    }

    @Test
    void a_release_that_has_failed_for_good_is_given_up_at_once() throws Exception {
        LiveWeir good = LiveWeir.create(broker, directory, "good.", POLICIES);
        write(good, 0, 1);
        LinkedBlockingQueue<Throwable> reported = new LinkedBlockingQueue<>();
        try (ReleaseWorker worker = worker(good, "good", work -> {
                    note(work);
                    throw new ReleaseFailedException("no such number");
                })
                .backOff(MOMENT, MOMENT)
                .givenUp((work, cause) -> reported.add(cause))
                .start()) {
            await(
                    "the release is given up",
                    LiveWeir.PATIENCE,
                    () -> worker.stats().givenUp() == 1);
            assertThat(reported).singleElement().isInstanceOf(ReleaseFailedException.class);
            assertThat(count("w")).isEqualTo(1);
            assertThat(worker.stats().attempts().failed()).isEqualTo(1);
        }
    }

    @Test
    void releases_read_again_after_a_rebalance_are_skipped_and_committed_with_those_in_progress() throws Exception {
        LiveWeir alone = LiveWeir.create(broker, directory, "single.", POLICIES);
        write(alone, 0, 10);
        write(alone, 0, 1); // a second request with the same id
        CountDownLatch go = new CountDownLatch(1);
        try (ReleaseWorker worker = worker(alone, "rebalance", work -> {
                    note(work);
                    if (work.firstRequestId().equals("w0")) {
                        go.await();
                    }
                })
                .attempts(1)
                .finishWithin(Duration.ZERO)
                .start()) {
            await("all releases are handed out", LiveWeir.PATIENCE, () -> count("w") == 10);
            await(
                    "all releases but one are done",
                    LiveWeir.PATIENCE,
                    () -> worker.stats().attempts().handled() == 9);
            Map<String, Object> second = alone.group("rebalance");
            second.put("client.id", "z"); // members are sorted by name, so the worker keeps partition 0
            try (ReleaseConsumer other = new ReleaseConsumer(second, "alone.releases")) {
                await("the releases are read again", LiveWeir.PATIENCE, () -> {
                    assertThat(other.next(Duration.ZERO)).isEmpty();
                    return worker.stats().duplicates() >= 12;
                });
                assertThat(committed(alone, "rebalance")).doesNotContainValue(11L);
                go.countDown();
                await("all releases are committed", LiveWeir.PATIENCE, () -> {
                    assertThat(other.next(Duration.ZERO)).isEmpty();
                    return committed(alone, "rebalance").containsValue(11L);
                });
            }
            assertThat(handled.values()).allMatch(all -> all.size() == 1);
        }
    }

    @Test
    void a_worker_that_its_group_has_removed_joins_again_and_commits() throws Exception {
        LiveWeir removed = LiveWeir.create(broker, directory, "removed.", POLICIES);
        write(removed, 0, 1);
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        Map<String, Object> kafka = removed.group("removed");
        kafka.put("heartbeat.interval.ms", 30_000); // the commit reports the removal, and no heartbeat before it
        try (ReleaseWorker worker = ReleaseWorker.builder(kafka, work -> {
                    note(work);
                    begun.countDown();
                    go.await();
                })
                .prefix("removed.")
                .attempts(1)
                .start()) {
            assertThat(begun.await(5, TimeUnit.MINUTES)).isTrue();
            admin.removeMembersFromConsumerGroup(
                            removed.groupId("removed"), new RemoveMembersFromConsumerGroupOptions())
                    .all()
                    .get();
            go.countDown();
            await("the release is committed", LiveWeir.PATIENCE, () -> committed(removed, "removed")
                    .containsValue(1L));
            await("nothing fails any more", LiveWeir.PATIENCE, () -> worker.failure()
                    .isEmpty());
            assertThat(count("w")).isEqualTo(1);
        }
    }

    @Test
    void a_duplicate_release_is_handled_once_and_committed_with_the_first() throws Exception {
        LiveWeir doubles = LiveWeir.create(broker, directory, "doubles.", POLICIES);
        write(doubles, 0, 1);
        write(doubles, 0, 1);
        CountDownLatch go = new CountDownLatch(1);
        ReleaseWorker worker = worker(doubles, "doubles", work -> {
                    note(work);
                    go.await();
                })
                .attempts(1)
                .start();
        try (worker) {
            await(
                    "the duplicate is read",
                    LiveWeir.PATIENCE,
                    () -> worker.stats().duplicates() == 1);
            go.countDown();
            await("both releases are committed", LiveWeir.PATIENCE, () -> committed(doubles, "doubles")
                    .containsValue(2L));
            assertThat(count("w")).isEqualTo(1);
        }
    }

    @Test
    void an_unfinished_release_blocks_commits_and_others_only_beyond_the_maximum() throws Exception {
        LiveWeir bound = LiveWeir.create(broker, directory, "bound.", POLICIES);
        write(bound, 0, 30);
        CountDownLatch go = new CountDownLatch(1);
        Set<String> interrupted = ConcurrentHashMap.newKeySet();
        ReleaseWorker first = worker(bound, "bound", work -> {
                    note(work);
                    if (work.firstRequestId().equals("w0")) {
                        try {
                            go.await();
                        } catch (InterruptedException e) {
                            interrupted.add(work.firstRequestId());
                            throw e;
                        }
                    }
                })
                .attempts(1)
                .ahead(20)
                .finishWithin(Duration.ZERO)
                .start();
        try (first) {
            await(
                    "as many releases as permitted are done",
                    LiveWeir.PATIENCE,
                    () -> first.stats().attempts().handled() == 19);
        } // like a crash: the first release is neither done nor committed
        assertThat(handled).hasSize(20).doesNotContainKey("w20");
        assertThat(committed(bound, "bound")).doesNotContainValue(20L).doesNotContainValue(1L);
        await("the handler is interrupted", LiveWeir.PATIENCE, () -> interrupted.contains("w0"));
        go.countDown();
        try (ReleaseWorker second =
                worker(bound, "bound", this::note).attempts(1).threads(1).start()) {
            await("all releases are committed", LiveWeir.PATIENCE, () -> committed(bound, "bound")
                    .containsValue(30L));
            assertThat(second.stats().attempts().handled()).isEqualTo(30); // at least once
        }
    }

    @Test
    void closing_finishes_tasks_in_progress_and_commits() throws Exception {
        LiveWeir closing = LiveWeir.create(broker, directory, "closing.", POLICIES);
        write(closing, 0, 1);
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        ReleaseWorker worker = worker(closing, "closing", work -> {
                    begun.countDown();
                    go.await();
                    note(work);
                })
                .attempts(1)
                .finishWithin(LiveWeir.PATIENCE)
                .start();
        assertThat(begun.await(5, TimeUnit.MINUTES)).isTrue();
        Thread closer = new Thread(worker::close);
        closer.start();
        await("close() waits", LiveWeir.PATIENCE, () -> closer.getState() == Thread.State.WAITING);
        go.countDown();
        closer.join();
        assertThat(count("w")).isEqualTo(1);
        assertThat(committed(closing, "closing")).containsValue(1L);
    }

    @Test
    void an_invalid_release_is_a_dead_letter_and_the_next_one_is_handled() throws Exception {
        LiveWeir odd = LiveWeir.create(broker, directory, "odd.", POLICIES);
        byte[] noRelease = {1, 2, 3};
        write(odd, new ProducerRecord<>("odd.releases", 0, noRelease, noRelease));
        write(odd, 0, 1);
        try (ReleaseWorker worker = worker(odd, "odd", this::note)
                .attempts(1)
                .givenUp((work, cause) -> {})
                .start()) {
            await(
                    "both records are done",
                    LiveWeir.PATIENCE,
                    () -> count("w") == 1 && worker.stats().givenUp() == 1);
            ConsumerRecord<byte[], byte[]> letter = deadLetter(odd, "NOT_AVRO");
            assertThat(letter.key()).isEqualTo(noRelease);
            assertThat(letter.value()).isEqualTo(noRelease);
            await("both records are committed", LiveWeir.PATIENCE, () -> committed(odd, "odd")
                    .containsValue(2L));
        }
    }

    private void note(ReleaseTask work) {
        handled.computeIfAbsent(work.firstRequestId(), id -> new ArrayList<>()).add(work);
    }

    private int count(String prefix) {
        return handled.entrySet().stream()
                .filter(entry -> entry.getKey().startsWith(prefix))
                .mapToInt(entry -> entry.getValue().size())
                .sum();
    }

    private static WorkerBuilder worker(LiveWeir weir, String group, ReleaseTask.Handler handler) {
        Map<String, Object> kafka = weir.group(group);
        kafka.put("consumer.client.id", "a");
        return ReleaseWorker.builder(kafka, handler)
                .prefix(weir.config().topics().prefix());
    }

    private static Request sms(String id, String endpoint) {
        return RequestBuilder.of("alice")
                .requestId(id)
                .tier("gold")
                .cost(endpoint.equals("/sms") ? 2 : 1)
                .attribute("endpoint", endpoint)
                .payload("hello".getBytes(StandardCharsets.UTF_8))
                .build();
    }

    private static void write(LiveWeir weir, int from, int to) throws Exception {
        for (int i = from; i < to; i++) {
            Release release = Release.builder("w" + i, "c", "q")
                    .sequence(i + 1)
                    .releaseAtNanos(i)
                    .build();
            byte[] key = "c".getBytes(StandardCharsets.UTF_8);
            write(
                    weir,
                    new ProducerRecord<>(
                            weir.config().topics().prefix() + "releases", 0, key, new ReleaseCodec().encode(release)));
        }
    }

    private static void write(LiveWeir weir, ProducerRecord<byte[], byte[]> record) throws Exception {
        Map<String, Object> kafka = new HashMap<>(weir.config().kafka());
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(kafka, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.send(record).get();
        }
    }

    /** Returns the first dead letter with this reason. */
    private static ConsumerRecord<byte[], byte[]> deadLetter(LiveWeir weir, String reason) {
        Map<String, Object> kafka = new HashMap<>(weir.config().kafka());
        String topic = weir.config().topics().prefix() + "dead-letters";
        long startNanos = System.nanoTime();
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(kafka, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            while (System.nanoTime() - startNanos < LiveWeir.PATIENCE.toNanos()) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    if (reason.equals(header(record, DeadLetterHeaders.REASON))) {
                        return record;
                    }
                }
            }
        }
        throw new AssertionError("no dead letter " + reason);
    }

    private static String header(ConsumerRecord<byte[], byte[]> record, String name) {
        return new String(record.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
    }

    private static Map<TopicPartition, Long> committed(LiveWeir weir, String group) {
        try {
            Map<TopicPartition, OffsetAndMetadata> offsets = admin.listConsumerGroupOffsets(weir.groupId(group))
                    .partitionsToOffsetAndMetadata()
                    .get();
            Map<TopicPartition, Long> committed = new HashMap<>();
            offsets.forEach((partition, offset) -> committed.put(partition, offset.offset()));
            committed.values().remove(0L);
            return committed;
        } catch (InterruptedException | ExecutionException e) {
            throw new AssertionError(e);
        }
    }

    private static Map<TopicPartition, Long> ends(LiveWeir weir) {
        String topic = weir.config().topics().prefix() + "releases";
        Map<String, Object> kafka = new HashMap<>(weir.config().kafka());
        kafka.put("isolation.level", "read_committed");
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(kafka, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            Map<TopicPartition, Long> ends =
                    consumer.endOffsets(List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1)));
            ends.values().remove(0L);
            return ends;
        }
    }
}
