package dev.weir.audit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.weir.audit.finding.AuditRange;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.Mismatch;
import dev.weir.audit.finding.Mismatch.Kind;
import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.audit.history.PolicyTimeline;
import dev.weir.audit.shared.SharedQuotaAudit;
import dev.weir.backtest.HeapStates;
import dev.weir.config.WeirConfig;
import dev.weir.decision.Decider;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Acknowledgement;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionOrder;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Receipt;
import dev.weir.event.Rejection;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.requests.RequestReader;
import dev.weir.shape.rules.QueueDecisions;
import dev.weir.shape.rules.QueueRules;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Two tasks. Each decides the requests of its client: those of its own partition and those that were routed to it. */
class PartitionAuditTest {

    private static final AuditRange ALL = new AuditRange(null, null, Duration.ZERO);
    private static final List<String> CLIENTS = List.of("alice", "bob"); // by their partition
    private static final String RULE =
            "{id: p, limits: [{algorithm: sliding-window-log, limit: %d, per: 1h, count-denied: true}]}";

    private final RequestCodec requestCodec = new RequestCodec();
    private final DecisionCodec decisionCodec = new DecisionCodec();
    private final List<List<ConsumerRecord<byte[], byte[]>>> requests = List.of(new ArrayList<>(), new ArrayList<>());
    private final List<List<Decision>> decisions = List.of(new ArrayList<>(), new ArrayList<>());
    private final List<Release> releases = new ArrayList<>(); // on the first partition
    private final List<PolicyTimeline.RecordedVersion> rules = new ArrayList<>();
    private final Map<Integer, PolicyTable> tables = new HashMap<>();
    private final HeapStates states = new HeapStates(WeirConfig.DEFAULTS.state());
    private final List<Mismatch> found = new ArrayList<>();
    private final Map<Integer, NavigableMap<Long, List<AuditedDeadLetter>>> deadLetters = new HashMap<>();
    private final long[] from = {0, 0}; // by partition, the first offset to verify
    private final long[] to = {Long.MAX_VALUE, Long.MAX_VALUE}; // the offset after the last
    private Policy limits; // in force
    private WeirConfig config = WeirConfig.DEFAULTS;

    @BeforeEach
    void begin() throws Exception {
        tables.put(0, PolicyTable.EMPTY);
        apply(1, 3);
    }

    private void apply(long version, int limit) throws Exception {
        String yaml = "policies:\n  - " + RULE.formatted(limit) + "\n";
        PolicyFile.Definition.PolicyDefinition policy =
                PolicyFile.read("rules.yaml", yaml).policies().get(0);
        PolicyAvro.Applied applied =
                new PolicyAvro.Applied(PolicyAvro.Kind.POLICY, "p", version, policy.json(), version);
        rules.add(new PolicyTimeline.RecordedVersion(applied.key(), applied, version));
        limits = PolicyFile.parse(applied.key(), policy.json(), version);
        tables.put((int) version, PolicyTable.of(List.of(limits)));
    }

    /** Writes a request of a client to a partition. */
    private Request send(String client, int partition) throws Exception {
        return send(client, partition, Map.of());
    }

    private Request send(String client, int partition, Map<String, String> attributes) throws Exception {
        List<ConsumerRecord<byte[], byte[]>> records = requests.get(partition);
        Request.Source source = new Request.Source(partition, records.size());
        Request request = Request.builder("r" + source, client)
                .attributes(attributes)
                .timestampMs(1_000)
                .source(source)
                .build();
        records.add(record(partition, source.offset(), client, requestCodec.encode(request)));
        return request;
    }

    private static ConsumerRecord<byte[], byte[]> record(int partition, long offset, String key, byte[] value) {
        return new ConsumerRecord<>(
                "",
                partition,
                offset,
                1_000,
                TimestampType.LOG_APPEND_TIME,
                0,
                0,
                key.getBytes(StandardCharsets.UTF_8),
                value,
                new RecordHeaders(),
                Optional.empty());
    }

    /** Decides a request in the task of its client, by the policies after a number of changes. */
    private void decide(Request request, int changes, DecisionOrder order) {
        PolicyTable table = tables.get(changes);
        Decision decision = (Decision) Decider.local(states).decide(request, table);
        decisions.get(taskOf(request.client())).add(decision.withContext(new DecisionContext(order, table.checksum())));
    }

