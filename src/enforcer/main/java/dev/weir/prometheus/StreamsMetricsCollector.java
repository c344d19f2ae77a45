package dev.weir.prometheus;

import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.common.Metric;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.ThreadMetadata;

/** Collects selected metrics of Kafka Streams, aggregated over threads and tasks. */
final class StreamsMetricsCollector implements MultiCollector {

    private static final String APPLICATION = "application";
    private static final String STORE = "store";
    private static final double MS_PER_SECOND = 1_000;

    /** How the values of several threads or tasks are aggregated. */
    private enum Aggregation {
        SUM,
        MAX
    }

    /**
     * A label besides the application.
     *
     * @param tag Kafka's tag that has its value
     */
    private record SecondLabel(String name, String tag) {}

    private static final SecondLabel BY_TOPIC = new SecondLabel("topic", "topic");
    private static final SecondLabel BY_STORE = new SecondLabel(STORE, "rocksdb-state-id");

    /**
     * A metric and the Kafka metric that it is based on.
     *
     * @param group Kafka's metric group
     * @param metric Kafka's metric name
     * @param label the second label, if there is one
     * @param divisor converts Kafka's unit
     */
    private record Meter(
            String name,
            String help,
            String group,
            String metric,
            Optional<SecondLabel> label,
            Aggregation aggregation,
            double divisor) {

        boolean matches(Metric found) {
            return found.metricName().name().equals(metric)
                    && found.metricName().group().equals(group);
        }

        MetricFamily family() {
            return label.map(second -> new MetricFamily(name, help, APPLICATION, second.name()))
                    .orElseGet(() -> new MetricFamily(name, help, APPLICATION));
        }
    }

    private static final List<Meter> COUNTERS =
            List.of(thread("weir_commits", "Commits of stream threads", "commit-total", Aggregation.SUM, 1));

    private static final List<Meter> GAUGES = List.of(
            new Meter(
                    "weir_lag_records",
                    "Records not read yet (offset lag)",
                    "consumer-fetch-manager-metrics",
                    "records-lag",
                    Optional.of(BY_TOPIC),
                    Aggregation.SUM,
                    1),
            thread(
                    "weir_commit_avg_seconds",
                    "Average duration of recent commits, of the slowest thread",
                    "commit-latency-avg",
                    Aggregation.MAX,
                    MS_PER_SECOND),
            thread(
                    "weir_commit_max_seconds",
                    "Maximum duration of recent commits",
                    "commit-latency-max",
                    Aggregation.MAX,
                    MS_PER_SECOND),
            store("weir_store_keys", "Estimated number of keys in RocksDB", "estimate-num-keys"),
            store("weir_store_disk_bytes", "Size of RocksDB's files", "total-sst-files-size"),
            store("weir_store_buffer_bytes", "Size of RocksDB's write buffers", "size-all-mem-tables"),
            store("weir_store_compaction_bytes", "Bytes pending compaction", "estimate-pending-compaction-bytes"),
            store("weir_store_errors", "Errors of RocksDB's background threads", "background-errors"));

    private final Map<String, KafkaStreams> applications;

    StreamsMetricsCollector(Map<String, KafkaStreams> applications) {
        this.applications = applications;
    }

    private static Meter thread(String name, String help, String metric, Aggregation by, double divisor) {
        return new Meter(name, help, "stream-thread-metrics", metric, Optional.empty(), by, divisor);
    }

    private static Meter store(String name, String help, String metric) {
        return new Meter(name, help, "stream-state-metrics", metric, Optional.of(BY_STORE), Aggregation.SUM, 1);
    }

    @Override
    public MetricSnapshots collect() {
        MetricSnapshots.Builder all = MetricSnapshots.builder();
        Map<String, Collection<? extends Metric>> metrics = new TreeMap<>(); // metrics() copies thousands of entries
        applications.forEach((application, streams) ->
                metrics.put(application, streams.metrics().values()));
        COUNTERS.forEach(meter -> all.metricSnapshot(read(meter, metrics).counter()));
        GAUGES.forEach(meter -> all.metricSnapshot(read(meter, metrics).gauge()));
        all.metricSnapshot(threads().gauge());
        all.metricSnapshot(tasks().gauge());
        return all.build();
    }

    /**
     * Returns the outdated topic names. Kafka reports the metrics of a topic with dots in its name twice, the second
     * time with underscores instead (KIP-1109).
     */
    private static Set<String> outdatedTopics(Meter meter, Collection<? extends Metric> all) {
        if (!meter.label.equals(Optional.of(BY_TOPIC))) {
            return new HashSet<>(); // its contains() accepts null, unlike that of Set.of()
        }
        return all.stream()
                .filter(meter::matches)
                .map(metric -> metric.metricName().tags().get("topic"))
                .filter(topic -> topic != null && topic.contains("."))
                .map(topic -> topic.replace('.', '_'))
                .collect(Collectors.toSet());
    }

    private static MetricFamily read(Meter meter, Map<String, Collection<? extends Metric>> metrics) {
        MetricFamily family = meter.family();
        metrics.forEach((application, all) -> {
            Set<String> outdated = outdatedTopics(meter, all);
            for (Metric metric : all) {
                if (meter.matches(metric)
                        && isProcessing(metric)
                        && !outdated.contains(metric.metricName().tags().get("topic"))
                        && metric.metricValue() instanceof Number value) {
                    add(family, meter, value.doubleValue() / meter.divisor, labels(application, meter, metric));
                }
            }
        });
        return family;
    }

    /** Returns whether a metric is not of a restore consumer or the global consumer, whose lags do not count. */
    private static boolean isProcessing(Metric metric) {
        String client = metric.metricName().tags().getOrDefault("client-id", "");
        return !client.endsWith("-restore-consumer") && !client.endsWith("-global-consumer");
    }

    private static String[] labels(String application, Meter meter, Metric metric) {
        List<String> labels = new ArrayList<>(List.of(application));
        meter.label.ifPresent(second -> labels.add(metric.metricName().tags().getOrDefault(second.tag(), "")));
        return labels.toArray(String[]::new);
    }

    /** Adds a value unless it is NaN, that is, not measured yet. */
    private static void add(MetricFamily family, Meter meter, double value, String... labels) {
        if (Double.isNaN(value)) {
            return;
        }
        switch (meter.aggregation) {
            case SUM -> family.add(value, labels);
            case MAX -> family.max(value, labels);
        }
    }

    private MetricFamily threads() {
        MetricFamily threads = new MetricFamily("weir_threads", "Stream threads by state", APPLICATION, "state");
        applications.forEach((application, streams) ->
                streams.metadataForLocalThreads().forEach(thread -> threads.add(1, application, thread.threadState())));
        return threads;
    }

    private MetricFamily tasks() {
        MetricFamily tasks = new MetricFamily("weir_tasks", "Stream tasks of the instance", APPLICATION, "kind");
        applications.forEach((application, streams) -> {
            tasks.add(sum(streams, thread -> thread.activeTasks().size()), application, "active");
            tasks.add(sum(streams, thread -> thread.standbyTasks().size()), application, "standby");
        });
        return tasks;
    }

    private static int sum(KafkaStreams streams, Function<ThreadMetadata, Integer> count) {
        return streams.metadataForLocalThreads().stream().mapToInt(count::apply).sum();
    }
}
