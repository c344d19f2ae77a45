package dev.weir.storage;

import java.util.Arrays;

/**
 * A key of a {@link WriteBackCache} with its value, or with the knowledge that it has none.
 *
 * @param <V> the type of the values
 */
// The table of the cache maps entries to entries. HashMap searches a crowded bin in logarithmic time only if its
// keys are of one class C that implements Comparable<C>, without a type parameter: hence the raw type.
@SuppressWarnings("rawtypes")
final class WriteBackEntry<V> implements Comparable<WriteBackEntry> {

    /**
     * Heap of an entry besides the bytes of its key and value: the object, its node in the table, two array headers.
     */
    private static final int OVERHEAD_BYTES = 136;

    /** The size of an array on the heap is a multiple of this. */
    private static final int ALIGNMENT_BYTES = 8;

    private final KeyHash hashing;
    private final byte[] key;
    private final int hash;
    private byte[] encoded; // null if there is no value, or it is kept decoded; may be longer than the value
    private int length; // of the encoded value
    private V decoded; // null if there is no value, or it is kept encoded

    /** Whether the entry was read since the eviction passed it last. */
    boolean isReferenced;

    /** Whether the store has another value. */
    boolean isDirty;

    /** Whether the cache has it in its list of dirty entries; an entry that was written may still be there. */
    boolean isListed;

    /** About how many bytes of heap it takes; set by the cache. */
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

    /** Returns the value that is kept decoded, null if there is none. */
    V decoded() {
        return decoded;
    }

    /** Decodes the value that is kept encoded. */
    V decode(WriteBackCodec<?, V> codec) {
        return codec.decode(key, encoded, length);
    }

    /** Returns a copy of the value that is kept encoded. */
    byte[] copyOfEncoded() {
        return Arrays.copyOf(encoded, length);
    }

    void keepDecoded(V value) {
        encoded = null;
        decoded = value;
    }

    /** Keeps a copy of an encoded value. */
    // It overwrites the previous value if there is room: a new array would be a reference from an old object to a
    // young one at each change, which is what a generational garbage collector spends most time on.
    void keepEncoded(byte[] value) {
        if (encoded == null || value.length > encoded.length || value.length < encoded.length / 2) {
            encoded = new byte[(value.length + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES];
            decoded = null;
        }
        System.arraycopy(value, 0, encoded, 0, value.length);
        length = value.length;
    }

    /** Returns about how many bytes of heap the entry takes, without a value that is kept decoded. */
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
