package dev.weir.bench;

import dev.weir.bench.candidate.BenchCluster;
import dev.weir.bench.candidate.Candidate;
import dev.weir.bench.measure.CandidateSeries;
import dev.weir.bench.measure.DirectorySize;
import dev.weir.bench.measure.ResultTable;
import dev.weir.config.WeirConfig;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;
import org.apache.kafka.clients.consumer.ConsumerConfig;

/**
 * Measures the memory and disk space of an instance with the states of many clients, and how long it takes from the
 * start of its process until it has decided the waiting requests. One instance has no local state and restores all of
 * it. The other was killed, and has what its stores had written.
 */
public final class RestoreBench {

    private static final String POLICY = DecideBench.policyYaml("sliding-window-counter");

    /** The requests that wait when an instance starts. When all partitions have decided them, the restore is done. */
    private static final long WAITING = 1_000;

    private static final Duration PATIENCE = Duration.ofMinutes(30);
    private static final int NODE = 1;

    /** Each request has another client. */
    private static final List<LongUnaryOperator> ONE_REQUEST_PER_CLIENT = List.of(number -> number, number -> number);

    private static final double MIB = 1 << 20;

    private final int rounds;
    private final Consumer<String> progress;

    /**
     * Creates a benchmark.
     *
     * @param rounds how often an instance is started with each number of keys
     * @param progress receives a line for each measurement
     */
    public RestoreBench(int rounds, Consumer<String> progress) {
        this.rounds = rounds;
        this.progress = progress;
    }

    /**
     * The results for one number of keys.
     *
     * @param seconds the times until an instance has decided the waiting requests
     * @param restoredRecords the records of changelogs that the last of these starts read
     * @param instanceSize the size of the instance that created the states; without keys, of the first one that started
     */
    private record RestoreResult(
            CandidateSeries seconds, long restoredRecords, InstanceSize instanceSize, long changelogBytes) {}

    /** The memory and the disk space of an instance. The disk space is measured after it left its group. */
    private record InstanceSize(Candidate.MemoryUse stores, long residentBytes, long diskBytes) {
        static InstanceSize measureAndLeave(Candidate candidate, Path directory) throws IOException {
            Candidate.MemoryUse stores = candidate.memoryUse();
            long residentBytes = candidate.residentBytes();
            candidate.leaveGroup();
            return new InstanceSize(stores, residentBytes, DirectorySize.bytes(directory));
        }
    }

    /** The duration of a start, the records of changelogs that it read, and the size of the instance after it. */
    private record StartResult(double seconds, long restoredRecords, InstanceSize instanceSize) {}

    /** Compares a number of keys with no keys. The instances start in turns. */
    public ResultTable run(long keys) throws Exception {
        try (BenchCluster cluster = new BenchCluster();
                BenchCluster.Workload none = cluster.workload(POLICY, Map.of());
                BenchCluster.Workload all = cluster.workload(POLICY, Map.of())) {
            InstanceSize decided = decide(cluster, all, keys);
            List<StartResult> withNone = new ArrayList<>();
            List<StartResult> withAll = new ArrayList<>();
            List<StartResult> killed = new ArrayList<>();
            for (int round = 0; round < rounds; round++) {
                withNone.add(start(cluster, none, 0, round));
                withAll.add(start(cluster, all, keys, round));
                killed.add(startKilled(cluster, all, keys));
            }
            RestoreResult least = restoreResult(cluster, none, withNone, withNone.get(0).instanceSize, name(0));
            RestoreResult most = restoreResult(cluster, all, withAll, decided, name(keys));
            double perMillion = (most.seconds.median() - least.seconds.median()) * 1e6 / keys;
            List<String> columns = List.of(
                    "start s",
                    "min",
                    "max",
                    "s per million keys",
                    "restored records",
                    "resident MiB",
                    "heap MiB",
                    "RocksDB MiB",
                    "disk MiB",
                    "changelogs MiB");
            List<String> notes = List.of(
                    "start: until the waiting requests are decided; resident: includes heap (limit 1 GiB) and RocksDB");
            RestoreResult afterKill =
                    restoreResult(cluster, all, killed, killed.get(0).instanceSize, name(keys) + ", killed");
            List<ResultTable.Row> rows =
                    List.of(row(least, Double.NaN), row(most, perMillion), row(afterKill, Double.NaN));
            return new ResultTable("growth", "an instance, by keys", columns, rows, notes);
        }
    }

