package dev.weir.client;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionException;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.RequestRules;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.TestBroker;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests a client with a real broker, with and without an enforcer. */
@Tag("slow")
class WeirClientTest {

    private static final Duration SHORT = Duration.ofMillis(200);
    private static final long SECONDS = LiveWeir.PATIENCE.toSeconds();

    private static final String POLICIES = """
            policies:
              - {id: p, limits: [{algorithm: sliding-window-log, limit: 3000, per: 1 day}]}
              - {id: sms, layer: sms, match: {endpoint: /sms}, queue: sms}
            queues:
              - {id: sms, limit: 1, per: 1h}
            """;

    @TempDir
    static Path directory;

    private static EmbeddedBroker broker;
    private static LiveWeir up;
    private static LiveWeir down;
    private static Enforcer enforcer;

    @BeforeAll
    static void start() throws Exception {
        broker = TestBroker.shared();
        up = LiveWeir.create(broker, directory, "up.", POLICIES);
        down = LiveWeir.create(broker, directory, "down.", POLICIES);
        enforcer = up.enforce();
    }

    @AfterAll
    static void stop() {
        enforcer.close();
    }

    @Test
    void many_threads_together_get_exactly_the_limit_and_decisions_of_the_enforcer() throws Exception {
        int threads = 20;
        int each = 500;
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try (WeirClient weir = up.client().start()) {
            List<Callable<List<ClientDecision>>> callers = new ArrayList<>();
            for (int thread = 0; thread < threads; thread++) {
                callers.add(() -> {
                    List<CompletableFuture<ClientDecision>> pending = new ArrayList<>();
                    for (int i = 0; i < each; i++) {
                        pending.add(weir.decide(request("many")));
                    }
                    List<ClientDecision> answers = new ArrayList<>();
                    for (CompletableFuture<ClientDecision> answer : pending) {
                        answers.add(answer.get(SECONDS, TimeUnit.SECONDS));
                    }
                    return answers;
                });
            }
            List<ClientDecision> answers = new ArrayList<>();
            for (Future<List<ClientDecision>> caller : pool.invokeAll(callers)) {
                answers.addAll(caller.get());
            }
            assertThat(answers).hasSize(threads * each).allMatch(answer -> answer.noDecisionReason()
                    .isEmpty());
            assertThat(answers.stream().filter(ClientDecision::allowed)).hasSize(3_000);
            assertThat(answers.stream()
                            .map(answer -> answer.decision().orElseThrow().requestId()))
                    .doesNotHaveDuplicates();
            ClientStats stats = weir.stats();
            assertThat(stats.sent()).isEqualTo(answers.size());
            assertThat(stats.decided().overTopic()).isEqualTo(answers.size());
            assertThat(stats.now().inFlight()).isZero();
            assertThat(stats.decided().latency().p50())
                    .isPositive()
                    .isLessThanOrEqualTo(stats.decided().latency().p99());
            assertThat(stats.decided().latency().p99())
                    .isLessThanOrEqualTo(stats.decided().latency().max());
        } finally {
            pool.shutdownNow();
        }
    }

    @Test
    void the_decision_on_a_request_sent_right_after_the_start_is_received() throws Exception {
        for (int i = 0; i < 10; i++) {
            try (WeirClient weir = up.client().start()) {
                assertThat(get(weir.decide(request("frank"))).noDecisionReason())
                        .isEmpty();
            }
        }
    }

    @Test
    void requests_with_the_same_id_get_one_decision_each() throws Exception {
        try (WeirClient weir = up.client().committed(true).start()) {
            Map<RequestKind, CompletableFuture<ClientDecision>> pending = new HashMap<>();
            for (RequestKind kind : List.of(RequestKind.CONSUME, RequestKind.SETTLE, RequestKind.PEEK)) {
                pending.put(
                        kind,
                        weir.decide(RequestBuilder.of("alice")
                                .requestId("r1")
                                .kind(kind)
                                .cost(5)
                                .build()));
            }
            assertThat(decided(pending.get(RequestKind.SETTLE)).reason()).isEqualTo(Reason.SETTLED);
            assertThat(decided(pending.get(RequestKind.CONSUME)).reason()).isEqualTo(Reason.WITHIN_LIMITS);
            assertThat(decided(pending.get(RequestKind.PEEK)).reason()).isEqualTo(Reason.WITHIN_LIMITS);
        }
    }

