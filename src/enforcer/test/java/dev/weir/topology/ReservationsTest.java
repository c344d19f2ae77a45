package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.kafka.Topics;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.QueueRegistry;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.requests.RecordOrigin;
import dev.weir.requests.ReservationCancellation;
import dev.weir.wire.DeadLetterHeaders;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests reservations with both topologies on test drivers. The test copies messages from one to the other. */
@Tag("slow")
class ReservationsTest {

    private static final String SLOTS = """
            policies:
              - id: slots
                layer: 1
                key: [client]
                limits: [{algorithm: concurrency, limit: 2, ttl: 1m}]
            """;

    private static final String SLOTS_AND_QUEUE = """
            queues:
              - {id: line, limit: 1, per: 1s, capacity: 1, max-wait: 10s}
            policies:
              - id: slots
                layer: 1
                key: [client]
                limits: [{algorithm: concurrency, limit: 3, ttl: 1m}]
              - id: rate
                layer: 2
                key: [client]
                limits: [{algorithm: fixed-window, limit: 1000, per: 1h}]
              - {id: all, layer: 3, match: {tier: slow}, queue: line}
            """;

    private static final String SHARED = """
            policies:
              - {id: all, key: [endpoint], limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}
            """;

    @TempDir
    private Path directory;

    private final Topics topics = new Topics("weir.", "weir");
    private final PolicyRegistry live = new PolicyRegistry();
    private final DecisionCodec decisionCodec = new DecisionCodec();
    private final RequestCodec requestCodec = new RequestCodec();
    private final EnforcerMetrics metrics = new EnforcerMetrics();
    private TopologyTestDriver deciding;
    private TopologyTestDriver shaping;
    private TestOutputTopic<byte[], byte[]> decided;
    private TestOutputTopic<byte[], byte[]> answered;
    private TestOutputTopic<byte[], byte[]> cancelled;
    private long nowMs = 1_000_000;

    @BeforeEach
    void open() {
        WeirConfig config = WeirConfig.DEFAULTS.withStateDirectory(directory);
        deciding = new InMemoryDriver(
                WeirTopology.deciding(config, 1, live, metrics),
                StreamsSettings.deciding(config),
                Instant.ofEpochMilli(nowMs));
        shaping = new InMemoryDriver(
                WeirTopology.shaping(config, live, new QueueRegistry(), new EnforcerMetrics()),
                StreamsSettings.shaping(config),
                Instant.ofEpochMilli(nowMs));
        decided = out(deciding, topics.decisions());
        answered = out(shaping, topics.decisions());
        cancelled = out(shaping, topics.routedRequests());
    }

    @AfterEach
    void close() {
        deciding.close();
        shaping.close();
    }

