package dev.weir.audit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.audit.finding.AuditRange;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.Mismatch;
import dev.weir.audit.history.PolicyTimeline;
import dev.weir.audit.shared.SharedQuotaAudit;
import dev.weir.backtest.Backtest;
import dev.weir.backtest.HeapStates;
import dev.weir.config.WeirConfig;
import dev.weir.decision.Decider;
import dev.weir.decision.state.lease.HeldLeases;
import dev.weir.decision.state.lease.LeaseContext;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.requests.RequestReader;
import dev.weir.testing.Effort;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.RequestCodec;
import dev.weir.wire.json.DecisionJson;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Audits and backtests of requests about reservations, under slots, a bucket and a window. */
class ReservationAuditTest {

    private static final AuditRange ALL = new AuditRange(null, null, Duration.ZERO);
    private static final String RULES = """
            policies:
              - {id: slots, layer: a, limits: [{algorithm: concurrency, limit: 4, ttl: 20s}]}
              - {id: rate, layer: b, key: [client, model], limits: [{algorithm: token-bucket, limit: 20, per: 10s}]}
              - {id: window, layer: c, limits: [{algorithm: sliding-window-log, limit: 40, per: 15s}]}
            """;

    private final RequestCodec requestCodec = new RequestCodec();
    private final DecisionCodec decisionCodec = new DecisionCodec();
    private final List<Request> requests = new ArrayList<>();
    private final List<Decision> decisions = new ArrayList<>();
    private final List<PolicyTimeline.RecordedVersion> rules = new ArrayList<>();
    private final List<Mismatch> found = new ArrayList<>();
    private PolicyFile.Contents contents;
    private PolicyTable table;

    @BeforeEach
    void apply() throws Exception {
        apply(RULES);
    }

    private void apply(String yaml) throws Exception {
        rules.clear();
        contents = PolicyFile.read("rules.yaml", yaml);
        List<Policy> policies = new ArrayList<>();
        for (PolicyFile.Definition.PolicyDefinition policy : contents.policies()) {
            PolicyAvro.Applied applied =
                    new PolicyAvro.Applied(PolicyAvro.Kind.POLICY, policy.id(), 1, policy.json(), rules.size() + 1);
            rules.add(new PolicyTimeline.RecordedVersion(applied.key(), applied, rules.size() + 1));
            policies.add(PolicyFile.parse(applied.key(), policy.json(), 1));
        }
        table = PolicyTable.of(policies);
    }

    /** Decides random requests, as a task does. */
    private void run(int seed, int count) {
        SplittableRandom random = new SplittableRandom(seed);
        Decider decider = Decider.local(new HeapStates(WeirConfig.DEFAULTS.state()));
        long nowMs = 1_000_000;
        for (int i = 0; i < count; i++) {
            nowMs += random.nextLong(random.nextInt(10) == 0 ? 15_000 : 600);
            Request request = request(random, i, nowMs);
            Decision decision = (Decision) decider.decide(request, table);
            requests.add(request);
            decisions.add(decision.withContext(new DecisionContext(null, table.checksum())));
        }
    }

    private static Request request(SplittableRandom random, int offset, long nowMs) {
        String id = "r" + random.nextInt(Math.max(0, offset - 12), offset + 1);
        Request.Builder request = Request.builder(id, random.nextInt(10) == 0 ? "bob" : "alice")
                .attributes(Map.of("model", "m" + random.nextInt(2)))
                .timestampMs(nowMs)
                .source(0, offset);
        return switch (random.nextInt(12)) {
            case 0, 1, 2 ->
                request.requestId("s" + offset)
                        .kind(RequestKind.SETTLE)
                        .settles(id)
                        .cost(random.nextInt(9))
                        .build();
            case 3, 4 -> request.kind(RequestKind.RELEASE).build();
            case 5 -> request.kind(RequestKind.RENEW).build();
            case 6 -> request.kind(RequestKind.CANCEL).build();
            case 7 ->
                request.kind(random.nextInt(5) == 0 ? RequestKind.RESET : RequestKind.PEEK)
                        .build();
            default ->
                request.requestId("r" + offset)
                        .cost(1 + random.nextInt(3))
                        .reserveMs(30_000L)
                        .build();
        };
    }

    private static ConsumerRecord<byte[], byte[]> record(long offset, long atMs, String key, byte[] value) {
        return new ConsumerRecord<>(
                "",
                0,
                offset,
                atMs,
                TimestampType.LOG_APPEND_TIME,
                0,
                0,
                key.getBytes(StandardCharsets.UTF_8),
                value,
                new RecordHeaders(),
                Optional.empty());
    }

    /** @param from the offset of the oldest retained request */
    private AuditSummary audit(int from) {
        AuditSummary totals = new AuditSummary();
        WeirConfig config = WeirConfig.DEFAULTS;
        AuditContext context = new AuditContext(
                config,
                new RequestReader(requestCodec, config.requests().rules()),
                decisionCodec,
                new ReleaseCodec(),
                new PolicyTimeline(rules));
        SharedQuotaAudit sums = new SharedQuotaAudit(config, context.rules(), ALL, totals, found::add);
        long end = requests.size();
        AuditScope scope = new AuditScope(
                0,
                Map.of(0, new AuditScope.Bounds(from, from, end, end, end)),
                client -> 0,
                new AuditScope.Retained(from == 0, true, true, Long.MIN_VALUE),
                true,
                Set.of(0),
                ALL);
        Iterator<ConsumerRecord<byte[], byte[]>> asked = IntStream.range(from, requests.size())
                .mapToObj(requests::get)
                .map(of -> record(of.source().offset(), of.timestampMs(), of.client(), requestCodec.encode(of)))
                .iterator();
        Iterator<ConsumerRecord<byte[], byte[]>> answered = IntStream.range(from, requests.size())
                .mapToObj(i -> record(
                        i,
                        requests.get(i).timestampMs(),
                        decisions.get(i).client(),
                        decisionCodec.encode(decisions.get(i))))
                .iterator();
        PartitionRecords records = new PartitionRecords(
                asked, answered, Collections.emptyIterator(), of -> Collections.emptyIterator(), Map.of());
        new PartitionAudit(
                        context,
                        scope,
                        records,
                        new PartitionAudit.SharedState(new MisplacedPartitions(), sums, totals, found::add))
                .run();
        return totals;
    }

