package dev.weir.bench.candidate;

import dev.weir.topology.RocksSettings;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.CompactionStyle;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.WriteOptions;

/** A store in RocksDB with the settings of {@code weir run}, but without a task and a changelog. */
final class RocksStore implements KeyValueStore<Bytes, byte[]> {

    /** The defaults of Kafka Streams that {@link RocksSettings} does not change. */
    private static final long WRITE_BUFFER_BYTES = 16 << 20;

    private static final int WRITE_BUFFERS = 3;

    static {
        RocksDB.loadLibrary();
    }

    private final String name;
    private final WriteOptions writes = new WriteOptions().setDisableWAL(true);
    private final Options options;
    private final RocksDB db;

    RocksStore(String name, Path directory, Map<String, Object> settings) {
        this.name = name;
        options = new Options()
                .setCreateIfMissing(true)
                .setCompactionStyle(CompactionStyle.UNIVERSAL)
                .setWriteBufferSize(WRITE_BUFFER_BYTES)
                .setMaxWriteBufferNumber(WRITE_BUFFERS)
                .setTableFormatConfig(new BlockBasedTableConfig());
        new RocksSettings().setConfig(name, options, settings);
        try {
            db = RocksDB.open(options, directory.resolve(name).toString());
        } catch (RocksDBException e) {
            throw new IllegalStateException("cannot open " + name, e);
        }
    }

    @Override
    public byte[] get(Bytes key) {
        try {
            return db.get(key.get());
        } catch (RocksDBException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void put(Bytes key, byte[] value) {
        try {
            if (value == null) {
                db.delete(writes, key.get());
            } else {
                db.put(writes, key.get(), value);
            }
        } catch (RocksDBException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public byte[] putIfAbsent(Bytes key, byte[] value) {
        byte[] before = get(key);
        if (before == null) {
            put(key, value);
        }
        return before;
    }

    @Override
    public void putAll(List<KeyValue<Bytes, byte[]>> entries) {
        entries.forEach(entry -> put(entry.key, entry.value));
    }

    @Override
    public byte[] delete(Bytes key) {
        byte[] before = get(key); // as Kafka Streams does
        put(key, null);
        return before;
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> range(Bytes from, Bytes to) {
        return new RangeIterator(from == null ? new byte[0] : from.get(), to == null ? null : to.get());
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> all() {
        return range(null, null);
    }

    @Override
    public long approximateNumEntries() {
        try {
            return db.getLongProperty("rocksdb.estimate-num-keys");
        } catch (RocksDBException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public void init(StateStoreContext context, StateStore root) {
        throw new UnsupportedOperationException("the store is already open");
    }

    @Override
    public boolean persistent() {
        return true;
    }

    @Override
    public boolean isOpen() {
        return db.isOwningHandle();
    }

    /** Flushes the memtables to disk. */
    void flushToDisk() {
        try (FlushOptions flush = new FlushOptions().setWaitForFlush(true)) {
            db.flush(flush);
        } catch (RocksDBException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        db.close();
        options.close();
        writes.close();
    }

    private final class RangeIterator implements KeyValueIterator<Bytes, byte[]> {
        private final RocksIterator at = db.newIterator();
        private final byte[] to; // inclusive; null for no bound

        RangeIterator(byte[] from, byte[] to) {
            this.to = to;
            at.seek(from);
        }

        @Override
        public boolean hasNext() {
            return at.isValid() && (to == null || Arrays.compareUnsigned(at.key(), to) <= 0);
        }

        @Override
        public KeyValue<Bytes, byte[]> next() {
            KeyValue<Bytes, byte[]> entry = KeyValue.pair(Bytes.wrap(at.key()), at.value());
            at.next();
            return entry;
        }

        @Override
        public Bytes peekNextKey() {
            return Bytes.wrap(at.key());
        }

        @Override
        public void close() {
            at.close();
        }
    }
}
