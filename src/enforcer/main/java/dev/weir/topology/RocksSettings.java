package dev.weir.topology;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.Cache;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.WriteBufferManager;

/**
 * Configures the RocksDB stores of the process. One cache of {@link #MEMORY_BYTES} bytes bounds the memory of all
 * stores together: it contains blocks, indexes, filters and write buffers, which can use half of it. If instances in
 * one process have different bounds, there is one such cache for each bound. Caches are kept until the process ends.
 * Deleted entries are removed from the disk by compactions about every {@link #COMPACT_SECONDS} seconds, provided that
 * the store is written to.
 */
public final class RocksSettings implements RocksDBConfigSetter {

    /** The Streams property with the bound in bytes. */
    public static final String MEMORY_BYTES = "weir.state.memory.bytes";

    /** The Streams property with the age in seconds at which a file is compacted, which removes deleted entries. */
    public static final String COMPACT_SECONDS = "weir.state.compact.seconds";

    private static final int BLOOM_BITS_PER_KEY = 10;

    /**
     * How much of the disk a store allocates in advance for its list of files: RocksDB's default of 4 MiB is more than
     * everything else that an idle store needs, and there are many stores.
     */
    private static final long MANIFEST_PREALLOCATION_BYTES = 64 << 10;

    /** The memory of the stores, by its bound in bytes. */
    private static final Map<Long, Shared> SHARED = new ConcurrentHashMap<>();

    private record Shared(Cache cache, WriteBufferManager buffers, BloomFilter filter) {
        static Shared of(long bytes) {
            RocksLibrary.load();
            Cache cache = new LRUCache(bytes);
            return new Shared(cache, new WriteBufferManager(bytes / 2, cache), new BloomFilter(BLOOM_BITS_PER_KEY));
        }
    }

    @Override
    public void setConfig(String storeName, Options options, Map<String, Object> configs) {
        Shared memory = SHARED.computeIfAbsent(Long.valueOf(String.valueOf(configs.get(MEMORY_BYTES))), Shared::of);
        BlockBasedTableConfig table = (BlockBasedTableConfig) options.tableFormatConfig();
        table.setBlockCache(memory.cache);
        table.setCacheIndexAndFilterBlocks(true);
        table.setCacheIndexAndFilterBlocksWithHighPriority(true);
        table.setPinL0FilterAndIndexBlocksInCache(true);
        table.setFilterPolicy(memory.filter);
        options.setTableFormatConfig(table);
        options.setWriteBufferManager(memory.buffers);
        options.setManifestPreallocationSize(MANIFEST_PREALLOCATION_BYTES);
        options.setPeriodicCompactionSeconds(Long.parseLong(String.valueOf(configs.get(COMPACT_SECONDS))));
    }

    /** Does nothing: the cache belongs to the process, not to the store. */
    @Override
    public void close(String storeName, Options options) {}
}
