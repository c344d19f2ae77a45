package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Acknowledgement;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.Topics;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.QueueRegistry;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.shape.view.QueueView;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests shaped requests in both topologies. */
@Tag("slow")
class ShapingTest {

    private static final String QUEUE = """
            queues:
              - {id: sms, limit: 10, per: 1s, capacity: 3, max-wait: 1s, look-ahead: 0s, tiers: {gold: {priority: 1}}}
            """;

    private static final String ALL = "policies: [{id: all, queue: sms}]\n" + QUEUE;

    private static final String BEYOND_ONE_A_MINUTE =
            "policies: [{id: some, limits: [{algorithm: gcra, limit: 1, per: 1m}], on-exceed: shape, queue: sms}]\n"
                    + QUEUE;

    @TempDir
    private Path directory;

    private final List<TestInputTopic<String, byte[]>> policies = new ArrayList<>();
    private PolicyRegistry live;
    private QueueRegistry queues;
    private TopologyTestDriver deciding;
    private TopologyTestDriver shaping;
    private TestInputTopic<byte[], byte[]> requests;
    private TestOutputTopic<byte[], byte[]> admissionsOut;
    private TestInputTopic<byte[], byte[]> admissionsIn;
    private TestOutputTopic<byte[], byte[]> decided;
    private TestOutputTopic<byte[], byte[]> answered;
    private TestOutputTopic<byte[], byte[]> released;
    private TestOutputTopic<byte[], byte[]> deadLetters;

