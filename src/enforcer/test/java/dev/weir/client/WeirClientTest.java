package dev.weir.client;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.RequestRules;
import dev.weir.runtime.Enforcer;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A client on a real broker, with a real enforcer and without one. */
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
        broker = EmbeddedBroker.start();
        up = LiveWeir.create(broker, directory, "up.", POLICIES);
        down = LiveWeir.create(broker, directory, "down.", POLICIES);
        enforcer = up.enforce();
    }

    @AfterAll
    static void stop() {
        enforcer.close();
        broker.close();
    }

    @Test
    void many_threads_together_get_exactly_the_limit_and_every_answer_is_weirs() throws Exception {
        int threads = 20;
        int each = 500;
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try (WeirClient weir = up.client().start()) {
            List<Callable<List<ClientDecision>>> callers = new ArrayList<>();
            for (int thread = 0; thread < threads; thread++) {
                callers.add(() -> {
                    List<CompletableFuture<ClientDecision>> asked = new ArrayList<>();
                    for (int i = 0; i < each; i++) {
                        asked.add(weir.check(request("many")));
                    }
                    List<ClientDecision> answers = new ArrayList<>();
                    for (CompletableFuture<ClientDecision> answer : asked) {
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
            assertThat(stats.answered()).isEqualTo(answers.size());
            assertThat(stats.inFlight()).isZero();
            assertThat(stats.p50()).isPositive().isLessThanOrEqualTo(stats.p99());
            assertThat(stats.p99()).isLessThanOrEqualTo(stats.max());
        } finally {
            pool.shutdownNow();
        }
    }

    @Test
    void the_answer_of_a_request_that_is_sent_right_after_the_start_is_not_missed() throws Exception {
        for (int i = 0; i < 10; i++) {
            try (WeirClient weir = up.client().start()) {
                assertThat(get(weir.check(request("frank"))).noDecisionReason()).isEmpty();
            }
        }
    }

    @Test
    void requests_of_one_id_get_an_answer_each() throws Exception {
        try (WeirClient weir = up.client().committed(true).start()) {
            Map<RequestKind, CompletableFuture<Decision>> asked = new HashMap<>();
            for (RequestKind kind : List.of(RequestKind.CONSUME, RequestKind.SETTLE, RequestKind.PEEK)) {
                asked.put(
                        kind,
                        weir.decide(RequestBuilder.of("alice")
                                .requestId("r1")
                                .kind(kind)
                                .cost(5)
                                .build()));
            }
            assertThat(get(asked.get(RequestKind.SETTLE)).reason()).isEqualTo(Reason.SETTLED);
            assertThat(get(asked.get(RequestKind.CONSUME)).reason()).isEqualTo(Reason.WITHIN_LIMITS);
            assertThat(get(asked.get(RequestKind.PEEK)).reason()).isEqualTo(Reason.WITHIN_LIMITS);
        }
    }

    @Test
    void other_clients_of_the_topic_get_their_own_answers_alone() throws Exception {
        try (WeirClient one = up.client().start();
                WeirClient other = up.client().start()) {
            Request same = RequestBuilder.of("bob").requestId("same").build();
            Decision first = get(one.decide(same));
            Decision second = get(other.decide(same));
            assertThat(second.remaining()).isEqualTo(first.remaining() - 1);
            await(
                    "all is counted",
                    LiveWeir.PATIENCE,
                    () -> one.stats().answered() + other.stats().answered() == 2);
            assertThat(one.stats().late() + other.stats().late()).isZero();
        }
    }

    @Test
    void what_waits_in_a_queue_is_answered_and_its_withdrawal_too() throws Exception {
        try (WeirClient weir = up.client().start()) {
            get(weir.decide(sms("first").build()));
            Decision waits = get(weir.decide(sms("second").build()));
            assertThat(waits.outcome()).isEqualTo(Outcome.QUEUED);
            assertThat(ClientDecision.of(waits).allowed()).isFalse();
            Decision withdrawn = get(weir.decide(
                    sms("second").kind(RequestKind.CANCEL).queue("sms").build()));
            assertThat(withdrawn.outcome()).isEqualTo(Outcome.ALLOWED);
            assertThat(withdrawn.reason()).isEqualTo(Reason.CANCELLED);
            get(weir.decide(sms("third").build())); // behind what tells that the second one's wait has ended
            assertThat(weir.stats().late()).isZero();
        }
    }

    @ParameterizedTest
    @EnumSource(Fallback.class)
    void without_an_enforcer_the_fallback_answers_when_the_time_is_over(Fallback fallback) throws Exception {
        try (WeirClient weir =
                down.client().timeout(SHORT).fallback(fallback).noCircuit().start()) {
            CompletableFuture<ClientDecision> asked = weir.check(request("alice"));
            if (fallback == Fallback.FAIL) {
                assertThatThrownBy(() -> get(asked))
                        .cause()
                        .isInstanceOf(NoDecisionException.class)
                        .hasMessage("no decision came within 200 ms")
                        .asInstanceOf(type(NoDecisionException.class))
                        .extracting(NoDecisionException::reason)
                        .isEqualTo(NoDecisionReason.TIMED_OUT);
            } else {
                ClientDecision answer = get(asked);
                assertThat(answer.allowed()).isEqualTo(fallback == Fallback.FAIL_OPEN);
                assertThat(answer.httpStatus()).isEqualTo(answer.allowed() ? 200 : 503);
                assertThat(answer.decision()).isEmpty();
                assertThat(answer.noDecisionReason()).contains(NoDecisionReason.TIMED_OUT);
                assertThat(answer.httpHeaders()).isEmpty();
            }
            ClientStats stats = weir.stats();
            assertThat(stats.timedOut()).isEqualTo(1);
            assertThat(stats.inFlight()).isZero();
            assertThat(stats.failedOpen()).isEqualTo(fallback == Fallback.FAIL_OPEN ? 1 : 0);
            assertThat(stats.failedClosed()).isEqualTo(fallback == Fallback.FAIL_CLOSED ? 1 : 0);
        }
    }

    @Test
    void a_call_may_have_less_time_than_others_and_no_more() throws Exception {
        try (WeirClient weir = down.client()
                .timeout(Duration.ofSeconds(1))
                .fallback(Fallback.FAIL_CLOSED)
                .noCircuit()
                .start()) {
            assertThatThrownBy(() -> get(weir.decide(request("alice"), SHORT)))
                    .cause()
                    .hasMessage("no decision came within 200 ms");
            assertThatThrownBy(() -> get(weir.decide(request("alice"), LiveWeir.PATIENCE)))
                    .cause()
                    .hasMessage("no decision came within 1000 ms");
            assertThat(get(weir.check(request("alice"), SHORT)))
                    .isEqualTo(ClientDecision.fallback(false, NoDecisionReason.TIMED_OUT));
            assertThatThrownBy(() -> weir.check(request("alice"), Duration.ZERO))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("within is out of its range: PT0S");
        }
    }

    @Test
    void micrometer_is_told_what_the_client_counts() throws Exception {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        WeirClient weir = up.client().fallback(Fallback.FAIL_OPEN).start();
        ClientMeters.of(weir).bindTo(registry);
        get(weir.check(request("gina")));
        get(weir.check(request("gina")));
        assertThatThrownBy(() -> get(weir.check(RequestBuilder.of("").build())));
        Request unasked = request("gina");
        weir.close();
        get(weir.check(unasked));
        System.gc(); // Micrometer holds what it asks weakly
        Map<String, Double> told = new TreeMap<>();
        registry.forEachMeter(meter -> told.put(
                meter.getId().getName()
                        + meter.getId().getTags().stream().map(Tag::getValue).toList(),
                meter.measure().iterator().next().getValue()));
        assertThat(told).hasSize(1 + 10 + 1 + 2 + 1 + 3 + 3 + 1);
        assertThat(told)
                .containsEntry("weir.client.sent[]", 2.0)
                .containsEntry("weir.client.requests[ANSWERED]", 2.0)
                .containsEntry("weir.client.requests[REJECTED]", 1.0)
                .containsEntry("weir.client.requests[CLOSED]", 1.0)
                .containsEntry("weir.client.requests[TIMED_OUT]", 0.0)
                .containsEntry("weir.client.made.up[FAIL_OPEN]", 1.0)
                .containsEntry("weir.client.in.flight[]", 0.0)
                .containsEntry("weir.client.circuit[CLOSED]", 1.0)
                .containsEntry("weir.client.circuit[OPEN]", 0.0)
                .containsEntry("weir.client.keys.held[]", 0.0)
                .containsEntry(
                        "weir.client.latency.seconds[1]", weir.stats().max().toNanos() / 1e9);
    }

    @Test
    void after_many_time_outs_nothing_is_sent_until_a_trial_is_answered() throws Exception {
        LiveWeir later = LiveWeir.create(broker, directory, "later.", POLICIES);
        CircuitSettings circuit = new CircuitSettings(4, 100, Duration.ofSeconds(2), 1);
        try (WeirClient weir = later.client()
                .timeout(Duration.ofSeconds(1))
                .fallback(Fallback.FAIL_OPEN)
                .circuit(circuit)
                .start()) {
            for (int i = 0; i < 4; i++) {
                assertThat(get(weir.check(request("alice"))).noDecisionReason()).contains(NoDecisionReason.TIMED_OUT);
            }
            assertThat(weir.stats().circuit()).isEqualTo(CircuitSettings.State.OPEN);
            CompletableFuture<ClientDecision> atOnce = weir.check(request("alice"));
            assertThat(atOnce).isDone();
            assertThat(get(atOnce)).isEqualTo(ClientDecision.fallback(true, NoDecisionReason.CIRCUIT_OPEN));
            assertThat(weir.stats().sent()).isEqualTo(4);
            Enforcer started = later.enforce();
            try (started) {
                await("it closes", LiveWeir.PATIENCE, () -> {
                    weir.check(request("alice")).join();
                    return weir.stats().circuit() == CircuitSettings.State.CLOSED;
                });
                await("Weir answers again", LiveWeir.PATIENCE, () -> weir.check(request("alice"))
                        .join()
                        .noDecisionReason()
                        .isEmpty());
            }
            assertThat(weir.stats().late()).isGreaterThanOrEqualTo(4); // a time-out takes nothing back
        }
    }

    @Test
    void beyond_the_bound_requests_are_refused_and_not_sent() throws Exception {
        try (WeirClient weir =
                down.client().maxInFlight(5).fallback(Fallback.FAIL_CLOSED).start()) {
            List<CompletableFuture<ClientDecision>> waiting = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                waiting.add(weir.check(request("alice")));
            }
            for (int i = 0; i < 3; i++) {
                CompletableFuture<ClientDecision> refused = weir.check(request("alice"));
                assertThat(refused).isDone();
                assertThat(get(refused)).isEqualTo(ClientDecision.fallback(false, NoDecisionReason.TOO_MANY_WAITING));
            }
            assertThat(waiting).noneMatch(CompletableFuture::isDone);
            assertThat(weir.stats().sent()).isEqualTo(5);
            assertThat(weir.stats().inFlight()).isEqualTo(5);
            assertThat(weir.stats().refused()).isEqualTo(3);
        }
    }

    @Test
    void or_their_callers_wait_until_there_is_room() throws Exception {
        try (WeirClient weir = down.client()
                .maxInFlight(1)
                .maxWait(LiveWeir.PATIENCE)
                .timeout(SHORT)
                .noCircuit()
                .start()) {
            for (int i = 0; i < 3; i++) {
                var unused = weir.check(request("alice")); // each but the first waits for the one before to time out
            }
            assertThat(weir.stats().sent()).isEqualTo(3);
            await(
                    "room is there before it is counted",
                    LiveWeir.PATIENCE,
                    () -> weir.stats().timedOut() >= 2);
            assertThat(weir.stats().refused()).isZero();
        }
    }

    @Test
    void closing_ends_all_that_waits() throws Exception {
        WeirClient weir = down.client().fallback(Fallback.FAIL_OPEN).start();
        List<CompletableFuture<ClientDecision>> waiting = new ArrayList<>();
        List<CompletableFuture<Decision>> decisions = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            waiting.add(weir.check(request("alice")));
            decisions.add(weir.decide(request("alice")));
        }
        weir.close();
        assertThat(waiting).allMatch(CompletableFuture::isDone);
        assertThat(decisions).allMatch(CompletableFuture::isCompletedExceptionally);
        for (CompletableFuture<ClientDecision> answer : waiting) {
            assertThat(get(answer)).isEqualTo(ClientDecision.fallback(true, NoDecisionReason.CLOSED));
        }
        assertThat(get(weir.check(request("alice")))).isEqualTo(ClientDecision.fallback(true, NoDecisionReason.CLOSED));
        assertThat(weir.stats().inFlight()).isZero();
        weir.close();
    }

    @Test
    void what_is_no_request_fails_naming_the_field_and_is_not_sent() throws Exception {
        Map<String, RequestBuilder> bad = Map.of(
                "client is empty", RequestBuilder.of(""),
                "client is missing", RequestBuilder.of(null),
                "cost is -1", RequestBuilder.of("a").cost(-1),
                "requestId is empty", RequestBuilder.of("a").requestId(""),
                "kind is missing", RequestBuilder.of("a").kind(null),
                "sizeBytes is -7", RequestBuilder.of("a").sizeBytes(-7),
                "attributes has a name or a value that is null",
                        RequestBuilder.of("a").attribute("b", null),
                "payload has 65537 bytes, the most is 65536",
                        RequestBuilder.of("a").payload(new byte[65_537]),
                "queue must be that of the QUEUED decision, is null",
                        RequestBuilder.of("a").kind(RequestKind.CANCEL));
        try (WeirClient weir = down.client().fallback(Fallback.FAIL_OPEN).start()) {
            bad.forEach((message, request) -> assertThatThrownBy(() -> get(weir.check(request.build())))
                    .cause()
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(message));
            assertThat(weir.stats().sent()).isZero();
            assertThat(weir.stats().rejected()).isEqualTo(bad.size());
        }
    }

    @Test
    void what_is_checked_before_it_is_sent_is_what_an_enforcer_checks_by_default() {
        assertThat(ClientBuilder.DEFAULT_RULES)
                .isEqualTo(WeirConfig.DEFAULTS.requests().rules());
    }

    @Test
    void a_request_that_is_too_large_for_kafka_fails_alone() throws Exception {
        RequestRules lax = new RequestRules(10 << 20, 64, 1_024, 1_000);
        try (WeirClient weir =
                up.client().rules(lax).fallback(Fallback.FAIL_OPEN).start()) {
            CompletableFuture<ClientDecision> before = weir.check(request("carol"));
            CompletableFuture<ClientDecision> large = weir.check(
                    RequestBuilder.of("carol").payload(new byte[2 << 20]).build());
            CompletableFuture<ClientDecision> after = weir.check(request("carol"));
            assertThatThrownBy(() -> get(large))
                    .cause()
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("the topic up.requests does not take the request: ")
                    .hasCauseInstanceOf(RecordTooLargeException.class);
            assertThat(get(before).noDecisionReason()).isEmpty();
            assertThat(get(after).noDecisionReason()).isEmpty();
            assertThat(weir.stats().inFlight()).isZero();
        }
    }

    @Test
    void what_a_callback_throws_reaches_nobody_else() throws Exception {
        try (WeirClient weir = up.client().executor(Runnable::run).start()) { // on the thread that reads
            for (int i = 0; i < 3; i++) {
                CompletableFuture<Void> thrown = weir.check(request("dave")).thenAccept(answer -> {
                    throw new StackOverflowError("a caller's own");
                });
                assertThatThrownBy(() -> thrown.get(SECONDS, TimeUnit.SECONDS))
                        .hasCauseInstanceOf(StackOverflowError.class);
            }
        }
    }

    @Test
    void a_callback_may_ask_and_wait_itself() throws Exception {
        try (WeirClient weir = up.client().start()) {
            CompletableFuture<ClientDecision> nested = weir.check(request("erin"))
                    .thenApply(first -> weir.check(request("erin")).join());
            assertThat(get(nested).noDecisionReason()).isEmpty();
        }
    }

    @Test
    void to_be_found_brokers_have_more_time_than_to_answer() throws Exception {
        try (WeirClient weir = up.client()
                .timeout(Duration.ofMillis(1))
                .fallback(Fallback.FAIL_OPEN)
                .start()) {
            assertThat(get(weir.check(request("alice"))).allowed()).isTrue();
        }
    }

    @Test
    void a_topic_that_is_missing_is_named() {
        assertThatThrownBy(() -> up.client().prefix("nowhere.").timeout(SHORT).start())
                .isInstanceOf(KafkaException.class)
                .hasMessage("there is no topic nowhere.decisions, or this user does not see it");
    }

    @Test
    void partitions_that_are_added_are_read_from_their_beginning() throws Exception {
        Map<String, Object> kafka = new HashMap<>(up.config().kafka());
        kafka.put("metadata.max.age.ms", 200);
        try (Admin admin = Admin.create(kafka)) {
            admin.createTopics(List.of(new NewTopic("growing", 1, (short) 1)))
                    .all()
                    .get();
            await("the topic", LiveWeir.PATIENCE, () -> exists(admin, "growing"));
            Map<String, Integer> seen = new ConcurrentHashMap<>();
            DecisionReader reader = new DecisionReader(
                    kafka,
                    "growing",
                    record -> seen.put(new String(record.key(), StandardCharsets.UTF_8), record.partition()));
            try (reader) {
                admin.createPartitions(Map.of("growing", NewPartitions.increaseTo(3)))
                        .all()
                        .get();
                await("the partitions", LiveWeir.PATIENCE, () -> partitions(admin) == 3);
                for (int partition = 0; partition < 3; partition++) {
                    send(kafka, partition);
                }
                await("all are read", LiveWeir.PATIENCE, () -> seen.equals(Map.of("0", 0, "1", 1, "2", 2)));
            }
        }
    }

    /** By a producer that has not known the topic before. */
    private static void send(Map<String, Object> kafka, int partition) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(kafka, new ByteArraySerializer(), new ByteArraySerializer())) {
            byte[] key = String.valueOf(partition).getBytes(StandardCharsets.UTF_8);
            producer.send(new ProducerRecord<>("growing", partition, key, key)).get();
        }
    }

    private static boolean exists(Admin admin, String topic) {
        try {
            return admin.listTopics().names().get().contains(topic);
        } catch (InterruptedException | ExecutionException e) {
            throw new AssertionError(e);
        }
    }

    private static int partitions(Admin admin) {
        try {
            return admin.describeTopics(List.of("growing"))
                    .allTopicNames()
                    .get()
                    .get("growing")
                    .partitions()
                    .size();
        } catch (InterruptedException | ExecutionException e) {
            throw new AssertionError(e);
        }
    }

    private static RequestBuilder sms(String requestId) {
        return RequestBuilder.of("bob").requestId(requestId).attribute("endpoint", "/sms");
    }

    private static Request request(String client) {
        return RequestBuilder.of(client).build();
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(SECONDS, TimeUnit.SECONDS);
    }
}
