package dev.weir.bench.candidate;

import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import dev.weir.kafka.Topics;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.pacing.CommitPacing;
import dev.weir.processor.QueueRegistry;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.runtime.WakeableClients;
import dev.weir.topology.StreamsSettings;
import dev.weir.topology.WeirTopology;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Predicate;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;

/**
 * The main class of the process of a {@link Candidate}. It reads commands from standard input, one per line, and writes
 * one line in response to each.
 */
public final class CandidateProcess {

    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final Candidate.CandidateKind kind;
    private final WeirConfig config;
    private final Topics topics;
    private final PolicyRegistry policies = new PolicyRegistry();
    private final EnforcerMetrics metrics = new EnforcerMetrics();
    private final LongAdder restored = new LongAdder();
    private KafkaStreams streams;

    private CandidateProcess(Candidate.CandidateKind kind, WeirConfig config) {
        this.kind = kind;
        this.config = config;
        this.topics = Topics.of(config);
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        // Exits with the parent process, also during the start, when no command is read: the broker is in the parent.
        CompletableFuture<Void> unused = ProcessHandle.current()
                .parent()
                .orElseThrow()
                .onExit()
                .thenRun(() -> Runtime.getRuntime().halt(1));
        CandidateProcess process =
                new CandidateProcess(Candidate.CandidateKind.valueOf(args[0]), ConfigFile.read(Path.of(args[1])));
        try {
            process.start();
        } catch (RuntimeException e) {
            e.printStackTrace();
            Runtime.getRuntime().halt(1); // the threads of Kafka Streams would keep the process alive
        }
        answers.println("ready");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String order = orders.readLine(); order != null; order = orders.readLine()) {
            answers.println(process.execute(order));
        }
        Runtime.getRuntime().halt(0); // without waiting for the broker, which may have stopped
    }

    private void start() throws InterruptedException {
        streams = switch (kind) {
            case DECIDE -> startDeciding();
            case SHARE -> {
                startShaping();
                yield startDeciding();
            }
            case PASS -> {
                CommitPacing commits = new CommitPacing(config.commits());
                yield startStreams(passThrough(config, commits), StreamsSettings.deciding(config), commits);
            }
            case SHAPE -> {
                startDeciding();
                yield startShaping();
            }
        };
        streams.pause();
    }

    private KafkaStreams startDeciding() throws InterruptedException {
        int partitions = config.topics().partitions();
        WeirTopology.Shared shared = shared();
        return startStreams(
                WeirTopology.deciding(config, partitions, shared), StreamsSettings.deciding(config), shared.commits());
    }

    private KafkaStreams startShaping() throws InterruptedException {
        WeirTopology.Shared shared = shared();
        return startStreams(
                WeirTopology.shaping(config, new QueueRegistry(), shared),
                StreamsSettings.shaping(config),
                shared.commits());
    }

    private WeirTopology.Shared shared() {
        return new WeirTopology.Shared(policies, metrics, new CommitPacing(config.commits()));
    }

    /** Starts an application and waits until it runs. It is paused only then, because a paused one does not restore. */
    private KafkaStreams startStreams(Topology topology, Properties settings, CommitPacing commits)
            throws InterruptedException {
        KafkaStreams streams = new KafkaStreams(topology, settings, new WakeableClients(commits));
        streams.setGlobalStateRestoreListener(new RestoreCounter());
        CountDownLatch started = new CountDownLatch(1);
        streams.setStateListener((now, before) -> {
            if (now == KafkaStreams.State.RUNNING || now.hasCompletedShutdown()) {
                started.countDown();
            }
        });
        streams.setUncaughtExceptionHandler(failure -> {
            failure.printStackTrace(); // to the standard error of the process that started this one
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        if (!started.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)
                || streams.state().hasCompletedShutdown()) {
            throw new IllegalStateException("Kafka Streams did not start: it is in state " + streams.state());
        }
        return streams;
    }

    private String execute(String order) throws IOException {
        switch (order) {
            case "resume" -> streams.resume();
            case "pause" -> streams.pause();
            case "count" -> {
                return System.nanoTime() + " " + processedRecords();
            }
            case "admitted" -> {
                return String.valueOf(sum(metrics.queued()));
            }
            case "lent" -> {
                return sum(metrics.waitedForQuota()) + " " + sum(metrics.leasing());
            }
            case "rules" -> {
                return String.valueOf(policies.queueChanges());
            }
            case "resident" -> {
                return String.valueOf(residentBytes());
            }
            case "restored" -> {
                return String.valueOf(restored.sum());
            }
            case "leave" -> // all records are processed and committed
                streams.close(CloseOptions.timeout(PATIENCE)
                        .withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
            case "stores" -> {
                System.gc(); // so that only live objects count
                Runtime heap = Runtime.getRuntime();
                return (heap.totalMemory() - heap.freeMemory()) + " " + rocksBytes(streams);
            }
            default -> throw new IllegalArgumentException(order);
        }
        return "ok";
    }

    /** Counts the records of changelogs that were read by restoring tasks. */
    private final class RestoreCounter implements StateRestoreListener {
        @Override
        public void onRestoreStart(TopicPartition changelog, String store, long startOffset, long endOffset) {}

        @Override
        public void onBatchRestored(TopicPartition changelog, String store, long batchEndOffset, long records) {
            restored.add(records);
        }

        @Override
        public void onRestoreEnd(TopicPartition changelog, String store, long records) {}
    }

    private long processedRecords() {
        return kind == Candidate.CandidateKind.SHAPE
                ? onTopic("records-produced-total", topics.releases())
                : total(metric ->
                        metric.name().equals("process-total") && metric.group().equals("stream-thread-metrics"));
    }

    private static long sum(Map<?, Long> counts) {
        return counts.values().stream().mapToLong(Long::longValue).sum();
    }

    private long onTopic(String name, String topic) {
        return total(metric -> metric.name().equals(name)
                && metric.group().equals("stream-topic-metrics")
                && topic.equals(metric.tags().get("topic")));
    }

    private long total(Predicate<MetricName> which) {
        return (long) streams.metrics().values().stream()
                .filter(metric -> which.test(metric.metricName()))
                .mapToDouble(metric -> (double) metric.metricValue())
                .sum();
    }

    /** Returns the size of the block cache, which all stores share, also for write buffers, indexes and filters. */
    private static long rocksBytes(KafkaStreams streams) {
        return streams.metrics().values().stream()
                .filter(metric -> metric.metricName().name().equals("block-cache-usage"))
                .mapToLong(metric -> ((Number) metric.metricValue()).longValue())
                .max()
                .orElse(0);
    }

    private static long residentBytes() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
                .findAny()
                .orElse(0);
    }

    /** Returns the name of the topic to which {@link Candidate.CandidateKind#PASS} forwards requests. */
    public static String passThroughTopic(WeirConfig config) {
        return config.topics().prefix() + "passed";
    }

    /** Returns the topology of the upper bound: it forwards records, and its commits are paced like those of Weir. */
    private static Topology passThrough(WeirConfig config, CommitPacing commits) {
        Topics topics = Topics.of(config);
        return new Topology()
                .addSource("requests", new ByteArrayDeserializer(), new ByteArrayDeserializer(), topics.requests())
                .addProcessor("forward", commits.<byte[], byte[], byte[], byte[]>paced(Forward::new), "requests")
                .addSink(
                        "passed",
                        passThroughTopic(config),
                        new ByteArraySerializer(),
                        new ByteArraySerializer(),
                        "forward");
    }

    /** Forwards records unchanged. */
    private static final class Forward extends ContextualProcessor<byte[], byte[], byte[], byte[]> {
        @Override
        public void process(Record<byte[], byte[]> record) {
            context().forward(record);
        }
    }
}
