package dev.weir.shape;

import dev.weir.decision.state.KeyValueTable;
import java.util.HashMap;
import java.util.Map;

/** A table on the heap that counts its calls. */
public final class HeapQueueStore<K, V> implements KeyValueTable<K, V> {

    public final Map<K, V> entries = new HashMap<>();
    public long calls;

    @Override
    public V get(K key) {
        calls++;
        return entries.get(key);
    }

    @Override
    public void put(K key, V value) {
        calls++;
        entries.put(key, value);
    }

    @Override
    public void delete(K key) {
        calls++;
        entries.remove(key);
    }
}
