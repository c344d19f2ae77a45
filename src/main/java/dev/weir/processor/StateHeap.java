package dev.weir.processor;

import dev.weir.codec.StateBytes;
import dev.weir.codec.StateCodec;
import dev.weir.limit.Account;
import dev.weir.limit.LogSegment;
import dev.weir.limit.SlidingWindowLog.Log;
import dev.weir.policy.PolicyState;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** States by their encoded keys on the heap, of which it is known which differ from the store's and about how large they are. */
// They are kept as the store has them, decoded when they are asked for: that is one array instead of some ten objects
// to find in memory and to collect, and nothing is left to encode before a commit. Logs, which may be long, stay
// decoded.
// Eviction is by CLOCK: entries stand in the order in which they came; the oldest goes, unless it was found since it
// was looked at last, which sends it back to the end. So a hit costs no more than a mark, and clients that come once
// push out each other rather than those that come again.
final class StateHeap {

    /** What an entry takes beside the bytes of its key and its state: itself, the table's, and the heads of both arrays. */
    private static final int ENTRY_BYTES = 136;

    private static final int STATE_BYTES = 128;
    private static final int ACCOUNT_BYTES = 176;
    private static final int LOG_BYTES = 240;
    private static final int BYTES_PER_LOG_ENTRY = 16;

    /** Arrays take heap by as many bytes. */
    private static final int ROOM = 8;

    /** A key and its state. */
    // Entries are looked up by entries: HashMap searches a crowded bin by order only if all of its keys are of one
    // class
    // that is comparable to itself, and linearly otherwise.
    static final class Entry implements Comparable<Entry> {
        private final KeyHash hashing;
        private final byte[] key;
        private final int hash;
        private byte[] encoded; // null if there is no state, or it is decoded; it has room for some bytes more
        private int length; // of what is encoded
        private PolicyState decoded; // what has a log; all else is encoded
        private int bytes;
        private boolean isFound;
        private boolean isDirty;
        private boolean isListed;

        private Entry(KeyHash hashing, byte[] key) {
            this.hashing = hashing;
            this.key = key;
            this.hash = hashing.hash(key);
        }

        /** The encoded key; callers must not change it. */
        byte[] key() {
            return key;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Entry entry && hash == entry.hash && hashing.equal(key, entry.key);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public int compareTo(Entry other) {
            return hashing.compare(key, other.key);
        }

        /** Null if there is none. */
        byte[] encoded() {
            if (decoded != null) {
                return StateCodec.encode(decoded);
            }
            return encoded == null ? null : Arrays.copyOf(encoded, length);
        }

        /** Whether the store has another state. */
        boolean isDirty() {
            return isDirty;
        }
    }

    private final KeyHash hashing;
    private final Map<Entry, Entry> entries = new LinkedHashMap<>();
    private final List<Entry> changed = new ArrayList<>();
    private final StateBytes scratch = StateBytes.empty();
    private long bytes;

    StateHeap(KeyHash hashing) {
        this.hashing = hashing;
    }

    /** What is known of a key, null if nothing is. */
    Entry peek(byte[] key) {
        return entries.get(new Entry(hashing, key));
    }

    /** As {@link #peek}, for somebody who comes again. */
    Entry find(byte[] key) {
        Entry entry = peek(key);
        if (entry != null) {
            entry.isFound = true;
        }
        return entry;
    }

    /**
     * Adds a key that was not {@linkplain #find found}, with what the store has under it.
     *
     * @param key callers must not change it afterwards
     */
    Entry add(byte[] key, byte[] stored) {
        Entry entry = new Entry(hashing, key);
        entries.put(entry, entry);
        encode(entry, stored);
        return entry;
    }

    /** The state of a key, null if there is none. */
    PolicyState read(Entry entry, HotStates.Reader reader) {
        if (entry.encoded == null) {
            return entry.decoded;
        }
        PolicyState state = reader.read(entry.key, entry.encoded, entry.length);
        if (hasLog(state)) {
            decode(entry, state);
        }
        return state;
    }

