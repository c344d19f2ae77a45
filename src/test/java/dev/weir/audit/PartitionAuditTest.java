package dev.weir.audit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.app.MemoryStates;
import dev.weir.audit.Difference.Kind;
import dev.weir.codec.DecisionAvro;
import dev.weir.codec.PolicyAvro;
import dev.weir.codec.PolicyFile;
import dev.weir.codec.ReleaseAvro;
import dev.weir.codec.RequestAvro;
import dev.weir.config.WeirConfig;
import dev.weir.policy.Decider;
import dev.weir.policy.Decision;
import dev.weir.policy.DecisionContext;
import dev.weir.policy.DecisionOrder;
import dev.weir.policy.PolicyTable;
import dev.weir.policy.Request;
import dev.weir.policy.States;
import dev.weir.processor.RequestReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two tasks, of which each decides its client's requests: those of its own partition and those that were routed to it. */
class PartitionAuditTest {

    private static final Audit.Range ALL = new Audit.Range(null, null, Duration.ZERO);
    private static final List<String> CLIENTS = List.of("alice", "bob"); // by the partition that they belong to
    private static final String RULE =
            "{id: p, limits: [{algorithm: sliding-window-log, limit: %d, per: 1h, count-denied: true}]}";

    private final RequestAvro requestAvro = new RequestAvro();
    private final DecisionAvro decisionAvro = new DecisionAvro();
    private final List<List<ConsumerRecord<byte[], byte[]>>> requests = List.of(new ArrayList<>(), new ArrayList<>());
    private final List<List<Decision>> decisions = List.of(new ArrayList<>(), new ArrayList<>());
    private final List<RuleChanges.Written> rules = new ArrayList<>();
    private final Map<Integer, PolicyTable> tables = new HashMap<>();
    private final States states = new MemoryStates(WeirConfig.DEFAULTS.state());
    private final List<Difference> found = new ArrayList<>();

    @BeforeEach
    void begin() throws Exception {
        tables.put(0, PolicyTable.EMPTY);
        apply(1, 3);
    }

    private void apply(long version, int limit) throws Exception {
        String yaml = "policies:\n  - " + RULE.formatted(limit) + "\n";
        PolicyFile.Definition.OfPolicy policy =
                PolicyFile.read("rules.yaml", yaml).policies().get(0);
        PolicyAvro.Applied applied =
                new PolicyAvro.Applied(PolicyAvro.Kind.POLICY, "p", version, policy.json(), version);
        rules.add(new RuleChanges.Written(applied.key(), applied, version));
        tables.put((int) version, new PolicyTable(List.of(PolicyFile.parse(applied.key(), policy.json(), version))));
    }