    private void reject(Request request, Rejection why) {
        Request.Source source = request.source();
        deadLetters
                .computeIfAbsent(source.partition(), any -> new TreeMap<>())
                .computeIfAbsent(source.offset(), any -> new ArrayList<>())
                .add(new AuditedDeadLetter(
                        why.name(), new Mismatch.RecordPosition(Mismatch.AuditedTopic.DEAD_LETTERS, 0, 0), 1_000));
    }

    /** Sets {@code requests.misplaced: dead-letter} for the instances and the audit. */
    private void doNotRoute() {
        WeirConfig.Requests r = config.requests();
        config = config.toBuilder()
                .requests(new WeirConfig.Requests(
                        r.maxPayloadBytes(),
                        r.maxAttributes(),
                        r.maxAttributeLength(),
                        r.maxCost(),
                        WeirConfig.MisplacedAction.DEAD_LETTER,
                        r.maxAhead()))
                .build();
    }

    private static int taskOf(String client) {
        return CLIENTS.indexOf(client);
    }

    private AuditSummary audit() {
        AuditSummary totals = new AuditSummary();
        AuditContext context = new AuditContext(
                config,
                new RequestReader(requestCodec, config.requests().rules()),
                decisionCodec,
                new ReleaseCodec(),
                new PolicyTimeline(rules));
        SharedQuotaAudit sums = new SharedQuotaAudit(config, context.rules(), ALL, totals, found::add);
        PartitionAudit.SharedState shared =
                new PartitionAudit.SharedState(new MisplacedPartitions(), sums, totals, found::add);
        Map<Integer, AuditScope.Bounds> bounds = new HashMap<>();
        for (int partition = 0; partition < 2; partition++) {
            long end = requests.get(partition).size();
            bounds.put(partition, new AuditScope.Bounds(0, from[partition], Math.min(end, to[partition]), end, end));
        }
        for (int partition = 0; partition < 2; partition++) {
            AuditScope scope = new AuditScope(
                    partition,
                    bounds,
                    PartitionAuditTest::taskOf,
                    new AuditScope.Retained(true, true, true, Long.MIN_VALUE),
                    true,
                    bounds.keySet(),
                    ALL);
            PartitionRecords records = new PartitionRecords(
                    requests.get(partition).iterator(),
                    decided(partition),
                    released(partition),
                    of -> requests.get(of).iterator(),
                    deadLetters);
            new PartitionAudit(context, scope, records, shared).run();
        }
        return totals;
    }

    private Iterator<ConsumerRecord<byte[], byte[]>> released(int partition) {
        return IntStream.range(0, partition == 0 ? releases.size() : 0)
                .mapToObj(i -> record(0, i, releases.get(i).client(), new ReleaseCodec().encode(releases.get(i))))
                .iterator();
    }

    private Iterator<ConsumerRecord<byte[], byte[]>> decided(int partition) {
        List<Decision> all = decisions.get(partition);
        return IntStream.range(0, all.size())
                .mapToObj(i -> record(partition, i, all.get(i).client(), decisionCodec.encode(all.get(i))))
                .iterator();
    }

    /** Applies a queue with key fields, and a policy that sends requests to it. */
    private void applyQueue(long version, String... key) throws Exception {
        PolicyFile.Contents contents = PolicyFile.read("rules.yaml", """
                policies: [{id: hook, match: {endpoint: /hook}, queue: hooks}]
                queues: [{id: hooks, limit: 1, per: 1s, key: [%s]}]
                """.formatted(String.join(", ", key)));
        PolicyFile.Definition.PolicyDefinition policy = contents.policies().get(0);
        PolicyAvro.Applied queue = new PolicyAvro.Applied(
                PolicyAvro.Kind.QUEUE,
                "hooks",
                version,
                contents.queues().get(0).json(),
                version);
        rules.add(new PolicyTimeline.RecordedVersion(queue.key(), queue, version));
        if (version == 1) {
            PolicyAvro.Applied applied = new PolicyAvro.Applied(PolicyAvro.Kind.POLICY, "hook", 1, policy.json(), 1);
            rules.add(new PolicyTimeline.RecordedVersion(applied.key(), applied, 1));
            tables.put(2, PolicyTable.of(List.of(limits, PolicyFile.parse(applied.key(), policy.json(), 1))));
        }
    }

