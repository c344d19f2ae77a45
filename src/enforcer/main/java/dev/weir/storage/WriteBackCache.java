package dev.weir.storage;

import dev.weir.storage.codec.WriteBackCodec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * A cache of values by their encoded keys. It tracks which values are dirty, that is, differ from the store's, and
 * approximately how much heap they use, and selects the entry to evict. Not thread-safe.
 *
 * @param <V> the type of the values
 */
// The eviction policy is CLOCK [1] in its form as a queue (FIFO with a second chance). Each entry has a reference bit,
// which a read sets. New entries are added at the tail with the bit clear. To evict, the cache takes the entry at the
// head: if its bit is set, the bit is cleared and the entry moves to the tail; otherwise it is evicted. So a read sets
// a bit instead of moving an entry in a list (as in LRU), and keys that are read once evict each other rather than keys
// that are read repeatedly. Each entry that moves has been read since its last move, so an eviction takes amortized
// constant time.
//
// Example of a cache with room for three entries; the head is on the left, and * marks a set reference bit:
//   add a, b, c              a  b  c
//   read a                   a* b  c
//   add d    a* b  c  d  ->  c  d  a    a gets a second chance, b is evicted
//   add e    c  d  a  e  ->  d  a  e    c is evicted
//   add f    d  a  e  f  ->  a  e  f    d is evicted
//   add g    a  e  f  g  ->  e  f  g    a is evicted: it was not read again
//
// [1] F. J. Corbató, "A Paging Experiment with the Multics System", MIT Project MAC Report MAC-M-384, 1968.
final class WriteBackCache<V> {

    private final KeyHash hashing;
    private final Map<WriteBackEntry<V>, WriteBackEntry<V>> entries = new LinkedHashMap<>();
    private final List<WriteBackEntry<V>> dirty = new ArrayList<>(); // may contain entries that were written since
    private long heapBytes;

    WriteBackCache(KeyHash hashing) {
        this.hashing = hashing;
    }

    /** Returns the entry of a key, null if the key is not in the cache. Does not count as a read. */
    WriteBackEntry<V> peek(byte[] key) {
        return entries.get(new WriteBackEntry<V>(hashing, key));
    }

    /** Returns the entry of a key and marks it as read; null if the key is not in the cache. */
    WriteBackEntry<V> find(byte[] key) {
        WriteBackEntry<V> entry = peek(key);
        if (entry != null) {
            entry.isReferenced = true;
        }
        return entry;
    }

    /**
     * Adds a key that is not in the cache.
     *
     * @param key must not be changed afterwards
     * @param stored the encoded value in the store, null if there is none
     */
    WriteBackEntry<V> add(byte[] key, byte[] stored) {
        WriteBackEntry<V> entry = new WriteBackEntry<>(hashing, key);
        if (stored != null) {
            entry.keepEncoded(stored);
        }
        entries.put(entry, entry);
        measure(entry, 0);
        return entry;
    }

    /** Returns the value of an entry, null if there is none. */
    V read(WriteBackEntry<V> entry, WriteBackCodec<?, V> codec) {
        if (!entry.isEncoded()) {
            return entry.decoded();
        }
        V value = entry.decode(codec);
        if (codec.isKeptDecoded(value)) {
            keepDecoded(entry, value, codec);
        }
        return value;
    }

    /** Sets the value of an entry and marks it as dirty. */
    void change(WriteBackEntry<V> entry, V value, WriteBackCodec<?, V> codec) {
        set(entry, value, codec);
        markDirty(entry);
        entry.isCold = false;
    }

    /** Sets the value of an entry and marks it as dirty. The entry is removed when it becomes clean. */
    void changeCold(WriteBackEntry<V> entry, V value, WriteBackCodec<?, V> codec) {
        change(entry, value, codec);
        entry.isCold = true;
    }

    /** Removes the value of an entry and marks the entry as dirty. It is removed when it becomes clean. */
    void delete(WriteBackEntry<V> entry) {
        entry.keepDecoded(null);
        measure(entry, 0);
        markDirty(entry);
        entry.isCold = true;
    }

    private void markDirty(WriteBackEntry<V> entry) {
        entry.isDirty = true;
        if (!entry.isListed) {
            entry.isListed = true;
            dirty.add(entry);
        }
    }

    /** Sets the value of an entry that was also written to the store. */
    void changeClean(WriteBackEntry<V> entry, V value, WriteBackCodec<?, V> codec) {
        set(entry, value, codec);
        entry.isDirty = false;
        entry.isCold = false;
    }

    private void set(WriteBackEntry<V> entry, V value, WriteBackCodec<?, V> codec) {
        if (codec.isKeptDecoded(value)) {
            keepDecoded(entry, value, codec);
        } else {
            entry.keepEncoded(codec.encode(value));
            measure(entry, 0);
        }
    }

    private void keepDecoded(WriteBackEntry<V> entry, V value, WriteBackCodec<?, V> codec) {
        entry.keepDecoded(value);
        measure(entry, codec.heapBytes(value));
    }

    private void measure(WriteBackEntry<V> entry, int decodedBytes) {
        int bytes = entry.ownHeapBytes() + decodedBytes;
        heapBytes += bytes - entry.heapBytes;
        entry.heapBytes = bytes;
    }

    boolean isDirty(byte[] key) {
        WriteBackEntry<V> entry = peek(key);
        return entry != null && entry.isDirty;
    }

    /** Passes each dirty entry to an action, in unspecified order. */
    void forEachDirty(Consumer<WriteBackEntry<V>> action) {
        for (WriteBackEntry<V> entry : dirty) {
            if (entry.isDirty) {
                action.accept(entry);
            }
        }
    }

    /** Marks all entries as equal to the store's, and removes the cold ones. */
    void markAllClean() {
        for (WriteBackEntry<V> entry : dirty) {
            if (entry.isCold && entry.isDirty) {
                remove(entry);
            }
            entry.isDirty = false;
            entry.isListed = false;
        }
        dirty.clear();
    }

    /** Returns approximately how many bytes of heap the entries use. */
    long heapBytes() {
        return heapBytes;
    }

    /** Returns the entry to evict next. The cache must not be empty. */
    WriteBackEntry<V> coldest() {
        WriteBackEntry<V> head = entries.values().iterator().next();
        while (head.isReferenced) {
            head.isReferenced = false;
            entries.remove(head);
            entries.put(head, head);
            head = entries.values().iterator().next();
        }
        return head;
    }

    void remove(byte[] key) {
        remove(new WriteBackEntry<V>(hashing, key));
    }

    /** Removes the entry with the same key. */
    void remove(WriteBackEntry<V> sameKey) {
        WriteBackEntry<V> entry = entries.remove(sameKey);
        heapBytes -= entry == null ? 0 : entry.heapBytes;
    }

    int size() {
        return entries.size();
    }

    void clear() {
        entries.clear();
        dirty.clear();
        heapBytes = 0;
    }
}
