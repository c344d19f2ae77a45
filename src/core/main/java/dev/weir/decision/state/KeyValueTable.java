package dev.weir.decision.state;

/** A table with point reads and writes; it has no iteration. */
public interface KeyValueTable<K, V> {

    /** Returns the value of a key, null if there is none. */
    V get(K key);

    void put(K key, V value);

    void delete(K key);
}
