package dev.weir.client.release;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Acknowledgement.Result;
import dev.weir.event.Decision;
import dev.weir.event.Reason;
import dev.weir.event.Receipt;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.wire.ReleaseCodec;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Test;

/** A worker that acknowledges attempts, with a group and with decisions that the tests control. */
class WorkerAttemptsTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final TopicPartition P0 = new TopicPartition("releases", 0);
    private static final TopicPartition P1 = new TopicPartition("releases", 1);
    private static final long MS = 1_000_000;
    private static final long NEVER = 1_000_000 * MS;

    /** What the group has committed, which outlives its members. */
    private final Map<TopicPartition, OffsetAndMetadata> committed = new ConcurrentHashMap<>();

    private final List<Request> sent = new CopyOnWriteArrayList<>();
    private final List<String> started = new CopyOnWriteArrayList<>(); // requestId and attempt
    private final AtomicInteger commitCalls = new AtomicInteger();
    private volatile RuntimeException commitFailure; // null if commits succeed
    private volatile Function<Request, CompletableFuture<Decision>> weir =
            request -> decided(request, request.kind() == RequestKind.EXTEND ? Reason.EXTENDED : Reason.COMPLETED);

    private final class Group extends MockConsumer<byte[], byte[]> {
        Group() {
            super("earliest");
            updateBeginningOffsets(Map.of(P0, 0L, P1, 0L));
            schedulePollTask(() -> rebalance(List.of(P0)));
        }

        @Override
        public synchronized void commitSync(Map<TopicPartition, OffsetAndMetadata> offsets) {
            commitCalls.incrementAndGet();
            RuntimeException failure = commitFailure;
            if (failure != null) {
                throw failure;
            }
            committed.putAll(offsets);
        }

        @Override
        public synchronized Map<TopicPartition, OffsetAndMetadata> committed(
                Set<TopicPartition> partitions, Duration timeout) {
            Map<TopicPartition, OffsetAndMetadata> found = new HashMap<>();
            partitions.forEach(partition -> found.put(partition, committed.get(partition)));
            return found;
        }

        void write(long offset, Release release) {
            write(P0, offset, release);
        }

        void write(TopicPartition partition, long offset, Release release) {
            write(partition, offset, release, 0);
        }

        /** Adds a record, which is read at the time of the broker at which it was appended. */
        void write(TopicPartition partition, long offset, Release release, long appendMs) {
            byte[] value = new ReleaseCodec().encode(release);
            schedulePollTask(() -> addRecord(new ConsumerRecord<>(
                    partition.topic(),
                    partition.partition(),
                    offset,
                    appendMs,
                    TimestampType.LOG_APPEND_TIME,
                    0,
                    value.length,
                    new byte[0],
                    value,
                    new RecordHeaders(),
                    Optional.empty())));
        }
    }

    private ReleaseWorker worker(Group group, ReleaseTask.Handler handler) {
        WorkerBuilder options = ReleaseWorker.builder(
                        Map.of("bootstrap.servers", "127.0.0.1:1", "group.id", "g"), work -> {
                            started.add(work.release().requestId() + " " + work.attempt());
                            handler.handle(work);
                        })
                .backOff(Duration.ZERO, Duration.ofMillis(1))
                .finishWithin(Duration.ZERO)
                .attempts(1);
        WorkerAttempts.Acknowledger acknowledger = new WorkerAttempts.Acknowledger() {
            @Override
            public void open() {}

            @Override
            public CompletableFuture<Decision> send(Request request, Duration within) {
                sent.add(request);
                return weir.apply(request);
            }
        };
        return new ReleaseWorker(
                options,
                () -> new ReleaseConsumer(
                        new ReleaseCodec(), () -> group, "releases", new BrokerClock(() -> 0), 100, LateReleases.PACE),
                new WorkerClient(() -> {
                    throw new AssertionError("no client is needed");
                }),
                acknowledger);
    }

    @Test
    void an_attempt_starts_after_a_commit_that_covers_it() throws Exception {
        Group group = new Group();
        List<OffsetAndMetadata> atStart = new CopyOnWriteArrayList<>();
        try (ReleaseWorker worker = worker(group, work -> atStart.add(committed.get(P0)))) {
            group.write(0, attempt("a", 1, 1_000));
            await(() -> worker.stats().attempts().handled() == 1);
            assertThat(atStart).containsExactly(new OffsetAndMetadata(1));
        }
    }

    @Test
    void no_attempt_starts_again_although_an_earlier_release_was_not_done_when_its_worker_died() throws Exception {
        Group group = new Group();
        try (ReleaseWorker worker = worker(group, work -> {})) {
            group.write(
                    0,
                    Release.builder("later", "c", "paced").releaseAtNanos(NEVER).build());
            group.write(1, attempt("a", 1, 1_000));
            await(() -> worker.stats().attempts().handled() == 1);
        }
        assertThat(committed.get(P0).offset()).isZero();

        Group next = new Group();
        try (ReleaseWorker worker = worker(next, work -> {})) {
            next.write(0, Release.builder("later", "c", "paced").build());
            next.write(1, attempt("a", 1, 1_000));
            next.write(2, attempt("a", 2, 1_000));
            await(() -> worker.stats().attempts().handled() == 2);
            await(() -> committed.get(P0).equals(new OffsetAndMetadata(3)));
        }
        assertThat(started).containsExactlyInAnyOrder("a 1", "later 1", "a 2");
    }

    @Test
    void nothing_starts_while_commits_fail() throws Exception {
        Group group = new Group();
        commitFailure = new CommitFailedException("test");
        try (ReleaseWorker worker = worker(group, work -> {})) {
            group.write(0, attempt("a", 1, 1_000));
            await(() -> worker.failure().isPresent());
            assertThat(started).isEmpty();
            commitFailure = null;
            await(() -> worker.stats().attempts().handled() == 1);
        }
    }

    @Test
    void an_attempt_whose_partition_was_lost_before_the_commit_does_not_start() throws Exception {
        Group group = new Group();
        commitFailure = new RebalanceInProgressException();
        try (ReleaseWorker worker = worker(group, work -> {})) {
            group.write(P0, 0, attempt("a", 1, 1_000));
            await(() -> commitCalls.get() > 0);
            assertThat(started).isEmpty();
            group.schedulePollTask(() -> group.rebalance(List.of(P1)));
            group.schedulePollTask(() -> commitFailure = null);
            group.write(P1, 0, attempt("b", 1, 1_000));
            await(() -> worker.stats().attempts().handled() == 1);
            assertThat(started).containsExactly("b 1");
            group.schedulePollTask(() -> group.rebalance(List.of(P0, P1)));
            group.write(P0, 0, attempt("a", 1, 1_000));
            await(() -> worker.stats().attempts().handled() == 2);
            assertThat(started).containsExactly("b 1", "a 1");
        }
    }

    @Test
    void a_release_is_dropped_when_its_time_is_over() throws Exception {
        Group group = new Group();
        try (ReleaseWorker worker = worker(group, work -> {})) {
            group.write(P0, 0, attempt("late", 1, 1_000), 1_000);
            group.write(P0, 1, attempt("a", 1, 1_001), 1_000);
            await(() -> worker.stats().attempts().handled() == 1
                    && worker.stats().attempts().stale() == 1);
            assertThat(started).containsExactly("a 1");
            await(() -> committed.get(P0).offset() == 2);
        }
    }

    @Test
    void the_handler_s_end_is_the_result() throws Exception {
        Group group = new Group();
        try (ReleaseWorker worker = worker(group, work -> {
            switch (work.release().requestId()) {
                case "fails" -> throw new IllegalStateException("down\n" + "x".repeat(600));
                case "never" -> throw new ReleaseFailedException("no such number");
                default -> {}
            }
        })) {
            group.write(0, attempt("works", 1, 1_000));
            group.write(1, attempt("fails", 1, 1_000));
            group.write(2, attempt("never", 2, 1_000));
            await(() -> completions().size() == 3 && worker.stats().inProgress() == 0);
            assertThat(result("works")).isEqualTo(Result.DONE);
            assertThat(result("fails")).isEqualTo(Result.RETRY);
            assertThat(completion("fails").acknowledgement().error())
                    .startsWith("java.lang.IllegalStateException: down\\u000axxx")
                    .hasSizeLessThanOrEqualTo(500);
            assertThat(result("never")).isEqualTo(Result.FAILED);
            assertThat(completion("never").acknowledgement().error()).endsWith("no such number");
            assertThat(completion("never").acknowledgement().receipt()).isEqualTo(receipt("never", 2));
            assertThat(completion("never").client()).isEqualTo("c");
            assertThat(worker.stats().attempts()).isEqualTo(new WorkerStats.Attempts(1, 2, 1, 0, 0));
            assertThat(worker.stats().givenUp()).isZero();
        }
    }

    @Test
    void a_complete_is_repeated_until_there_is_a_decision() throws Exception {
        Group group = new Group();
        weir = request -> completions().size() < 4 && request.kind() == RequestKind.COMPLETE
                ? CompletableFuture.failedFuture(new IllegalStateException("no decision"))
                : decided(request, request.kind() == RequestKind.EXTEND ? Reason.EXTENDED : Reason.STALE_ATTEMPT);
        try (ReleaseWorker worker = worker(group, work -> {})) {
            group.write(0, attempt("a", 1, 1_000));
            await(() -> completions().size() == 4 && worker.stats().inProgress() == 0);
            assertThat(completions()).containsOnly(completions().get(0));
            assertThat(worker.stats().attempts().stale()).isZero(); // an earlier COMPLETE may have ended it
        }
    }

    @Test
    void an_attempt_is_claimed_and_extended_while_its_handler_runs() throws Exception {
        Group group = new Group();
        CountDownLatch go = new CountDownLatch(1);
        try (ReleaseWorker worker = worker(group, work -> go.await())) {
            group.write(0, attempt("a", 1, 1)); // an EXTEND each 50 ms
            await(() -> count(RequestKind.EXTEND) >= 3);
            assertThat(completions()).isEmpty();
            go.countDown();
            await(() -> worker.stats().inProgress() == 0);
            assertThat(completions()).hasSize(1);
        }
    }

    @Test
    void an_attempt_that_weir_has_ended_is_not_completed() throws Exception {
        Group group = new Group();
        CountDownLatch go = new CountDownLatch(1);
        weir = request -> decided(request, Reason.STALE_ATTEMPT);
        try (ReleaseWorker worker = worker(group, work -> go.await())) {
            group.write(0, attempt("a", 1, 1_000));
            await(() -> worker.stats().attempts().stale() == 1);
            go.countDown();
            await(() ->
                    worker.stats().attempts().handled() == 1 && worker.stats().inProgress() == 0);
            assertThat(completions()).isEmpty();
            assertThat(worker.stats().attempts().stale()).isEqualTo(1);
        }
    }

    @Test
    void a_complete_that_arrives_too_late_is_counted() throws Exception {
        Group group = new Group();
        weir = request ->
                decided(request, request.kind() == RequestKind.EXTEND ? Reason.EXTENDED : Reason.STALE_ATTEMPT);
        try (ReleaseWorker worker = worker(group, work -> {})) {
            group.write(0, attempt("a", 1, 1_000));
            await(() -> worker.stats().attempts().stale() == 1 && worker.stats().inProgress() == 0);
            assertThat(completions()).hasSize(1);
        }
    }

    /** Returns a release at time 0. */
    private static Release attempt(String requestId, int number, long ackTimeoutMs) {
        return Release.builder(requestId, "c", "q")
                .attempt(new Release.Attempt(number, receipt(requestId, number), ackTimeoutMs))
                .build();
    }

    private static String receipt(String requestId, int number) {
        Receipt.FlowName flow = new Receipt.FlowName("", requestId);
        return new Receipt("q", Map.of(), flow, 7, Request.Source.NONE, number).text();
    }

    private static CompletableFuture<Decision> decided(Request request, Reason reason) {
        return CompletableFuture.completedFuture(Decision.allowed(request, reason, 0));
    }

    private List<Request> completions() {
        return sent.stream()
                .filter(request -> request.kind() == RequestKind.COMPLETE)
                .toList();
    }

    private long count(RequestKind kind) {
        return sent.stream().filter(request -> request.kind() == kind).count();
    }

    private Request completion(String requestId) {
        return completions().stream()
                .filter(request ->
                        request.acknowledgement().attempt().flow().value().equals(requestId))
                .findFirst()
                .orElseThrow();
    }

    private Result result(String requestId) {
        return completion(requestId).acknowledgement().result();
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        long startNanos = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - startNanos).isLessThan(PATIENCE.toNanos());
            TimeUnit.MILLISECONDS.sleep(2);
        }
    }
}
