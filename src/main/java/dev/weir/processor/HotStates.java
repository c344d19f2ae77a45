package dev.weir.processor;

import dev.weir.codec.KeyCodec;
import dev.weir.codec.StateCodec;
import dev.weir.policy.PolicyState;
import dev.weir.policy.StateKey;
import dev.weir.processor.StateHeap.Entry;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
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
 * The states of a task: those of the keys that came last are on the heap, and what has changed is written to the store,
 * and to its changelog, when the task commits. To everybody but the task this is the store, as of the last commit.
 */
// Kafka Streams calls flushCache() of a registered store before it commits: all that is written there is in the
// transaction of what led to it, outputs and offsets. Whatever is not written by then was never committed either, so a
// task that fails or is closed forgets it: close(), init() of one that is revived, clearCache() of one that becomes a
// standby. Restoring and following the changelog go on below, in the store.
public final class HotStates extends WrappedStateStore<KeyValueStore<Bytes, byte[]>, StateKey, PolicyState>
        implements ReadOnlyKeyValueStore<Bytes, byte[]> {

    private static final Comparator<KeyValue<Bytes, byte[]>> BY_KEY = Comparator.comparing(entry -> entry.key);

    private final StateHeap heap;
    private final HotMemory memory;
    private Runnable beforeFlush = HotStates::nothing;
    private boolean isSharing;
    private long toldBytes;

    /** What was asked for last: it is what is mostly changed next. */
    private StateKey lastKey;

    private Entry last;

    /** Reads a state that is in the store under a key: the first bytes of an array. */
    interface Reader {
        PolicyState read(byte[] key, byte[] state, int length);
    }

    /** @param memory of all tasks of the process */
    public HotStates(KeyValueStore<Bytes, byte[]> store, HotMemory memory) {
        this(store, memory, KeyHash.ofThisProcess());
    }

    HotStates(KeyValueStore<Bytes, byte[]> store, HotMemory memory, KeyHash hashing) {
        super(store);
        heap = new StateHeap(hashing);
        this.memory = memory;
    }

    /** The newest state under a key, null if there is none. */
    PolicyState get(StateKey key, Reader reader) {
        Entry entry = found(key);
        PolicyState state = heap.read(entry, reader);
        lastKey = key;
        last = entry;
        shrink();
        return state;
    }

    private Entry found(StateKey key) {
        byte[] encoded = KeyCodec.encode(key);
        Entry entry = heap.find(encoded);
        return entry == null ? add(encoded, wrapped().get(Bytes.wrap(encoded))) : entry;
    }

    void put(StateKey key, PolicyState state) {
        heap.change(entry(key), state);
        shrink();
    }

    /** As {@link #get(StateKey, Reader)}, in a store of anything else. */
    byte[] bytes(StateKey key) {
        Entry entry = found(key);
        byte[] bytes = entry.encoded();
        lastKey = key;
        last = entry;
        shrink();
        return bytes;
    }

    /** As {@link #put(StateKey, PolicyState)}, in a store of anything else. */
    void put(StateKey key, byte[] bytes) {
        heap.change(entry(key), bytes);
        shrink();
    }

    /** As {@link #put}, and into the store at once. */
    void putThrough(StateKey key, PolicyState state) {
        Entry entry = entry(key);
        heap.change(entry, state);
        wrapped().put(Bytes.wrap(entry.key()), entry.encoded());
        heap.written(entry);
        shrink();
    }

    /** Whether the state under a key of the store is not the one in the store. */
    boolean isNewer(Bytes storeKey) {
        return heap.isDirty(storeKey.get());
    }

    /** Replaces a state that is not {@linkplain #isNewer newer} than the store's by what is left of it; null: nothing. */
    void forget(Bytes storeKey, PolicyState left) {
        heap.remove(storeKey.get());
        lastKey = null;
        tellBytes();
        wrapped().put(storeKey, left == null ? null : StateCodec.encode(left));
    }

    /** Forgets what is under a key, unless it is {@linkplain #isNewer newer}. */
    void forgetUnlessNewer(Bytes storeKey) {
        if (!isNewer(storeKey)) {
            forget(storeKey, null);
        }
    }

    /** Gives up what is beyond this task's share of the memory: that of the others may have grown. */
    void shrink() {
        while (heap.bytes() > memory.share() && !heap.isEmpty()) {
            Entry coldest = heap.coldest();
            if (coldest.isDirty()) {
                write();
            }
            heap.remove(coldest);
            lastKey = null;
        }
        tellBytes();
    }

    private void tellBytes() {
        long bytes = heap.bytes();
        if (bytes != toldBytes) {
            memory.use(bytes - toldBytes);
            toldBytes = bytes;
        }
    }

    @SuppressWarnings("ReferenceEquality") // else it is looked up
    private Entry entry(StateKey key) {
        if (key == lastKey) {
            return last;
        }
        byte[] encoded = KeyCodec.encode(key);
        Entry entry = heap.peek(encoded);
        return entry == null ? add(encoded, null) : entry;
    }

    private Entry add(byte[] key, byte[] stored) {
        if (!isSharing) {
            memory.join();
            isSharing = true;
        }
        return heap.add(key, stored);
    }

    /** What is in the store without being on its changelog would be lost, so nothing counts as written before all is. */
    private void write() {
        List<KeyValue<Bytes, byte[]>> batch = new ArrayList<>();
        heap.forEachDirty(entry -> batch.add(KeyValue.pair(Bytes.wrap(entry.key()), entry.encoded())));
        if (batch.size() == 1) {
            wrapped().put(batch.get(0).key, batch.get(0).value);
        } else if (!batch.isEmpty()) {
            batch.sort(BY_KEY);
            wrapped().putAll(batch);
        }
        heap.allWritten();
    }

    private void forgetAll() {
        beforeFlush = HotStates::nothing;
        heap.clear();
        lastKey = null;
        tellBytes();
        if (isSharing) {
            memory.leave();
            isSharing = false;
        }
    }

    @Override
    public void init(StateStoreContext context, StateStore root) {
        forgetAll();
        super.init(context, root);
    }

    private static void nothing() {}

    /** Lets somebody write what he has on the heap, before this is written. */
    void beforeFlush(Runnable writes) {
        beforeFlush = writes;
    }

    @Override
    public void flushCache() {
        beforeFlush.run();
        write();
    }

    @Override
    public void clearCache() {
        forgetAll();
    }

    @Override
    public void close() {
        forgetAll();
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
    public long approximateNumEntries() {
        return wrapped().approximateNumEntries();
    }
}