    /** Writes a request of a client to a partition. */
    private Request send(String client, int partition) throws Exception {
        List<ConsumerRecord<byte[], byte[]>> records = requests.get(partition);
        Request.Source source = new Request.Source(partition, records.size());
        Request request = new Request(
                "r" + source,
                client,
                dev.weir.policy.Kind.CONSUME,
                null,
                1,
                null,
                Map.of(),
                null,
                null,
                null,
                1_000,
                source);
        records.add(record(partition, source.offset(), client, requestAvro.encode(request)));
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

    /** The task of its client decides a request by the policies after so many changes. */
    private void decide(Request request, int changes, DecisionOrder order) {
        PolicyTable table = tables.get(changes);
        Decision decision = (Decision) Decider.decide(request, table, states);
        decisions.get(taskOf(request.client())).add(decision.in(new DecisionContext(order, table.checksum())));
    }

    private static int taskOf(String client) {
        return CLIENTS.indexOf(client);
    }

    private Totals audit() {
        Totals totals = new Totals();
        Tools tools = new Tools(
                WeirConfig.DEFAULTS,
                new RequestReader(requestAvro, WeirConfig.DEFAULTS.requests().rules()),
                decisionAvro,
                new ReleaseAvro(),
                new RuleChanges(rules));
        Sums sums = new Sums(WeirConfig.DEFAULTS, tools.rules(), ALL, totals, found::add);
        PartitionAudit.Shared shared = new PartitionAudit.Shared(new MisplacedPartitions(), sums, totals, found::add);
        Map<Integer, Scope.Bounds> bounds = new HashMap<>();
        for (int partition = 0; partition < 2; partition++) {
            long end = requests.get(partition).size();
            bounds.put(partition, new Scope.Bounds(0, 0, end, end, end));
        }
        for (int partition = 0; partition < 2; partition++) {
            Scope scope = new Scope(
                    partition,
                    bounds,
                    PartitionAuditTest::taskOf,
                    true,
                    true,
                    Long.MIN_VALUE,
                    true,
                    bounds.keySet(),
                    ALL);
            Records records = new Records(
                    requests.get(partition).iterator(),
                    decided(partition),
                    List.<ConsumerRecord<byte[], byte[]>>of().iterator(),
                    of -> requests.get(of).iterator(),
                    new TreeMap<>());
            new PartitionAudit(tools, scope, records, shared).run();
        }
        return totals;
    }

    private Iterator<ConsumerRecord<byte[], byte[]>> decided(int partition) {
        List<Decision> all = decisions.get(partition);
        return IntStream.range(0, all.size())
                .mapToObj(i -> record(partition, i, all.get(i).client(), decisionAvro.encode(all.get(i))))
                .iterator();
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
        decide(third, 1, null); // the last that is allowed is decided before the second one, which waited
        decide(second, 1, new DecisionOrder(2, 4));
        Totals totals = audit();
        assertThat(found).isEmpty();
        assertThat(totals.unjudged()).isEmpty();
        assertThat(totals.equal()).isEqualTo(5);
        assertThat(totals.requests()).isEqualTo(5);
    }

    @Test
    void a_decision_at_another_position_differs() throws Exception {
        List<Request> own = List.of(send("alice", 0), send("alice", 0), send("alice", 0), send("alice", 0));
        Request misplaced = send("alice", 1);
        own.forEach(request -> decide(request, 1, null));
        decide(misplaced, 1, new DecisionOrder(0, 1)); // was decided last
        audit();
        assertThat(found).extracting(Difference::kind).isNotEmpty().containsOnly(Kind.DIFFERS);
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
        decide(send(CLIENTS.get(task), 1 - task), 1, new DecisionOrder(-1, 1)); // one that is decided does not hide it
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
        assertThat(found).extracting(Difference::kind).containsExactly(Kind.SECOND);
    }

    @Test
    void a_decision_by_the_wrong_task_is_found() throws Exception {
        Request own = send("alice", 0);
        decide(own, 1, null);
        decisions.get(1).add(decisions.get(0).get(0));
        audit();
        assertThat(found).extracting(Difference::kind).containsExactly(Kind.UNASKED);
    }

    @Test
    void a_position_that_cannot_be_is_a_difference() throws Exception {
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
    void each_decision_is_held_against_the_policies_that_it_records() throws Exception {
        apply(2, 1);
        int[] changes = {0, 1, 2, 1, 2, 2};
        for (int count : changes) {
            decide(send("alice", 0), count, null);
        }
        Totals totals = audit();
        assertThat(found).isEmpty();
        assertThat(totals.unjudged()).isEmpty();
        assertThat(totals.equal()).isEqualTo(changes.length);
    }

    @Test
    void policies_that_the_history_does_not_have_are_not_judged() throws Exception {
        apply(2, 1);
        for (int changes : new int[] {1, 2, 1}) {
            decide(send("alice", 0), changes, null);
        }
        rules.remove(1);
        Totals totals = audit();
        assertThat(found).isEmpty();
        assertThat(totals.unjudged()).containsExactly(Map.entry(Unjudged.RULES_FORGOTTEN, 2L)); // and what hangs on it
        assertThat(totals.equal()).isEqualTo(1);
    }

    @Test
    void decisions_of_an_earlier_version_are_not_judged() throws Exception {
        for (int i = 0; i < 3; i++) {
            decide(send("alice", 0), 1, null);
        }
        decisions.get(0).replaceAll(decision -> decision.in(DecisionContext.UNKNOWN));
        Totals totals = audit();
        assertThat(found).isEmpty();
        assertThat(totals.unjudged()).containsExactly(Map.entry(Unjudged.NOT_RECORDED, 3L));
    }
}
