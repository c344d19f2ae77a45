package dev.weir.failure.check;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.failure.load.FailurePolicies;
import dev.weir.failure.load.FailureWorkload;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.RequestSender;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.PolicyAvro;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reads the topics of a real run, with a restart and a policy change, and checks the records with the oracle. */
@Tag("full")
class EvidenceTest {

    private static final Duration PATIENCE = Duration.ofMinutes(10);
    private static final int BEFORE = 2_000;
    private static final int AFTER = 500;
    private static final long NOTICE_MS = 1_000;

    private static final String CHANGE = "policies: [{id: free, match: {tier: free}, effective-from: %s,"
            + " limits: [{algorithm: token-bucket, limit: 50, per: 1s, burst: 4}]}]";

    @TempDir
    Path directory;

    @Test
    void the_records_of_a_run_are_read_and_satisfy_all_invariants() throws Exception {
        try (EmbeddedBroker broker = EmbeddedBroker.start()) {
            WeirConfig config = config(broker);
            try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
                TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
            }
            apply(config, FailurePolicies.INITIAL);
            apply(config, FailurePolicies.SHARED);
            Evidence evidence = run(config);
            assertThat(Oracle.check(evidence)).allMatch(Breach::isOk);
            assertThat(evidence.requests()).hasSizeGreaterThanOrEqualTo(BEFORE + AFTER);
            assertThat(evidence.deadLetters()).isNotEmpty();
            assertThat(evidence.releases().committed()).isNotEmpty();
            assertThat(decisionsByVersion(evidence, "free")).containsOnlyKeys(1L, 2L);
            assertThat(evidence.decisions().committed())
                    .anyMatch(entry -> "free".equals(entry.decision().policyId())
                            && entry.decision().outcome() == Outcome.DENIED);

            abort(config, evidence);
            Evidence again = Evidence.read(config, PATIENCE);
            assertThat(again.decisions().committed())
                    .hasSameSizeAs(evidence.decisions().committed());
            assertThat(again.decisions().aborted()).hasSize(1);
            assertThat(again.releases().aborted()).hasSize(1);
            assertThat(Oracle.check(again).stream().filter(finding -> !finding.isOk()))
                    .singleElement()
                    .satisfies(finding -> assertThat(finding.name()).isEqualTo("7 seen-twice-alike"));
        }
    }

    private WeirConfig config(EmbeddedBroker broker) {
        return WeirConfig.builder()
                .applicationId("weir")
                .threads(1)
                .topics("weir.", 2)
                .kafka("bootstrap.servers", broker.bootstrapServers())
                .stateDirectory(directory.resolve("weir-state"))
                .build();
    }

    private Evidence run(WeirConfig config) throws Exception {
        FailureWorkload workload = new FailureWorkload(1, System::currentTimeMillis, true);
        try (RequestSender sender = new RequestSender(config)) {
            try (Enforcer first = Enforcer.start(config)) {
                first.awaitRunning(PATIENCE);
                send(sender, workload, BEFORE);
            }
            try (Enforcer second = Enforcer.start(config)) {
                second.awaitRunning(PATIENCE);
                long fromMs = System.currentTimeMillis() + NOTICE_MS;
                apply(config, CHANGE.formatted(Instant.ofEpochMilli(fromMs)));
                awaitVersion(second, 2); // known before the first request under it
                while (System.currentTimeMillis() <= fromMs) {
                    send(sender, workload, 1);
                }
                send(sender, workload, AFTER);
                return Evidence.readSettled(config, PATIENCE);
            }
        }
    }

    /** Sends requests with a short pause after each. */
    private static void send(RequestSender sender, FailureWorkload workload, int count) {
        for (int i = 0; i < count; i++) {
            sender.send(workload.next());
            LockSupport.parkNanos(100_000);
        }
        sender.flush();
    }

    private static void awaitVersion(Enforcer enforcer, long version) {
        await(
                "version " + version,
                PATIENCE,
                () -> enforcer.policies()
                                .applied(PolicyAvro.Kind.POLICY, "free")
                                .version()
                        >= version);
    }

    private static Map<Long, Long> decisionsByVersion(Evidence evidence, String policy) {
        return evidence.decisions().committed().stream()
                .map(Evidence.Entry::decision)
                .filter(decision -> policy.equals(decision.policyId()))
                .collect(Collectors.groupingBy(decision -> decision.policyVersion(), Collectors.counting()));
    }

    /**
     * Writes a decision, changed to that of a repeat, and a release in a transaction that is aborted, as after
     * a crash before the commit.
     */
    private static void abort(WeirConfig config, Evidence evidence) throws Exception {
        Topics topics = Topics.of(config);
        Properties settings = KafkaSettings.producer(config);
        settings.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, "dies");
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.initTransactions();
            producer.beginTransaction();
            Decision decision = evidence.decisions().committed().stream()
                    .map(Evidence.Entry::decision)
                    .filter(one -> one.queueing() == null && !one.repeated())
                    .findFirst()
                    .orElseThrow();
            byte[] other = new DecisionCodec().encode(decision.asRepeated(decision.source()));
            producer.send(new ProducerRecord<>(topics.decisions(), 0, null, other))
                    .get();
            byte[] release = evidence.releases().committed().get(0).value();
            producer.send(new ProducerRecord<>(topics.releases(), 0, null, release))
                    .get();
            producer.abortTransaction();
        }
    }

    private static void apply(WeirConfig config, String yaml) throws Exception {
        new PolicyTopic(config)
                .apply(PolicyFile.read("rules.yaml", yaml), PolicyTopic.Options.DEFAULTS, System.currentTimeMillis());
    }
}
