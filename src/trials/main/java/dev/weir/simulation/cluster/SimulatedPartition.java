package dev.weir.simulation.cluster;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.utils.Bytes;

/**
 * A partition of a topic: records, and offsets without a record, which are those of the markers that end transactions
 * and of records that were compacted.
 */
public final class SimulatedPartition {

    public final String topic;
    public final int number;
    private final List<Optional<Entry>> entries = new ArrayList<>(); // by offset
    private int stable;

    /** @param transaction the transaction of the record, null for none */
    @SuppressWarnings("ArrayRecordComponent") // entries are identified by their position
    public record Entry(
            SimulatedPartition partition,
            long offset,
            byte[] key,
            byte[] value,
            Headers headers,
            long timestampMs,
            SimulatedTransaction transaction) {

        public boolean isCommitted() {
            return transaction == null || transaction.isCommitted();
        }

        private boolean isOpen() {
            return transaction != null && transaction.isOpen();
        }
    }

    SimulatedPartition(String topic, int number) {
        this.topic = topic;
        this.number = number;
    }

    public Entry append(byte[] key, byte[] value, Headers headers, long timestampMs, SimulatedTransaction transaction) {
        Entry entry = new Entry(this, entries.size(), key, value, headers, timestampMs, transaction);
        entries.add(Optional.of(entry));
        return entry;
    }

    /** Appends the marker of a transaction that has ended. */
    void mark() {
        entries.add(Optional.empty());
    }

    public long end() {
        return entries.size();
    }

    /** Returns the last stable offset: the first offset of an open transaction, or the end. Readers stop here. */
    public long lastStable() {
        while (stable < entries.size()
                && entries.get(stable).filter(Entry::isOpen).isEmpty()) {
            stable++;
        }
        return stable;
    }

    /** Returns the first record from an offset on that a {@code read_committed} reader sees, null if there is none. */
    public Entry next(long from) {
        for (long offset = from; offset < lastStable(); offset++) {
            Optional<Entry> entry = at(offset).filter(Entry::isCommitted);
            if (entry.isPresent()) {
                return entry.get();
            }
        }
        return null;
    }

    /** Returns the record at an offset, empty if there is none, or none any more. */
    public Optional<Entry> at(long offset) {
        return entries.get((int) offset);
    }

    /** Removes each committed record that has a later one of its key, both before an offset. Returns how many. */
    public int compact(long until) {
        Set<Bytes> keys = new HashSet<>();
        int gone = 0;
        for (int offset = (int) Math.min(until, lastStable()) - 1; offset >= 0; offset--) {
            Optional<Entry> entry = at(offset).filter(Entry::isCommitted);
            if (entry.isPresent() && !keys.add(Bytes.wrap(entry.get().key()))) {
                entries.set(offset, Optional.empty());
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
