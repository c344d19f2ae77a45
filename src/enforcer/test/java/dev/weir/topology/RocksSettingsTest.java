package dev.weir.topology;

import static dev.weir.testing.Await.await;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.CompactionStyle;
import org.rocksdb.FlushOptions;
import org.rocksdb.LiveFileMetaData;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteOptions;

class RocksSettingsTest {

    private static final int KEYS = 20_000;

    private final RocksSettings settings = new RocksSettings();
    private final Map<String, Object> configs =
            Map.of(RocksSettings.MEMORY_BYTES, 64L << 20, RocksSettings.COMPACT_SECONDS, 1L);

    @BeforeAll
    static void load() {
        RocksDB.loadLibrary();
    }

    @Test
    void all_stores_share_one_write_buffer_manager_and_outlive_each_other() {
        try (Options first = options();
                Options second = options()) {
            settings.setConfig("first", first, configs);
            settings.setConfig("second", second, configs);
            settings.close("first", first);
            assertThat(second.writeBufferManager()).isNotNull().isSameAs(first.writeBufferManager());
            assertThat(second.writeBufferManager().isOwningHandle()).isTrue();
        }
    }

    @Test
    void each_memory_bound_applies_to_the_stores_that_are_configured_with_it() {
        Map<String, Object> larger = Map.of(RocksSettings.MEMORY_BYTES, 128L << 20, RocksSettings.COMPACT_SECONDS, 1L);
        try (Options first = options();
                Options second = options();
                Options third = options()) {
            settings.setConfig("first", first, configs);
            settings.setConfig("second", second, larger);
            settings.setConfig("third", third, larger);
            assertThat(second.writeBufferManager())
                    .isNotSameAs(first.writeBufferManager())
                    .isSameAs(third.writeBufferManager());
        }
    }

    /** There are some sixty stores in an instance with four partitions. */
    @Test
    @EnabledOnOs({OS.LINUX, OS.MAC})
    void an_idle_store_allocates_little_of_the_disk(@TempDir Path directory) throws Exception {
        try (Options options = options().setCreateIfMissing(true)) {
            settings.setConfig("store", options, configs);
            try (RocksDB store = RocksDB.open(options, directory.toString());
                    WriteOptions unlogged = new WriteOptions().setDisableWAL(true)) { // as Kafka Streams writes
                store.put(unlogged, key(1), new byte[100]);
                flush(store);
                Process du = new ProcessBuilder("du", "-sk", directory.toString()).start();
                String printed = new String(du.getInputStream().readAllBytes(), UTF_8);
                assertThat(Integer.parseInt(printed.split("\\s")[0]))
                        .as("KiB allocated by %s", directory)
                        .isLessThan(1_024);
            }
        }
    }

    @Test
    void deleted_data_is_removed_from_disk_when_its_files_are_old(@TempDir Path directory) throws Exception {
        try (Options options = options().setCreateIfMissing(true)) {
            settings.setConfig("store", options, configs);
            options.setLevel0FileNumCompactionTrigger(1_000); // the number of files must not trigger compactions
            try (RocksDB store = RocksDB.open(options, directory.toString())) {
                for (int i = 0; i < KEYS; i++) {
                    store.put(key(i), new byte[100]);
                }
                flush(store);
                long full = bytes(store);
                for (int i = 0; i < KEYS; i++) {
                    store.delete(key(i));
                }
                flush(store);
                assertThat(bytes(store)).isGreaterThan(full);
                awaitLess(store, full / 10);
            }
        }
    }

    /** Writes before each check, since the ages of files are checked only when there is a new file. */
    private static void awaitLess(RocksDB store, long most) {
        int[] writes = {0};
        await("at most " + most + " bytes on disk", Duration.ofMinutes(1), () -> {
            store.put(key(KEYS), key(writes[0]++));
            flush(store);
            return bytes(store) <= most;
        });
    }

    private static Options options() {
        return new Options()
                .setTableFormatConfig(new BlockBasedTableConfig())
                .setCompactionStyle(CompactionStyle.UNIVERSAL);
    }

    private static byte[] key(int i) {
        return ("key-" + i).getBytes(UTF_8);
    }

    private static long bytes(RocksDB store) {
        return store.getLiveFilesMetaData().stream()
                .mapToLong(LiveFileMetaData::size)
                .sum();
    }

    private static void flush(RocksDB store) throws RocksDBException {
        try (FlushOptions options = new FlushOptions()) {
            store.flush(options);
        }
    }
}
