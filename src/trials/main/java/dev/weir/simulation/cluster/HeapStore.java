package dev.weir.simulation.cluster;

import dev.weir.simulation.schedule.InjectedFlaw;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/** A store on a map that may be replaced by another one. Each write goes to the changelog first. */
public final class HeapStore<K extends Comparable<K>> implements KeyValueStore<K, byte[]> {

    private final String name;
    private final Supplier<NavigableMap<K, byte[]>> map;
    private final BiConsumer<K, byte[]> changelog;
    private final InjectedFlaw flaw;
    private int puts;

    HeapStore(String name, Supplier<NavigableMap<K, byte[]>> map, BiConsumer<K, byte[]> changelog, InjectedFlaw flaw) {
        this.name = name;
        this.map = map;
        this.changelog = changelog;
        this.flaw = flaw;
    }

    @Override
    public void put(K key, byte[] value) {
        if (value != null && flaw.loses(name, puts++, map.get().containsKey(key))) {
            return;
        }
        changelog.accept(key, value);
        if (value == null) {
            map.get().remove(key);
        } else {
            map.get().put(key, value);
        }
    }

    @Override
    public byte[] putIfAbsent(K key, byte[] value) {
        byte[] before = get(key);
        if (before == null) {
            put(key, value);
        }
        return before;
    }

    @Override
    public void putAll(List<KeyValue<K, byte[]>> entries) {
        List<KeyValue<K, byte[]>> kept =
                flaw == InjectedFlaw.FLUSH_LOSES_ONE ? entries.subList(1, entries.size()) : entries;
        kept.forEach(entry -> put(entry.key, entry.value));
    }

    @Override
    public byte[] delete(K key) {
        byte[] before = get(key);
        put(key, null);
        return before;
    }

    @Override
    public byte[] get(K key) {
        return map.get().get(key);
    }

    @Override
    public KeyValueIterator<K, byte[]> range(K from, K to) {
        return iterator(between(from, to).entrySet());
    }

    @Override
    public KeyValueIterator<K, byte[]> reverseRange(K from, K to) {
        return iterator(between(from, to).descendingMap().entrySet());
    }

    private NavigableMap<K, byte[]> between(K from, K to) {
        NavigableMap<K, byte[]> range = from == null ? map.get() : map.get().tailMap(from, true);
        return to == null ? range : range.headMap(to, true);
    }

    @Override
    public KeyValueIterator<K, byte[]> all() {
        return iterator(map.get().entrySet());
    }

    @Override
    public KeyValueIterator<K, byte[]> reverseAll() {
        return iterator(map.get().descendingMap().entrySet());
    }

    /** Returns an iterator over a copy of the entries. */
    private static <K> KeyValueIterator<K, byte[]> iterator(Collection<Map.Entry<K, byte[]>> entries) {
        List<KeyValue<K, byte[]>> copy = new ArrayList<>(entries.size());
        entries.forEach(entry -> copy.add(KeyValue.pair(entry.getKey(), entry.getValue())));
        Iterator<KeyValue<K, byte[]>> iterator = copy.iterator();
        return new KeyValueIterator<>() {
            @Override
            public boolean hasNext() {
                return iterator.hasNext();
            }

            @Override
            public KeyValue<K, byte[]> next() {
                return iterator.next();
            }

            @Override
            public K peekNextKey() {
                throw new UnsupportedOperationException();
            }

            @Override
            public void close() {}
        };
    }

    @Override
    public <S extends Serializer<P>, P> KeyValueIterator<K, byte[]> prefixScan(P prefix, S serializer) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long approximateNumEntries() {
        return map.get().size();
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public void init(StateStoreContext context, StateStore root) {}

    @Override
    public void close() {}

    @Override
    public boolean persistent() {
        return true;
    }

    @Override
    public boolean isOpen() {
        return true;
    }

    /** Returns a store without a changelog. */
    static <K extends Comparable<K>> HeapStore<K> unlogged(String name) {
        NavigableMap<K, byte[]> map = new TreeMap<>();
        return new HeapStore<>(name, () -> map, (key, value) -> {}, InjectedFlaw.NONE);
    }

    /** Returns a store with a copy of the content, without a changelog. */
    public static HeapStore<Bytes> copy(String name, NavigableMap<Bytes, byte[]> map) {
        NavigableMap<Bytes, byte[]> copy = new TreeMap<>(map);
        return new HeapStore<>(name, () -> copy, (key, value) -> {}, InjectedFlaw.NONE);
    }
}
