package dev.weir.bench;

import dev.weir.bench.candidate.BenchCluster;
import dev.weir.bench.candidate.Candidate;
import dev.weir.bench.jmh.LimitTerms;
import dev.weir.bench.measure.BackgroundThread;
import dev.weir.bench.measure.CandidateSeries;
import dev.weir.bench.measure.ResultTable;
import dev.weir.bench.measure.SteadyRate;
import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.testing.BusyThreads;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.LeaseRequestAvro;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;
import org.HdrHistogram.Histogram;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Measures how much of a shared limit is used if its quota is leased to several partitions, compared with one limiter
 * that sees all requests at the times of the decisions.
 */
public final class LeasesBench {

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int CLIENTS_PER_PARTITION = 100;
    private static final double PERCENT = 100;

    private static final long NANOS_PER_MS = 1_000_000;

    private static final List<String> COLUMNS =
            List.of("used %", "peak %", "waited %", "no lease %", "messages %", "p50 ms", "p99 ms", "round trip ms");

    /** The demand, and how it is distributed over the partitions. */
    public enum LeaseScenario {
        /** Twice the limit, the same for all partitions. */
        EVEN("twice 1,000/s, 8 equal partitions", 8, 1, 1_000, 2_000),
        /** Twice the limit. The demand of one partition is a hundred times that of each other one. */
        SKEWED("twice 1,000/s, 8 partitions, 100:1", 8, 100, 1_000, 2_000),
        /** Twice a low limit, on many partitions. */
        SPARSE("twice 10/s, 64 equal partitions", 64, 1, 10, 20),
        /** Half of the limit. */
        HALF("half of 8,000/s, 8 equal partitions", 8, 1, 8_000, 4_000),
        /** A quarter of a low limit: partitions are idle for longer than the term of a lease. */
        QUARTER("a quarter of 20/s, 4 equal partitions", 4, 1, 20, 5);

        private final String title;
        private final int partitions;
        private final int weight;
        private final long perSecond;
        private final long demand;

        /** @param weight the demand of the first partition as a multiple of that of each other one */
        LeaseScenario(String title, int partitions, int weight, long perSecond, long demand) {
            this.title = title;
            this.partitions = partitions;
            this.weight = weight;
            this.perSecond = perSecond;
            this.demand = demand;
        }

        /** Returns the partition of the next request. */
        private int nextPartition(SplittableRandom random) {
            return Math.max(0, random.nextInt(weight + partitions - 1) - weight + 1);
        }
    }

    /**
     * How long to measure.
     *
     * @param warmUp how long requests are sent before the measured time
     * @param time the measured time
     */
    public record LeasePlan(Duration warmUp, Duration time) {}

    /**
     * The brokers and the load of the machine.
     *
     * @param brokers 1 for a broker in the process of the benchmark; more for that many broker processes, each with a
     *     replica of each topic
     * @param busyThreads the number of threads that each occupy a processor
     */
    public record Conditions(int brokers, int busyThreads) {}

    /**
     * A decision.
     *
     * @param dueMs when its request was due, in ms since the epoch
     * @param latencyMs the time from when the request was due until its decision was appended
     */
    private record Answer(long dueMs, long decidedAtMs, Outcome outcome, Reason reason, long latencyMs) {}

    /**
     * The decisions and counts of a run.
     *
     * @param fromMs the beginning of the measured time, in ms since the epoch; {@code toMs} is its end
     * @param before the counts of the enforcer at {@code fromMs}; {@code after} has those at {@code toMs}
     * @param roundTripMs the median of the round trips that lease requests reported; NaN if none did
     */
    private record Observation(
            List<Answer> answers,
            long fromMs,
            long toMs,
            Candidate.LeaseCounts before,
            Candidate.LeaseCounts after,
            double roundTripMs) {
        /** Returns whether a request was due in the measured time. Its decision can be late. */
        boolean includes(Answer answer) {
            return answer.dueMs >= fromMs && answer.dueMs < toMs;
        }
    }

    private final LeasePlan plan;
    private final Conditions conditions;
    private final Map<String, String> kafka;
    private final Consumer<String> progress;

