package dev.weir.decision.state;

import java.util.HashMap;
import java.util.Map;

/** A table on the heap, without persistence. */
public final class HeapTable<K, V> implements KeyValueTable<K, V> {

    private final Map<K, V> entries = new HashMap<>();

    @Override
    public V get(K key) {
        return entries.get(key);
    }

    @Override
    public void put(K key, V value) {
        entries.put(key, value);
    }

    @Override
    public void delete(K key) {
        entries.remove(key);
    }
}
