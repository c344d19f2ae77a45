package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;

class SharedRocksMemoryTest {

    @Test
    void all_stores_share_one_write_buffer_manager_and_outlive_each_other() {
        RocksDB.loadLibrary();
        SharedRocksMemory memory = new SharedRocksMemory();
        Map<String, Object> configs = Map.of(SharedRocksMemory.MEMORY_BYTES, 64L << 20);
        try (Options first = new Options().setTableFormatConfig(new BlockBasedTableConfig());
                Options second = new Options().setTableFormatConfig(new BlockBasedTableConfig())) {
            memory.setConfig("first", first, configs);
            memory.setConfig("second", second, configs);
            memory.close("first", first);
            assertThat(second.writeBufferManager()).isNotNull().isSameAs(first.writeBufferManager());
            assertThat(second.writeBufferManager().isOwningHandle()).isTrue();
        }
    }
}
