package dev.weir.wire;

import java.io.IOException;
import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;

/**
 * An immutable map of a few attributes, in the order in which they were written. With so few, a linear search is faster
 * than a hash table.
 */
final class AttributeMap extends AbstractMap<String, String> {

    private static final int FEW = 8;
    private static final AttributeMap NONE = new AttributeMap(new String[0], 0);

    /** Names and values alternately. */
    private final String[] pairs;

    private final int end;

    private AttributeMap(String[] pairs, int end) {
        this.pairs = pairs;
        this.end = end;
    }

    /**
     * Reads a map. It is an {@code AttributeMap} if it is small and in one block. If a name occurs twice, its last
     * value counts.
     */
    static Map<String, String> read(BytesDecoder in, StringInterner names) throws IOException {
        long count = in.readMapStart();
        if (count == 0) {
            return NONE;
        }
        if (count > FEW) {
            return readMore(in, names, count, new HashMap<>());
        }
        Map<String, String> few = readFew(in, names, (int) count);
        long more = in.mapNext();
        return more == 0 ? few : readMore(in, names, more, new HashMap<>(few));
    }

    private static Map<String, String> readFew(BytesDecoder in, StringInterner names, int count) throws IOException {
        String[] pairs = new String[2 * count];
        int end = 0;
        for (int i = 0; i < count; i++) {
            String name = in.readWord(names);
            int place = place(pairs, end, name);
            pairs[place] = name;
            pairs[place + 1] = in.readString();
            end = Math.max(end, place + 2);
        }
        return new AttributeMap(pairs, end);
    }

    private static Map<String, String> readMore(
            BytesDecoder in, StringInterner names, long firstCount, Map<String, String> attributes) throws IOException {
        for (long count = firstCount; count > 0; count = in.mapNext()) {
            for (long i = 0; i < count; i++) {
                attributes.put(in.readWord(names), in.readString());
            }
        }
        return attributes;
    }

    /** Returns the position of a name, or the end if it is missing. */
    private static int place(String[] pairs, int end, Object name) {
        int place = 0;
        while (place < end && !pairs[place].equals(name)) {
            place += 2;
        }
        return place;
    }

    @Override
    public String get(Object name) {
        int place = place(pairs, end, name);
        return place < end ? pairs[place + 1] : null;
    }

    @Override
    public boolean containsKey(Object name) {
        return place(pairs, end, name) < end;
    }

    @Override
    public int size() {
        return end / 2;
    }

    @Override
    public Set<Entry<String, String>> entrySet() {
        return new Entries();
    }

    private final class Entries extends AbstractSet<Entry<String, String>> {
        @Override
        public int size() {
            return AttributeMap.this.size();
        }

        @Override
        public Iterator<Entry<String, String>> iterator() {
            return new InOrder();
        }
    }

    private final class InOrder implements Iterator<Entry<String, String>> {
        private int at;

        @Override
        public boolean hasNext() {
            return at < end;
        }

        @Override
        public Entry<String, String> next() {
            if (at >= end) {
                throw new NoSuchElementException();
            }
            at += 2;
            return Map.entry(pairs[at - 2], pairs[at - 1]);
        }
    }
}
