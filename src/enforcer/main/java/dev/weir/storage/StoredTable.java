package dev.weir.storage;

import dev.weir.decision.state.KeyValueTable;
import java.util.function.Function;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * A table in a store. It uses point reads only.
 *
 * @param key encodes keys
 * @param write encodes values
 * @param read decodes values
 */
record StoredTable<K, V>(
        KeyValueStore<Bytes, byte[]> store,
        Function<K, byte[]> key,
        Function<V, byte[]> write,
        Function<byte[], V> read)
        implements KeyValueTable<K, V> {

    @Override
    public V get(K k) {
        byte[] value = store.get(Bytes.wrap(key.apply(k)));
        return value == null ? null : read.apply(value);
    }

    @Override
    public void put(K k, V value) {
        store.put(Bytes.wrap(key.apply(k)), write.apply(value));
    }

    @Override
    public void delete(K k) {
        store.put(Bytes.wrap(key.apply(k)), null);
    }
}