    @Test
    void all_decisions_about_reservations_are_recomputed() {
        run(1, 2_000);
        AuditSummary totals = audit(0);
        assertThat(found).isEmpty();
        assertThat(totals.equal()).isEqualTo(2_000);
    }

    @Test
    void a_log_without_its_beginning_has_no_false_mismatch() {
        for (int seed = 0; seed < Effort.times(30); seed++) {
            requests.clear();
            decisions.clear();
            run(seed, 600);
            AuditSummary totals = audit(100);
            assertThat(found).as("seed " + seed).isEmpty();
            assertThat(totals.equal()).as("seed " + seed).isGreaterThan(100);
        }
    }

    /** Leases that have enough, and ledgers that have confirmed each renewal, or none. */
    private record AmpleLeases(LeaseBook book, boolean isAnyWaiting) implements HeldLeases {

        @Override
        public LeaseBook book(StateKey key) {
            return book;
        }

        @Override
        public boolean hasWaiting(StateKey key) {
            return isAnyWaiting;
        }

        @Override
        public LeaseTerms terms(StateKey key) {
            return LeaseTerms.DEFAULTS;
        }

        @Override
        public long roundTripMs() {
            return 0;
        }

        @Override
        public long leaseWaitMs() {
            return 0;
        }
    }

    private void decideWith(LeaseBook leases, HeapStates states, Request request) {
        LeaseContext shared = LeaseContext.readOnly(new AmpleLeases(leases, false), 0, false, false);
        Decision decision = (Decision) new Decider(states, shared).decide(request, table);
        requests.add(request);
        decisions.add(decision.withContext(new DecisionContext(null, table.checksum())));
    }

    /** Whether a ledger has prolonged slots is not in the log of requests. */
    @Test
    void renewals_of_shared_slots_are_as_the_ledger_said() throws Exception {
        apply("policies: [{id: slots, key: [], limits: [{algorithm: concurrency, limit: 9, ttl: 20s}]}]");
        HeapStates states = new HeapStates(WeirConfig.DEFAULTS.state());
        for (int i = 0; i < 40; i++) {
            Request.Builder request = Request.builder("r" + i / 4, "alice")
                    .timestampMs(1_000_000 + i)
                    .source(0, i);
            LeaseBook ample = LeaseBook.reconstructed(9, OptionalLong.of(0), 1_000_000 + i, 0, false);
            int step = i % 4;
            decideWith(
                    step == 1 ? LeaseBook.reconstructedRenewal(1 + i / 4, 1_000_000 + i) : ample,
                    states,
                    request.kind(step == 0 ? RequestKind.CONSUME : step == 3 ? RequestKind.RELEASE : RequestKind.RENEW)
                            .build());
        }
        assertThat(decisions.subList(0, 4))
                .extracting(Decision::reason)
                .containsExactly(Reason.WITHIN_LIMITS, Reason.RENEWED, Reason.RESERVATION_ENDED, Reason.RELEASED);
        audit(0);
        assertThat(found).isEmpty();
    }

    /** Each decision that shows another result of a reservation is found. */
    @Test
    void forged_decisions_are_found() {
        run(2, 400);
        List<Decision> honest = List.copyOf(decisions);
        int forged = 0;
        for (int i = 0; i < honest.size(); i += 7) {
            RequestKind kind = requests.get(i).kind();
            if (kind == RequestKind.PEEK || kind == RequestKind.RESET) {
                continue;
            }
            found.clear();
            Collections.copy(decisions, honest);
            Decision of = honest.get(i);
            boolean isNothing = of.reason() == Reason.NOTHING_RESERVED;
            decisions.set(
                    i,
                    new Decision(
                            of.identity(),
                            Decision.Status.allowed(isNothing ? Reason.RELEASED : Reason.NOTHING_RESERVED),
                            of.timing(),
                            of.explanation(),
                            of.queueing(),
                            of.context()));
            audit(0);
            assertThat(found).extracting(Mismatch::requestId).contains(of.requestId());
            forged++;
        }
        assertThat(forged).isGreaterThan(20);
    }

    @Test
    void a_backtest_decides_the_same() throws Exception {
        run(3, 1_000);
        StringWriter lines = new StringWriter();
        Iterator<Request> all = requests.iterator();
        new Backtest(contents, WeirConfig.DEFAULTS, Clock.systemUTC())
                .run(() -> all.hasNext() ? all.next() : null, new DecisionJson(lines), null);
        StringWriter expected = new StringWriter();
        DecisionJson json = new DecisionJson(expected);
        PolicyTable ofFile = contents.table();
        for (Decision decision : decisions) {
            json.write(decision.withContext(new DecisionContext(null, ofFile.checksum())));
        }
        assertThat(lines.toString()).isEqualTo(expected.toString());
    }
}
