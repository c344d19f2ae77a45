package dev.weir.simulation;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.utils.Bytes;

/** A partition of a topic: records, and the markers that end transactions. Both have an offset. */
final class SimulatedPartition {

    final String topic;
    final int number;
    private final List<Entry> entries = new ArrayList<>();
    private int stable;

    /** @param transaction the transaction of the record, null for none */
    @SuppressWarnings("ArrayRecordComponent") // entries are identified by their position
    record Entry(
            SimulatedPartition partition,
            long offset,
            byte[] key,
            byte[] value,
            Headers headers,
            long timestampMs,
            SimulatedTransaction transaction,
            boolean isMarker) {

        boolean isCommitted() {
            return !isMarker && (transaction == null || transaction.isCommitted());
        }
    }

    SimulatedPartition(String topic, int number) {
        this.topic = topic;
        this.number = number;
    }

    Entry append(byte[] key, byte[] value, Headers headers, long timestampMs, SimulatedTransaction transaction) {
        return add(new Entry(this, entries.size(), key, value, headers, timestampMs, transaction, false));
    }

    void mark(SimulatedTransaction transaction) {
        add(new Entry(this, entries.size(), null, null, null, 0, transaction, true));
    }

    private Entry add(Entry entry) {
        entries.add(entry);
        return entry;
    }

    long end() {
        return entries.size();
    }

    /** Returns the last stable offset: the first offset of an open transaction, or the end. Readers stop here. */
    long lastStable() {
        while (stable < entries.size() && !isOpen(entries.get(stable))) {
            stable++;
        }
        return stable;
    }

    private static boolean isOpen(Entry entry) {
        return entry.transaction != null && entry.transaction.isOpen();
    }

    /** Returns the first record from an offset on that a {@code read_committed} reader sees, null if there is none. */
    Entry next(long from) {
        for (long offset = from; offset < lastStable(); offset++) {
            Entry entry = entries.get((int) offset);
            if (entry.isCommitted()) {
                return entry;
            }
        }
        return null;
    }

    Entry at(long offset) {
        return entries.get((int) offset);
    }

    /** Removes each committed record that has a later one of its key, both before an offset. Returns how many. */
    int compact(long until) {
        Set<Bytes> keys = new HashSet<>();
        int gone = 0;
        for (int offset = (int) Math.min(until, lastStable()) - 1; offset >= 0; offset--) {
            Entry entry = entries.get(offset);
            if (entry.isCommitted() && !keys.add(Bytes.wrap(entry.key()))) {
                entries.set(offset, new Entry(this, offset, null, null, null, 0, null, true));
                gone++;
            }
        }
        return gone;
    }

    @Override
    public String toString() {
        return topic + "/" + number;
    }
}