    void change(Entry entry, PolicyState state) {
        if (hasLog(state)) {
            decode(entry, state);
        } else {
            StateCodec.encode(state, scratch);
            encode(entry, scratch.bytes(), scratch.length());
        }
        note(entry);
    }

    /** To what is no state, and has no log. */
    void change(Entry entry, byte[] encoded) {
        encode(entry, encoded);
        note(entry);
    }

    private void note(Entry entry) {
        entry.isDirty = true;
        if (!entry.isListed) {
            entry.isListed = true;
            changed.add(entry);
        }
    }

    private void encode(Entry entry, byte[] state) {
        if (state == null) {
            entry.encoded = null;
            entry.decoded = null;
            measure(entry, 0);
        } else {
            encode(entry, state, state.length);
        }
    }

    /** In place if it fits: what is old would else refer to what is new all the time, which costs the collector most. */
    private void encode(Entry entry, byte[] state, int length) {
        if (entry.encoded == null || length > entry.encoded.length || length < entry.encoded.length / 2) {
            entry.encoded = new byte[(length + ROOM - 1) / ROOM * ROOM];
            entry.decoded = null;
            measure(entry, entry.encoded.length);
        }
        System.arraycopy(state, 0, entry.encoded, 0, length);
        entry.length = length;
    }

    private void decode(Entry entry, PolicyState state) {
        entry.encoded = null;
        entry.decoded = state;
        measure(entry, bytes(state));
    }

    private void measure(Entry entry, int stateBytes) {
        int size = ENTRY_BYTES + entry.key.length + stateBytes;
        bytes += size - entry.bytes;
        entry.bytes = size;
    }

    boolean isDirty(byte[] key) {
        Entry entry = peek(key);
        return entry != null && entry.isDirty;
    }

    /** For those that differ from the store's. */
    void forEachDirty(Consumer<Entry> what) {
        for (Entry entry : changed) {
            if (entry.isDirty) {
                what.accept(entry);
            }
        }
    }

    /** One is as in the store now. */
    void written(Entry entry) {
        entry.isDirty = false;
    }

    /** All are as in the store now. */
    void allWritten() {
        for (Entry entry : changed) {
            entry.isDirty = false;
            entry.isListed = false;
        }
        changed.clear();
    }

    /** About how many bytes of heap all take together. */
    long bytes() {
        return bytes;
    }

    /** The one that is to go next. */
    Entry coldest() {
        Entry oldest = entries.values().iterator().next();
        while (oldest.isFound) {
            oldest.isFound = false;
            entries.remove(oldest);
            entries.put(oldest, oldest);
            oldest = entries.values().iterator().next();
        }
        return oldest;
    }

    void remove(byte[] key) {
        remove(new Entry(hashing, key));
    }

    /** Removes the entry of the same key. */
    void remove(Entry sameKey) {
        Entry entry = entries.remove(sameKey);
        bytes -= entry == null ? 0 : entry.bytes;
    }

    boolean isEmpty() {
        return entries.isEmpty();
    }

    void clear() {
        entries.clear();
        changed.clear();
        bytes = 0;
    }

    private static boolean hasLog(PolicyState state) {
        for (Account<?> account : state.accounts()) {
            if (account.state() instanceof Log) {
                return true;
            }
        }
        return !state.retired().isEmpty();
    }

    private static int bytes(PolicyState state) {
        int size = STATE_BYTES;
        for (Account<?> account : state.accounts()) {
            size += ACCOUNT_BYTES + (account.state() instanceof Log log ? bytes(log) : 0);
        }
        for (Log log : state.retired()) {
            size += bytes(log);
        }
        return size;
    }

    /** With the segment that it has read last. */
    private static int bytes(Log log) {
        int entriesOfSegments = log.head() < log.tailNumber() ? LogSegment.CAPACITY : 0;
        return LOG_BYTES + BYTES_PER_LOG_ENTRY * (log.tail().size() + entriesOfSegments);
    }
}
