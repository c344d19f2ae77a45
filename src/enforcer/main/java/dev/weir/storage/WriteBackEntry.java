package dev.weir.storage;

import dev.weir.storage.codec.WriteBackCodec;
import java.util.Arrays;

/**
 * A key of a {@link WriteBackCache} with its value, or without one if the store has none.
 *
 * @param <V> the type of the values
 */
// The table of the cache maps entries to entries. HashMap searches a bin with many collisions in logarithmic time only
// if the keys are of a class C that implements Comparable<C>, where C has no type arguments: hence the raw type.
@SuppressWarnings("rawtypes")
final class WriteBackEntry<V> implements Comparable<WriteBackEntry> {

    /** The heap use of an entry without its key and value bytes: the object, its table node and two array headers. */
    private static final int OVERHEAD_BYTES = 136;

    /** The size of an array on the heap is a multiple of this. */
    private static final int ALIGNMENT_BYTES = 8;

    private final KeyHash hashing;
    private final byte[] key;
    private final int hash;
    private byte[] encoded; // null if there is no value, or it is kept decoded; may be longer than the value
    private int length; // of the encoded value
    private V decoded; // null if there is no value, or it is kept encoded

    /** Whether the entry was read since it was last considered for eviction. */
    boolean isReferenced;

    /** Whether the value differs from the store's. */
    boolean isDirty;

    /** Whether the entry leaves the cache when it is written. */
    boolean isCold;

    /** Whether the entry is in the cache's list of dirty entries, which can contain entries that were written since. */
    boolean isListed;

    /** The approximate heap use in bytes, set by the cache. */
    int heapBytes;

    /** @param key must not be changed afterwards */
    WriteBackEntry(KeyHash hashing, byte[] key) {
        this.hashing = hashing;
        this.key = key;
        this.hash = hashing.hash(key);
    }

    /** Returns the encoded key; it must not be changed. */
    byte[] key() {
        return key;
    }

    boolean isEncoded() {
        return encoded != null;
    }

    /** Returns the value that is cached in decoded form, null if there is none. */
    V decoded() {
        return decoded;
    }

    /** Decodes the value that is cached in encoded form. */
    V decode(WriteBackCodec<?, V> codec) {
        return codec.decode(key, encoded, length);
    }

    /** Returns a copy of the value that is cached in encoded form. */
    byte[] copyOfEncoded() {
        return Arrays.copyOf(encoded, length);
    }

    void keepDecoded(V value) {
        encoded = null;
        decoded = value;
    }

    /** Caches a copy of an encoded value. */
    // The previous value is overwritten if there is room. A new array for each change would create references from old
    // objects to young ones, which are expensive for a generational garbage collector.
    void keepEncoded(byte[] value) {
        if (encoded == null || value.length > encoded.length || value.length < encoded.length / 2) {
            encoded = new byte[(value.length + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES];
            decoded = null;
        }
        System.arraycopy(value, 0, encoded, 0, value.length);
        length = value.length;
    }

    /** Returns the approximate heap use of the entry in bytes, without a decoded value. */
    int ownHeapBytes() {
        return OVERHEAD_BYTES + key.length + (encoded == null ? 0 : encoded.length);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof WriteBackEntry<?> entry && hash == entry.hash && hashing.equal(key, entry.key);
    }

    @Override
    public int hashCode() {
        return hash;
    }

    @Override
    public int compareTo(WriteBackEntry other) {
        return hashing.compare(key, other.key);
    }
}