    /** Writes the decision of a queue that a request waits in the bucket of a key. */
    private Decision queue(Request request, Map<String, String> key) {
        PolicyTable table = tables.get(2);
        Admission admission = ((Admission) Decider.local(states).decide(request, table)).withKey(key);
        QueueRules any = QueueRules.builder("hooks", 1, 1_000).capacity(10).build();
        Decision queued = QueueDecisions.provisional(admission, any, 1_000)
                .withContext(new DecisionContext(null, table.checksum()));
        decisions.get(0).add(queued);
        return queued;
    }

    private void release(Request request, Map<String, String> key) {
        releases.add(Release.builder(request.requestId(), request.client(), "hooks")
                .key(key)
                .enqueuedAtMs(1_000)
                .releaseAtNanos(1_000_000_000L)
                .build());
    }

    private void releaseAttempt(Request request, int number) {
        release(request, Map.of());
        Release last = releases.remove(releases.size() - 1);
        Release.Attempt attempt = new Release.Attempt(number, receipt(request, number), 1_000);
        releases.add(
                last.toBuilder().sequence(releases.size() + 1).attempt(attempt).build());
    }

    private static String receipt(Request request, int attempt) {
        Receipt.FlowName flow = new Receipt.FlowName("", "");
        return new Receipt("hooks", Map.of(), flow, request.source().offset(), request.source(), attempt).text();
    }

    /** Has a worker report the result of an attempt, and the queue accept it. */
    private void complete(Request request, int attempt, Acknowledgement.Result result) {
        List<ConsumerRecord<byte[], byte[]>> records = requests.get(0);
        Request answer = Request.builder("ack " + records.size(), request.client())
                .kind(RequestKind.COMPLETE)
                .acknowledgement(new Acknowledgement(receipt(request, attempt), result, null, null))
                .timestampMs(1_000)
                .source(new Request.Source(0, records.size()))
                .build();
        records.add(record(0, records.size(), request.client(), requestCodec.encode(answer)));
        decisions
                .get(0)
                .add(QueueDecisions.acknowledged(Admission.acknowledgement(answer), 1_000)
                        .withContext(new DecisionContext(null, tables.get(2).checksum())));
    }

    private void giveUp(Request request) {
        Admission admission = (Admission) Decider.local(states).decide(request, tables.get(2));
        decisions
                .get(0)
                .add(QueueDecisions.failed(admission, 1_000)
                        .withContext(new DecisionContext(null, tables.get(2).checksum())));
    }

    private static Map<String, String> hook(String tenant) {
        return Map.of("endpoint", "/hook", "tenant", tenant);
    }

    @Test
    void a_queued_request_with_the_key_of_another_one_is_found() throws Exception {
        applyQueue(1, "tenant");
        for (String tenant : List.of("a", "b", "c")) {
            Request request = send("alice", 0, hook(tenant));
            Map<String, String> reported = tenant.equals("b") ? Map.of("tenant", "a") : Map.of("tenant", tenant);
            queue(request, reported);
            release(request, tenant.equals("c") ? Map.of("tenant", "b") : Map.of("tenant", tenant));
        }
        AuditSummary totals = audit();
        assertThat(found)
                .extracting(
                        Mismatch::kind, Mismatch::requestId, of -> of.answer().topic(), Mismatch::fields)
                .containsExactlyInAnyOrder(
                        tuple(
                                Kind.DIFFERS,
                                "r" + new Request.Source(0, 1),
                                Mismatch.AuditedTopic.DECISIONS,
                                List.of(new Mismatch.FieldMismatch(
                                        "queueKey", "{\"tenant\":\"a\"}", "{\"tenant\":\"b\"}"))),
                        tuple(
                                Kind.DIFFERS,
                                "r" + new Request.Source(0, 2),
                                Mismatch.AuditedTopic.RELEASES,
                                List.of(new Mismatch.FieldMismatch(
                                        "queueKey", "{\"tenant\":\"b\"}", "{\"tenant\":\"c\"}"))));
        assertThat(totals.requests()).isEqualTo(3);
    }

