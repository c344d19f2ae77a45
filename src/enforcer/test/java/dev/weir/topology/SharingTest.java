package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionOrder;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.kafka.Topics;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.QueueRegistry;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.storage.LeaseKeys;
import dev.weir.wire.DeadLetterHeaders;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.KeyCodec;
import dev.weir.wire.LeaseRequestAvro;
import dev.weir.wire.LeaseResponseAvro;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests shared limits with both topologies on test drivers. The test copies messages from one to the other. */
@Tag("slow")
class SharingTest {

    private static final Instant START = Instant.parse("2026-01-01T00:00:00Z");

    @TempDir
    private Path directory;

    private final PolicyRegistry live = new PolicyRegistry();
    private final EnforcerMetrics metrics = new EnforcerMetrics();
    private final RequestCodec requestCodec = new RequestCodec();
    private final DecisionCodec decisionCodec = new DecisionCodec();
    private TopologyTestDriver deciding;
    private TopologyTestDriver lending;
    private TestInputTopic<byte[], byte[]> requests;
    private TestInputTopic<String, byte[]> policies;
    private TestInputTopic<byte[], byte[]> asksIn;
    private TestInputTopic<byte[], byte[]> grantsIn;
    private TestOutputTopic<byte[], byte[]> asksOut;
    private TestOutputTopic<byte[], byte[]> grantsOut;
    private TestOutputTopic<byte[], byte[]> decisions;
    private long nowMs = START.toEpochMilli();
    private int sent;

    @BeforeEach
    void start() {
        WeirConfig config = WeirConfig.DEFAULTS.withStateDirectory(directory);
        Topics topics = Topics.of("weir.", "weir");
        deciding = new TopologyTestDriver(
                WeirTopology.deciding(config, 1, live, metrics), StreamsSettings.deciding(config), START);
        lending = new TopologyTestDriver(
                WeirTopology.shaping(config, live, new QueueRegistry(), metrics),
                StreamsSettings.shaping(config),
                START);
        requests = in(deciding, topics.requests());
        grantsIn = in(deciding, topics.leaseResponses());
        policies = deciding.createInputTopic(topics.policies(), new StringSerializer(), new ByteArraySerializer());
        asksIn = in(lending, topics.leaseRequests());
        asksOut = out(deciding, topics.leaseRequests());
        decisions = out(deciding, topics.decisions());
        grantsOut = out(lending, topics.leaseResponses());
    }

    private static TestInputTopic<byte[], byte[]> in(TopologyTestDriver driver, String topic) {
        return driver.createInputTopic(topic, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static TestOutputTopic<byte[], byte[]> out(TopologyTestDriver driver, String topic) {
        return driver.createOutputTopic(topic, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    @AfterEach
    void stop() {
        deciding.close();
        lending.close();
    }

    private void apply(String yaml, long version) throws Exception {
        for (PolicyFile.Definition definition :
                PolicyFile.read("test", "policies:\n" + yaml).policies()) {
            PolicyAvro.Applied applied =
                    new PolicyAvro.Applied(definition.kind(), definition.id(), version, definition.json(), 0);
            policies.pipeInput(applied.key(), new PolicyAvro().encode(applied));
        }
    }

    private void request(String client, long cost) {
        request(client, RequestKind.CONSUME, cost);
    }

    private void request(String client, RequestKind kind, long cost) {
        send(Request.builder("r" + sent++, client)
                .kind(kind)
                .cost(cost)
                .attributes(Map.of("endpoint", "/sms"))
                .payload(new byte[] {1})
                .timestampMs(nowMs)
                .source(0, 0)
                .build());
    }

    private void send(Request request) {
        requests.pipeInput(new TestRecord<>(
                request.client().getBytes(StandardCharsets.UTF_8),
                requestCodec.encode(request),
                Instant.ofEpochMilli(nowMs)));
    }

    /**
     * Copies lease requests to the ledgers and responses back until there are no more. Returns the number of messages.
     */
    private int exchange() throws Exception {
        int messages = 0;
        while (!asksOut.isEmpty() || !grantsOut.isEmpty()) {
            while (!asksOut.isEmpty()) {
                TestRecord<byte[], byte[]> ask = asksOut.readRecord();
                asksIn.pipeInput(new TestRecord<>(ask.key(), ask.value(), Instant.ofEpochMilli(nowMs)));
                messages++;
            }
            while (!grantsOut.isEmpty()) {
                TestRecord<byte[], byte[]> grant = grantsOut.readRecord();
                grantsIn.pipeInput(grant.key(), grant.value());
                messages++;
            }
        }
        return messages;
    }

    private void pass(long ms) {
        nowMs += ms;
        deciding.advanceWallClockTime(Duration.ofMillis(ms));
        lending.advanceWallClockTime(Duration.ofMillis(ms));
    }

    private List<Decision> decided() throws Exception {
        List<Decision> all = new ArrayList<>();
        while (!decisions.isEmpty()) {
            all.add(decisionCodec.decode(decisions.readValue()));
        }
        return all;
    }

    private List<Outcome> outcomes() throws Exception {
        return decided().stream().map(Decision::outcome).toList();
    }

    @Test
    void a_request_waits_for_the_first_lease_and_later_ones_do_not() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 1000, per: 1m}]}", 1);
        request("alice", 3);
        assertThat(decided()).isEmpty();
        exchange();
        assertThat(outcomes()).containsExactly(Outcome.ALLOWED);
        for (int i = 0; i < 50; i++) {
            request("client" + i, 1);
            pass(20);
            exchange();
        }
        pass(100);
        exchange();
        assertThat(outcomes()).hasSize(50).containsOnly(Outcome.ALLOWED);
    }