    private static ResultTable.Row row(RestoreResult kept, double perMillion) {
        return ResultTable.Row.of(
                kept.seconds.name(),
                kept.seconds.median(),
                kept.seconds.min(),
                kept.seconds.max(),
                perMillion,
                kept.restoredRecords,
                kept.instanceSize.residentBytes / MIB,
                kept.instanceSize.stores.heapBytes() / MIB,
                kept.instanceSize.stores.rocksBytes() / MIB,
                kept.instanceSize.diskBytes / MIB,
                kept.changelogBytes / MIB);
    }

    private StartResult start(BenchCluster cluster, BenchCluster.Workload workload, long keys, int round)
            throws Exception {
        Path own = workload.config().state().directory().resolve("restored-" + round);
        return start(cluster, workload, workload.config(), own, name(keys));
    }

    /** Starts an instance when requests wait, and measures until they are decided. */
    private StartResult start(
            BenchCluster cluster, BenchCluster.Workload workload, WeirConfig config, Path own, String name)
            throws Exception {
        workload.ensureRequests(workload.sent() + WAITING, ONE_REQUEST_PER_CLIENT);
        long begin = System.nanoTime();
        try (Candidate candidate = candidate(config, own)) {
            candidate.resume();
            awaitCommitted(cluster, config, workload.sent());
            double seconds = (System.nanoTime() - begin) / 1e9;
            long restored = candidate.restoredRecords();
            progress.accept(String.format(Locale.ROOT, "%s: %.1f s, %,d records restored", name, seconds, restored));
            return new StartResult(seconds, restored, InstanceSize.measureAndLeave(candidate, own));
        }
    }

    /** Restores all states, decides some requests, kills the process and starts it again as the same instance. */
    private StartResult startKilled(BenchCluster cluster, BenchCluster.Workload workload, long keys) throws Exception {
        // Static membership (KIP-345): otherwise the group would wait until the session of the killed process ends.
        WeirConfig config = workload.config().withKafka(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG, "killed");
        Path own = config.state().directory().resolve("killed");
        try (Candidate candidate = candidate(config, own)) {
            candidate.resume();
            workload.ensureRequests(workload.sent() + WAITING, ONE_REQUEST_PER_CLIENT);
            awaitCommitted(cluster, config, workload.sent());
            candidate.kill();
        }
        return start(cluster, workload, config, own, name(keys) + ", killed");
    }

    private static RestoreResult restoreResult(
            BenchCluster cluster,
            BenchCluster.Workload workload,
            List<StartResult> starts,
            InstanceSize held,
            String name)
            throws Exception {
        List<Double> seconds = starts.stream().map(StartResult::seconds).toList();
        long restored = starts.get(starts.size() - 1).restoredRecords;
        return new RestoreResult(
                new CandidateSeries(name, seconds), restored, held, changelogBytes(cluster, workload.config()));
    }

    private static String name(long keys) {
        return String.format(Locale.ROOT, "%,d keys", keys);
    }

    private static InstanceSize decide(BenchCluster cluster, BenchCluster.Workload workload, long keys)
            throws Exception {
        WeirConfig config = workload.config();
        workload.ensureRequests(keys, ONE_REQUEST_PER_CLIENT);
        Path own = config.state().directory().resolve("decided");
        try (Candidate candidate = candidate(config, own)) {
            candidate.resume();
            awaitCommitted(cluster, config, keys);
            return InstanceSize.measureAndLeave(candidate, own);
        }
    }

    /** Starts an instance with its own state directory, paused. */
    private static Candidate candidate(WeirConfig config, Path own) throws IOException {
        return new Candidate(
                own.getFileName().toString(),
                Candidate.CandidateKind.DECIDE,
                config.withStateDirectory(own),
                DecideBench.JVM);
    }

    private static void awaitCommitted(BenchCluster cluster, WeirConfig config, long requests) throws Exception {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (committed(cluster, config) < requests) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException(
                        "timed out after " + PATIENCE.toMinutes() + " min: not all requests were decided");
            }
            Thread.sleep(50);
        }
    }

    private static long committed(BenchCluster cluster, WeirConfig config) throws Exception {
        return cluster
                .admin()
                .listConsumerGroupOffsets(config.applicationId())
                .partitionsToOffsetAndMetadata()
                .get()
                .values()
                .stream()
                .filter(Objects::nonNull)
                .mapToLong(offset -> offset.offset())
                .sum();
    }

    private static long changelogBytes(BenchCluster cluster, WeirConfig config) throws Exception {
        return cluster.admin().describeLogDirs(List.of(NODE)).allDescriptions().get().get(NODE).values().stream()
                .flatMap(directory -> directory.replicaInfos().entrySet().stream())
                .filter(replica -> replica.getKey().topic().startsWith(config.applicationId() + "-")
                        && replica.getKey().topic().endsWith("-changelog"))
                .mapToLong(replica -> replica.getValue().size())
                .sum();
    }
}
