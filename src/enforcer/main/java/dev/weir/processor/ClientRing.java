package dev.weir.processor;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * A ring buffer of the clients of the most recent decisions, one entry per decision. Thread-safe; additions do not block
 * each other.
 */
public final class ClientRing {

    private final AtomicReferenceArray<String> last;
    private final AtomicLong added = new AtomicLong();

    /**
     * The entries that were added since an earlier snapshot.
     *
     * @param added the number of entries added since the process started
     * @param clients the entries added since the earlier snapshot, oldest first, but at most as many of the last ones as
     *     the capacity
     */
    public record Snapshot(long added, List<String> clients) {}

    ClientRing(int capacity) {
        last = new AtomicReferenceArray<>(capacity);
    }

    void add(String client) {
        last.set((int) (added.getAndIncrement() % last.length()), client);
    }

    /**
     * Returns the entries that were added since an earlier snapshot.
     *
     * @param since {@link Snapshot#added} of the earlier snapshot; 0 for all entries
     */
    public Snapshot since(long since) {
        long now = added.get();
        List<String> clients = new ArrayList<>();
        for (long i = Math.max(since, now - last.length()); i < now; i++) {
            String client = last.get((int) (i % last.length()));
            if (client != null) { // null: another thread is adding it
                clients.add(client);
            }
        }
        return new Snapshot(now, clients);
    }
}