    @Test
    void each_client_of_the_topic_gets_only_its_own_decisions() throws Exception {
        try (WeirClient one = up.client().start();
                WeirClient other = up.client().start()) {
            Request same = RequestBuilder.of("bob").requestId("same").build();
            Decision first = decided(one.decide(same));
            Decision second = decided(other.decide(same));
            assertThat(second.remaining()).isEqualTo(first.remaining() - 1);
            await(
                    "all decisions are counted",
                    LiveWeir.PATIENCE,
                    () -> one.stats().decided().overTopic()
                                    + other.stats().decided().overTopic()
                            == 2);
            assertThat(one.stats().decided().late() + other.stats().decided().late())
                    .isZero();
        }
    }

    @Test
    void queued_requests_and_their_cancellations_get_decisions() throws Exception {
        try (WeirClient weir = up.client().start()) {
            get(weir.decide(sms("first").build()));
            Decision waits = decided(weir.decide(sms("second").build()));
            assertThat(waits.outcome()).isEqualTo(Outcome.QUEUED);
            assertThat(ClientDecision.of(waits).allowed()).isFalse();
            Decision withdrawn = decided(weir.decide(
                    sms("second").kind(RequestKind.CANCEL).queue("sms").build()));
            assertThat(withdrawn.outcome()).isEqualTo(Outcome.ALLOWED);
            assertThat(withdrawn.reason()).isEqualTo(Reason.CANCELLED);
            get(weir.decide(sms("third").build())); // read after the decision that ends the wait of the second request
            assertThat(weir.stats().decided().late()).isZero();
        }
    }

    @ParameterizedTest
    @EnumSource(Fallback.class)
    void without_an_enforcer_the_fallback_decides_at_the_timeout(Fallback fallback) throws Exception {
        try (WeirClient weir =
                LiveWeir.ready(down.client().timeout(SHORT).fallback(fallback).noCircuit())) {
            CompletableFuture<ClientDecision> pending = weir.decide(request("alice"));
            if (fallback == Fallback.FAIL) {
                assertThatThrownBy(() -> get(pending))
                        .cause()
                        .isInstanceOf(NoDecisionException.class)
                        .hasMessage("no decision arrived within 200ms")
                        .asInstanceOf(type(NoDecisionException.class))
                        .extracting(NoDecisionException::reason)
                        .isEqualTo(NoDecisionReason.TIMED_OUT);
            } else {
                ClientDecision answer = get(pending);
                assertThat(answer.allowed()).isEqualTo(fallback == Fallback.FAIL_OPEN);
                assertThat(answer.httpStatus()).isEqualTo(answer.allowed() ? 200 : 503);
                assertThat(answer.decision()).isEmpty();
                assertThat(answer.noDecisionReason()).contains(NoDecisionReason.TIMED_OUT);
                assertThat(answer.httpHeaders()).isEmpty();
            }
            ClientStats stats = weir.stats();
            assertThat(stats.undecided(NoDecisionReason.TIMED_OUT)).isEqualTo(1);
            assertThat(stats.now().inFlight()).isZero();
            assertThat(stats.fallbacks().open()).isEqualTo(fallback == Fallback.FAIL_OPEN ? 1 : 0);
            assertThat(stats.fallbacks().closed()).isEqualTo(fallback == Fallback.FAIL_CLOSED ? 1 : 0);
        }
    }

    @Test
    void a_call_can_shorten_the_timeout_but_not_extend_it() throws Exception {
        try (WeirClient weir = LiveWeir.ready(down.client()
                .timeout(Duration.ofSeconds(1))
                .fallback(Fallback.FAIL_CLOSED)
                .noCircuit())) {
            assertThatThrownBy(() -> get(weir.decide(request("alice"), SHORT, Fallback.FAIL)))
                    .cause()
                    .hasMessage("no decision arrived within 200ms");
            assertThatThrownBy(() -> get(weir.decide(request("alice"), LiveWeir.PATIENCE, Fallback.FAIL)))
                    .cause()
                    .hasMessage("no decision arrived within 1s");
            assertThat(get(weir.decide(request("alice"), SHORT)))
                    .isEqualTo(ClientDecision.fallback(false, NoDecisionReason.TIMED_OUT));
            assertThatThrownBy(() -> weir.decide(request("alice"), Duration.ZERO))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("within must be at least 1 ms, is PT0S");
        }
    }