    @Test
    void a_recreated_queue_may_have_used_each_of_its_keys() throws Exception {
        applyQueue(1, "tenant");
        applyQueue(3, "endpoint");
        queue(send("alice", 0, hook("a")), Map.of("tenant", "a"));
        queue(send("alice", 0, hook("a")), Map.of("endpoint", "/hook"));
        queue(send("alice", 0, hook("a")), Map.of());
        audit();
        assertThat(found)
                .extracting(Mismatch::fields)
                .containsExactly(List.of(new Mismatch.FieldMismatch("queueKey", "{}", "{\"endpoint\":\"/hook\"}")));
    }

    @Test
    void the_result_of_a_wait_has_the_queue_key_of_its_start() throws Exception {
        applyQueue(1, "tenant");
        Decision queued = queue(send("alice", 0, hook("a")), Map.of("tenant", "a"));
        decisions
                .get(0)
                .add(new Decision(
                                new Decision.Identity(queued.requestId(), queued.client(), queued.source()),
                                new Decision.Status(Outcome.EXPIRED, Reason.WAITED_TOO_LONG, 503),
                                Decision.Timing.never(2_000))
                        .withLimit(queued.policy(), LimitStatus.of("max-wait", 5L))
                        .withQueueing(new Decision.Queueing("hooks", Map.of("tenant", "b"), null, null))
                        .withContext(queued.context()));
        audit();
        assertThat(found)
                .extracting(Mismatch::fields)
                .containsExactly(
                        List.of(new Mismatch.FieldMismatch("queueKey", "{\"tenant\":\"b\"}", "{\"tenant\":\"a\"}")));
    }

    private Request queued() throws Exception {
        Request request = send("alice", 0, hook("a"));
        queue(request, Map.of());
        return request;
    }

    @Test
    void a_request_may_be_released_again_until_it_is_completed_or_given_up() throws Exception {
        applyQueue(1);
        Request done = queued();
        Request failed = queued();
        Request inFlight = queued();
        releaseAttempt(done, 1);
        releaseAttempt(failed, 1);
        complete(done, 1, Acknowledgement.Result.RETRY);
        releaseAttempt(done, 2);
        releaseAttempt(inFlight, 1);
        complete(done, 2, Acknowledgement.Result.DONE);
        complete(failed, 1, Acknowledgement.Result.FAILED);
        giveUp(failed);
        reject(failed, Rejection.FAILED);
        AuditSummary totals = audit();
        assertThat(found).isEmpty();
        assertThat(totals.unverified()).isEmpty();
        assertThat(totals.sentToQueue()).isEqualTo(6);
    }

    /** All decisions are read ahead before the first request is matched, but no release. */
    @Test
    void the_attempts_of_the_first_request_are_matched_after_its_end() throws Exception {
        applyQueue(1);
        Request first = queued();
        releaseAttempt(first, 1);
        complete(first, 1, Acknowledgement.Result.RETRY);
        releaseAttempt(first, 2);
        complete(first, 2, Acknowledgement.Result.FAILED);
        giveUp(first);
        reject(first, Rejection.FAILED);
        releaseAttempt(first, 3);
        Release last = releases.remove(releases.size() - 1);
        releases.add(last.toBuilder().releaseAtNanos(2_000_000_000L).build());
        audit();
        assertThat(found)
                .extracting(Mismatch::kind, Mismatch::note)
                .containsExactly(
                        tuple(Kind.WRONG_QUEUE_EXITS, "it was released by queue hooks, in which it did not wait"));
    }

    @Test
    void a_release_before_the_time_of_its_request_is_found() throws Exception {
        applyQueue(1);
        for (long notBeforeMs : new long[] {2_000, 2_001}) {
            List<ConsumerRecord<byte[], byte[]>> records = requests.get(0);
            Request request = send("alice", 0, hook("a")).toBuilder()
                    .notBeforeMs(notBeforeMs)
                    .build();
            records.set(
                    records.size() - 1,
                    record(0, request.source().offset(), request.client(), requestCodec.encode(request)));
            queue(request, Map.of());
            release(request, Map.of());
            Release last = releases.remove(releases.size() - 1);
            releases.add(last.toBuilder().releaseAtNanos(2_000_000_000L).build());
        }
        audit();
        assertThat(found)
                .extracting(Mismatch::kind, Mismatch::note)
                .containsExactly(tuple(Kind.WRONG_QUEUE_EXITS, "it is released before 2001, its notBefore"));
    }

