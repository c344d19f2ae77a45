package dev.weir.storage;

import dev.weir.storage.codec.WriteBackCodec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.apache.kafka.streams.state.internals.WrappedStateStore;

/**
 * A store of a task with a write-back cache on the heap. The task reads and changes values in the cache. When it
 * commits, each changed value is written once to the wrapped store and its changelog. The methods of
 * {@link ReadOnlyKeyValueStore} read the wrapped store, so other threads and iterators see the values as of the
 * last write.
 *
 * @param <K> the type of the task's keys
 * @param <V> the type of the task's values
 */
// Kafka Streams calls flushCache() of a registered store before it commits, so the values written there are in the same
// transaction as the corresponding output and offsets. A value that has not been written was never committed, so the
// cache is discarded without a write when the task is closed (close), initialized again (init) or becomes a standby
// (clearCache). The wrapped store restores and follows the changelog.
public final class WriteBackStore<K, V> extends WrappedStateStore<KeyValueStore<Bytes, byte[]>, K, V>
        implements ReadOnlyKeyValueStore<Bytes, byte[]> {

    private static final Comparator<KeyValue<Bytes, byte[]>> BY_KEY = Comparator.comparing(entry -> entry.key);
    private static final Runnable NOTHING = () -> {};

    private final WriteBackCache<V> cache;
    private final CacheBudget memory;
    private WriteBackCodec<K, V> codec; // null until the task opens the store
    private Runnable beforeFlush = NOTHING;
    private boolean isSharing;
    private long reportedBytes;

    // The key read last, which is usually the next one to change, and its entry.
    private K lastKey;
    private WriteBackEntry<V> last;

    /** @param memory the budget of all caches of the process */
    public WriteBackStore(KeyValueStore<Bytes, byte[]> store, CacheBudget memory) {
        super(store);
        cache = new WriteBackCache<>(KeyHash.ofThisProcess());
        this.memory = memory;
    }

    /** Sets the codec, which can read other stores of the task. Must be called before the first access to a value. */
    public void open(WriteBackCodec<K, V> valueCodec) {
        codec = valueCodec;
    }

    /** Sets an action to run at each flush before the values are written. It can change values. */
    public void beforeFlush(Runnable action) {
        beforeFlush = action;
    }

    /** Returns the current value of a key, null if there is none. */
    public V read(K key) {
        byte[] encodedKey = codec.encodeKey(key);
        WriteBackEntry<V> entry = cache.find(encodedKey);
        if (entry == null) {
            entry = add(encodedKey, wrapped().get(Bytes.wrap(encodedKey)));
        }
        V value = cache.read(entry, codec);
        lastKey = key;
        last = entry;
        shrink();
        return value;
    }

    /** Puts a value into the cache. It is written to the store at the next flush. */
    public void put(K key, V value) {
        cache.change(entry(key), value, codec);
        shrink();
    }

    /** Like {@link #put}, for a value that is hardly ever read again: it leaves the cache when it is written. */
    public void putCold(K key, V value) {
        cache.changeCold(entry(key), value, codec);
        shrink();
    }

    /** Deletes a value in the cache. It is deleted in the store, and leaves the cache, at the next flush. */
    public void delete(K key) {
        cache.delete(entry(key));
        shrink();
    }

    /** Puts a value into the cache and the store. */
    void putThrough(K key, V value) {
        WriteBackEntry<V> entry = entry(key);
        wrapped().put(Bytes.wrap(entry.key()), codec.encode(value));
        cache.changeClean(entry, value, codec);
        shrink();
    }

    /** Returns whether the value of an encoded key differs from the store's. */
    boolean isDirty(Bytes encodedKey) {
        return cache.isDirty(encodedKey.get());
    }

    /** Replaces a value in the store and evicts it, unless it is {@linkplain #isDirty dirty}. */
    void replaceUnlessDirty(Bytes encodedKey, V value) {
        if (!isDirty(encodedKey)) {
            evict(encodedKey);
            wrapped().put(encodedKey, codec.encode(value));
        }
    }

    /** Deletes a value, unless it is {@linkplain #isDirty dirty}. */
    public void deleteUnlessDirty(Bytes encodedKey) {
        if (!isDirty(encodedKey)) {
            evict(encodedKey);
            wrapped().put(encodedKey, null);
        }
    }

    private void evict(Bytes encodedKey) {
        cache.remove(encodedKey.get());
        lastKey = null;
        reportBytes();
    }

    /** Evicts entries until the cache is within its share of the budget. */
    // When a dirty entry must be evicted, all dirty entries are written in one batch.
    private void shrink() {
        shrinkClean();
        if (isTooLarge()) {
            writeDirty();
            shrinkClean();
        }
    }

    /**
     * Evicts entries until the cache is within its share of the budget, which shrinks when other caches join, or until
     * the next entry would have to be written. Can be called at any time: it writes nothing.
     */
    public void shrinkClean() {
        while (isTooLarge() && !cache.coldest().isDirty) {
            cache.remove(cache.coldest());
            lastKey = null;
        }
        reportBytes();
    }

    private boolean isTooLarge() {
        return cache.heapBytes() > memory.share() && cache.size() > 0;
    }

    private void reportBytes() {
        long bytes = cache.heapBytes();
        if (bytes != reportedBytes) {
            memory.use(bytes - reportedBytes);
            reportedBytes = bytes;
        }
    }

    @SuppressWarnings("ReferenceEquality") // an equal key that is another object is searched in the cache
    private WriteBackEntry<V> entry(K key) {
        if (key == lastKey) {
            return last;
        }
        byte[] encodedKey = codec.encodeKey(key);
        WriteBackEntry<V> entry = cache.peek(encodedKey);
        return entry == null ? add(encodedKey, null) : entry;
    }

    private WriteBackEntry<V> add(byte[] encodedKey, byte[] stored) {
        if (!isSharing) {
            memory.join();
            isSharing = true;
        }
        return cache.add(encodedKey, stored);
    }

    /** Returns the bytes to store, null to delete the key. */
    private byte[] encoded(WriteBackEntry<V> entry) {
        if (entry.isEncoded()) {
            return entry.copyOfEncoded();
        }
        return entry.decoded() == null ? null : codec.encode(entry.decoded());
    }

    // If the write fails, all values stay dirty. A value in the store but not in its changelog would otherwise be lost.
    private void writeDirty() {
        List<KeyValue<Bytes, byte[]>> batch = new ArrayList<>();
        cache.forEachDirty(entry -> batch.add(KeyValue.pair(Bytes.wrap(entry.key()), encoded(entry))));
        if (batch.size() == 1) {
            wrapped().put(batch.get(0).key, batch.get(0).value);
        } else if (!batch.isEmpty()) {
            batch.sort(BY_KEY);
            wrapped().putAll(batch);
        }
        cache.markAllClean();
        lastKey = null; // its entry can have left the cache
        reportBytes();
    }

    private void drop() {
        beforeFlush = NOTHING;
        cache.clear();
        lastKey = null;
        reportBytes();
        if (isSharing) {
            memory.leave();
            isSharing = false;
        }
    }

    @Override
    public void init(StateStoreContext context, StateStore root) {
        drop();
        super.init(context, root);
    }

    @Override
    public void flushCache() {
        beforeFlush.run();
        writeDirty();
    }

    @Override
    public void clearCache() {
        drop();
    }

    @Override
    public void close() {
        drop();
        super.close();
    }

    @Override
    public byte[] get(Bytes key) {
        return wrapped().get(key);
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> range(Bytes from, Bytes to) {
        return wrapped().range(from, to);
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> all() {
        return wrapped().all();
    }

    @Override
    public <S extends Serializer<P>, P> KeyValueIterator<Bytes, byte[]> prefixScan(P prefix, S serializer) {
        return wrapped().prefixScan(prefix, serializer);
    }

    @Override
    public ReadOnlyKeyValueStore<Bytes, byte[]> readOnly(IsolationLevel level) {
        return wrapped().readOnly(level);
    }

    @Override
    public long approximateNumEntries() {
        return wrapped().approximateNumEntries();
    }
}
