package dev.weir.topology;

import java.util.Map;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.Cache;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.WriteBufferManager;

/**
 * What all RocksDB stores of the process have in common. One bound on their memory: blocks, indexes, filters and write
 * buffers share one cache of {@value #MEMORY_BYTES} bytes, half of which write buffers may take. And one on what is
 * deleted, which leaves the disk some {@value #COMPACT_SECONDS} seconds later, when something is written then.
 */
public final class RocksSettings implements RocksDBConfigSetter {

    /** The Streams property that holds the bound, in bytes; the first store that opens settles it for the process. */
    public static final String MEMORY_BYTES = "weir.state.memory.bytes";

    /**
     * The Streams property that holds the age, in seconds, at which a file is written anew without what was deleted.
     */
    public static final String COMPACT_SECONDS = "weir.state.compact.seconds";

    private static final int BLOOM_BITS_PER_KEY = 10;

    private static Shared shared;

    private record Shared(Cache cache, WriteBufferManager buffers, BloomFilter filter) {
        static Shared of(long bytes) {
            RocksDB.loadLibrary();
            Cache cache = new LRUCache(bytes);
            return new Shared(cache, new WriteBufferManager(bytes / 2, cache), new BloomFilter(BLOOM_BITS_PER_KEY));
        }
    }

    @Override
    public void setConfig(String storeName, Options options, Map<String, Object> configs) {
        Shared memory = shared(Long.parseLong(String.valueOf(configs.get(MEMORY_BYTES))));
        BlockBasedTableConfig table = (BlockBasedTableConfig) options.tableFormatConfig();
        table.setBlockCache(memory.cache);
        table.setCacheIndexAndFilterBlocks(true);
        table.setCacheIndexAndFilterBlocksWithHighPriority(true);
        table.setPinL0FilterAndIndexBlocksInCache(true);
        table.setFilterPolicy(memory.filter);
        options.setTableFormatConfig(table);
        options.setWriteBufferManager(memory.buffers);
        options.setPeriodicCompactionSeconds(Long.parseLong(String.valueOf(configs.get(COMPACT_SECONDS))));
    }

    /** Closes nothing: the cache is the process's, not the store's. */
    @Override
    public void close(String storeName, Options options) {}

    private static synchronized Shared shared(long bytes) {
        if (shared == null) {
            shared = Shared.of(bytes);
        }
        return shared;
    }
}