    @Test
    void an_attempt_that_is_released_twice_or_after_the_end_is_found() throws Exception {
        applyQueue(1);
        Request twice = queued();
        Request done = queued();
        releaseAttempt(twice, 1);
        releaseAttempt(twice, 1);
        releaseAttempt(done, 1);
        complete(done, 1, Acknowledgement.Result.DONE);
        releaseAttempt(done, 2);
        audit();
        assertThat(found)
                .extracting(Mismatch::kind, Mismatch::requestId, Mismatch::note)
                .containsExactlyInAnyOrder(
                        tuple(Kind.WRONG_QUEUE_EXITS, twice.requestId(), "attempt 1 was released after attempt 1"),
                        tuple(
                                Kind.WRONG_QUEUE_EXITS,
                                done.requestId(),
                                "attempt 1 was done, but attempt 2 was released"));
    }

    @Test
    void an_attempt_that_is_completed_twice_or_not_released_is_found() throws Exception {
        applyQueue(1);
        Request twice = queued();
        Request again = queued();
        Request second = queued();
        Request never = queued();
        releaseAttempt(twice, 1);
        complete(twice, 1, Acknowledgement.Result.DONE);
        complete(twice, 1, Acknowledgement.Result.DONE);
        releaseAttempt(again, 1);
        complete(again, 1, Acknowledgement.Result.RETRY);
        complete(again, 1, Acknowledgement.Result.DONE);
        releaseAttempt(second, 2);
        complete(never, 1, Acknowledgement.Result.DONE);
        audit();
        assertThat(found)
                .extracting(Mismatch::kind, Mismatch::requestId, Mismatch::note)
                .containsExactlyInAnyOrder(
                        tuple(Kind.WRONG_QUEUE_EXITS, "ack 5", "attempt 1 was completed before: decision 0@4"),
                        tuple(Kind.WRONG_QUEUE_EXITS, "ack 7", "attempt 1 was completed before: decision 0@6"),
                        tuple(Kind.WRONG_QUEUE_EXITS, second.requestId(), "attempt 2 was released as the first"),
                        tuple(Kind.WRONG_QUEUE_EXITS, null, "attempt 1 was done, but not released by queue hooks"));
    }

    @Test
    void a_request_given_up_without_its_dead_letter_and_a_letter_of_one_that_was_not_are_found() throws Exception {
        applyQueue(1);
        Request without = queued();
        Request done = queued();
        Request limited = send("alice", 0);
        decide(limited, 2, null);
        giveUp(without);
        releaseAttempt(done, 1);
        complete(done, 1, Acknowledgement.Result.DONE);
        reject(done, Rejection.ATTEMPTS_EXHAUSTED);
        reject(limited, Rejection.FAILED);
        audit();
        assertThat(found)
                .extracting(Mismatch::kind, Mismatch::requestId, Mismatch::note)
                .containsExactlyInAnyOrder(
                        tuple(
                                Kind.DEAD_LETTER,
                                without.requestId(),
                                "it should have one dead letter with reason FAILED"),
                        tuple(
                                Kind.DEAD_LETTER,
                                done.requestId(),
                                "the request was not given up, but has a dead letter with reason ATTEMPTS_EXHAUSTED"),
                        tuple(
                                Kind.DEAD_LETTER,
                                limited.requestId(),
                                "the request was not given up, but has a dead letter with reason FAILED"));
    }

    @Test
    void requests_are_replayed_where_they_were_decided() throws Exception {
        Request first = send("alice", 0);
        Request second = send("alice", 0);
        Request third = send("alice", 0);
        Request misplaced = send("alice", 1);
        Request early = send("alice", 1);
        decide(early, 1, new DecisionOrder(-1, 1));
        decide(first, 1, null);
        decide(misplaced, 1, new DecisionOrder(0, 1));
        decide(third, 1, null); // the last allowed request is decided before the second one, which waited
        decide(second, 1, new DecisionOrder(2, 4));
        AuditSummary totals = audit();
        assertThat(found).isEmpty();
        assertThat(totals.unverified()).isEmpty();
        assertThat(totals.equal()).isEqualTo(5);
        assertThat(totals.requests()).isEqualTo(5);
    }