    @Test
    void client_counts_are_bound_to_micrometer() throws Exception {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        WeirClient weir = up.client().fallback(Fallback.FAIL_OPEN).start();
        ClientMetricsBinder.of(weir).bindTo(registry);
        get(weir.decide(request("gina")));
        get(weir.decide(request("gina")));
        assertThatThrownBy(() -> get(weir.decide(RequestBuilder.of("").build())));
        Request unasked = request("gina");
        weir.close();
        get(weir.decide(unasked));
        System.gc(); // Micrometer has only weak references to the objects that it measures
        Map<String, Double> reported = new TreeMap<>();
        registry.forEachMeter(meter -> reported.put(
                meter.getId().getName()
                        + meter.getId().getTags().stream()
                                .map(tag -> tag.getValue())
                                .toList(),
                meter.measure().iterator().next().getValue()));
        assertThat(reported).hasSize(1 + 13 + 1 + 1 + 2 + 1 + 1 + 1 + 3 + 2 + 3 + 1 + 3);
        assertThat(reported)
                .containsEntry("weir.client.sent[]", 2.0)
                .containsEntry("weir.client.requests[ANSWERED]", 2.0)
                .containsEntry("weir.client.requests[REJECTED]", 1.0)
                .containsEntry("weir.client.requests[CLOSED]", 1.0)
                .containsEntry("weir.client.requests[TIMED_OUT]", 0.0)
                .containsEntry("weir.client.fallback[FAIL_OPEN]", 1.0)
                .containsEntry("weir.client.in.flight[]", 0.0)
                .containsEntry("weir.client.circuit[CLOSED]", 1.0)
                .containsEntry("weir.client.circuit[OPEN]", 0.0)
                .containsEntry("weir.client.lease.circuit[CLOSED]", 1.0)
                .containsEntry("weir.client.shed[]", 0.0)
                .containsEntry("weir.client.queued[]", 0.0)
                .containsEntry("weir.client.keys.held[]", 0.0)
                .containsEntry(
                        "weir.client.latency.seconds[1]",
                        weir.stats().decided().latency().max().toNanos() / 1e9);
    }

    @Test
    void an_open_circuit_sends_nothing_until_a_probe_succeeds() throws Exception {
        LiveWeir later = LiveWeir.create(broker, directory, "later.", POLICIES);
        CircuitSettings circuit = new CircuitSettings(4, 100, Duration.ofSeconds(2), 1);
        try (WeirClient weir = LiveWeir.ready(later.client()
                .timeout(Duration.ofSeconds(1))
                .fallback(Fallback.FAIL_OPEN)
                .circuit(circuit))) {
            for (int i = 0; i < 4; i++) {
                assertThat(get(weir.decide(request("alice"))).noDecisionReason())
                        .contains(NoDecisionReason.TIMED_OUT);
            }
            assertThat(weir.stats().now().circuit()).isEqualTo(CircuitSettings.State.OPEN);
            CompletableFuture<ClientDecision> atOnce = weir.decide(request("alice"));
            assertThat(atOnce).isDone();
            assertThat(get(atOnce)).isEqualTo(ClientDecision.fallback(true, NoDecisionReason.CIRCUIT_OPEN));
            assertThat(weir.stats().sent()).isEqualTo(4);
            Enforcer started = later.enforce();
            try (started) {
                await("the circuit closes", LiveWeir.PATIENCE, () -> {
                    weir.decide(request("alice")).join();
                    return weir.stats().now().circuit() == CircuitSettings.State.CLOSED;
                });
                await("Weir decides again", LiveWeir.PATIENCE, () -> weir.decide(request("alice"))
                        .join()
                        .noDecisionReason()
                        .isEmpty());
            }
            assertThat(weir.stats().decided().late())
                    .isGreaterThanOrEqualTo(4); // a timeout does not cancel the request
        }
    }