    /**
     * Creates a benchmark.
     *
     * @param kafka Kafka settings of the candidate that override those of {@code weir run}
     * @param progress receives a line for each measurement
     */
    public LeasesBench(LeasePlan plan, Conditions conditions, Map<String, String> kafka, Consumer<String> progress) {
        this.plan = plan;
        this.conditions = conditions;
        this.kafka = Map.copyOf(kafka);
        this.progress = progress;
    }

    /**
     * Measures each scenario.
     *
     * @param per the window of the limit, in whole seconds
     */
    public ResultTable run(String algorithm, Duration per, List<LeaseScenario> scenes) throws Exception {
        List<ResultTable.Row> rows = new ArrayList<>();
        try (BenchCluster cluster = new BenchCluster(conditions.brokers);
                BusyThreads unused = new BusyThreads(conditions.busyThreads)) {
            for (LeaseScenario scenario : scenes) {
                rows.add(run(cluster, scenario, algorithm, per));
                progress.accept(scenario.title + ": measured");
            }
        }
        String title = "%s of %d s, %s"
                .formatted(
                        algorithm,
                        per.toSeconds(),
                        conditions.brokers == 1 ? "one broker" : conditions.brokers + " brokers");
        return new ResultTable(
                "leases",
                title,
                COLUMNS,
                rows,
                List.of(
                        "%d s each, after %d s; one instance, one thread; busy threads: %d"
                                .formatted(plan.time.toSeconds(), plan.warmUp.toSeconds(), conditions.busyThreads),
                        "used: share of what one limiter that sees all requests would have allowed; peak: largest share"
                                + " of the limit in use; waited, no lease, messages: share of the requests",
                        "p50, p99: from when a request is due until its decision is appended; round trip: median of the"
                                + " smoothed round trips of lease requests"));
    }

    private ResultTable.Row run(BenchCluster cluster, LeaseScenario scenario, String algorithm, Duration per)
            throws Exception {
        long limit = scenario.perSecond * per.toSeconds();
        String policies = "policies: [{id: all, key: [], limits: [{algorithm: %s, limit: %d, per: %ds}]}]"
                .formatted(algorithm, limit, per.toSeconds());
        try (BenchCluster.Workload workload = cluster.workload(policies, scenario.partitions, kafka)) {
            WeirConfig config =
                    workload.config("leases", WeirConfig.DEFAULTS.state().hotMemoryBytes());
            Observation seen = observe(workload, config, scenario);
            return row(scenario, LimitTerms.of(algorithm, limit, per.toMillis()), seen);
        }
    }

    private Observation observe(BenchCluster.Workload workload, WeirConfig config, LeaseScenario scenario)
            throws Exception {
        try (Candidate candidate = new Candidate("leases", Candidate.CandidateKind.SHARE, config, DecideBench.JVM)) {
            candidate.resume();
            long epochMs = System.currentTimeMillis() - System.nanoTime() / NANOS_PER_MS; // of the times in request ids
            SteadyRate demand = new SteadyRate(scenario.demand);
            long count = demand.requestsIn(plan.warmUp.plus(plan.time));
            CompletableFuture<Void> sending = BackgroundThread.run(() -> {
                workload.send(demand, System.nanoTime(), count, clients(scenario));
                return null;
            });
            Thread.sleep(plan.warmUp.toMillis());
            long fromMs = System.currentTimeMillis();
            Candidate.LeaseCounts before = candidate.leaseCounts();
            sending.get();
            long toMs = System.currentTimeMillis();
            Candidate.LeaseCounts after = candidate.leaseCounts();
            List<Answer> answers = read(config, count, epochMs);
            double roundTripMs = medianRoundTripMs(config, fromMs, toMs);
            return new Observation(answers, fromMs, toMs, before, after, roundTripMs);
        }
    }

    /** Returns a function to clients, whose requests are distributed over the partitions as the scenario says. */
    private static LongUnaryOperator clients(LeaseScenario scenario) {
        List<List<Long>> of = new ArrayList<>();
        for (int i = 0; i < scenario.partitions; i++) {
            of.add(new ArrayList<>());
        }
        for (long client = 0; of.stream().anyMatch(some -> some.size() < CLIENTS_PER_PARTITION); client++) {
            byte[] key = BenchCluster.client(client).getBytes(StandardCharsets.UTF_8);
            of.get(BuiltInPartitioner.partitionForKey(key, scenario.partitions)).add(client);
        }
        SplittableRandom random = new SplittableRandom(1);
        return number -> {
            List<Long> some = of.get(scenario.nextPartition(random));
            return some.get(random.nextInt(some.size()));
        };
    }

