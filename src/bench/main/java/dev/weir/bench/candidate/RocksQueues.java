package dev.weir.bench.candidate;

import dev.weir.bench.measure.DirectorySize;
import dev.weir.config.WeirConfig;
import dev.weir.decision.state.IdempotencyCache;
import dev.weir.storage.StoredQueues;
import dev.weir.topology.RocksSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.kafka.common.utils.Utils;

/**
 * Queues in RocksDB with the settings of {@code weir run}, but without changelogs. They can be closed and opened again.
 */
public final class RocksQueues implements AutoCloseable {

    private static final Map<String, Object> SETTINGS = Map.of(
            RocksSettings.MEMORY_BYTES,
            WeirConfig.DEFAULTS.state().memoryBytes(),
            RocksSettings.COMPACT_SECONDS,
            WeirConfig.DEFAULTS.state().retention().toSeconds());

    private final Path directory;
    private List<RocksStore> stores = List.of();

    public RocksQueues() throws IOException {
        directory = Files.createTempDirectory("weir-bench-");
    }

    /** Opens the stores. */
    public StoredQueues open() {
        stores = Stream.of("states", "slots", "tickets", "expiry-timers", "timers", "schedule")
                .map(name -> new RocksStore(name, directory, SETTINGS))
                .toList();
        StoredQueues.Parts parts = new StoredQueues.Parts(
                stores.get(0), stores.get(1), stores.get(2), stores.get(3), stores.get(4), stores.get(5));
        return new StoredQueues(parts, IdempotencyCache.inMemory(0, 0), true);
    }

    /** Flushes the stores to disk and closes them. */
    public void flushAndClose() {
        stores.forEach(RocksStore::flushToDisk);
        stores.forEach(RocksStore::close);
        stores = List.of();
    }

    public long bytesOnDisk() throws IOException {
        return DirectorySize.bytes(directory);
    }

    @Override
    public void close() throws IOException {
        stores.forEach(RocksStore::close);
        Utils.delete(directory.toFile());
    }
}
