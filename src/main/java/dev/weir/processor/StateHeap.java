package dev.weir.processor;

import dev.weir.limit.Account;
import dev.weir.limit.LogSegment;
import dev.weir.limit.SlidingWindowLog.Log;
import dev.weir.policy.PolicyState;
import dev.weir.policy.StateKey;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.kafka.common.utils.Bytes;

/** States by their keys on the heap, of which it is known which differ from the store's and about how large they are. */
// Eviction is by CLOCK: entries stand in the order in which they came; the oldest goes, unless it was found since it
// was looked at last, which sends it back to the end. So a hit costs no more than a mark, and clients that come once
// push out each other rather than those that come again.
final class StateHeap {

    /** What a key takes beside its texts: its entry here with the table's, and the objects of both of its forms. */
    private static final int KEY_BYTES = 240;

    /** The characters of a key's texts, of two bytes at worst, and its encoded form. */
    private static final int BYTES_PER_KEY_BYTE = 3;

    private static final int BYTES_PER_FURTHER_TEXT = 56;
    private static final int STATE_BYTES = 128;
    private static final int ACCOUNT_BYTES = 176;
    private static final int LOG_BYTES = 240;
    private static final int BYTES_PER_LOG_ENTRY = 16;

    /** A key and its state. */
    static final class Entry {
        final StateKey key;
        final Bytes storeKey;
        private PolicyState state;
        private int bytes;
        private boolean isFound;
        private boolean isDirty;
        private boolean isListed;

        private Entry(StateKey key, Bytes storeKey) {
            this.key = key;
            this.storeKey = storeKey;
        }

        /** Null if there is none. */
        PolicyState state() {
            return state;
        }

        /** Whether the store has another state. */
        boolean isDirty() {
            return isDirty;
        }
    }

    private final Map<StateKey, Entry> entries = new LinkedHashMap<>();
    private final List<Entry> changed = new ArrayList<>();
    private long bytes;

    /** What is known of a key, null if nothing is. */
    Entry peek(StateKey key) {
        return entries.get(key);
    }

    /** As {@link #peek}, for somebody who comes again. */
    Entry find(StateKey key) {
        Entry entry = entries.get(key);
        if (entry != null) {
            entry.isFound = true;
        }
        return entry;
    }

    /** Adds a key that was not {@linkplain #find found}, with what the store has under it. */
    Entry add(StateKey key, Bytes storeKey, PolicyState state) {
        Entry entry = new Entry(key, storeKey);
        entries.put(key, entry);
        set(entry, state);
        return entry;
    }

    void change(Entry entry, PolicyState state) {
        set(entry, state);
        entry.isDirty = true;
        if (!entry.isListed) {
            entry.isListed = true;
            changed.add(entry);
        }
    }

    private void set(Entry entry, PolicyState state) {
        bytes -= entry.bytes;
        entry.state = state;
        entry.bytes = bytes(entry);
        bytes += entry.bytes;
    }

    boolean isDirty(StateKey key) {
        Entry entry = entries.get(key);
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
            entries.remove(oldest.key);
            entries.put(oldest.key, oldest);
            oldest = entries.values().iterator().next();
        }
        return oldest;
    }

    void remove(StateKey key) {
        Entry entry = entries.remove(key);
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

    private static int bytes(Entry entry) {
        int size = KEY_BYTES
                + BYTES_PER_KEY_BYTE * entry.storeKey.get().length
                + BYTES_PER_FURTHER_TEXT * entry.key.others().size();
        PolicyState state = entry.state;
        if (state == null) {
            return size;
        }
        size += STATE_BYTES;
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
