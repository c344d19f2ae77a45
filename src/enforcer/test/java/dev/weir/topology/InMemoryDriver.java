package dev.weir.topology;

import java.time.Instant;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.Env;
import org.rocksdb.Options;
import org.rocksdb.RocksMemEnv;

/**
 * A test driver whose RocksDB stores have the settings of {@link RocksSettings}, and files in memory: to create and
 * delete those of all stores took most of the time of a test.
 */
final class InMemoryDriver extends TopologyTestDriver {

    private static final String FILES = "weir.test.files";

    private final Env files;

    InMemoryDriver(Topology topology, Properties settings, Instant at) {
        super(topology, inMemory(settings), at);
        files = (Env) settings.get(FILES);
    }

    private static Properties inMemory(Properties settings) {
        RocksLibrary.load();
        settings.put(FILES, new RocksMemEnv(Env.getDefault()));
        settings.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, InMemorySettings.class);
        return settings;
    }

    @Override
    public void close() {
        super.close();
        files.close();
    }

    /** The settings of a store, which Kafka Streams creates by its class. */
    public static final class InMemorySettings implements RocksDBConfigSetter {

        private final RocksSettings settings = new RocksSettings();

        @Override
        public void setConfig(String storeName, Options options, Map<String, Object> configs) {
            settings.setConfig(storeName, options, configs);
            options.setEnv((Env) configs.get(FILES));
            options.setStatsDumpPeriodSec(0);
            options.setStatsPersistPeriodSec(0);
        }

        @Override
        public void close(String storeName, Options options) {
            settings.close(storeName, options);
        }
    }
}