    private static TestInputTopic<byte[], byte[]> in(TopologyTestDriver driver, String topic) {
        return driver.createInputTopic(topic, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static TestOutputTopic<byte[], byte[]> out(TopologyTestDriver driver, String topic) {
        return driver.createOutputTopic(topic, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static void copy(TopologyTestDriver from, TopologyTestDriver to, String topic) {
        TestOutputTopic<byte[], byte[]> out = out(from, topic);
        if (!out.isEmpty()) {
            TestInputTopic<byte[], byte[]> in = in(to, topic);
            out.readRecordsToList().forEach(in::pipeInput);
        }
    }

    private void apply(String yaml, long version) throws Exception {
        PolicyFile.Contents contents = PolicyFile.read("test", yaml);
        for (PolicyFile.Definition definition : Stream.concat(contents.queues().stream(), contents.policies().stream())
                .toList()) {
            PolicyAvro.Applied applied =
                    new PolicyAvro.Applied(definition.kind(), definition.id(), version, definition.json(), 0);
            for (TopologyTestDriver driver : List.of(deciding, shaping)) {
                driver.createInputTopic(topics.policies(), new StringSerializer(), new ByteArraySerializer())
                        .pipeInput(applied.key(), new PolicyAvro().encode(applied));
            }
        }
    }

    private void sendOnly(Request.Builder request) {
        Request sent = request.timestampMs(nowMs).source(0, 0).build();
        in(deciding, topics.requests())
                .pipeInput(new TestRecord<>(
                        sent.client().getBytes(StandardCharsets.UTF_8),
                        requestCodec.encode(sent),
                        Instant.ofEpochMilli(nowMs)));
    }

    /** Sends a request, copies the messages to queues, and returns all decisions. */
    private List<Decision> send(RequestKind kind, String id, UnaryOperator<Request.Builder> with) throws Exception {
        sendOnly(with.apply(Request.builder(id, "alice").kind(kind).tier(kind == RequestKind.CONSUME ? "slow" : null)));
        copy(deciding, shaping, topics.admissions());
        return decisions();
    }

    private List<Decision> send(RequestKind kind, String id) throws Exception {
        return send(kind, id, request -> request);
    }

    private List<Decision> decisions() throws Exception {
        List<Decision> decisions = new ArrayList<>();
        for (TestOutputTopic<byte[], byte[]> from : List.of(decided, answered)) {
            while (!from.isEmpty()) {
                decisions.add(decisionCodec.decode(from.readValue()));
            }
        }
        return decisions;
    }

    private Reason reason(RequestKind kind, String id) throws Exception {
        List<Decision> decisions = send(kind, id);
        assertThat(decisions).hasSize(1);
        return decisions.get(0).reason();
    }

    private void pass(Duration time) {
        for (int i = 0; i < time.toMillis(); i += 50) {
            nowMs += 50;
            deciding.advanceWallClockTime(Duration.ofMillis(50));
            shaping.advanceWallClockTime(Duration.ofMillis(50));
            copy(shaping, shaping, topics.admissions());
        }
    }

    /** Carries the cancellations to the deciding task, and returns how many there were. */
    private int cancellations() throws Exception {
        List<TestRecord<byte[], byte[]>> records = cancelled.readRecordsToList();
        records.forEach(in(deciding, topics.routedRequests())::pipeInput);
        assertThat(decisions()).isEmpty();
        return records.size();
    }

    private long remaining(String policy) throws Exception {
        Decision peek = send(RequestKind.PEEK, "peek").get(0);
        return peek.limits().stream()
                .filter(limit -> limit.policyId().equals(policy))
                .findFirst()
                .orElseThrow()
                .remaining();
    }

    @Test
    void slots_are_taken_and_freed() throws Exception {
        apply(SLOTS, 1);
        assertThat(reason(RequestKind.CONSUME, "a")).isEqualTo(Reason.WITHIN_LIMITS);
        assertThat(reason(RequestKind.CONSUME, "b")).isEqualTo(Reason.WITHIN_LIMITS);
        assertThat(send(RequestKind.CONSUME, "c").get(0).outcome()).isEqualTo(Outcome.DENIED);
        assertThat(metrics.reservations()).isEqualTo(Map.of(0, 2L));
        assertThat(send(RequestKind.CONSUME, "a").get(0).repeated()).isTrue();
        assertThat(reason(RequestKind.RENEW, "a")).isEqualTo(Reason.RENEWED);
        assertThat(reason(RequestKind.RELEASE, "a")).isEqualTo(Reason.RELEASED);
        assertThat(reason(RequestKind.RELEASE, "a")).isEqualTo(Reason.RELEASED);
        assertThat(reason(RequestKind.CANCEL, "a")).isEqualTo(Reason.ALREADY_ENDED);
        assertThat(reason(RequestKind.CONSUME, "c")).isEqualTo(Reason.WITHIN_LIMITS);
        assertThat(reason(RequestKind.RELEASE, "x")).isEqualTo(Reason.NOTHING_RESERVED);
        pass(Duration.ofMinutes(1));
        assertThat(reason(RequestKind.RELEASE, "c")).isEqualTo(Reason.NOTHING_RESERVED);
        assertThat(reason(RequestKind.RENEW, "b")).isEqualTo(Reason.RESERVATION_ENDED);
    }

    @Test
    void a_repeat_is_found_after_its_policy_has_changed_to_another_algorithm_also_once_it_was_ended() throws Exception {
        apply(SLOTS, 1);
        send(RequestKind.CONSUME, "open");
        send(RequestKind.CONSUME, "ended");
        send(RequestKind.RELEASE, "ended");
        apply(SLOTS.replace("algorithm: concurrency, limit: 2, ttl: 1m", "algorithm: gcra, limit: 1, per: 1h"), 2);
        for (String id : List.of("open", "ended")) {
            assertThat(send(RequestKind.CONSUME, id).get(0))
                    .as("a limit of 1 would deny the second")
                    .returns(true, Decision::repeated)
                    .returns(Reason.WITHIN_LIMITS, Decision::reason);
        }
        assertThat(send(RequestKind.CONSUME, "new").get(0).repeated()).isFalse();
        assertThat(send(RequestKind.CONSUME, "next").get(0).outcome()).isEqualTo(Outcome.DENIED);
    }

    @Test
    void a_routed_request_about_a_reservation_is_decided_by_the_task_of_its_client() throws Exception {
        apply(SLOTS, 1);
        send(RequestKind.CONSUME, "a");
        Request release = Request.builder("a", "alice")
                .kind(RequestKind.RELEASE)
                .timestampMs(nowMs)
                .source(3, 17)
                .build();
        byte[] key = "alice".getBytes(StandardCharsets.UTF_8);
        Headers headers = new RecordOrigin(release.source(), nowMs, key).addTo(new RecordHeaders());
        in(deciding, topics.routedRequests())
                .pipeInput(new TestRecord<>(key, requestCodec.encode(release), headers, Instant.ofEpochMilli(nowMs)));
        assertThat(decisions()).extracting(Decision::reason).containsExactly(Reason.RELEASED);
        assertThat(reason(RequestKind.CANCEL, "a")).isEqualTo(Reason.ALREADY_ENDED);
    }

    @Test
    void a_full_queue_cancels_the_reservation_without_a_decision() throws Exception {
        apply(SLOTS_AND_QUEUE, 1);
        List<Decision> first = send(RequestKind.CONSUME, "a");
        assertThat(first).extracting(Decision::outcome).containsExactly(Outcome.QUEUED);
        assertThat(remaining("slots"))
                .as("a slot counts while its request waits")
                .isEqualTo(2);
        assertThat(send(RequestKind.CONSUME, "b")).extracting(Decision::reason).containsExactly(Reason.QUEUE_FULL);
        assertThat(remaining("slots")).as("until the message arrives").isEqualTo(1);
        assertThat(cancellations()).isEqualTo(1);
        assertThat(remaining("slots")).isEqualTo(2);
        assertThat(remaining("rate")).as("nothing was done").isEqualTo(999);
        assertThat(send(RequestKind.CONSUME, "b").get(0))
                .as("a repeat gets the first answer, and no slot")
                .returns(Reason.QUEUE_FULL, Decision::reason)
                .returns(true, Decision::repeated);
        assertThat(cancellations()).isZero();
        assertThat(remaining("slots")).isEqualTo(2);
        assertThat(reason(RequestKind.RELEASE, "b")).isEqualTo(Reason.ALREADY_ENDED);
        pass(Duration.ofSeconds(3));
        assertThat(cancellations()).as("a was released").isZero();
        assertThat(remaining("slots")).isEqualTo(2);
        assertThat(reason(RequestKind.RELEASE, "a")).isEqualTo(Reason.RELEASED);
        assertThat(remaining("slots")).isEqualTo(3);
    }

    @Test
    void a_request_that_leaves_its_queue_unreleased_loses_its_reservation() throws Exception {
        String slow =
                SLOTS_AND_QUEUE.replace("per: 1s, capacity: 1, max-wait: 10s", "per: 4s, capacity: 9, max-wait: 6s");
        apply(slow, 1);
        send(RequestKind.CONSUME, "released");
        send(RequestKind.CONSUME, "withdrawn");
        assertThat(send(RequestKind.CANCEL, "withdrawn", request -> request.queue("line")))
                .extracting(Decision::reason)
                .containsExactlyInAnyOrder(Reason.CANCELLED, Reason.CANCELLED);
        assertThat(remaining("slots")).isEqualTo(1);
        assertThat(cancellations()).isEqualTo(1);
        assertThat(remaining("slots")).isEqualTo(2);
        send(RequestKind.CONSUME, "expired");
        assertThat(send(RequestKind.CONSUME, "late"))
                .extracting(Decision::reason)
                .containsExactly(Reason.TOO_LATE);
        assertThat(cancellations()).isEqualTo(1);
        assertThat(remaining("slots")).isEqualTo(1);
        apply(slow.replace("per: 4s", "per: 1h"), 2);
        pass(Duration.ofSeconds(8));
        assertThat(decisions()).extracting(Decision::outcome).containsExactly(Outcome.EXPIRED);
        List<TestRecord<byte[], byte[]>> records = cancelled.readRecordsToList();
        assertThat(records).hasSize(1);
        records.forEach(in(deciding, topics.routedRequests())::pipeInput);
        records.forEach(in(deciding, topics.routedRequests())::pipeInput); // a second time changes nothing
        assertThat(remaining("slots")).isEqualTo(2);
        assertThat(remaining("rate")).isEqualTo(999);
    }

    @Test
    void a_request_without_a_reservation_sends_no_message() throws Exception {
        apply(SLOTS_AND_QUEUE.replace("concurrency, limit: 3, ttl: 1m", "fixed-window, limit: 3, per: 1m"), 1);
        send(RequestKind.CONSUME, "a");
        assertThat(send(RequestKind.CONSUME, "b")).extracting(Decision::reason).containsExactly(Reason.QUEUE_FULL);
        assertThat(cancelled.isEmpty()).isTrue();
    }

    @Test
    void a_producer_cannot_forge_a_cancellation() throws Exception {
        apply(SLOTS, 1);
        send(RequestKind.CONSUME, "a");
        ReservationCancellation forged = new ReservationCancellation("alice", "a", 1);
        in(deciding, topics.requests())
                .pipeInput(
                        new TestRecord<>(forged.key(), forged.value(), forged.headers(), Instant.ofEpochMilli(nowMs)));
        Headers routed = new RecordOrigin(new Request.Source(1, 1), nowMs, forged.key()).addTo(forged.headers());
        in(deciding, topics.routedRequests())
                .pipeInput(new TestRecord<>(forged.key(), forged.value(), routed, Instant.ofEpochMilli(nowMs)));
        assertThat(out(deciding, topics.deadLetters()).readRecordsToList()).hasSize(2);
        assertThat(remaining("slots")).isEqualTo(1);
    }

    @Test
    void an_unreadable_cancellation_becomes_a_dead_letter_and_another_number_changes_nothing() throws Exception {
        apply(SLOTS, 1);
        send(RequestKind.CONSUME, "a");
        ReservationCancellation other = new ReservationCancellation("alice", "a", 7);
        TestInputTopic<byte[], byte[]> routed = in(deciding, topics.routedRequests());
        routed.pipeInput(new TestRecord<>(other.key(), other.value(), other.headers(), Instant.EPOCH));
        TestOutputTopic<byte[], byte[]> deadLetters = out(deciding, topics.deadLetters());
        assertThat(deadLetters.isEmpty()).isTrue();
        for (String number : List.of("", "-1", "0", "x", "1".repeat(19))) {
            Headers headers =
                    new RecordHeaders().add(ReservationCancellation.HEADER, number.getBytes(StandardCharsets.UTF_8));
            routed.pipeInput(new TestRecord<>(other.key(), other.value(), headers, Instant.EPOCH));
            Headers rejected = deadLetters.readRecord().headers();
            assertThat(new String(rejected.lastHeader(DeadLetterHeaders.REASON).value(), StandardCharsets.UTF_8))
                    .isEqualTo(Rejection.INVALID_ROUTING.name());
        }
        assertThat(remaining("slots")).isEqualTo(1);
    }

    @Test
    void an_ending_of_a_request_that_waits_for_a_lease_ends_the_wait() throws Exception {
        apply(SHARED, 1);
        int number = 0;
        for (Request.Builder ending : List.of(
                Request.builder("r0", "alice").kind(RequestKind.CANCEL),
                Request.builder("r1", "alice").kind(RequestKind.RELEASE),
                Request.builder("s", "alice")
                        .kind(RequestKind.SETTLE)
                        .settles("r2")
                        .cost(1))) {
            String id = "r" + number++;
            assertThat(send(RequestKind.CONSUME, id, ReservationsTest::shared)).isEmpty();
            assertThat(send(RequestKind.RENEW, id))
                    .extracting(Decision::reason)
                    .containsExactly(Reason.RESERVATION_ENDED);
            sendOnly(Request.builder(id, "bob").kind(RequestKind.CANCEL));
            assertThat(decisions()).as("of another client").hasSize(1);
            sendOnly(ending);
            List<Decision> ended = decisions();
            assertThat(ended).extracting(Decision::requestId).contains(id);
            assertThat(ended).extracting(Decision::reason).containsExactly(Reason.NOTHING_RESERVED, Reason.CANCELLED);
            assertThat(ended.get(1))
                    .returns(Outcome.DENIED, Decision::outcome)
                    .returns(410, Decision::httpStatus)
                    .returns(1, decision -> decision.context().order().step());
            sendOnly(ending);
            assertThat(decisions()).extracting(Decision::reason).containsExactly(Reason.NOTHING_RESERVED);
        }
        lend();
        assertThat(decisions()).as("nobody waits").isEmpty();
        List<Decision> all =
                send(RequestKind.CONSUME, "all", request -> shared(request).cost(10));
        lend();
        all.addAll(decisions());
        assertThat(all).as("nothing was charged").extracting(Decision::outcome).containsExactly(Outcome.ALLOWED);
    }

    @Test
    void those_who_waited_behind_a_cancelled_request_are_served() throws Exception {
        apply(SHARED, 1);
        send(RequestKind.CONSUME, "large", request -> shared(request).cost(8));
        send(RequestKind.CONSUME, "small", request -> shared(request).cost(3));
        send(RequestKind.CANCEL, "large");
        lend();
        assertThat(decisions())
                .extracting(Decision::requestId, Decision::outcome)
                .containsExactly(tuple("small", Outcome.ALLOWED));
    }

    @Test
    void a_repeat_of_a_waiting_reserving_request_gets_its_answer_and_charges_nothing() throws Exception {
        apply(SHARED + SLOTS.substring(SLOTS.indexOf('\n') + 1), 1);
        UnaryOperator<Request.Builder> eight = request -> shared(request).cost(2);
        assertThat(send(RequestKind.CONSUME, "a", eight)).isEmpty();
        assertThat(send(RequestKind.CONSUME, "a", eight)).isEmpty();
        lend();
        List<Decision> both = decisions();
        assertThat(both).extracting(Decision::outcome).containsExactly(Outcome.ALLOWED, Outcome.ALLOWED);
        assertThat(both).extracting(Decision::repeated).containsExactly(false, true);
        Decision rest = send(
                        RequestKind.CONSUME, "b", request -> shared(request).cost(1))
                .get(0);
        assertThat(rest.reason()).as("both slots are taken once").isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(reason(RequestKind.RELEASE, "a")).isEqualTo(Reason.RELEASED);
    }

    private static Request.Builder shared(Request.Builder request) {
        return request.attributes(Map.of("endpoint", "/sms"));
    }

    private void lend() {
        for (int i = 0; i < 4; i++) {
            copy(deciding, shaping, topics.leaseRequests());
            copy(shaping, deciding, topics.leaseResponses());
        }
    }
}
