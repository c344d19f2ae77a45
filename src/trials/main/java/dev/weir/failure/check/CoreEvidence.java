package dev.weir.failure.check;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionOrder;
import dev.weir.event.Request;
import dev.weir.failure.check.Evidence.Dead;
import dev.weir.failure.check.Evidence.Entry;
import dev.weir.failure.load.FailurePolicies;
import dev.weir.failure.load.FailureWorkload;
import dev.weir.failure.load.TraceWorkload;
import dev.weir.fault.FaultsException;
import dev.weir.shape.rules.QueueRules;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

/** The evidence of a run in memory, without failures, whose clock is the time of the requests. */
final class CoreEvidence {

    static final long START_MS = 1_800_000_000_000L;

    private static final int PARTITIONS = WeirConfig.DEFAULTS.topics().partitions();

    /**
     * How requests are written.
     *
     * @param perSecond how many in a second of the simulated time
     * @param misplacedPercent the percentage of requests that are written to another partition than their client's, and
     *     are routed
     * @param maxRouting a routed request is decided before this many further requests are written
     * @param reserves whether there are reservations, under own limits
     */
    record Load(int perSecond, int misplacedPercent, int maxRouting, boolean reserves) {

        /** 3,750 requests a second, of which a percentage is decided up to 200 ms late, and a fifth is on reservations. */
        static Load routing(int misplacedPercent) {
            return new Load(3_750, misplacedPercent, 750, true);
        }
    }

    private static final int PERCENT = 100;
    private static final DecisionCodec DECISIONS = new DecisionCodec();

    private final RequestCodec avro = new RequestCodec();
    private final NavigableMap<List<Integer>, Request> routed = new TreeMap<>(
            Comparator.<List<Integer>>comparingInt(due -> due.get(0)).thenComparingInt(due -> due.get(1)));
    private final Map<List<Integer>, Integer> lastDue =
            new HashMap<>(); // by partition and task: routing keeps their order
    private final long[] ends = new long[PARTITIONS];
    private final DecisionOrder[] positions = new DecisionOrder[PARTITIONS]; // by task
    private final Evidence evidence;
    private final CoreRun core;
    private final long checksum;
    private final Random random;
    private final long seed;
    private final Load load;
    private long nowMs;

    private CoreEvidence(long seed, List<PolicyAvro.Applied> rules, Load load) {
        this.seed = seed;
        this.load = load;
        random = new Random(seed);
        Arrays.fill(positions, new DecisionOrder(-1, 0));
        PolicyVersionHistory history = new PolicyVersionHistory(rules);
        Map<String, QueueRules> queues = new HashMap<>();
        history.queues().forEach((id, versions) -> queues.put(id, versions.get(0)));
        core = new CoreRun(history.table(), queues, WeirConfig.DEFAULTS.state());
        checksum = history.table().checksum();
        evidence = new Evidence(
                WeirConfig.DEFAULTS,
                new ArrayList<>(),
                new TopicRecords<>(new ArrayList<>(), new ArrayList<>()),
                new TopicRecords<>(new ArrayList<>(), new ArrayList<>()),
                new ArrayList<>(),
                rules);
    }

    /**
     * Writes and decides {@code count} requests.
     *
     * @param changesMs the times of policy changes, ms after the start
     */
    static Evidence of(long seed, int count, List<Long> changesMs, Load load) throws FaultsException {
        return new CoreEvidence(seed, rules(seed, changesMs), load).run(count);
    }

