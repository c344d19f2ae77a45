package dev.weir.failure;

import dev.weir.app.CoreRun;
import dev.weir.codec.DecisionAvro;
import dev.weir.codec.FaultsException;
import dev.weir.codec.PolicyAvro;
import dev.weir.codec.PolicyFile;
import dev.weir.codec.ReleaseAvro;
import dev.weir.codec.RequestAvro;
import dev.weir.config.WeirConfig;
import dev.weir.failure.Evidence.Dead;
import dev.weir.failure.Evidence.Entry;
import dev.weir.policy.DecisionContext;
import dev.weir.policy.Request;
import dev.weir.shape.QueueRules;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

/** Evidence of a run in memory: nothing fails in it, and time is that of the requests. */
final class CoreEvidence {

    static final long START_MS = 1_800_000_000_000L;

    private static final int PARTITIONS = WeirConfig.DEFAULTS.topics().partitions();
    private static final int A_SECOND = 3_000;

    private CoreEvidence() {}

    /**
     * Decides so many requests, some thousand a second.
     *
     * @param changesMs when policies change, after the start
     */
    static Evidence of(long seed, int count, List<Long> changesMs) throws FaultsException {
        List<PolicyAvro.Applied> rules = rules(seed, changesMs);
        RuleHistory history = new RuleHistory(rules);
        Map<String, QueueRules> queues = new HashMap<>();
        history.queues().forEach((id, versions) -> queues.put(id, versions.get(0)));
        CoreRun core = new CoreRun(history.table(), queues, WeirConfig.DEFAULTS.state());
        long[] nowMs = {START_MS};
        Workload workload = new Workload(seed, () -> nowMs[0]);
        Evidence evidence = new Evidence(
                WeirConfig.DEFAULTS,
                new ArrayList<>(),
                new ArrayList<>(),
                new ArrayList<>(),
                new ArrayList<>(),
                new ArrayList<>(),
                new ArrayList<>(),
                rules);
        RequestAvro avro = new RequestAvro();
        long[] ends = new long[PARTITIONS];
        for (int i = 0; i < count; i++) {
            nowMs[0] = START_MS + i * 1_000L / A_SECOND;
            Request request = workload.next();
            byte[] key = request.client().getBytes(StandardCharsets.UTF_8);
            int partition = BuiltInPartitioner.partitionForKey(key, PARTITIONS);
            Entry entry = new Entry(partition, ends[partition]++, nowMs[0], key, avro.encode(request));
            evidence.requests().add(entry);
            Evidence.Read read = evidence.request(entry);
            if (read.request() == null) {
                evidence.deadLetters()
                        .add(new Dead(entry.place(), read.rejection().name()));
            } else {
                core.decide(read.request());
            }
        }
        core.runDry();
        DecisionAvro decisions = new DecisionAvro();
        DecisionContext context = new DecisionContext(null, history.table().checksum());
        core.decisions().forEach(decision -> evidence.decisions()
                .add(new Entry(
                        decision.source().partition(),
                        evidence.decisions().size(),
                        decision.decidedAtMs(),
                        null,
                        decisions.encode(decision.in(context)))));
        ReleaseAvro releases = new ReleaseAvro();
        core.releases().forEach(release -> evidence.releases().add(written(releases.encode(release))));
        evidence.abortedDecisions().addAll(evidence.decisions().subList(count / 2, count / 2 + count / 10));
        evidence.abortedReleases().addAll(evidence.releases().subList(10, 100));
        return evidence;
    }

    /** What was written anywhere. */
    static Entry written(byte[] value) {
        return new Entry(0, 0, 0, null, value);
    }

    private static List<PolicyAvro.Applied> rules(long seed, List<Long> changesMs) throws FaultsException {
        Map<String, Long> versions = new HashMap<>();
        List<PolicyAvro.Applied> applied = new ArrayList<>();
        apply(Rules.INITIAL, START_MS - 1_000, versions, applied);
        Rules rules = new Rules(seed);
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
