package dev.weir.storage;

import java.util.Map;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;

/**
 * Builds a {@link WriteBackStore} around a store of Kafka Streams, with the name and changelog of that store.
 *
 * @param <K> the type of the task's keys
 * @param <V> the type of the task's values
 */
public record WriteBackStoreBuilder<K, V>(StoreBuilder<KeyValueStore<Bytes, byte[]>> store, CacheBudget memory)
        implements StoreBuilder<WriteBackStore<K, V>> {

    @Override
    public WriteBackStore<K, V> build() {
        return new WriteBackStore<>(store.build(), memory);
    }

    @Override
    public StoreBuilder<WriteBackStore<K, V>> withCachingEnabled() {
        throw new UnsupportedOperationException();
    }

    @Override
    public StoreBuilder<WriteBackStore<K, V>> withCachingDisabled() {
        return new WriteBackStoreBuilder<>(store.withCachingDisabled(), memory);
    }

    @Override
    public StoreBuilder<WriteBackStore<K, V>> withLoggingEnabled(Map<String, String> config) {
        return new WriteBackStoreBuilder<>(store.withLoggingEnabled(config), memory);
    }

    @Override
    public StoreBuilder<WriteBackStore<K, V>> withLoggingDisabled() {
        return new WriteBackStoreBuilder<>(store.withLoggingDisabled(), memory);
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