    @BeforeEach
    void open() {
        WeirConfig config = WeirConfig.DEFAULTS.withStateDirectory(directory.resolve("weir-state"));
        live = new PolicyRegistry();
        queues = new QueueRegistry();
        deciding = new InMemoryDriver(
                WeirTopology.deciding(config, 1, live, new EnforcerMetrics()),
                StreamsSettings.deciding(config),
                Instant.EPOCH);
        shaping = new InMemoryDriver(
                WeirTopology.shaping(config, live, queues, new EnforcerMetrics()),
                StreamsSettings.shaping(config),
                Instant.EPOCH);
        Topics topics = new Topics("weir.", "weir");
        requests = in(deciding, topics.requests());
        admissionsOut = out(deciding, topics.admissions());
        admissionsIn = in(shaping, topics.admissions());
        decided = out(deciding, topics.decisions());
        answered = out(shaping, topics.decisions());
        released = out(shaping, topics.releases());
        deadLetters = out(shaping, topics.deadLetters());
        for (TopologyTestDriver driver : List.of(deciding, shaping)) {
            policies.add(driver.createInputTopic(topics.policies(), new StringSerializer(), new ByteArraySerializer()));
        }
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

    private void apply(String yaml) throws Exception {
        apply(yaml, 1);
    }

    private void apply(String yaml, long version) throws Exception {
        PolicyFile.Contents contents = PolicyFile.read("test", yaml);
        List<PolicyFile.Definition> definitions = new ArrayList<>(contents.queues());
        definitions.addAll(contents.policies());
        for (PolicyFile.Definition definition : definitions) {
            rules(new PolicyAvro.Applied(definition.kind(), definition.id(), version, definition.json(), 0));
        }
    }

    private void rules(PolicyAvro.Applied applied) {
        policies.forEach(topic -> topic.pipeInput(applied.key(), new PolicyAvro().encode(applied)));
    }

    private Decision ask(RequestKind kind, String id, String tier, String queue) throws UnreadableException {
        return ask(request(id).kind(kind).tier(tier).queue(queue).build());
    }

    private static Request.Builder request(String id) {
        return Request.builder(id, "alice")
                .attributes(Map.of("endpoint", "/sms"))
                .payload(new byte[] {1, 2})
                .source(0, 0);
    }

    private Decision ask(Request request) throws UnreadableException {
        RecordHeaders headers = new RecordHeaders();
        headers.add("trace", new byte[] {7});
        requests.pipeInput(new TestRecord<>(
                "alice".getBytes(StandardCharsets.UTF_8), new RequestCodec().encode(request), headers, Instant.EPOCH));
        admissionsOut.readRecordsToList().forEach(admissionsIn::pipeInput);
        TestOutputTopic<byte[], byte[]> answers = decided.isEmpty() ? answered : decided;
        return new DecisionCodec().decode(answers.readValue());
    }

    private Decision ask(String id, String tier) throws UnreadableException {
        return ask(RequestKind.CONSUME, id, tier, null);
    }

    private List<Decision> laterDecisions() throws UnreadableException {
        List<Decision> later = new ArrayList<>();
        while (!answered.isEmpty()) {
            later.add(new DecisionCodec().decode(answered.readValue()));
        }
        return later;
    }

    /** Advances the time in steps of a millisecond and returns the releases. */
    private List<Release> releases(int ms) throws UnreadableException {
        for (int i = 0; i < ms; i++) {
            shaping.advanceWallClockTime(Duration.ofMillis(1));
        }
        List<Release> releases = new ArrayList<>();
        while (!released.isEmpty()) {
            TestRecord<byte[], byte[]> release = released.readRecord();
            assertThat(release.key()).isEqualTo("alice".getBytes(StandardCharsets.UTF_8));
            assertThat(release.headers().lastHeader("trace").value()).containsExactly(7);
            releases.add(new ReleaseCodec().decode(release.value()));
        }
        return releases;
    }

    private Decision acknowledge(Release release, String client, RequestKind kind, Acknowledgement.Result result)
            throws UnreadableException {
        String error = result == Acknowledgement.Result.RETRY ? "no carrier" : null;
        Request request = Request.builder("ack", client)
                .kind(kind)
                .acknowledgement(new Acknowledgement(release.attempt().receipt(), result, null, error))
                .build();
        requests.pipeInput(client.getBytes(StandardCharsets.UTF_8), new RequestCodec().encode(request));
        admissionsOut.readRecordsToList().forEach(admissionsIn::pipeInput);
        return new DecisionCodec().decode(answered.readValue());
    }

    private static final String SLOTS = "{'id':'sms','max-in-flight':2,'ack-timeout':'1s','max-attempts':2,"
            + "'retry-backoff':'100ms','look-ahead':'0s'}";

    /** Applies a queue with slots as a record, since files cannot have them yet. */
    private void applySlots(String queue) throws Exception {
        apply(ALL);
        rules(new PolicyAvro.Applied(PolicyAvro.Kind.QUEUE, "sms", 2, queue.replace('\'', '"'), 0));
    }

    @Test
    void a_queue_with_slots_releases_the_next_request_when_one_is_completed() throws Exception {
        applySlots(SLOTS);
        for (String id : List.of("a", "b", "c")) {
            assertThat(ask(id, null).outcome()).isEqualTo(Outcome.QUEUED);
        }
        List<Release> first = releases(20);
        assertThat(first).extracting(Release::requestId).containsExactly("a", "b");
        assertThat(ask(RequestKind.CANCEL, "a", null, "sms"))
                .returns(Reason.IN_FLIGHT, Decision::reason)
                .returns(409, Decision::httpStatus);
        assertThat(acknowledge(first.get(0), "mallory", RequestKind.COMPLETE, Acknowledgement.Result.DONE)
                        .reason())
                .isEqualTo(Reason.STALE_ATTEMPT);
        assertThat(releases(20)).isEmpty();
        assertThat(acknowledge(first.get(0), "alice", RequestKind.COMPLETE, Acknowledgement.Result.DONE))
                .returns(Outcome.ALLOWED, Decision::outcome)
                .returns(Reason.COMPLETED, Decision::reason);
        assertThat(releases(20)).extracting(Release::requestId).containsExactly("c");
        assertThat(acknowledge(first.get(0), "alice", RequestKind.COMPLETE, Acknowledgement.Result.DONE))
                .returns(Reason.STALE_ATTEMPT, Decision::reason)
                .returns(410, Decision::httpStatus);
    }

    @Test
    void a_release_that_no_worker_claims_is_released_again_and_never_given_up() throws Exception {
        applySlots(SLOTS.replace("'id':", "'key':['tier'],'id':"));
        ask("a", "gold");
        assertThat(releases(10_000))
                .extracting(release -> release.attempt().number())
                .containsExactly(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
        assertThat(deadLetters.isEmpty()).isTrue();
    }

    @Test
    void a_request_whose_attempts_fail_is_denied_and_becomes_a_dead_letter() throws Exception {
        applySlots(SLOTS);
        ask("a", null);
        Release first = releases(20).get(0);
        assertThat(acknowledge(first, "alice", RequestKind.COMPLETE, Acknowledgement.Result.RETRY)
                        .reason())
                .isEqualTo(Reason.COMPLETED);
        assertThat(releases(90)).isEmpty();
        Release second = releases(20).get(0);
        assertThat(second.attempt().number()).isEqualTo(2);
        assertThat(acknowledge(second, "alice", RequestKind.EXTEND, null).reason())
                .isEqualTo(Reason.EXTENDED);
        assertThat(releases(1_100)).isEmpty();
        assertThat(laterDecisions())
                .extracting(Decision::requestId, Decision::outcome, Decision::reason)
                .containsExactly(tuple("a", Outcome.DENIED, Reason.ATTEMPTS_EXHAUSTED));
        TestRecord<byte[], byte[]> dead = deadLetters.readRecord();
        assertThat(new String(dead.headers().lastHeader("weir.reason").value(), StandardCharsets.UTF_8))
                .isEqualTo("ATTEMPTS_EXHAUSTED");
        assertThat(new String(dead.headers().lastHeader("weir.detail").value(), StandardCharsets.UTF_8))
                .isEqualTo("queue sms, after 2 attempts: not completed in time");
        assertThat(new RequestCodec().decode(dead.value(), 0, Request.Source.NONE))
                .returns("a", Request::requestId)
                .extracting(Request::payload)
                .isEqualTo(new byte[] {1, 2});
        assertThat(shaping.getKeyValueStore(Stores.QUEUE_ENTRIES).all())
                .toIterable()
                .isEmpty();
    }

    @Test
    void a_policy_with_a_queue_and_no_limits_queues_everything() throws Exception {
        apply(ALL);
        Decision decision = ask("a", null);
        assertThat(decision.outcome()).isEqualTo(Outcome.QUEUED);
        assertThat(decision.reason()).isEqualTo(Reason.SHAPED);
        assertThat(decision.policyId()).isEqualTo("all");
        assertThat(decision.policyVersion()).isEqualTo(1);
        assertThat(decision.queueing()).isEqualTo(new Decision.Queueing("sms", 1L, 0L));
        assertThat(decision.context())
                .isEqualTo(new DecisionContext(null, live.table().checksum()));
        assertThat(ask("b", null).queueing().position()).isEqualTo(2);
        List<Release> releases = releases(150);
        assertThat(releases).extracting(Release::requestId).containsExactly("a", "b");
        assertThat(releases.get(0).payload()).containsExactly(1, 2);
        assertThat(releases.get(0).attributes()).containsEntry("endpoint", "/sms");
        assertThat(releases.get(1).releaseAtNanos() - releases.get(0).releaseAtNanos())
                .isGreaterThanOrEqualTo(100_000_000);
        assertThat(shaping.producedTopicNames()).doesNotContain("weir.dead-letters");
    }

    @Test
    void a_queue_with_a_key_has_a_bucket_per_value() throws Exception {
        apply(ALL.replace("limit: 10,", "key: [tier], limit: 10,"));
        assertThat(ask("a", "gold").queueing()).isEqualTo(keyed("gold", 1L, 0L));
        assertThat(ask("b", "gold").queueing()).isEqualTo(keyed("gold", 2L, 100L));
        assertThat(ask("c", "free").queueing()).isEqualTo(keyed("free", 1L, 0L));
        assertThat(ask("d", null))
                .returns(Outcome.DENIED, Decision::outcome)
                .returns(Reason.NO_QUEUE_KEY, Decision::reason)
                .returns("tier", Decision::limitedBy)
                .returns(400, Decision::httpStatus);
        assertThat(ask(RequestKind.CANCEL, "b", "free", "sms").reason()).isEqualTo(Reason.NOT_WAITING);
        assertThat(ask(RequestKind.CANCEL, "b", "gold", "sms").reason()).isEqualTo(Reason.CANCELLED);
        assertThat(laterDecisions()).extracting(Decision::requestId).containsExactly("b");
        assertThat(releases(20))
                .extracting(Release::requestId, Release::key, Release::sequence)
                .containsExactlyInAnyOrder(
                        tuple("a", Map.of("tier", "gold"), 1L), tuple("c", Map.of("tier", "free"), 1L));
        releases(200); // until both keys are idle
        assertThat(shaping.getKeyValueStore(Stores.QUEUE_STATES).all())
                .toIterable()
                .as("the rules and the end marker are kept")
                .hasSize(2);
        assertThat(shaping.producedTopicNames()).doesNotContain("weir.dead-letters");
    }

    private static Decision.Queueing keyed(String tier, long position, long expectedWaitMs) {
        return new Decision.Queueing("sms", Map.of("tier", tier), position, expectedWaitMs);
    }

    @Test
    void a_shaping_policy_queues_requests_beyond_its_limits_and_allows_the_others() throws Exception {
        apply(BEYOND_ONE_A_MINUTE);
        assertThat(ask("a", null).outcome()).isEqualTo(Outcome.ALLOWED);
        Decision beyond = ask("b", null);
        assertThat(beyond.outcome()).isEqualTo(Outcome.QUEUED);
        assertThat(beyond.limitedBy()).isEqualTo("gcra 1/1m");
        assertThat(beyond.limit()).isEqualTo(1);
        assertThat(ask(RequestKind.SETTLE, "s", null, null).reason()).isEqualTo(Reason.SETTLED);
        assertThat(releases(20)).extracting(Release::requestId).containsExactly("b");
    }

    @Test
    void a_request_that_must_not_start_yet_is_queued_whatever_the_limits_permit_and_not_charged() throws Exception {
        apply(BEYOND_ONE_A_MINUTE);
        Decision queued = ask(request("later").notBeforeMs(500L).build());
        assertThat(queued)
                .returns(Outcome.QUEUED, Decision::outcome)
                .returns(new Decision.Queueing("sms", null, 500L), Decision::queueing)
                .returns(null, Decision::limitedBy);
        assertThat(ask(request("past").notBeforeMs(0L).build()).outcome())
                .as("the limit was not charged, and a past time has no effect")
                .isEqualTo(Outcome.ALLOWED);
        assertThat(releases(499)).isEmpty();
        List<Release> releases = releases(20);
        assertThat(releases).extracting(Release::requestId).containsExactly("later");
        assertThat(releases.get(0).releaseAtNanos()).isBetween(500_000_000L, 519_000_000L);
        assertThat(shaping.getKeyValueStore(Stores.QUEUE_SCHEDULE).all())
                .toIterable()
                .isEmpty();
    }

    @Test
    void a_request_that_must_not_start_yet_can_be_cancelled_and_is_denied_after_its_deadline() throws Exception {
        apply(ALL);
        assertThat(ask(request("a").notBeforeMs(500L).deadlineMs(499L).build()))
                .returns(Reason.TOO_LATE, Decision::reason)
                .returns("deadline", Decision::limitedBy);
        assertThat(ask(request("b").notBeforeMs(500L).build()).outcome()).isEqualTo(Outcome.QUEUED);
        assertThat(ask(RequestKind.CANCEL, "b", null, "sms").reason()).isEqualTo(Reason.CANCELLED);
        assertThat(laterDecisions()).extracting(Decision::requestId).containsExactly("b");
        assertThat(releases(1_000)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "'policies: [{id: p, limits: [{algorithm: gcra, limit: 1, per: 1m}]}]'",
        "'policies: [{id: p, match: {tier: gold}, limits: [{algorithm: gcra, limit: 1, per: 1m}]}]'"
    })
    void a_request_that_must_not_start_yet_is_denied_without_a_queue_and_not_charged(String file) throws Exception {
        apply(file);
        Decision denied = ask(request("a").notBeforeMs(500L).build());
        assertThat(denied)
                .returns(Outcome.DENIED, Decision::outcome)
                .returns(Reason.NOT_SHAPED, Decision::reason)
                .returns(422, Decision::httpStatus)
                .returns(null, Decision::retryAfterMs);
        assertThat(ask("b", null).outcome()).isEqualTo(Outcome.ALLOWED);
    }

    @Test
    void a_repeat_receives_the_first_answer_and_is_never_queued_again() throws Exception {
        apply(ALL.replace("queue: sms}", "queue: sms, idempotency: 10m}"));
        Decision a = ask("a", null);
        Decision b = ask("b", null);
        assertThat(b.queueing().position()).isEqualTo(2);
        ask("c", null);
        Decision full = ask("d", null);
        assertThat(full.reason()).isEqualTo(Reason.QUEUE_FULL);
        assertThat(List.of(a, b, full)).extracting(Decision::repeated).containsOnly(false);
        assertThat(ask("b", null)).isEqualTo(b.asRepeated(new Request.Source(0, 4)));
        assertThat(releases(150)).extracting(Release::requestId).containsExactly("a", "b");
        assertThat(ask("a", null)).isEqualTo(a.asRepeated(new Request.Source(0, 5)));
        assertThat(ask("d", null)) // although the queue is not full any more
                .isEqualTo(full.asRepeated(new Request.Source(0, 6)));
        apply(ALL.replace("queue: sms}", "queue: other, idempotency: 1m}") + "  - {id: other, limit: 1, per: 1s}\n");
        assertThat(ask(RequestKind.CANCEL, "c", null, "sms").reason()).isEqualTo(Reason.CANCELLED);
        laterDecisions();
        assertThat(ask("c", null))
                .returns(true, Decision::repeated)
                .returns(Outcome.QUEUED, Decision::outcome)
                .returns(new Decision.Queueing("sms", 3L, 200L), Decision::queueing);
        assertThat(releases(2_000)).isEmpty();
    }

    @Test
    void a_request_allowed_at_first_is_not_queued_when_it_is_repeated() throws Exception {
        apply(BEYOND_ONE_A_MINUTE.replace("queue: sms}", "queue: sms, idempotency: 10m}"));
        assertThat(ask("a", null).outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(ask("b", null).outcome()).isEqualTo(Outcome.QUEUED);
        assertThat(ask("a", null)).returns(Outcome.ALLOWED, Decision::outcome).returns(true, Decision::repeated);
        assertThat(ask("b", null)).returns(Outcome.QUEUED, Decision::outcome).returns(true, Decision::repeated);
        assertThat(releases(500)).extracting(Release::requestId).containsExactly("b");
    }

    @Test
    void other_layers_are_charged_and_requests_they_deny_are_not_queued() throws Exception {
        apply("""
                policies:
                  - {id: all, queue: sms}
                  - {id: two, layer: other, limits: [{algorithm: fixed-window, limit: 2, per: 1h}]}
                """ + QUEUE);
        assertThat(ask("a", null).outcome()).isEqualTo(Outcome.QUEUED);
        assertThat(ask(RequestKind.PEEK, "p", null, null).outcome()).isEqualTo(Outcome.QUEUED);
        assertThat(ask("b", null).outcome()).isEqualTo(Outcome.QUEUED);
        Decision refused = ask("c", null);
        assertThat(refused.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(refused.policyId()).isEqualTo("two");
        assertThat(refused.httpStatus()).isEqualTo(429);
        assertThat(releases(500)).extracting(Release::requestId).containsExactly("a", "b");
    }

    @Test
    void a_waiting_request_is_cancelled_by_its_id() throws Exception {
        apply(ALL);
        String queue = ask("a", null).queueing().queue();
        ask("b", null);
        assertThat(ask(RequestKind.CANCEL, "b", null, queue).reason()).isEqualTo(Reason.CANCELLED);
        assertThat(laterDecisions()).extracting(Decision::outcome).containsExactly(Outcome.DENIED);
        assertThat(ask(RequestKind.CANCEL, "b", null, queue).reason()).isEqualTo(Reason.NOT_WAITING);
        assertThat(releases(500)).extracting(Release::requestId).containsExactly("a");
    }

    @Test
    void a_cancel_that_names_no_queue_is_for_a_reservation() throws Exception {
        apply(ALL);
        ask("a", null);
        assertThat(ask(RequestKind.CANCEL, "a", null, null).reason()).isEqualTo(Reason.NOTHING_RESERVED);
        assertThat(releases(500)).extracting(Release::requestId).containsExactly("a");
    }

    @Test
    void a_full_queue_evicts_for_a_higher_priority_and_denies_the_others() throws Exception {
        apply(ALL);
        for (String id : List.of("a", "b", "c")) {
            assertThat(ask(id, "free").outcome()).isEqualTo(Outcome.QUEUED);
        }
        assertThat(ask("d", "free").reason()).isEqualTo(Reason.QUEUE_FULL);
        Decision evicted = ask("g", "gold");
        assertThat(evicted.requestId()).isEqualTo("c");
        assertThat(evicted.reason()).isEqualTo(Reason.EVICTED);
        assertThat(laterDecisions()).extracting(Decision::requestId).containsExactly("g");
        assertThat(releases(500)).extracting(Release::requestId).containsExactly("g", "a", "b");
    }

    @Test
    void a_request_that_waits_too_long_expires() throws Exception {
        apply(ALL.replace("limit: 10", "limit: 1").replace("max-wait: 1s", "max-wait: 1500ms"));
        for (String id : List.of("a", "b")) {
            ask(id, "free");
        }
        ask("g", "gold");
        assertThat(releases(2_000)).extracting(Release::requestId).containsExactly("g", "a");
        List<Decision> later = laterDecisions();
        assertThat(later).extracting(Decision::outcome).containsExactly(Outcome.EXPIRED);
        assertThat(later.get(0).requestId()).isEqualTo("b");
        assertThat(later.get(0).decidedAtMs()).isEqualTo(1_500);
    }

    @Test
    void a_deleted_queue_admits_nothing_and_drains() throws Exception {
        apply(ALL);
        ask("a", null);
        ask("b", null);
        rules(new PolicyAvro.Applied(PolicyAvro.Kind.QUEUE, "sms", 2, null, 0));
        Decision refused = ask("c", null);
        assertThat(refused.reason()).isEqualTo(Reason.NO_QUEUE);
        assertThat(refused.httpStatus()).isEqualTo(503);
        assertThat(releases(500)).extracting(Release::requestId).containsExactly("a", "b");
        assertThat(shaping.getKeyValueStore(Stores.QUEUE_STATES).all())
                .toIterable()
                .as("the end marker is kept")
                .hasSize(1);
        assertThat(queues.views(10, Duration.ofMinutes(1))).isEmpty();
    }

    private static String queueWithKey(String key, int limit, int burst) {
        return "policies: [{id: all, queue: sms}]\nqueues: [{id: sms, key: " + key + ", limit: " + limit
                + ", per: 1s, burst: " + burst + ", look-ahead: 0s}]\n";
    }

    @ParameterizedTest
    @CsvSource({"[tier],[]", "[],[tier]", "[tier],[endpoint]"})
    void a_queue_created_again_with_another_key_admits_requests_once_the_old_ones_have_left(String from, String to)
            throws Exception {
        apply(queueWithKey(from, 10, 1));
        for (String id : List.of("a", "b", "c", "d", "e")) {
            assertThat(ask(id, "gold").outcome()).isEqualTo(Outcome.QUEUED);
        }
        rules(new PolicyAvro.Applied(PolicyAvro.Kind.QUEUE, "sms", 2, null, 0));
        apply(queueWithKey(to, 1_000, 100), 3);
        List<Release> old = new ArrayList<>(releases(250));
        assertThat(old).hasSizeBetween(1, 3);
        assertThat(ask("f", "gold").reason()).isEqualTo(Reason.NO_QUEUE);
        assertThat(queues.views(10, Duration.ofMinutes(1)))
                .extracting(QueueView::waiting, QueueView::isDeleted)
                .containsExactly(tuple(5L - old.size(), true));
        old.addAll(releases(500));
        assertThat(old).extracting(Release::requestId).containsExactly("a", "b", "c", "d", "e");
        for (int i = 1; i < old.size(); i++) {
            assertThat(old.get(i).releaseAtNanos() - old.get(i - 1).releaseAtNanos())
                    .isGreaterThanOrEqualTo(100_000_000);
        }
        assertThat(ask("g", "gold").outcome()).isEqualTo(Outcome.QUEUED);
        assertThat(releases(20))
                .singleElement()
                .returns("g", Release::requestId)
                .returns(1L, Release::sequence)
                .satisfies(release -> assertThat(release.key().keySet()).hasToString(to));
    }
}
