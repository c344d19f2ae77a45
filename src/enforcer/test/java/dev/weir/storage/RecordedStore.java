package dev.weir.storage;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;

/** An in-memory store that records each call. */
public final class RecordedStore implements KeyValueStore<Bytes, byte[]> {

    public final NavigableMap<Bytes, byte[]> content = new TreeMap<>();
    boolean fails;
    boolean keeps = true;
    private final List<String> calls = new ArrayList<>();
    private long written;

    /** Returns the calls since the last call of this method. */
    List<String> take() {
        List<String> taken = List.copyOf(calls);
        calls.clear();
        return taken;
    }

    /** Returns how many entries were put or deleted. */
    long written() {
        return written;
    }

    private static String text(Bytes key) {
        return new String(key.get(), StandardCharsets.UTF_8);
    }

    @Override
    public void put(Bytes key, byte[] value) {
        putAll(List.of(KeyValue.pair(key, value)));
    }

    @Override
    public void putAll(List<KeyValue<Bytes, byte[]>> entries) {
        calls.add(entries.stream()
                .map(entry -> (entry.value == null ? "-" : "") + text(entry.key))
                .collect(Collectors.joining(" ", "put ", "")));
        if (fails) {
            throw new IllegalStateException("full");
        }
        written += entries.size();
        for (KeyValue<Bytes, byte[]> entry : entries) {
            if (entry.value == null) {
                content.remove(entry.key);
            } else if (keeps) {
                content.put(entry.key, entry.value);
            }
        }
    }

    @Override
    public byte[] get(Bytes key) {
        calls.add("get " + text(key));
        return content.get(key);
    }

    @Override
    public byte[] putIfAbsent(Bytes key, byte[] value) {
        throw new UnsupportedOperationException();
    }

    @Override
    public byte[] delete(Bytes key) {
        throw new UnsupportedOperationException();
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> range(Bytes from, Bytes to) {
        return iterator(content.subMap(from, true, to, true));
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> reverseRange(Bytes from, Bytes to) {
        return iterator(content.subMap(from, true, to, true).descendingMap());
    }

    @Override
    public KeyValueIterator<Bytes, byte[]> all() {
        return iterator(content);
    }

    private static KeyValueIterator<Bytes, byte[]> iterator(Map<Bytes, byte[]> of) {
        Iterator<Map.Entry<Bytes, byte[]>> entries = of.entrySet().iterator();
        return new KeyValueIterator<>() {
            @Override
            public boolean hasNext() {
                return entries.hasNext();
            }

            @Override
            public KeyValue<Bytes, byte[]> next() {
                Map.Entry<Bytes, byte[]> entry = entries.next();
                return KeyValue.pair(entry.getKey(), entry.getValue());
            }

            @Override
            public Bytes peekNextKey() {
                throw new UnsupportedOperationException();
            }

            @Override
            public void close() {}
        };
    }

    @Override
    public long approximateNumEntries() {
        return content.size();
    }

    @Override
    public String name() {
        return "recorded";
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
}