    private Evidence run(int count) {
        Iterator<Request> workload =
                load.reserves ? new FailureWorkload(seed, () -> nowMs, false) : new TraceWorkload(seed, () -> nowMs);
        for (int i = 0; i < count; i++) {
            nowMs = START_MS + i * 1_000L / load.perSecond;
            write(workload.next(), i);
            while (!routed.isEmpty() && routed.firstKey().get(0) <= i) {
                decideRouted(routed.pollFirstEntry().getValue());
            }
        }
        routed.values().forEach(this::decideRouted);
        core.runDry();
        int firstAborted = count / 2;
        int aborted = count / 10;
        for (Decision decision : core.decisions()) {
            int number = evidence.decisions().committed().size();
            boolean isAborted = number >= firstAborted && number < firstAborted + aborted;
            if (isAborted) {
                evidence.decisions().aborted().add(written(decision, number));
            }
            evidence.decisions().committed().add(written(decision, number < firstAborted ? number : number + aborted));
        }
        ReleaseCodec releases = new ReleaseCodec();
        core.releases().forEach(release -> evidence.releases().committed().add(written(releases.encode(release))));
        evidence.releases().aborted().addAll(evidence.releases().committed().subList(10, 100));
        return evidence;
    }

    private static Entry written(Decision decision, int offset) {
        int partition = partitionOf(decision.client());
        return new Entry(partition, offset, decision.decidedAtMs(), null, DECISIONS.encode(decision));
    }

    /** Writes a request, and decides it unless it must be routed. */
    private void write(Request sent, int number) {
        int task = partitionOf(sent.client());
        boolean isMisplaced = random.nextInt(PERCENT) < load.misplacedPercent;
        int partition = isMisplaced ? (task + 1 + random.nextInt(PARTITIONS - 1)) % PARTITIONS : task;
        byte[] key = isMisplaced ? null : sent.client().getBytes(StandardCharsets.UTF_8);
        Entry entry = new Entry(partition, ends[partition]++, nowMs, key, avro.encode(sent));
        evidence.requests().add(entry);
        Evidence.Read read = evidence.request(entry);
        if (read.request() == null) {
            evidence.deadLetters().add(new Dead(entry.place(), read.rejection().name()));
        } else if (isMisplaced) {
            int due = lastDue.merge(List.of(partition, task), number + random.nextInt(load.maxRouting), Math::max);
            routed.put(List.of(due, number), read.request());
        } else {
            positions[task] = new DecisionOrder(entry.offset(), 0);
            core.emitDecision(read.request(), task, new DecisionContext(null, checksum), nowMs);
        }
    }

    private void decideRouted(Request request) {
        int task = partitionOf(request.client());
        positions[task] = new DecisionOrder(positions[task].afterOffset(), positions[task].step() + 1);
        core.emitDecision(request, task, new DecisionContext(positions[task], checksum), nowMs);
    }

    private static int partitionOf(String client) {
        return BuiltInPartitioner.partitionForKey(client.getBytes(StandardCharsets.UTF_8), PARTITIONS);
    }

    /** Returns a record whose position does not matter. */
    static Entry written(byte[] value) {
        return new Entry(0, 0, 0, null, value);
    }

    private static List<PolicyAvro.Applied> rules(long seed, List<Long> changesMs) throws FaultsException {
        Map<String, Long> versions = new HashMap<>();
        List<PolicyAvro.Applied> applied = new ArrayList<>();
        apply(FailurePolicies.INITIAL, START_MS - 1_000, versions, applied);
        FailurePolicies rules = new FailurePolicies(seed);
        for (long changeMs : changesMs) {
            apply(rules.next(START_MS + changeMs), START_MS + changeMs - 500, versions, applied);
        }
        return applied;
    }

    private static void apply(String yaml, long nowMs, Map<String, Long> versions, List<PolicyAvro.Applied> applied)
            throws FaultsException {
        PolicyFile.Contents contents = PolicyFile.read("rules.yaml", yaml);
        List<PolicyFile.Definition> all = new ArrayList<>(contents.queues());
        all.addAll(contents.policies());
        for (PolicyFile.Definition one : all) {
            long version = versions.merge(PolicyAvro.key(one.kind(), one.id()), 1L, Long::sum);
            applied.add(new PolicyAvro.Applied(one.kind(), one.id(), version, one.json(), nowMs));
        }
    }
}
