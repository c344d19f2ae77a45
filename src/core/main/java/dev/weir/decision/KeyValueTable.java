package dev.weir.decision;

/** Values by their keys, read and written one at a time, never walked over. */
public interface KeyValueTable<K, V> {

    /** The value under a key, null if there is none. */
    V get(K key);

    void put(K key, V value);

    void delete(K key);
}
