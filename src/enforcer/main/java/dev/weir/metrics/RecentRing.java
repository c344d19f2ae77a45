package dev.weir.metrics;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** A ring buffer of the most recent entries. Thread-safe; additions do not block each other. */
public final class RecentRing<T> {

    private final AtomicReferenceArray<T> last;
    private final AtomicLong added = new AtomicLong();

    /**
     * The entries that were added since an earlier snapshot.
     *
     * @param added the number of entries added since the process started
     * @param entries the entries added since the earlier snapshot, oldest first, but at most as many of the last ones as
     *     the capacity
     */
    public record Snapshot<T>(long added, List<T> entries) {}

    RecentRing(int capacity) {
        last = new AtomicReferenceArray<>(capacity);
    }

    void add(T entry) {
        last.set((int) (added.getAndIncrement() % last.length()), entry);
    }

    /**
     * Returns the entries that were added since an earlier snapshot.
     *
     * @param since {@link Snapshot#added} of the earlier snapshot; 0 for all entries
     */
    public Snapshot<T> since(long since) {
        long now = added.get();
        List<T> entries = new ArrayList<>();
        for (long i = Math.max(since, now - last.length()); i < now; i++) {
            T entry = last.get((int) (i % last.length()));
            if (entry != null) { // null: another thread is adding it
                entries.add(entry);
            }
        }
        return new Snapshot<>(now, entries);
    }
}
