package dev.weir.topology;

import dev.weir.processor.HotMemory;
import dev.weir.processor.HotStates;
import java.util.Map;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;

/** Builds the states of a task over a store of Kafka Streams, whose name and changelog they have. */
record HotStatesBuilder(StoreBuilder<KeyValueStore<Bytes, byte[]>> store, HotMemory memory)
        implements StoreBuilder<HotStates> {

    @Override
    public HotStates build() {
        return new HotStates(store.build(), memory);
    }

    @Override
    public StoreBuilder<HotStates> withCachingEnabled() {
        throw new UnsupportedOperationException();
    }

    @Override
    public StoreBuilder<HotStates> withCachingDisabled() {
        return new HotStatesBuilder(store.withCachingDisabled(), memory);
    }

    @Override
    public StoreBuilder<HotStates> withLoggingEnabled(Map<String, String> config) {
        return new HotStatesBuilder(store.withLoggingEnabled(config), memory);
    }

    @Override
    public StoreBuilder<HotStates> withLoggingDisabled() {
        return new HotStatesBuilder(store.withLoggingDisabled(), memory);
    }

    @Override
    public Map<String, String> logConfig() {
        return store.logConfig();
    }

    @Override
    public boolean loggingEnabled() {
        return store.loggingEnabled();
    }

    @Override
    public String name() {
        return store.name();
    }
}