    @Test
    void a_request_that_waited_records_after_which_request_it_was_decided() throws Exception {
        apply("  - {id: sms, key: [], limits: [{algorithm: fixed-window, limit: 1000, per: 1m}]}", 1);
        request("alice", 3);
        request("bob", 3);
        request("alice", RequestKind.PEEK, 3);
        exchange();
        request("alice", 3);
        long checksum = live.table().checksum();
        assertThat(decided())
                .extracting(Decision::context)
                .containsExactly(
                        new DecisionContext(new DecisionOrder(2, 1), checksum),
                        new DecisionContext(new DecisionOrder(2, 2), checksum),
                        new DecisionContext(new DecisionOrder(2, 3), checksum), // the PEEK
                        new DecisionContext(null, checksum));
    }

    @Test
    void all_clients_together_get_no_more_than_the_limit() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: sliding-window-log, limit: 20, per: 1m}]}", 1);
        for (int i = 0; i < 60; i++) {
            request("client" + i, 1);
            exchange();
            pass(50);
        }
        pass(100);
        exchange();
        List<Outcome> outcomes = outcomes();
        assertThat(outcomes).hasSize(60);
        assertThat(outcomes.stream().filter(Outcome.ALLOWED::equals)).hasSize(20);
        assertThat(outcomes.subList(0, 20)).containsOnly(Outcome.ALLOWED);
    }

    @Test
    void a_request_without_a_response_is_denied_when_the_wait_is_over() throws Exception {
        apply("  - {id: all, key: [], max-wait: 50ms, limits: [{algorithm: gcra, limit: 5, per: 1m}]}", 1);
        request("alice", 1);
        pass(40);
        assertThat(decided()).isEmpty();
        pass(20);
        assertThat(decided()).singleElement().satisfies(decision -> {
            assertThat(decision.outcome()).isEqualTo(Outcome.DENIED);
            assertThat(decision.reason()).isEqualTo(Reason.QUOTA_NOT_AT_HAND);
            assertThat(decision.limitedBy()).isEqualTo("gcra 5/1m");
            assertThat(decision.decidedAtMs()).isEqualTo(nowMs - 60);
        });
    }

    @Test
    void a_request_that_must_not_wait_is_denied_at_once() throws Exception {
        apply("  - {id: all, key: [], when-empty: deny, limits: [{algorithm: gcra, limit: 5, per: 1m}]}", 1);
        request("alice", 1);
        assertThat(outcomes()).containsExactly(Outcome.DENIED);
        exchange();
        request("alice", 1);
        assertThat(outcomes()).as("the first request requested a lease").containsExactly(Outcome.ALLOWED);
    }

    @Test
    void a_repeat_of_a_request_that_waited_receives_the_first_answer() throws Exception {
        apply("  - {id: all, key: [], idempotency: 1m, limits: [{algorithm: fixed-window, limit: 1, per: 1h}]}", 1);
        request("alice", 1);
        sent--; // the same requestId
        request("alice", 1);
        exchange();
        exchange();
        List<Decision> all = decided();
        assertThat(all.stream().map(Decision::outcome)).containsExactly(Outcome.ALLOWED, Outcome.ALLOWED);
        assertThat(all.stream().map(Decision::repeated)).containsExactly(false, true);
    }

    @Test
    void waiting_requests_are_decided_in_order() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 3, per: 1m}]}", 1);
        for (String client : List.of("a", "b", "c", "d")) {
            request(client, 1);
        }
        for (int i = 0; i < 5; i++) {
            exchange();
            pass(10);
        }
        List<Decision> all = decided();
        assertThat(all.stream().map(Decision::client)).containsExactly("a", "b", "c", "d");
        assertThat(all.stream().map(Decision::outcome))
                .containsExactly(Outcome.ALLOWED, Outcome.ALLOWED, Outcome.ALLOWED, Outcome.DENIED);
    }

    @Test
    void unused_quota_is_returned_before_the_lease_ends() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 100, per: 1h}]}", 1);
        request("alice", 1);
        exchange();
        for (int i = 0; i < 30; i++) {
            request("alice", 1);
        }
        exchange();
        for (int i = 0; i < 60; i++) {
            pass(100);
            exchange();
        }
        int allowed = (int) outcomes().stream().filter(Outcome.ALLOWED::equals).count();
        for (int i = 0; i < 200; i++) {
            request("bob", 1);
            exchange();
        }
        pass(200);
        exchange();
        allowed += (int) outcomes().stream().filter(Outcome.ALLOWED::equals).count();
        assertThat(allowed).isEqualTo(100);
    }

    @Test
    void settlements_are_charged_to_the_ledger_and_nothing_is_refunded() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 100, per: 1h}]}", 1);
        request("alice", RequestKind.SETTLE, 100);
        assertThat(decided()).singleElement().satisfies(decision -> assertThat(decision.reason())
                .isEqualTo(Reason.SETTLED));
        exchange();
        request("alice", 1);
        exchange();
        assertThat(outcomes()).containsExactly(Outcome.DENIED);
        request("alice", RequestKind.SETTLE, -1);
        assertThat(decided())
                .singleElement()
                .returns(Outcome.DENIED, Decision::outcome)
                .returns(Reason.SHARED_LIMIT_REFUND, Decision::reason)
                .returns(422, Decision::httpStatus);
        exchange();
        pass(5_000);
        request("alice", 1);
        exchange();
        assertThat(outcomes()).containsExactly(Outcome.DENIED);
    }

    /** Sends a request that is about the reservation of {@code id}, and lets all messages arrive. */
    private void reservation(RequestKind kind, String id, long cost) throws Exception {
        reservationWithoutExchange(kind, id, cost);
        exchange();
    }

    private Request aboutReservation(RequestKind kind, String id) {
        return Request.builder(id, "alice")
                .kind(kind)
                .timestampMs(nowMs)
                .source(0, 0)
                .build();
    }

    private void reservationWithoutExchange(RequestKind kind, String id, long cost) {
        boolean settles = kind == RequestKind.SETTLE;
        send(Request.builder(settles ? "s" + sent++ : id, "alice")
                .kind(kind)
                .cost(cost)
                .settles(settles ? id : null)
                .reserveMs(kind == RequestKind.CONSUME ? 60_000L : null)
                .timestampMs(nowMs)
                .source(0, 0)
                .build());
    }

    /** Lets leases end, which are reported before. */
    private void endLeases() throws Exception {
        for (int i = 0; i < 60; i++) {
            pass(100);
            exchange();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"fixed-window", "sliding-window-log", "sliding-window-counter", "gcra", "token-bucket"})
    void what_a_reservation_does_not_need_can_be_used_by_others(String algorithm) throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: " + algorithm + ", limit: 1000, per: 1h}]}", 1);
        reservation(RequestKind.CONSUME, "soon", 900);
        reservation(RequestKind.SETTLE, "soon", 50);
        pass(1);
        reservation(RequestKind.CONSUME, "late", 900);
        assertThat(outcomes()).as("returned to the lease").containsOnly(Outcome.ALLOWED);
        endLeases();
        request("bob", 200);
        exchange();
        assertThat(outcomes()).as("950 are reported").containsExactly(Outcome.DENIED);
        reservation(RequestKind.SETTLE, "late", 100);
        reservation(RequestKind.SETTLE, "late", 100);
        send(Request.builder("late", "bob")
                .kind(RequestKind.CANCEL)
                .timestampMs(nowMs)
                .source(0, 0)
                .build());
        request("bob", 840);
        exchange();
        assertThat(decided())
                .extracting(Decision::reason)
                .as("refunded by the ledger, once, for its own client only")
                .containsExactly(Reason.SETTLED, Reason.SETTLED, Reason.NOTHING_RESERVED, Reason.WITHIN_LIMITS);
        endLeases();
        request("bob", 30);
        exchange();
        assertThat(outcomes()).as("50 + 100 + 840 are used").containsExactly(Outcome.DENIED);
    }

    private static final String SLOTS =
            "  - {id: all, key: [], limits: [{algorithm: concurrency, limit: 10, ttl: 60s}]}";

    private List<Reason> reasons() throws Exception {
        return decided().stream().map(Decision::reason).toList();
    }

    @Test
    void slots_of_all_clients_together_are_at_most_the_limit_and_can_be_used_again() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 7);
        reservation(RequestKind.CONSUME, "b", 3);
        assertThat(decided()).extracting(Decision::remaining).containsExactly(3L, 0L);
        reservation(RequestKind.RELEASE, "b", 1);
        request("bob", 3);
        assertThat(reasons()).as("at once, by the lease").containsExactly(Reason.RELEASED, Reason.WITHIN_LIMITS);
        reservation(RequestKind.CONSUME, "c", 1);
        assertThat(decided()).singleElement().returns(Reason.LIMIT_EXCEEDED, Decision::reason);
        endLeases();
        reservation(RequestKind.CANCEL, "a", 1);
        reservation(RequestKind.CANCEL, "a", 1);
        endLeases();
        request("bob", 8);
        request("carol", 7);
        exchange();
        assertThat(reasons())
                .as("freed by the ledger, once")
                .containsExactly(Reason.CANCELLED, Reason.CANCELLED, Reason.LIMIT_EXCEEDED, Reason.WITHIN_LIMITS);
    }

    @Test
    void slots_that_nobody_frees_end_by_the_time_of_the_ledger() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 10);
        endLeases();
        pass(53_000);
        request("bob", 1);
        exchange();
        pass(1_500);
        request("bob", 10);
        exchange();
        assertThat(reasons()).containsExactly(Reason.WITHIN_LIMITS, Reason.LIMIT_EXCEEDED, Reason.WITHIN_LIMITS);
    }

    @Test
    void slots_of_a_holder_that_is_never_heard_of_again_return_a_ttl_after_its_lease() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 10);
        pass(5_000);
        asksOut.readRecordsToList(); // the report
        nowMs += 59_000;
        lending.advanceWallClockTime(Duration.ofMillis(59_000));
        LeaseRequest early = new LeaseRequest(1, "other", 10, 10, List.of(), 0, 0);
        assertThat(foreign(early)).isInstanceOf(LeaseResponse.Refused.class);
        nowMs += 2_000;
        assertThat(foreign(early)).isInstanceOf(LeaseResponse.Granted.class);
    }

    @Test
    void a_renewal_waits_for_the_ledger_and_holds_the_slots() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 10);
        endLeases();
        pass(44_000);
        assertThat(reasons()).containsExactly(Reason.WITHIN_LIMITS);
        send(aboutReservation(RequestKind.RENEW, "a"));
        assertThat(decided()).as("until the ledger has confirmed it").isEmpty();
        exchange();
        assertThat(reasons()).containsExactly(Reason.RENEWED);
        pass(30_000);
        request("bob", 1);
        exchange();
        assertThat(reasons()).as("the first end has passed").containsExactly(Reason.LIMIT_EXCEEDED);
        send(aboutReservation(RequestKind.RENEW, "a"));
        send(aboutReservation(RequestKind.RELEASE, "a"));
        exchange();
        assertThat(reasons())
                .as("which was ended while it waited")
                .containsExactly(Reason.RELEASED, Reason.RESERVATION_ENDED);
        endLeases();
        request("bob", 10);
        exchange();
        assertThat(reasons()).containsExactly(Reason.WITHIN_LIMITS);
    }

    @Test
    void a_renewal_without_an_answer_is_denied_when_the_wait_is_over() throws Exception {
        apply(SLOTS.replace("key: []", "key: [], max-wait: 500ms"), 1);
        reservation(RequestKind.CONSUME, "a", 10);
        send(aboutReservation(RequestKind.RENEW, "a"));
        assertThat(reasons()).containsExactly(Reason.WITHIN_LIMITS);
        pass(400);
        assertThat(decided()).isEmpty();
        pass(200);
        assertThat(decided())
                .singleElement()
                .returns(Reason.RESERVATION_ENDED, Decision::reason)
                .returns(410, Decision::httpStatus);
    }

    @Test
    void a_renewal_does_not_wait_for_slots_of_a_policy_that_has_none_any_more() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 10);
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 5, per: 1h}]}", 2);
        reservationWithoutExchange(RequestKind.RENEW, "a", 1);
        assertThat(reasons()).containsExactly(Reason.WITHIN_LIMITS, Reason.RENEWED);
    }

    @Test
    void a_slot_whose_end_the_ledger_has_passed_is_not_renewed() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 10);
        endLeases();
        Request late = aboutReservation(RequestKind.RENEW, "a"); // by the clock of its client, it is in time
        nowMs += 60_000;
        send(late);
        exchange();
        assertThat(reasons()).containsExactly(Reason.WITHIN_LIMITS, Reason.RESERVATION_ENDED);
    }

    @Test
    void a_waiting_request_passes_by_a_slot_that_is_freed_here() throws Exception {
        apply(SLOTS.replace("key: []", "key: [], max-wait: 500ms"), 1);
        reservation(RequestKind.CONSUME, "a", 3);
        request("bob", 4);
        assertThat(reasons()).as("waits for the ledger").containsExactly(Reason.WITHIN_LIMITS);
        reservationWithoutExchange(RequestKind.CONSUME, "b", 1);
        send(aboutReservation(RequestKind.RELEASE, "a"));
        assertThat(reasons()).containsExactly(Reason.RELEASED);
        exchange();
        assertThat(reasons()).containsExactly(Reason.WITHIN_LIMITS, Reason.WITHIN_LIMITS);
    }

    @Test
    void a_reset_frees_the_slots_of_all_and_what_was_used_before_frees_and_renews_nothing() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 10);
        endLeases();
        request("carol", RequestKind.RESET, 0);
        exchange();
        request("bob", 10);
        exchange();
        assertThat(reasons()).containsExactly(Reason.WITHIN_LIMITS, Reason.USAGE_RESET, Reason.WITHIN_LIMITS);
        reservation(RequestKind.RENEW, "a", 1);
        reservation(RequestKind.RELEASE, "a", 1);
        endLeases();
        request("carol", 1);
        exchange();
        assertThat(reasons()).containsExactly(Reason.RENEWED, Reason.RELEASED, Reason.LIMIT_EXCEEDED);
    }

    @Test
    void a_lower_limit_evicts_nobody() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 4);
        reservation(RequestKind.CONSUME, "b", 4);
        endLeases();
        apply(SLOTS.replace("limit: 10", "limit: 5"), 2);
        reservation(RequestKind.RENEW, "a", 1);
        request("bob", 1);
        exchange();
        reservation(RequestKind.RELEASE, "b", 1);
        endLeases();
        request("bob", 1);
        exchange();
        assertThat(reasons())
                .containsExactly(
                        Reason.WITHIN_LIMITS,
                        Reason.WITHIN_LIMITS,
                        Reason.RENEWED,
                        Reason.LIMIT_EXCEEDED,
                        Reason.RELEASED,
                        Reason.WITHIN_LIMITS);
    }

    @Test
    void a_settlement_without_a_reservation_takes_and_frees_no_slots() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 5);
        request("bob", RequestKind.SETTLE, 5);
        request("bob", RequestKind.SETTLE, -5);
        exchange();
        endLeases();
        request("bob", 6);
        request("bob", 5);
        exchange();
        assertThat(reasons())
                .containsExactly(
                        Reason.WITHIN_LIMITS,
                        Reason.SETTLED,
                        Reason.SETTLED,
                        Reason.LIMIT_EXCEEDED,
                        Reason.WITHIN_LIMITS);
    }

    @Test
    void an_observing_limit_of_slots_counts_them_and_delays_no_renewal() throws Exception {
        apply(SLOTS.replace("key: []", "key: [], on-exceed: observe"), 1);
        for (int i = 0; i < 40; i++) {
            reservation(RequestKind.CONSUME, "a" + i, 1);
            pass(50);
            exchange();
        }
        for (int i = 0; i < 40; i++) {
            reservationWithoutExchange(RequestKind.RENEW, "a" + i, 1);
        }
        List<Decision> all = decided();
        assertThat(all).hasSize(80).extracting(Decision::outcome).containsOnly(Outcome.ALLOWED);
        List<Boolean> exceeds =
                all.stream().limit(40).map(each -> !each.observedBy().isEmpty()).toList();
        assertThat(exceeds).containsSequence(false, false, false);
        assertThat(Collections.frequency(exceeds, false)).isLessThanOrEqualTo(10);
        assertThat(exceeds.subList(30, 40)).containsOnly(true);
        endLeases();
        pass(60_000);
        exchange();
        for (int i = 0; i < 3; i++) {
            request("bob", 1);
            exchange();
        }
        assertThat(decided()).as("all have ended").anySatisfy(each -> assertThat(each.observedBy())
                .isEmpty());
    }

    @Test
    void a_released_reservation_keeps_its_charge_and_a_larger_cost_is_used_at_the_end() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 1000, per: 1h}]}", 1);
        reservation(RequestKind.CONSUME, "released", 300);
        reservation(RequestKind.CONSUME, "larger", 300);
        reservation(RequestKind.RELEASE, "released", 0);
        reservation(RequestKind.SETTLE, "larger", 400);
        assertThat(outcomes()).containsOnly(Outcome.ALLOWED);
        endLeases();
        request("bob", 301);
        request("bob", 300);
        exchange();
        pass(3_000);
        exchange();
        assertThat(outcomes()).containsExactlyInAnyOrder(Outcome.DENIED, Outcome.ALLOWED);
    }

    @Test
    void a_reservation_from_before_a_reset_is_not_refunded() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 1000, per: 1h}]}", 1);
        reservation(RequestKind.CONSUME, "before", 900);
        endLeases();
        request("alice", RequestKind.RESET, 1);
        exchange();
        request("bob", 900);
        exchange();
        endLeases();
        reservation(RequestKind.SETTLE, "before", 0);
        assertThat(outcomes()).containsOnly(Outcome.ALLOWED);
        pass(1_000);
        exchange();
        request("bob", 101);
        exchange();
        assertThat(outcomes()).containsExactly(Outcome.DENIED);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ", max-debt: 5"})
    void a_settlement_leaves_a_shared_limit_at_most_the_maximum_debt(String maxDebt) throws Exception {
        apply("  - {id: all, key: []" + maxDebt + ", limits: [{algorithm: gcra, limit: 10, per: 1h}]}", 1);
        request("alice", RequestKind.SETTLE, 1_000_000_000_000L);
        assertThat(decided()).singleElement().returns(Reason.SETTLED, Decision::reason);
        exchange();
        assertNextIsDeniedFor(tokens(1 + (maxDebt.isEmpty() ? 10 : 5)));
    }

    @Test
    void messages_of_a_foreign_holder_neither_refund_a_shared_limit_nor_exceed_the_maximum_debt() throws Exception {
        apply("  - {id: all, key: [], max-debt: 2, limits: [{algorithm: gcra, limit: 10, per: 1h}]}", 1);
        for (long tokens : List.of(10L, -1_000_000_000_000L, Long.MIN_VALUE)) {
            settleAsForeigner(tokens);
        }
        assertNextIsDeniedFor(tokens(1));
        pass(5_000); // the holder repeats its request after a term
        for (long tokens : List.of(1_000_000_000_000L, Long.MAX_VALUE)) {
            settleAsForeigner(tokens);
        }
        assertNextIsDeniedFor(tokens(3) - 5_000);
    }

    /** Returns the time in which {@code count} tokens are refilled at 10 tokens an hour. */
    private static long tokens(int count) {
        return Duration.ofHours(1).toMillis() / 10 * count;
    }

    /** Sends a message from a holder that is not part of the enforcer. */
    private void settleAsForeigner(long tokens) {
        byte[] key = KeyCodec.encode(new StateKey(StateKey.NO_CLIENT, "all", List.of()));
        LeaseRequest message = LeaseRequest.report("foreign", List.of(), tokens);
        byte[] value = new LeaseRequestAvro().encode(new LeaseRequestAvro.Addressed(message, 0));
        asksIn.pipeInput(new TestRecord<>(key, value, Instant.ofEpochMilli(nowMs)));
    }

    private void assertNextIsDeniedFor(long retryAfterMs) throws Exception {
        request("bob", 1);
        exchange();
        assertThat(decided())
                .singleElement()
                .returns(Reason.LIMIT_EXCEEDED, Decision::reason)
                .returns(retryAfterMs, Decision::retryAfterMs);
    }

    @Test
    void a_changed_policy_applies_to_earlier_usage() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}", 1);
        for (int i = 0; i < 10; i++) {
            request("alice", 1);
            exchange();
        }
        assertThat(outcomes()).hasSize(10).containsOnly(Outcome.ALLOWED);
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 12, per: 1h}]}", 2);
        pass(5_000); // although, according to the ledger's response, nothing is free for an hour
        for (int i = 0; i < 5; i++) {
            request("alice", 1);
            exchange();
            pass(100);
        }
        assertThat(outcomes())
                .containsExactly(Outcome.ALLOWED, Outcome.ALLOWED, Outcome.DENIED, Outcome.DENIED, Outcome.DENIED);
    }

    @Test
    void a_decision_names_the_limit_with_the_smallest_capacity() throws Exception {
        apply(
                "  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 1000, per: 1d},"
                        + " {algorithm: fixed-window, limit: 10, per: 1m}]}",
                1);
        request("alice", 1);
        exchange();
        assertThat(decided()).singleElement().satisfies(decision -> assertThat(decision.limitedBy())
                .isEqualTo("fixed-window 10/1m"));
    }

    private static final String HOUR = "  - {id: all, key: [], limits: [{algorithm: %s, limit: %d, per: 1h}]}";

    private Decision ask(RequestKind kind, long cost) throws Exception {
        request("alice", kind, cost);
        exchange();
        List<Decision> all = decided();
        assertThat(all).hasSize(1);
        return all.get(0);
    }

    @ParameterizedTest
    @ValueSource(strings = {"fixed-window", "sliding-window-log", "sliding-window-counter", "token-bucket", "gcra"})
    void a_peek_is_answered_by_the_ledger_and_needs_no_lease(String algorithm) throws Exception {
        apply(HOUR.formatted(algorithm, 1_000), 1);
        for (int i = 0; i < 20; i++) {
            Decision peeked = ask(RequestKind.PEEK, 1);
            assertThat(peeked.outcome()).isEqualTo(Outcome.ALLOWED);
            assertThat(peeked.reason()).isEqualTo(Reason.WITHIN_LIMITS);
            assertThat(peeked.remaining()).isEqualTo(1_000);
            pass(400);
        }
        assertThat(ledgers()).as("nothing is lent").isZero();
        Decision refused = ask(RequestKind.PEEK, 1_001);
        assertThat(refused.reason()).isEqualTo(Reason.COST_NEVER_FITS);
        assertThat(ask(RequestKind.CONSUME, 1).remaining()).isEqualTo(999);
        assertThat(ask(RequestKind.PEEK, 999).outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(ask(RequestKind.PEEK, 1_000).reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
    }

    @Test
    void peeks_ask_the_ledger_at_most_once_while_its_answer_is_fresh() throws Exception {
        apply(HOUR.formatted("fixed-window", 1_000), 1);
        request("alice", RequestKind.PEEK, 1);
        int messages = exchange();
        for (int i = 0; i < 100; i++) {
            request("alice", RequestKind.PEEK, 1 + i);
            pass(10);
            messages += exchange();
        }
        assertThat(outcomes()).hasSize(101).containsOnly(Outcome.ALLOWED);
        assertThat(messages).as("a question and an answer").isEqualTo(2);
    }

    @Test
    void a_peek_of_what_is_used_up_is_denied_until_it_is_free_again() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 3, per: 1m}]}", 1);
        assertThat(ask(RequestKind.CONSUME, 3).remaining()).isZero();
        pass(1_000);
        exchange();
        Decision denied = ask(RequestKind.PEEK, 1);
        assertThat(denied.reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(denied.remaining()).isZero();
        assertThat(denied.retryAfterMs()).isEqualTo(59_000);
        pass(59_000);
        exchange();
        assertThat(ask(RequestKind.PEEK, 3).remaining()).isEqualTo(3);
    }

    @Test
    void a_peek_delays_no_request_and_is_decided_before_its_longest_wait_ends() throws Exception {
        apply("  - {id: all, key: [], max-wait: 500ms, limits: [{algorithm: fixed-window, limit: 100, per: 1h}]}", 1);
        assertThat(ask(RequestKind.CONSUME, 1).outcome()).isEqualTo(Outcome.ALLOWED);
        pass(1_000);
        exchange();
        request("alice", RequestKind.PEEK, 100);
        request("bob", 1);
        assertThat(decided())
                .extracting(Decision::client)
                .as("a lease suffices for bob")
                .containsExactly("bob");
        pass(500);
        Decision late = decided().get(0);
        assertThat(late.reason()).as("the ledger has not answered").isEqualTo(Reason.QUOTA_NOT_AT_HAND);
        exchange();
        assertThat(ask(RequestKind.PEEK, 100).reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(ask(RequestKind.PEEK, 98).outcome()).isEqualTo(Outcome.ALLOWED);
    }

    @ParameterizedTest
    @ValueSource(strings = {"when-empty: deny", "on-exceed: observe"})
    void a_peek_is_answered_truly_also_without_waiting_for_leases(String setting) throws Exception {
        apply("  - {id: all, key: [], " + setting + ", limits: [{algorithm: fixed-window, limit: 100, per: 1h}]}", 1);
        Decision first = ask(RequestKind.PEEK, 1);
        assertThat(first.outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(first.observed()).isFalse();
        Decision whole = ask(RequestKind.PEEK, 100);
        assertThat(whole.observed()).isFalse();
        assertThat(whole.remaining()).isEqualTo(setting.contains("observe") ? null : 100L);
        Decision tooMuch = ask(RequestKind.PEEK, 101);
        assertThat(tooMuch.observed()).isEqualTo(setting.contains("observe"));
        assertThat(tooMuch.outcome()).isEqualTo(setting.contains("observe") ? Outcome.ALLOWED : Outcome.DENIED);
    }

    @Test
    void remaining_is_what_is_left_of_the_limit() throws Exception {
        apply(HOUR.formatted("fixed-window", 1_000), 1);
        long left = 1_000;
        for (int i = 0; i < 200; i++) {
            left -= 1 + i % 4;
            assertThat(ask(RequestKind.CONSUME, 1 + i % 4).remaining()).isEqualTo(left);
            pass(i % 7 == 0 ? 900 : 30);
            exchange();
        }
        assertThat(ask(RequestKind.SETTLE, 50).remaining()).isEqualTo(left - 50);
        pass(10_000);
        exchange();
        assertThat(ask(RequestKind.PEEK, 1).remaining()).isEqualTo(left - 50);
        assertThat(ask(RequestKind.CONSUME, left).reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(ask(RequestKind.CONSUME, left - 50).remaining()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"{algorithm: fixed-window, limit: 0}", "{unlimited: true}"})
    void usage_of_a_shared_limit_survives_a_suspension(String suspending) throws Exception {
        apply(HOUR.formatted("fixed-window", 100), 1);
        assertThat(ask(RequestKind.CONSUME, 91).remaining()).isEqualTo(9);
        apply("  - {id: all, key: [], limits: [%s]}".formatted(suspending), 2);
        for (int i = 0; i < 5; i++) {
            pass(2_000);
            exchange();
            Outcome expected = suspending.contains("unlimited") ? Outcome.ALLOWED : Outcome.DENIED;
            assertThat(ask(RequestKind.CONSUME, 3).outcome()).isEqualTo(expected);
        }
        pass(6_000);
        exchange();
        apply(HOUR.formatted("fixed-window", 100), 3);
        pass(6_000);
        exchange();
        assertThat(ask(RequestKind.CONSUME, 1).remaining()).isEqualTo(8);
    }

    @Test
    void a_lease_from_before_a_suspension_is_charged_to_what_was_suspended() throws Exception {
        apply(HOUR.formatted("fixed-window", 100), 1);
        assertThat(ask(RequestKind.CONSUME, 91).outcome()).isEqualTo(Outcome.ALLOWED);
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 0}]}", 2);
        pass(10_000); // the lease is reported after the change
        exchange();
        apply(HOUR.formatted("fixed-window", 100), 3);
        pass(6_000);
        exchange();
        assertThat(ask(RequestKind.PEEK, 1).remaining()).isEqualTo(9);
    }

    @Test
    void a_reset_frees_own_and_shared_limits_at_once() throws Exception {
        apply(
                "  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}\n"
                        + "  - {id: own, layer: own, limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}",
                1);
        for (int i = 0; i < 4; i++) {
            assertThat(ask(RequestKind.CONSUME, 10).outcome()).isEqualTo(Outcome.ALLOWED);
            assertThat(ask(RequestKind.CONSUME, 1).reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
            pass(100L * i);
            Decision reset = ask(RequestKind.RESET, 0);
            assertThat(reset.reason()).isEqualTo(Reason.USAGE_RESET);
            assertThat(reset.policyId()).isEqualTo("own");
            assertThat(reset.remaining()).isEqualTo(10);
        }
        assertThat(ask(RequestKind.PEEK, 10).remaining()).isEqualTo(10);
    }

    private Decision reset(String policyId) throws Exception {
        send(Request.builder("r" + sent++, "alice")
                .kind(RequestKind.RESET)
                .cost(0)
                .attributes(Map.of("endpoint", "/sms"))
                .timestampMs(nowMs)
                .source(0, 0)
                .build()
                .withPolicyId(policyId));
        exchange();
        List<Decision> all = decided();
        assertThat(all).hasSize(1);
        return all.get(0);
    }

    @Test
    void a_reset_of_one_policy_leaves_the_limits_of_others() throws Exception {
        apply(
                "  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}\n"
                        + "  - {id: own, layer: own, limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}",
                1);
        assertThat(ask(RequestKind.CONSUME, 10).outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(reset("own").remaining()).isEqualTo(10);
        assertThat(ask(RequestKind.CONSUME, 1).policyId()).isEqualTo("all");
        assertThat(reset("none"))
                .returns(Reason.POLICY_NOT_APPLICABLE, Decision::reason)
                .returns("none", Decision::limitedBy);
        assertThat(ask(RequestKind.CONSUME, 1).policyId()).isEqualTo("all");
        assertThat(reset("all").reason()).isEqualTo(Reason.USAGE_RESET);
        assertThat(ask(RequestKind.CONSUME, 9).outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(reset("all").reason()).isEqualTo(Reason.USAGE_RESET);
        assertThat(ask(RequestKind.CONSUME, 2).policyId()).isEqualTo("own");
    }

    @Test
    void a_reset_of_a_shared_limit_alone_frees_it_for_all_who_share_it() throws Exception {
        apply(HOUR.formatted("gcra", 10), 1);
        request("alice", 4);
        request("bob", 6);
        exchange();
        assertThat(outcomes()).containsOnly(Outcome.ALLOWED);
        Decision reset = ask(RequestKind.RESET, 0);
        assertThat(reset.reason()).isEqualTo(Reason.USAGE_RESET);
        assertThat(reset.remaining()).as("the ledger has not answered yet").isNull();
        request("bob", 10);
        exchange();
        assertThat(decided()).singleElement().returns(0L, Decision::remaining);
    }

    @Test
    void use_of_another_holder_before_a_reset_is_not_charged_when_it_is_reported() throws Exception {
        apply(HOUR.formatted("fixed-window", 10), 1);
        LeaseResponse.Granted lease =
                (LeaseResponse.Granted) foreign(new LeaseRequest(1, "other", 8, 8, List.of(), 0, 0));
        assertThat(ask(RequestKind.CONSUME, 2).outcome()).isEqualTo(Outcome.ALLOWED);
        long usedMs = nowMs;
        pass(100);
        assertThat(ask(RequestKind.RESET, 0).reason()).isEqualTo(Reason.USAGE_RESET);
        foreign(new LeaseRequest(
                2, "other", 1, 1, List.of(new LeaseRequest.Report(lease.leaseId(), 5, usedMs, 3)), 0, 0));
        assertThat(ask(RequestKind.CONSUME, 6).outcome()).as("3 + 1 are lent").isEqualTo(Outcome.ALLOWED);
        foreign(LeaseRequest.report("other", List.of(new LeaseRequest.Report(lease.leaseId(), 8, nowMs + 1, 0)), 0));
        assertThat(ask(RequestKind.CONSUME, 1).outcome())
                .as("use after it is charged")
                .isEqualTo(Outcome.DENIED);
    }

    /** Sends a message of a holder that is not part of the enforcer, and returns the response. */
    private LeaseResponse foreign(LeaseRequest message) throws Exception {
        byte[] key = KeyCodec.encode(new StateKey(StateKey.NO_CLIENT, "all", List.of()));
        byte[] value = new LeaseRequestAvro().encode(new LeaseRequestAvro.Addressed(message, 0));
        asksIn.pipeInput(new TestRecord<>(key, value, Instant.ofEpochMilli(nowMs)));
        return grantsOut.isEmpty()
                ? null
                : new LeaseResponseAvro().decode(grantsOut.readValue(), 0).response();
    }

    @Test
    void a_ledger_expires_by_the_time_of_lease_requests_and_not_by_a_clock_ahead() throws Exception {
        apply(
                "  - {id: each, key: [client, endpoint], lease: client,"
                        + " limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}",
                1);
        request("alice", 1);
        exchange();
        lending.advanceWallClockTime(Duration.ofDays(3));
        request("bob", 1);
        exchange();
        lending.advanceWallClockTime(Duration.ofMinutes(30));
        assertThat(ledgers()).as("the ledgers of alice and bob").isEqualTo(2);
        nowMs += Duration.ofDays(9).toMillis();
        deciding.advanceWallClockTime(Duration.ofDays(9)); // otherwise the next request would be too far ahead
        lending.advanceWallClockTime(Duration.ofDays(6));
        request("carol", 1);
        exchange();
        lending.advanceWallClockTime(Duration.ofMinutes(30));
        assertThat(ledgers()).as("the ledger of carol").isEqualTo(1);
    }

    private int ledgers() {
        try (KeyValueIterator<Bytes, byte[]> all =
                lending.<Bytes, byte[]>getKeyValueStore("ledgers").all()) {
            int count = 0;
            for (; all.hasNext(); count++) {
                all.next();
            }
            return count;
        }
    }

    @Test
    void responses_to_other_holders_are_ignored() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}", 1);
        request("alice", 1);
        TestRecord<byte[], byte[]> leaseRequest = asksOut.readRecord();
        long number =
                new LeaseRequestAvro().decode(leaseRequest.value()).request().number();
        LeaseResponse granted = new LeaseResponse.Granted(number, 1, 10, nowMs, nowMs, nowMs + 5_000, 1);
        for (String another : List.of("another", "p0", "another/0", "weir/1")) {
            grantsIn.pipeInput(
                    leaseRequest.key(),
                    new LeaseResponseAvro().encode(new LeaseResponseAvro.Addressed(granted, another, 0)));
        }
        assertThat(decided()).isEmpty();
        grantsIn.pipeInput(
                leaseRequest.key(),
                new LeaseResponseAvro().encode(new LeaseResponseAvro.Addressed(granted, "weir/0", 0)));
        assertThat(outcomes()).containsExactly(Outcome.ALLOWED);
    }

    @Test
    void a_ledger_without_the_policy_grants_nothing() throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 10, per: 1h}]}", 1);
        request("alice", 1);
        TestRecord<byte[], byte[]> ask = asksOut.readRecord();
        assertThat(new LeaseRequestAvro().decode(ask.value()).request().minTokens())
                .isEqualTo(1);
        policies.pipeInput("policy/all", null);
        asksIn.pipeInput(ask.key(), ask.value());
        assertThat(new LeaseResponseAvro().decode(grantsOut.readValue(), 0).response())
                .isInstanceOf(LeaseResponse.Refused.class);
    }

    @Test
    void an_invalid_lease_message_is_a_dead_letter() {
        TestOutputTopic<byte[], byte[]> ofDeciding = out(deciding, "weir.dead-letters");
        TestOutputTopic<byte[], byte[]> ofLending = out(lending, "weir.dead-letters");
        grantsIn.pipeInput(new byte[] {1}, new byte[] {1});
        asksIn.pipeInput(new byte[] {1}, new byte[] {1});
        assertThat(ofDeciding.readValue()).isEqualTo(new byte[] {1});
        assertThat(ofLending.readValue()).isEqualTo(new byte[] {1});
    }

    static List<Arguments> oversizedLeaseRequests() {
        String longest = "h".repeat(LeaseRequestAvro.MAX_HOLDER_BYTES);
        return List.of(
                Arguments.of("all", longest + "h", 0, "NOT_AVRO"),
                Arguments.of("all", longest.substring(1) + "é", 0, "NOT_AVRO"),
                Arguments.of("all", "h".repeat(5_000_000), 0, "RECORD_TOO_LARGE"),
                Arguments.of("all", longest, 9_000, "RECORD_TOO_LARGE"),
                Arguments.of("p".repeat(LeaseKeys.MAX_BYTES), longest, 0, "RECORD_TOO_LARGE"));
    }

    /** A ledger repeats key and holder in its response and stores the holder with each lease. */
    @ParameterizedTest
    @MethodSource("oversizedLeaseRequests")
    void an_oversized_lease_request_is_a_dead_letter_and_changes_no_ledger(
            String policy, String holder, int reports, String reason) throws Exception {
        apply("  - {id: all, key: [], limits: [{algorithm: gcra, limit: 10, per: 1h}]}", 1);
        byte[] key = KeyCodec.encode(new StateKey(StateKey.NO_CLIENT, policy, List.of()));
        LeaseRequest.Report report = new LeaseRequest.Report(nowMs << 20, Long.MAX_VALUE, nowMs, Long.MAX_VALUE);
        LeaseRequest request = new LeaseRequest(1, holder, 1, 1, Collections.nCopies(reports, report), 0, 0);
        byte[] value = new LeaseRequestAvro().encode(new LeaseRequestAvro.Addressed(request, 0));
        asksIn.pipeInput(new TestRecord<>(key, value, Instant.ofEpochMilli(nowMs)));
        assertThat(grantsOut.isEmpty()).isTrue();
        assertThat(ledgers()).isZero();
        TestRecord<byte[], byte[]> letter = out(lending, "weir.dead-letters").readRecord();
        assertThat(header(letter, DeadLetterHeaders.REASON)).isEqualTo(reason);
    }

    private static String header(TestRecord<byte[], byte[]> record, String name) {
        return new String(record.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
    }

    @Test
    void a_lease_request_with_the_longest_holder_and_key_is_granted() throws Exception {
        String holder = "h".repeat(LeaseRequestAvro.MAX_HOLDER_BYTES);
        apply("  - {id: all, key: [], limits: [{algorithm: gcra, limit: 10, per: 1h}]}", 1);
        LeaseRequest request = new LeaseRequest(1, holder, 1, 1, List.of(), 0, 0);
        byte[] key = KeyCodec.encode(new StateKey(StateKey.NO_CLIENT, "all", List.of()));
        asksIn.pipeInput(key, new LeaseRequestAvro().encode(new LeaseRequestAvro.Addressed(request, 0)));
        LeaseResponseAvro.Addressed granted = new LeaseResponseAvro().decode(grantsOut.readValue(), 0);
        assertThat(granted.holder()).isEqualTo(holder);
        assertThat(granted.response()).isInstanceOf(LeaseResponse.Granted.class);
        byte[] longest =
                KeyCodec.encode(new StateKey(StateKey.NO_CLIENT, "p".repeat(LeaseKeys.MAX_BYTES - 2), List.of()));
        asksIn.pipeInput(longest, new LeaseRequestAvro().encode(new LeaseRequestAvro.Addressed(request, 0)));
        assertThat(new LeaseResponseAvro().decode(grantsOut.readValue(), 0).response())
                .as("to a key of no policy")
                .isInstanceOf(LeaseResponse.Refused.class);
    }

    @Test
    void responses_for_policies_that_are_not_there_are_counted_together() throws Exception {
        LeaseRequest request = new LeaseRequest(1, "weir/0", 1, 1, List.of(), 0, 0);
        for (String policy : List.of("invented", "also-invented")) {
            byte[] key = KeyCodec.encode(new StateKey(StateKey.NO_CLIENT, policy, List.of()));
            asksIn.pipeInput(key, new LeaseRequestAvro().encode(new LeaseRequestAvro.Addressed(request, 0)));
        }
        assertThat(metrics.leasing())
                .containsExactly(
                        Map.entry(new EnforcerMetrics.Leasing("(other)", EnforcerMetrics.LeaseMessage.REFUSED), 2L));
    }

    @Test
    void a_lease_response_with_an_oversized_key_is_a_dead_letter() {
        byte[] key = KeyCodec.encode(new StateKey(StateKey.NO_CLIENT, "p".repeat(LeaseKeys.MAX_BYTES), List.of()));
        LeaseResponse granted = new LeaseResponse.Granted(1, 1, 10, nowMs, nowMs, nowMs + 5_000, 1);
        grantsIn.pipeInput(key, new LeaseResponseAvro().encode(new LeaseResponseAvro.Addressed(granted, "weir/0", 0)));
        pass(5_000);
        assertThat(asksOut.isEmpty()).as("no lease is returned").isTrue();
        TestRecord<byte[], byte[]> letter = out(deciding, "weir.dead-letters").readRecord();
        assertThat(header(letter, DeadLetterHeaders.REASON)).isEqualTo("RECORD_TOO_LARGE");
    }
}