    @Test
    void a_decision_at_another_position_differs() throws Exception {
        List<Request> own = List.of(send("alice", 0), send("alice", 0), send("alice", 0), send("alice", 0));
        Request misplaced = send("alice", 1);
        own.forEach(request -> decide(request, 1, null));
        decide(misplaced, 1, new DecisionOrder(0, 1)); // decided last
        audit();
        assertThat(found).extracting(Mismatch::kind).isNotEmpty().containsOnly(Kind.DIFFERS);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void a_misplaced_request_without_a_decision_is_found(int task) throws Exception {
        Request lost = send(CLIENTS.get(task), 1 - task);
        audit();
        assertThat(found).singleElement().satisfies(difference -> {
            assertThat(difference.kind()).isEqualTo(Kind.UNDECIDED);
            assertThat(difference.request()).isEqualTo(lost.source());
        });
        found.clear();
        // A decided request does not hide the undecided one.
        decide(send(CLIENTS.get(task), 1 - task), 1, new DecisionOrder(-1, 1));
        audit();
        assertThat(found).singleElement().satisfies(difference -> assertThat(difference.request())
                .isEqualTo(lost.source()));
    }

    @Test
    void a_second_decision_on_a_misplaced_request_is_found() throws Exception {
        Request misplaced = send("alice", 1);
        decide(misplaced, 1, new DecisionOrder(-1, 1));
        decide(misplaced, 1, new DecisionOrder(-1, 2));
        audit();
        assertThat(found).extracting(Mismatch::kind).containsExactly(Kind.SECOND);
    }

    @Test
    void a_decision_by_the_wrong_task_is_found() throws Exception {
        Request own = send("alice", 0);
        decide(own, 1, null);
        decisions.get(1).add(decisions.get(0).get(0));
        audit();
        assertThat(found).extracting(Mismatch::kind).containsExactly(Kind.NO_REQUEST);
    }

    @Test
    void a_misplaced_request_with_a_decision_and_a_dead_letter_is_found() throws Exception {
        Request misplaced = send("alice", 1);
        decide(misplaced, 1, new DecisionOrder(-1, 1));
        reject(misplaced, Rejection.MISPLACED);
        audit();
        assertThat(found).singleElement().satisfies(difference -> {
            assertThat(difference.kind()).isEqualTo(Kind.DEAD_LETTER);
            assertThat(difference.request()).isEqualTo(misplaced.source());
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void misplaced_requests_that_are_not_routed_must_be_dead_letters(int task) throws Exception {
        doNotRoute();
        String client = CLIENTS.get(task);
        reject(send(client, 1 - task), Rejection.MISPLACED);
        decide(send(client, task), 1, null);
        AuditSummary totals = audit();
        assertThat(found).isEmpty();
        assertThat(totals.requests()).isEqualTo(2);
        assertThat(totals.deadLetters()).isEqualTo(1);

        Request lost = send(client, 1 - task);
        Request other = send(client, 1 - task);
        reject(other, Rejection.INVALID_ROUTING);
        audit();
        assertThat(found)
                .extracting(Mismatch::kind, Mismatch::request)
                .containsExactly(tuple(Kind.DEAD_LETTER, lost.source()), tuple(Kind.DEAD_LETTER, other.source()));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void requests_routed_before_the_range_count_after_routing_is_disabled(int task) throws Exception {
        String client = CLIENTS.get(task);
        for (int step = 1; step <= 3; step++) {
            decide(send(client, 1 - task), 1, new DecisionOrder(-1, step));
        }
        from[1 - task] = 3;
        doNotRoute();
        reject(send(client, 1 - task), Rejection.MISPLACED);
        Request denied = send(client, task);
        decide(denied, 1, null);
        AuditSummary totals = audit();
        assertThat(decisions.get(task).get(3).outcome()).isEqualTo(Outcome.DENIED);
        assertThat(found).isEmpty();
        assertThat(totals.requests()).isEqualTo(2);
        assertThat(totals.equal()).isEqualTo(1);
    }

    /**
     * The range ends at an earlier offset in one partition than in the other, so each task decides some requests after
     * the end of its own range.
     */
    @ParameterizedTest
    @CsvSource({"0, 1", "1, 1", "0, 3", "1, 3"})
    void a_routed_request_in_the_range_is_verified_even_if_decided_after_it(int task, int ownEnd) throws Exception {
        String client = CLIENTS.get(task);
        Request routed = send(client, 1 - task);
        decideOwn(client, task, 2);
        decide(routed, 1, new DecisionOrder(1, 1));
        decideOwn(client, task, 2);
        Request behind = send(client, 1 - task);
        decide(behind, 1, new DecisionOrder(3, 1));
        to[task] = ownEnd;
        to[1 - task] = 1;
        AuditSummary totals = audit();
        assertThat(found).isEmpty();
        assertThat(totals.unverified()).isEmpty();
        assertThat(totals.requests()).isEqualTo(1 + ownEnd);
        assertThat(totals.decisions()).isEqualTo(1 + ownEnd);
        assertThat(totals.equal()).isEqualTo(1 + ownEnd);

        List<Decision> ofTask = decisions.get(task);
        ofTask.set(
                2,
                ofTask.get(2)
                        .asRepeated(routed.source())
                        .withContext(ofTask.get(2).context()));
        audit();
        assertThat(found).singleElement().satisfies(difference -> {
            assertThat(difference.kind()).isEqualTo(Kind.DIFFERS);
            assertThat(difference.request()).isEqualTo(routed.source());
        });
    }

    private void decideOwn(String client, int task, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            decide(send(client, task), 1, null);
        }
    }

    @Test
    void a_misplaced_request_after_the_range_is_not_verified() throws Exception {
        decide(send("alice", 1), 1, new DecisionOrder(-1, 1));
        send("alice", 1); // never decided
        to[1] = 1;
        assertThat(audit().requests()).isEqualTo(1);
        assertThat(found).isEmpty();
        to[1] = 2;
        audit();
        assertThat(found).extracting(Mismatch::kind).containsExactly(Kind.UNDECIDED);
    }

    @Test
    void an_impossible_position_is_a_mismatch() throws Exception {
        Request first = send("alice", 0);
        Request second = send("alice", 0);
        decide(first, 1, null);
        decide(second, 1, new DecisionOrder(0, 1));
        audit();
        assertThat(found).singleElement().satisfies(difference -> {
            assertThat(difference.kind()).isEqualTo(Kind.DIFFERS);
            assertThat(difference.note()).contains("after offset 0, step 1");
        });
    }

    @Test
    void each_decision_is_verified_with_its_recorded_policies() throws Exception {
        apply(2, 1);
        int[] changes = {0, 1, 2, 1, 2, 2};
        for (int count : changes) {
            decide(send("alice", 0), count, null);
        }
        AuditSummary totals = audit();
        assertThat(found).isEmpty();
        assertThat(totals.unverified()).isEmpty();
        assertThat(totals.equal()).isEqualTo(changes.length);
    }

    @Test
    void decisions_by_unretained_policies_are_not_verified() throws Exception {
        apply(2, 1);
        for (int changes : new int[] {1, 2, 1}) {
            decide(send("alice", 0), changes, null);
        }
        rules.remove(1);
        AuditSummary totals = audit();
        assertThat(found).isEmpty();
        assertThat(totals.unverified())
                .containsExactly(Map.entry(UnverifiedReason.POLICY_NOT_RETAINED, 2L)); // and the next one
        assertThat(totals.equal()).isEqualTo(1);
    }

    @Test
    void a_decision_without_a_checksum_is_verified_with_the_policies_of_the_previous_one() throws Exception {
        apply(2, 1);
        for (int count : new int[] {1, 1, 2}) {
            decide(send("alice", 0), count, null);
        }
        List<Decision> recorded = decisions.get(0);
        recorded.replaceAll(decision ->
                decision.equals(recorded.get(0)) ? decision : decision.withContext(DecisionContext.UNKNOWN));
        AuditSummary totals = audit();
        assertThat(found).extracting(Mismatch::kind).containsExactly(Kind.DIFFERS); // the third: by later policies
        assertThat(totals.unverified()).isEmpty();
        assertThat(totals.equal()).isEqualTo(2);
    }
}
