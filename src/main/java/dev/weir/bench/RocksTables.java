package dev.weir.bench;

import dev.weir.codec.QueueCodec;
import dev.weir.codec.QueueKeys;
import dev.weir.config.WeirConfig;
import dev.weir.policy.Table;
import dev.weir.shape.BucketId;
import dev.weir.shape.QueueStore;
import dev.weir.topology.RocksSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.function.Function;
import org.apache.kafka.common.utils.Utils;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.CompactionStyle;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksObject;
import org.rocksdb.WriteOptions;

/** Queues in RocksDB, set as a store of {@code weir run} is, but without a changelog. */
final class RocksTables implements AutoCloseable {

    /** What Kafka Streams gives each store, where {@link RocksSettings} say nothing of it. */
    private static final long WRITE_BUFFER_BYTES = 16 << 20;

    private static final int WRITE_BUFFERS = 3;

    private static final Map<String, Object> SETTINGS = Map.of(
            RocksSettings.MEMORY_BYTES,
            WeirConfig.DEFAULTS.state().memoryBytes(),
            RocksSettings.COMPACT_SECONDS,
            WeirConfig.DEFAULTS.state().forgetAfter().toSeconds());

    static {
        RocksDB.loadLibrary();
    }

    private final Path directory;
    private final WriteOptions writes = new WriteOptions().setDisableWAL(true);
    private final Deque<RocksObject> open = new ArrayDeque<>();

    RocksTables() throws IOException {
        directory = Files.createTempDirectory("weir-bench-");
    }

    QueueStore of(BucketId bucket) {
        QueueCodec codec = new QueueCodec();
        return new QueueStore(
                new RocksTable<>(
                        open("slots"), place -> QueueKeys.slot(bucket, place), codec::encode, codec::decodeSlot),
                new RocksTable<>(
                        open("tickets"),
                        ticket -> QueueKeys.ticket(bucket, ticket),
                        QueueCodec::encode,
                        QueueCodec::decodePlace),
                new RocksTable<>(
                        open("alarms"),
                        alarm -> QueueKeys.alarm(bucket, alarm),
                        QueueCodec::encode,
                        QueueCodec::decodePlace));
    }

    private RocksDB open(String name) {
        Options options = new Options()
                .setCreateIfMissing(true)
                .setCompactionStyle(CompactionStyle.UNIVERSAL)
                .setWriteBufferSize(WRITE_BUFFER_BYTES)
                .setMaxWriteBufferNumber(WRITE_BUFFERS)
                .setTableFormatConfig(new BlockBasedTableConfig());
        new RocksSettings().setConfig(name, options, SETTINGS);
        open.push(options);
        try {
            RocksDB db = RocksDB.open(options, directory.resolve(name).toString());
            open.push(db);
            return db;
        } catch (RocksDBException e) {
            throw new IllegalStateException("cannot open " + name, e);
        }
    }

    @Override
    public void close() throws IOException {
        for (RocksObject each : open) {
            each.close();
        }
        writes.close();
        Utils.delete(directory.toFile());
    }

    private final class RocksTable<K, V> implements Table<K, V> {
        private final RocksDB db;
        private final Function<K, byte[]> key;
        private final Function<V, byte[]> write;
        private final Function<byte[], V> read;

        RocksTable(RocksDB db, Function<K, byte[]> key, Function<V, byte[]> write, Function<byte[], V> read) {
            this.db = db;
            this.key = key;
            this.write = write;
            this.read = read;
        }

        @Override
        public V get(K k) {
            try {
                byte[] value = db.get(key.apply(k));
                return value == null ? null : read.apply(value);
            } catch (RocksDBException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public void put(K k, V value) {
            try {
                db.put(writes, key.apply(k), write.apply(value));
            } catch (RocksDBException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public void delete(K k) {
            try {
                db.delete(writes, key.apply(k));
            } catch (RocksDBException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
