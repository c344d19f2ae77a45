package dev.weir.storage.codec;

/**
 * Converts the keys and values of a write-back store to bytes and back, and selects the form in which the cache
 * keeps a value.
 *
 * <p>By default a value is cached in encoded form: one array uses less heap than an object graph and need not be
 * encoded at a flush. Values that are expensive to decode can be cached in decoded form. Then
 * {@code decode(encode(value))} must be equivalent to the value for all readers; otherwise results would depend on the
 * contents of the cache.
 *
 * @param <K> the type of the keys
 * @param <V> the type of the values
 */
public interface WriteBackCodec<K, V> {

    byte[] encodeKey(K key);

    byte[] encode(V value);

    /**
     * Decodes a value.
     *
     * @param key the encoded key; it must not be changed
     * @param value an array that starts with the encoded value; it is overwritten later
     * @param length the length of the encoded value in bytes
     */
    V decode(byte[] key, byte[] value, int length);

    /** Returns whether a value is cached in decoded form. The default is false for all values. */
    default boolean isKeptDecoded(V value) {
        return false;
    }

    /** Returns approximately how many bytes of heap a value uses in decoded form. */
    default int heapBytes(V value) {
        return 0;
    }
}
