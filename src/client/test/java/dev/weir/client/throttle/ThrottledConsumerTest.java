package dev.weir.client.throttle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.client.RequestBuilder;
import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ThrottledConsumerTest {

    private static final TopicPartition P0 = new TopicPartition("mails", 0);
    private static final TopicPartition P1 = new TopicPartition("mails", 1);
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final Group group = new Group();
    private final Map<TopicPartition, Long> ends = new HashMap<>();
    private final List<Request> requests = new ArrayList<>();
    private Function<Request, CompletableFuture<ClientDecision>> answers = ThrottledConsumerTest::allowed;
    private ThrottledConsumer<String, String> mails;

    /** A group with one member. */
    private static final class Group extends MockConsumer<String, String> {
        private final Map<TopicPartition, Long> committed = new HashMap<>();
        private ConsumerRebalanceListener listener;
        private boolean rebalancing;

        Group() {
            super("earliest");
        }

        @Override
        public void subscribe(Collection<String> topics, ConsumerRebalanceListener rebalanceListener) {
            listener = rebalanceListener;
            super.subscribe(topics, rebalanceListener);
        }

        @Override
        public synchronized void commitSync(Map<TopicPartition, OffsetAndMetadata> offsets) {
            if (rebalancing) {
                throw new RebalanceInProgressException();
            }
            offsets.forEach((partition, offset) -> committed.put(partition, offset.offset()));
        }
    }

    @BeforeEach
    void join() {
        start(builder());
    }

    @AfterEach
    void close() {
        mails.close();
    }

    private static ThrottledConsumerBuilder<String, String> builder() {
        return builder(record -> RequestBuilder.of(record.value()).build());
    }

    private static ThrottledConsumerBuilder<String, String> builder(
            Function<ConsumerRecord<String, String>, Request> function) {
        return ThrottledConsumer.builder(Map.of(), new StringDeserializer(), new StringDeserializer(), null, function);
    }

    private void start(ThrottledConsumerBuilder<String, String> options) {
        mails = new ThrottledConsumer<>(
                group,
                "mailer",
                request -> {
                    requests.add(request);
                    return answers.apply(request);
                },
                options);
        mails.subscribe(List.of("mails"));
        group.updateBeginningOffsets(Map.of(P0, 0L, P1, 0L));
        group.rebalance(List.of(P0, P1));
    }

    private void write(TopicPartition partition, String... values) {
        for (String value : values) {
            long offset = ends.merge(partition, 1L, Long::sum) - 1;
            group.addRecord(new ConsumerRecord<>(partition.topic(), partition.partition(), offset, "key", value));
        }
    }

    private List<String> poll() {
        return poll(Duration.ZERO);
    }

    private List<String> poll(Duration timeout) {
        return mails.poll(timeout).stream().map(ConsumerRecord::value).toList();
    }

    private List<String> ids() {
        return requests.stream().map(Request::requestId).toList();
    }

    private static CompletableFuture<ClientDecision> allowed(Request request) {
        return done(Decision.allowed(request, Reason.WITHIN_LIMITS, request.timestampMs()));
    }

    private static Decision denied(Request request, long retryAfterMs) {
        return Decision.denied(request, Reason.LIMIT_EXCEEDED, 429, request.timestampMs())
                .withRetryAfterMs(retryAfterMs);
    }

    private static CompletableFuture<ClientDecision> done(Decision decision) {
        return CompletableFuture.completedFuture(ClientDecision.of(decision));
    }

    /** Denies the first attempts of a client, for the given time. */
    private static Function<Request, CompletableFuture<ClientDecision>> deniedOnce(String client, long retryAfterMs) {
        return request -> request.client().equals(client) && request.requestId().endsWith("~1")
                ? done(denied(request, retryAfterMs))
                : allowed(request);
    }

    @Test
    void allowed_records_are_returned_and_only_those_are_committed() {
        write(P0, "a", "b");
        assertThat(poll()).containsExactly("a", "b");
        assertThat(ids()).containsExactly("mailer/mails/0/0~1", "mailer/mails/0/1~1");
        assertThat(group.committed).isEmpty();
        mails.commit();
        assertThat(group.committed).isEqualTo(Map.of(P0, 2L));
    }

    @Test
    void the_request_is_that_of_the_function_with_another_id() {
        Request request = RequestBuilder.of("alice")
                .tier("free")
                .cost(3)
                .sizeBytes(7)
                .attribute("operation", "send-mail")
                .deadline(Instant.ofEpochMilli(9))
                .payload(new byte[] {1})
                .limitOverride(5, Duration.ofMinutes(1))
                .build();
        start(builder(record -> request));
        write(P0, "a");
        assertThat(poll()).containsExactly("a");
        assertThat(requests)
                .singleElement()
                .usingRecursiveComparison()
                .isEqualTo(request.toBuilder().requestId("mailer/mails/0/0~1").build());
    }

    @Test
    void a_denied_record_delays_its_partition_and_no_other() {
        answers = deniedOnce("b", 3_600_000);
        write(P0, "a", "b", "c");
        write(P1, "d");
        assertThat(poll()).containsExactlyInAnyOrder("a", "d");
        mails.commit();
        assertThat(group.committed).isEqualTo(Map.of(P0, 1L, P1, 1L));
        write(P1, "e");
        assertThat(poll()).containsExactly("e");
        assertThat(poll()).isEmpty();
        assertThat(mails.stats()).isEqualTo(new ThrottledStats(3, 0, 1, 0, 2));
    }

    @Test
    void a_denied_record_is_asked_for_again_after_its_retry_time_and_the_order_is_kept() {
        answers = deniedOnce("a", 50);
        write(P0, "a", "b", "c");
        long startNanos = System.nanoTime();
        assertThat(poll(PATIENCE)).containsExactly("a", "b", "c");
        assertThat(System.nanoTime() - startNanos)
                .isGreaterThanOrEqualTo(Duration.ofMillis(50).toNanos());
        assertThat(ids())
                .containsExactly(
                        "mailer/mails/0/0~1", "mailer/mails/0/0~2", "mailer/mails/0/1~1", "mailer/mails/0/2~1");
    }

    @Test
    void after_a_denial_a_partition_asks_for_one_record_at_a_time() {
        List<CompletableFuture<ClientDecision>> pending = new ArrayList<>();
        answers = request -> {
            pending.add(new CompletableFuture<>());
            return pending.get(pending.size() - 1);
        };
        write(P0, "a", "b", "c");
        assertThat(poll()).isEmpty();
        assertThat(pending).hasSize(3);
        for (int i = 0; i < 3; i++) {
            pending.get(i).complete(done(denied(requests.get(i), 1)).join());
        }
        assertThat(poll(Duration.ofMillis(30))).isEmpty();
        assertThat(pending).hasSize(4);
        pending.get(3).complete(allowed(requests.get(3)).join());
        assertThat(poll()).containsExactly("a");
        assertThat(poll()).isEmpty();
        assertThat(ids().subList(4, ids().size())).containsExactly("mailer/mails/0/1~2", "mailer/mails/0/2~2");
    }

    @Test
    void requests_are_sent_ahead_up_to_the_maximum() {
        start(builder().ahead(2));
        answers = request -> new CompletableFuture<>();
        write(P0, "a", "b", "c");
        assertThat(poll()).isEmpty();
        assertThat(ids()).hasSize(2);
    }

    @Test
    void a_throttled_record_waits_for_its_delay() {
        answers = request -> done(new Decision(
                Decision.Identity.of(request),
                Decision.Status.allowed(Reason.THROTTLED),
                new Decision.Timing(request.timestampMs(), 0L, 50L)));
        write(P0, "a");
        long startNanos = System.nanoTime();
        assertThat(poll()).isEmpty();
        assertThat(poll(PATIENCE)).containsExactly("a");
        assertThat(System.nanoTime() - startNanos)
                .isGreaterThanOrEqualTo(Duration.ofMillis(50).toNanos());
        assertThat(ids()).hasSize(1);
    }

    @Test
    void without_a_decision_the_same_request_is_sent_again() {
        answers = request -> requests.size() == 1
                ? CompletableFuture.completedFuture(ClientDecision.fallback(false, NoDecisionReason.TIMED_OUT))
                : allowed(request);
        write(P0, "a");
        assertThat(poll(PATIENCE)).containsExactly("a");
        assertThat(ids()).containsExactly("mailer/mails/0/0~1", "mailer/mails/0/0~1");
        assertThat(mails.stats().undecided()).isEqualTo(1);
    }

    /** After a restart, a policy with idempotency repeats the decisions on the attempts before. */
    @Test
    void a_repeated_denial_is_followed_by_the_next_attempt_at_once() {
        answers = request -> request.requestId().endsWith("~3")
                ? allowed(request)
                : done(denied(request, 3_600_000)
                        .withStatus(
                                new Decision.Status(Outcome.DENIED, Reason.LIMIT_EXCEEDED, 429, false, false, true)));
        write(P0, "a");
        assertThat(poll(PATIENCE)).containsExactly("a");
        assertThat(ids()).hasSize(3);
    }

    private static Function<Request, CompletableFuture<ClientDecision>> never(String client) {
        return request -> request.client().equals(client)
                ? done(Decision.denied(request, Reason.COST_NEVER_FITS, 429, request.timestampMs()))
                : allowed(request);
    }

    @Test
    void a_record_that_can_never_be_allowed_is_reported_and_does_not_stop_other_partitions() {
        answers = never("b");
        write(P0, "a", "b", "c");
        write(P1, "d");
        assertThat(poll()).containsExactlyInAnyOrder("a", "d");
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(this::poll)
                    .isInstanceOf(RecordDeniedException.class)
                    .hasMessageContaining("topic mails, partition 0, offset 1: DENIED by policy")
                    .hasMessageContaining("COST_NEVER_FITS");
        }
        write(P1, "e");
        assertThat(poll()).containsExactly("e");
        write(P1, "f");
        assertThatThrownBy(this::poll).isInstanceOf(RecordDeniedException.class);
        mails.commit();
        assertThat(group.committed).isEqualTo(Map.of(P0, 1L, P1, 2L));
        answers = ThrottledConsumerTest::allowed;
        assertThat(poll()).containsExactlyInAnyOrder("b", "c", "f");
    }

    @Test
    void a_record_that_can_never_be_allowed_can_be_skipped() {
        start(builder().onNeverAllowed((record, decision) -> NeverAllowed.SKIP));
        answers = never("b");
        write(P0, "a", "b");
        assertThat(poll()).containsExactly("a");
        mails.commit();
        assertThat(group.committed).isEqualTo(Map.of(P0, 2L));
        assertThat(mails.stats()).isEqualTo(new ThrottledStats(1, 1, 0, 0, 0));
    }

    @Test
    void a_record_that_can_never_be_allowed_can_be_delivered() {
        start(builder().onNeverAllowed((record, decision) -> NeverAllowed.DELIVER));
        answers = never("b");
        write(P0, "a", "b");
        assertThat(poll()).containsExactly("a", "b");
    }

    @Test
    void a_record_that_a_policy_sends_to_a_queue_can_never_be_allowed() {
        answers =
                request -> done(Decision.queued(request, new Decision.Queueing("sms", 1L, 0L), request.timestampMs()));
        write(P0, "a");
        assertThatThrownBy(this::poll).isInstanceOf(RecordDeniedException.class).hasMessageContaining("QUEUED");
    }

    @Test
    void a_record_without_a_valid_request_is_reported_with_its_position() {
        answers = request -> CompletableFuture.failedFuture(new IllegalArgumentException("client is too long"));
        write(P0, "a");
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(this::poll)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("topic mails, partition 0, offset 0: client is too long");
        }
    }

    @Test
    void a_record_without_a_valid_request_can_be_skipped_or_delivered() {
        List<String> failures = new ArrayList<>();
        start(builder().onInvalid((record, failure) -> {
            failures.add(failure.getMessage());
            return record.value().equals("skip") ? NeverAllowed.SKIP : NeverAllowed.DELIVER;
        }));
        Function<Request, CompletableFuture<ClientDecision>> valid = answers;
        answers = request -> request.client().equals("b")
                ? valid.apply(request)
                : CompletableFuture.failedFuture(new IllegalArgumentException("client is too long"));
        write(P0, "skip", "deliver", "b");
        assertThat(poll()).as("after the record that is skipped").containsExactly("deliver");
        assertThat(poll()).containsExactly("b");
        assertThat(failures)
                .containsExactly(
                        "topic mails, partition 0, offset 0: client is too long",
                        "topic mails, partition 0, offset 1: client is too long");
        mails.commit();
        assertThat(group.committed).isEqualTo(Map.of(P0, 3L));
        assertThat(mails.stats()).isEqualTo(new ThrottledStats(2, 1, 0, 0, 0));
    }

    @Test
    void records_before_one_whose_function_fails_are_returned_and_the_function_is_called_again() {
        List<String> calls = new ArrayList<>();
        start(builder().onNeverAllowed((record, decision) -> {
            calls.add(record.value());
            if (calls.size() < 3) {
                throw new IllegalStateException("failure " + calls.size());
            }
            return NeverAllowed.SKIP;
        }));
        answers = never("b");
        write(P0, "a", "b", "c");
        assertThat(poll()).containsExactly("a");
        assertThat(mails.stats()).isEqualTo(new ThrottledStats(1, 0, 0, 0, 2));
        mails.commit();
        assertThat(group.committed).isEqualTo(Map.of(P0, 1L));
        assertThatThrownBy(this::poll).isInstanceOf(IllegalStateException.class).hasMessage("failure 2");
        assertThat(poll()).containsExactly("c");
        assertThat(calls).containsExactly("b", "b", "b");
        mails.commit();
        assertThat(group.committed).isEqualTo(Map.of(P0, 3L));
        assertThat(mails.stats()).isEqualTo(new ThrottledStats(2, 1, 0, 0, 0));
    }

    @Test
    void a_function_that_fails_stops_no_other_partition() {
        start(builder().onInvalid((record, failure) -> {
            throw new AssertionError("no");
        }));
        Function<Request, CompletableFuture<ClientDecision>> valid = answers;
        answers = request -> request.client().equals("a")
                ? CompletableFuture.failedFuture(new IllegalArgumentException("client is too long"))
                : valid.apply(request);
        write(P0, "a");
        assertThatThrownBy(this::poll).isInstanceOf(AssertionError.class);
        assertThat(mails.stats().held()).isEqualTo(1);
        write(P1, "b", "c");
        assertThatThrownBy(this::poll).isInstanceOf(AssertionError.class);
        assertThat(poll()).containsExactly("b", "c");
        mails.commit();
        assertThat(group.committed).isEqualTo(Map.of(P1, 2L));
    }

    @Test
    void a_function_that_returns_null_is_reported_with_the_position_of_the_record() {
        start(builder().onNeverAllowed((record, decision) -> null).onInvalid((record, failure) -> null));
        Function<Request, CompletableFuture<ClientDecision>> never = never("b");
        answers = request -> request.client().equals("c")
                ? CompletableFuture.failedFuture(new IllegalArgumentException("client is too long"))
                : never.apply(request);
        write(P0, "a", "b");
        assertThat(poll()).containsExactly("a");
        assertThatThrownBy(this::poll)
                .isInstanceOf(NullPointerException.class)
                .hasMessage("onNeverAllowed returned null for topic mails, partition 0, offset 1");
        group.listener.onPartitionsRevoked(List.of(P0));
        write(P1, "c");
        assertThatThrownBy(this::poll)
                .isInstanceOf(NullPointerException.class)
                .hasMessage("onInvalid returned null for topic mails, partition 1, offset 0");
    }

    @Test
    void records_of_revoked_partitions_are_dropped() {
        answers = deniedOnce("a", 3_600_000);
        write(P0, "a");
        write(P1, "b");
        assertThat(poll()).containsExactly("b");
        assertThat(mails.stats().held()).isEqualTo(1);
        group.listener.onPartitionsRevoked(List.of(P0));
        assertThat(mails.stats().held()).isZero();
        mails.commit();
        assertThat(group.committed).isEqualTo(Map.of(P1, 1L));
    }

    @Test
    void the_listener_can_commit_before_partitions_are_revoked() {
        mails.subscribe(List.of("mails"), new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> assigned) {}

            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
                mails.commit();
            }
        });
        write(P0, "a");
        assertThat(poll()).containsExactly("a");
        group.listener.onPartitionsRevoked(List.of(P0));
        assertThat(group.committed).isEqualTo(Map.of(P0, 1L));
    }

    @Test
    void a_commit_during_a_rebalance_is_made_by_the_next_one() {
        write(P0, "a");
        assertThat(poll()).containsExactly("a");
        group.rebalancing = true;
        mails.commit();
        group.rebalancing = false;
        mails.commit();
        assertThat(group.committed).isEqualTo(Map.of(P0, 1L));
    }

    @Test
    void a_partition_that_has_used_up_its_share_is_paused_until_half_of_it_is_free() {
        start(builder().maxHeld(8));
        answers = request -> new CompletableFuture<>();
        write(P1, "x");
        write(P0, "a", "b", "c", "d");
        poll();
        poll();
        assertThat(group.paused()).containsExactly(P0);
        write(P1, "y");
        poll();
        assertThat(mails.stats().held()).isEqualTo(6);
    }

    @Test
    void a_long_topic_name_gives_a_valid_request_id() {
        ConsumerRecord<String, String> record =
                new ConsumerRecord<>("t".repeat(249), 1_000, Long.MAX_VALUE, "key", "value");
        assertThat(ThrottledConsumer.requestId("g".repeat(249), record, 1)).hasSizeLessThan(256);
        assertThat(ThrottledConsumer.requestId("g".repeat(249), record, 1))
                .isNotEqualTo(ThrottledConsumer.requestId("g".repeat(249), record, 2));
    }

    @Test
    void a_clock_that_is_set_back_ends_no_poll() {
        write(P0, "a");
        group.wakeup(); // as after a step of the clock
        assertThat(poll()).containsExactly("a");
    }

    @Test
    void a_wakeup_ends_the_poll() {
        mails.wakeup();
        assertThatThrownBy(() -> poll(PATIENCE)).isInstanceOf(org.apache.kafka.common.errors.WakeupException.class);
    }
}
