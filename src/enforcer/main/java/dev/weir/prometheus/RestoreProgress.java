package dev.weir.prometheus;

import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.StateRestoreListener;

/** Measures how states are restored from their changelogs. */
public final class RestoreProgress implements StateRestoreListener, MultiCollector {

    private static final double NANOS_PER_SECOND = 1e9;

    private final Map<Changelog, Progress> running = new ConcurrentHashMap<>();
    private final Map<String, LongAdder> records = new ConcurrentHashMap<>();
    private final Map<String, LongAdder> nanos = new ConcurrentHashMap<>();

    private record Changelog(String store, TopicPartition partition) {}

    private record Progress(long sinceNanos, long remaining) {}

    @Override
    public void onRestoreStart(TopicPartition partition, String store, long startingOffset, long endingOffset) {
        running.put(
                new Changelog(store, partition),
                new Progress(System.nanoTime(), Math.max(0, endingOffset - startingOffset)));
    }

    @Override
    public void onBatchRestored(TopicPartition partition, String store, long batchEndOffset, long restored) {
        of(records, store).add(restored);
        running.computeIfPresent(
                new Changelog(store, partition),
                (of, progress) -> new Progress(progress.sinceNanos, Math.max(0, progress.remaining - restored)));
    }

    @Override
    public void onRestoreEnd(TopicPartition partition, String store, long totalRestored) {
        end(partition, store);
    }

    @Override
    public void onRestoreSuspended(TopicPartition partition, String store, long totalRestored) {
        end(partition, store);
    }

    private void end(TopicPartition partition, String store) {
        Progress ended = running.remove(new Changelog(store, partition));
        if (ended != null) {
            of(nanos, store).add(System.nanoTime() - ended.sinceNanos);
        }
    }

    /** Returns the partitions from which state is being restored. */
    public Set<TopicPartition> restoring() {
        return running.keySet().stream().map(Changelog::partition).collect(Collectors.toSet());
    }

    private static LongAdder of(Map<String, LongAdder> counts, String store) {
        return counts.computeIfAbsent(store, s -> new LongAdder());
    }

    @Override
    public MetricSnapshots collect() {
        MetricFamily restored = new MetricFamily("weir_restored_records", "Changelog records restored", "store");
        records.forEach((store, count) -> restored.add((double) count.sum(), store));
        MetricFamily took = new MetricFamily("weir_restore_seconds", "Total duration of completed restores", "store");
        nanos.forEach((store, count) -> took.add(count.sum() / NANOS_PER_SECOND, store));
        MetricFamily remaining =
                new MetricFamily("weir_restore_remaining_records", "Changelog records yet to be restored", "store");
        records.keySet().forEach(store -> remaining.add(0, store));
        running.forEach((changelog, progress) -> remaining.add((double) progress.remaining, changelog.store));
        return MetricSnapshots.of(restored.counter(), took.counter(), remaining.gauge());
    }
}