    private static List<Answer> read(WeirConfig config, long count, long epochMs) throws UnreadableException {
        String topic = Topics.of(config).decisions();
        DecisionCodec avro = new DecisionCodec();
        List<Answer> answers = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer = fromBeginning(config, topic)) {
            long lastNanos = System.nanoTime();
            while (answers.size() < count) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    Decision decision = avro.decode(record.value());
                    long dueMs = epochMs + BenchCluster.requestNumber(decision.requestId()) / NANOS_PER_MS;
                    answers.add(new Answer(
                            dueMs,
                            decision.decidedAtMs(),
                            decision.outcome(),
                            decision.reason(),
                            record.timestamp() - dueMs));
                }
                long nowNanos = System.nanoTime();
                lastNanos = records.isEmpty() ? lastNanos : nowNanos;
                if (nowNanos - lastNanos > PATIENCE.toNanos()) {
                    throw new IllegalStateException(
                            "timed out: %d of %d decisions are on %s".formatted(answers.size(), count, topic));
                }
            }
        }
        answers.sort(Comparator.comparingLong(Answer::decidedAtMs));
        return answers;
    }

    private static double medianRoundTripMs(WeirConfig config, long fromMs, long toMs) throws UnreadableException {
        LeaseRequestAvro avro = new LeaseRequestAvro();
        List<Double> roundTripsMs = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer =
                fromBeginning(config, Topics.of(config).leaseRequests())) {
            Map<TopicPartition, Long> ends = consumer.endOffsets(consumer.assignment());
            long startNanos = System.nanoTime();
            while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    long roundTripMs = avro.decode(record.value()).request().roundTripMs();
                    if (roundTripMs > 0 && record.timestamp() >= fromMs && record.timestamp() < toMs) {
                        roundTripsMs.add((double) roundTripMs);
                    }
                }
                if (System.nanoTime() - startNanos > PATIENCE.toNanos()) {
                    throw new IllegalStateException("timed out while reading the lease requests");
                }
            }
        }
        return new CandidateSeries("round trip", roundTripsMs).median();
    }

    private static KafkaConsumer<byte[], byte[]> fromBeginning(WeirConfig config, String topic) {
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                KafkaSettings.consumer(config), new ByteArrayDeserializer(), new ByteArrayDeserializer());
        List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                .map(info -> new TopicPartition(topic, info.partition()))
                .toList();
        consumer.assign(partitions);
        consumer.seekToBeginning(partitions);
        return consumer;
    }

    private static ResultTable.Row row(LeaseScenario scenario, Limit<?> limit, Observation seen) {
        long openMs = seen.answers.get(0).decidedAtMs;
        LimitAccount<?> seeing = LimitAccount.open(limit, openMs);
        LimitAccount<?> lent = LimitAccount.open(limit, openMs);
        long decided = 0;
        long had = 0;
        long could = 0;
        long mostUsed = 0;
        long notAtHand = 0;
        Histogram latenciesMs = new Histogram(2);
        for (Answer answer : seen.answers) {
            long nowMs = answer.decidedAtMs;
            boolean counts = seen.includes(answer);
            if (counts) {
                decided++;
                notAtHand += answer.reason == Reason.QUOTA_NOT_AT_HAND ? 1 : 0;
                latenciesMs.recordValue(Math.max(0, answer.latencyMs));
            }
            if (seeing.permits(1, nowMs)) {
                seeing = seeing.charge(1, nowMs);
                could += counts ? 1 : 0;
            }
            if (answer.outcome == Outcome.ALLOWED) {
                lent = lent.charge(1, nowMs);
                had += counts ? 1 : 0;
                mostUsed = Math.max(mostUsed, lent.used(nowMs));
            }
        }
        return ResultTable.Row.of(
                scenario.title,
                could == 0 ? Double.NaN : PERCENT * had / could,
                PERCENT * mostUsed / limit.capacity(),
                PERCENT * (seen.after.waited() - seen.before.waited()) / decided,
                PERCENT * notAtHand / decided,
                PERCENT * (seen.after.messages() - seen.before.messages()) / decided,
                latenciesMs.getValueAtPercentile(50),
                latenciesMs.getValueAtPercentile(99),
                seen.roundTripMs);
    }
}
