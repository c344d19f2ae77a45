package dev.weir.bench;

import dev.weir.bench.candidate.BenchCluster;
import dev.weir.bench.candidate.Candidate;
import dev.weir.bench.measure.ResultTable;
import dev.weir.client.release.ReleaseWorker;
import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;

/**
 * Measures how a queue with slots keeps its workers busy, with a backlog of three tiers that never ends.
 *
 * <p>A slot is free from the end of a job until the worker starts the next one: the COMPLETE is decided and committed,
 * the next release is committed, and the worker commits its offset. With this time L and a mean time D of the jobs,
 * handlers can run for at most the share D / (D + L) of the time.
 */
public final class WorkersBench {

    private static final List<String> TIERS = List.of("platinum", "gold", "free");
    private static final int CLIENTS = 30;

    /** More jobs than one slot can start in a second. */
    private static final int MOST_PER_SLOT = 500;

    /**
     * What to measure.
     *
     * @param slots the slots of the queue, and the threads of the worker
     * @param jobs the mean times of the jobs, one measurement each
     */
    public record WorkersPlan(int slots, List<Duration> jobs, Duration warmUp, Duration turn) {}

    private final WorkersPlan plan;
    private final Map<String, String> kafka;
    private final Consumer<String> progress;

    /**
     * Creates a benchmark.
     *
     * @param kafka Kafka settings of all candidates that override those of {@code weir run}
     * @param progress receives a line for each measurement
     */
    public WorkersBench(WorkersPlan plan, Map<String, String> kafka, Consumer<String> progress) {
        this.plan = plan;
        this.kafka = Map.copyOf(kafka);
        this.progress = progress;
    }

    /** Measures the time between jobs with one slot, and then how busy a pool of workers is. */
    public List<ResultTable> run() throws Exception {
        try (BenchCluster cluster = new BenchCluster()) {
            JobTimes single = measure(cluster, 1, Duration.ZERO);
            progress.accept("one slot: %.1f ms between jobs".formatted(single.meanGapMs()));
            List<ResultTable.Row> shares = new ArrayList<>();
            for (Duration job : plan.jobs) {
                double share = measure(cluster, plan.slots, job).busyShare(plan.slots);
                double most = job.toMillis() / (job.toMillis() + single.meanGapMs());
                String name = "jobs of %,d ms".formatted(job.toMillis());
                progress.accept("%s: handlers run %.3f of the time".formatted(name, share));
                shares.add(ResultTable.Row.of(name, share, most, share / most));
            }
            return List.of(
                    new ResultTable(
                            "workers",
                            "from the end of a job to the start of the next one, one slot",
                            List.of("mean ms", "p50 ms", "p99 ms", "max ms"),
                            List.of(ResultTable.Row.of(
                                    "one slot",
                                    single.meanGapMs(),
                                    single.gapMs(50),
                                    single.gapMs(99),
                                    single.gapMs(100))),
                            List.of("jobs that take no time; at least %d s".formatted(plan.turn.toSeconds()))),
                    new ResultTable(
                            "workers",
                            "share of the time in which handlers run",
                            List.of("share", "D / (D + L)", "ratio"),
                            shares,
                            List.of("%d slots and threads; job times are exponential; at least %d s each"
                                    .formatted(plan.slots, plan.turn.toSeconds()))));
        }
    }

    private JobTimes measure(BenchCluster cluster, int slots, Duration job) throws Exception {
        long mostJobs = (plan.warmUp.toSeconds() + plan.turn.toSeconds() + 10) * MOST_PER_SLOT;
        long requests = slots + (job.isZero() ? mostJobs : slots * mostJobs * 4 / Math.max(4, job.toMillis()));
        JobTimes jobs = new JobTimes(job);
        try (BenchCluster.Workload workload = cluster.workload(rules(slots), kafka);
                Candidate candidate = candidate(workload)) {
            candidate.resume();
            workload.ensureRequests(requests, WorkersBench::request);
            try (ReleaseWorker worker = ReleaseWorker.builder(settings(workload.config()), jobs)
                    .prefix(workload.config().topics().prefix())
                    .threads(slots)
                    .finishWithin(Duration.ofSeconds(1))
                    .start()) {
                jobs.awaitFirst();
                Thread.sleep(plan.warmUp.toMillis());
                jobs.measure(plan.turn);
                worker.failure().ifPresent(failure -> {
                    throw failure;
                });
            }
        }
        if (jobs.started() >= requests) {
            throw new IllegalStateException("all %,d jobs were done before the end".formatted(requests));
        }
        return jobs;
    }

    private static Candidate candidate(BenchCluster.Workload workload) throws IOException {
        long hotBytes = workload.config().state().hotMemoryBytes();
        return new Candidate(
                "workers", Candidate.CandidateKind.SHAPE, workload.config("shape", hotBytes), DecideBench.JVM);
    }

    private static Map<String, Object> settings(WeirConfig config) {
        Map<String, Object> settings = new HashMap<>(KafkaSettings.weirClient(config));
        settings.put(ConsumerConfig.GROUP_ID_CONFIG, "workers");
        return settings;
    }

    private static String rules(int slots) {
        return """
                policies: [{id: jobs, queue: jobs}]
                queues:
                  - id: jobs
                    max-in-flight: %d
                    ack-timeout: 1m
                    capacity: 10000000
                    tiers: {platinum: {priority: 1}, gold: {weight: 4}}
                """.formatted(slots);
    }

    private static Request request(long number) {
        return Request.builder("job-" + number, BenchCluster.client(number % CLIENTS))
                .tier(TIERS.get((int) (number % TIERS.size())))
                .source(0, number)
                .build();
    }
}
