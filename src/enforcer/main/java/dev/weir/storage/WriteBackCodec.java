package dev.weir.storage;

/**
 * Converts the keys and values of a {@link WriteBackStore} to bytes and back, and selects the form in which the cache
 * keeps a value.
 *
 * <p>A value is kept encoded by default: one array takes less heap than an object graph and nothing is left to encode
 * at a flush. A value that is expensive to decode is kept decoded. Then {@code decode(encode(value))} must equal the
 * value in all that its readers use, or else results would depend on what is in the cache.
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
     * @param length of the encoded value, in bytes
     */
    V decode(byte[] key, byte[] value, int length);

    /** Returns whether the cache keeps a value decoded. By default it keeps none. */
    default boolean isKeptDecoded(V value) {
        return false;
    }

    /** Returns about how many bytes of heap a value takes if it is kept decoded. */
    default int heapBytes(V value) {
        return 0;
    }
}