    @Test
    void requests_with_a_very_short_timeout_do_not_open_the_circuit() throws Exception {
        CircuitSettings circuit = new CircuitSettings(4, 100, LiveWeir.PATIENCE, 1);
        try (WeirClient weir = LiveWeir.ready(down.client()
                .timeout(LiveWeir.PATIENCE)
                .fallback(Fallback.FAIL_OPEN)
                .circuit(circuit))) {
            for (int i = 0; i < 8; i++) {
                assertThat(get(weir.decide(request("alice"), Duration.ofMillis(99)))
                                .noDecisionReason())
                        .contains(NoDecisionReason.TIMED_OUT);
            }
            assertThat(weir.stats().now().circuit()).isEqualTo(CircuitSettings.State.CLOSED);
            await("the circuit opens", LiveWeir.PATIENCE, () -> {
                weir.decide(request("alice"), Duration.ofMillis(100)).join();
                return weir.stats().now().circuit() == CircuitSettings.State.OPEN;
            });
        }
    }

    @Test
    void requests_beyond_the_maximum_in_flight_are_rejected() throws Exception {
        try (WeirClient weir = LiveWeir.ready(down.client().maxInFlight(5).fallback(Fallback.FAIL_CLOSED))) {
            List<CompletableFuture<ClientDecision>> waiting = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                waiting.add(weir.decide(request("alice")));
            }
            for (int i = 0; i < 3; i++) {
                CompletableFuture<ClientDecision> refused = weir.decide(request("alice"));
                assertThat(refused).isDone();
                assertThat(get(refused)).isEqualTo(ClientDecision.fallback(false, NoDecisionReason.TOO_MANY_WAITING));
            }
            assertThat(waiting).noneMatch(CompletableFuture::isDone);
            assertThat(weir.stats().sent()).isEqualTo(5);
            assertThat(weir.stats().now().inFlight()).isEqualTo(5);
            assertThat(weir.stats().undecided(NoDecisionReason.TOO_MANY_WAITING))
                    .isEqualTo(3);
        }
    }

    @Test
    void with_max_wait_callers_wait_for_a_free_slot() throws Exception {
        try (WeirClient weir = LiveWeir.ready(down.client()
                .maxInFlight(1)
                .maxWait(LiveWeir.PATIENCE)
                .timeout(SHORT)
                .noCircuit())) {
            for (int i = 0; i < 3; i++) {
                var unused = weir.decide(request("alice")); // each but the first waits until the previous one times out
            }
            await(
                    "all are sent, the last ones when the previous one has left the window",
                    LiveWeir.PATIENCE,
                    () -> weir.stats().sent() == 3);
            await(
                    "the timeouts are counted, which is after the next request is sent",
                    LiveWeir.PATIENCE,
                    () -> weir.stats().undecided(NoDecisionReason.TIMED_OUT) >= 2);
            assertThat(weir.stats().undecided(NoDecisionReason.TOO_MANY_WAITING))
                    .isZero();
        }
    }

    @Test
    void closing_completes_all_pending_requests() throws Exception {
        WeirClient weir = LiveWeir.ready(down.client().fallback(Fallback.FAIL_OPEN));
        List<CompletableFuture<ClientDecision>> waiting = new ArrayList<>();
        List<CompletableFuture<ClientDecision>> failing = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            waiting.add(weir.decide(request("alice")));
            failing.add(weir.decide(request("alice"), LiveWeir.PATIENCE, Fallback.FAIL));
        }
        weir.close();
        assertThat(waiting).allMatch(CompletableFuture::isDone);
        assertThat(failing).allMatch(CompletableFuture::isCompletedExceptionally);
        for (CompletableFuture<ClientDecision> answer : waiting) {
            assertThat(get(answer)).isEqualTo(ClientDecision.fallback(true, NoDecisionReason.CLOSED));
        }
        assertThat(get(weir.decide(request("alice"))))
                .isEqualTo(ClientDecision.fallback(true, NoDecisionReason.CLOSED));
        assertThat(weir.stats().now().inFlight()).isZero();
        weir.close();
    }

    @Test
    void an_invalid_request_is_rejected_before_sending_and_names_the_field() throws Exception {
        Map<String, RequestBuilder> bad = Map.of(
                "client is empty", RequestBuilder.of(""),
                "client is required", RequestBuilder.of(null),
                "cost must be 0 or more, is -1; only a SETTLE can have a negative cost",
                        RequestBuilder.of("a").cost(-1),
                "requestId is empty", RequestBuilder.of("a").requestId(""),
                "kind is required", RequestBuilder.of("a").kind(null),
                "sizeBytes must be 0 or more, is -7", RequestBuilder.of("a").sizeBytes(-7),
                "limitOverride.windowMs must be 1 to 2305843009213693952, is 0",
                        RequestBuilder.of("a").limitOverride(5, Duration.ZERO),
                "attributes must not contain a null name or value",
                        RequestBuilder.of("a").attribute("b", null),
                "payload has 65537 bytes; the maximum is 65536",
                        RequestBuilder.of("a").payload(new byte[65_537]),
                "queue must be the one named in the QUEUED decision, or left out to cancel a reservation, is ''",
                        RequestBuilder.of("a").kind(RequestKind.CANCEL).queue(""));
        try (WeirClient weir = down.client().fallback(Fallback.FAIL_OPEN).start()) {
            bad.forEach((message, request) -> assertThatThrownBy(() -> get(weir.decide(request.build())))
                    .cause()
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(message));
            assertThat(weir.stats().sent()).isZero();
            assertThat(weir.stats().rejected()).isEqualTo(bad.size());
        }
    }

    @Test
    void client_validation_equals_the_enforcers_defaults() {
        assertThat(ClientBuilder.DEFAULT_RULES)
                .isEqualTo(WeirConfig.DEFAULTS.requests().rules());
    }

    @Test
    void a_request_that_is_too_large_for_kafka_fails_alone() throws Exception {
        RequestRules lax = new RequestRules(10 << 20, 64, 1_024, 1_000);
        try (WeirClient weir =
                up.client().rules(lax).fallback(Fallback.FAIL_OPEN).start()) {
            CompletableFuture<ClientDecision> before = weir.decide(request("carol"));
            CompletableFuture<ClientDecision> large = weir.decide(
                    RequestBuilder.of("carol").payload(new byte[2 << 20]).build());
            CompletableFuture<ClientDecision> after = weir.decide(request("carol"));
            assertThatThrownBy(() -> get(large))
                    .cause()
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("the request cannot be written to up.requests: ")
                    .hasCauseInstanceOf(RecordTooLargeException.class);
            assertThat(get(before).noDecisionReason()).isEmpty();
            assertThat(get(after).noDecisionReason()).isEmpty();
            assertThat(weir.stats().now().inFlight()).isZero();
        }
    }

    @Test
    void an_exception_of_a_callback_affects_no_other_request() throws Exception {
        try (WeirClient weir = up.client().executor(Runnable::run).start()) { // callbacks run on the reading thread
            for (int i = 0; i < 3; i++) {
                CompletableFuture<Void> thrown = weir.decide(request("dave")).thenAccept(answer -> {
                    throw new StackOverflowError("a caller's own");
                });
                assertThatThrownBy(() -> thrown.get(SECONDS, TimeUnit.SECONDS))
                        .hasCauseInstanceOf(StackOverflowError.class);
            }
        }
    }

    /** Throws an error when a consumer returns records. */
    public static final class ErrorAtRecords implements ConsumerInterceptor<byte[], byte[]> {

        @Override
        public ConsumerRecords<byte[], byte[]> onConsume(ConsumerRecords<byte[], byte[]> records) {
            throw new OutOfMemoryError("test");
        }

        @Override
        public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {}

        @Override
        public void close() {}

        @Override
        public void configure(Map<String, ?> settings) {}
    }

    @Test
    void a_client_that_an_error_has_stopped_is_not_ready() throws Exception {
        Map<String, Object> kafka = new HashMap<>(up.config().kafka());
        kafka.put("consumer.interceptor.classes", ErrorAtRecords.class.getName());
        ClientBuilder builder = WeirClient.builder(kafka).prefix("up.").timeout(LiveWeir.PATIENCE);
        try (WeirClient weir = LiveWeir.ready(builder)) {
            CompletableFuture<ClientDecision> unread = weir.decide(request("rita"));
            await("the client is not ready", LiveWeir.PATIENCE, () -> !weir.isReady());
            assertThat(weir.failure())
                    .hasValueSatisfying(failure -> assertThat(failure).hasCauseInstanceOf(OutOfMemoryError.class));
            assertThat(weir.hasStopped()).isTrue();
            assertThat(unread).isNotDone();
            assertThatThrownBy(() -> get(weir.decide(request("rita"))))
                    .cause()
                    .isInstanceOf(NoDecisionException.class)
                    .hasMessage("the client is not ready: java.lang.OutOfMemoryError: test");
        }
    }

    @Test
    void a_callback_can_send_a_request_and_wait() throws Exception {
        try (WeirClient weir = up.client().start()) {
            CompletableFuture<ClientDecision> nested = weir.decide(request("erin"))
                    .thenApply(first -> weir.decide(request("erin")).join());
            assertThat(get(nested).noDecisionReason()).isEmpty();
        }
    }

    @Test
    void a_client_is_ready_once_its_topics_exist_and_sends_waiting_requests_in_order() throws Exception {
        LiveWeir missing =
                new LiveWeir(up.config().toBuilder().topics("missing.", 2).build());
        try (WeirClient weir = missing.client().fallback(Fallback.FAIL_CLOSED).start()) {
            await("the failure is known", LiveWeir.PATIENCE, () -> weir.failure()
                    .isPresent());
            String reason = "topic missing.replies does not exist, or this user has no permission to describe it";
            assertThat(weir.failure()).hasValueSatisfying(failure -> assertThat(failure)
                    .isInstanceOf(KafkaException.class)
                    .hasMessage(reason));
            assertThatThrownBy(() -> get(weir.decide(request("alice"), SHORT, Fallback.FAIL)))
                    .cause()
                    .hasMessage("the client is not ready: " + reason);
            assertThat(get(weir.decide(request("alice"), SHORT)))
                    .isEqualTo(ClientDecision.fallback(false, NoDecisionReason.NOT_READY));
            List<CompletableFuture<ClientDecision>> waiting = new ArrayList<>();
            for (int i = 0; i < 500; i++) {
                waiting.add(weir.decide(request("hank")));
            }
            LiveWeir created = LiveWeir.create(broker, directory, "missing.", POLICIES);
            assertThat(weir.awaitReady(LiveWeir.PATIENCE)).isTrue();
            assertThat(weir.failure()).isEmpty();
            Enforcer started = created.enforce();
            try (started) {
                for (int i = 0; i < waiting.size(); i++) {
                    assertThat(decided(waiting.get(i)).remaining()).isEqualTo(3_000 - 1 - i);
                }
            }
        }
    }

    @Test
    void a_request_does_not_wait_for_a_thread_that_sends_earlier_ones() throws Exception {
        LiveWeir missing =
                new LiveWeir(up.config().toBuilder().topics("late.", 2).build());
        RequestRules lax = new RequestRules(10 << 20, 64, 1_024, 1_000);
        CountDownLatch isSending = new CountDownLatch(1);
        CountDownLatch isDone = new CountDownLatch(1);
        try (WeirClient weir =
                missing.client().rules(lax).executor(Runnable::run).start()) {
            Request large = RequestBuilder.of("ivy").payload(new byte[2 << 20]).build();
            var unused = weir.decide(large)
                    .exceptionally(
                            tooLarge -> { // on the thread that sends
                                isSending.countDown();
                                awaitUninterruptibly(isDone);
                                return null;
                            });
            LiveWeir.create(broker, directory, "late.", POLICIES);
            assertThat(isSending.await(SECONDS, TimeUnit.SECONDS)).isTrue();
            CompletableFuture<ClientDecision> later = CompletableFuture.supplyAsync(
                    () -> weir.decide(request("ivy"), SHORT, Fallback.FAIL_OPEN).join());
            try {
                assertThat(get(later)).isEqualTo(ClientDecision.fallback(true, NoDecisionReason.NOT_READY));
            } finally {
                isDone.countDown();
            }
            assertThat(weir.awaitReady(LiveWeir.PATIENCE)).isTrue();
        }
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static RequestBuilder sms(String requestId) {
        return RequestBuilder.of("bob").requestId(requestId).attribute("endpoint", "/sms");
    }

    private static Request request(String client) {
        return RequestBuilder.of(client).build();
    }

    private static Decision decided(CompletableFuture<ClientDecision> future) throws Exception {
        return get(future).decision().orElseThrow();
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(SECONDS, TimeUnit.SECONDS);
    }
}
