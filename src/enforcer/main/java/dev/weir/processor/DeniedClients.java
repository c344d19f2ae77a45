package dev.weir.processor;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * A ring buffer of the clients of the most recent denials, one entry per denial. Thread-safe; additions do not block
 * each other.
 */
public final class DeniedClients {

    /** The capacity. */
    public static final int MAX_CLIENTS = 4_096;

    private final AtomicReferenceArray<String> last = new AtomicReferenceArray<>(MAX_CLIENTS);
    private final AtomicLong added = new AtomicLong();

    /**
     * The entries that were added since an earlier snapshot.
     *
     * @param added the number of entries added since the process started
     * @param clients the entries added since the earlier snapshot, but at most the last {@value #MAX_CLIENTS} of them
     */
    public record Snapshot(long added, List<String> clients) {}

    void add(String client) {
        last.set((int) (added.getAndIncrement() % MAX_CLIENTS), client);
    }

    /**
     * Returns the entries that were added since an earlier snapshot.
     *
     * @param since {@link Snapshot#added} of the earlier snapshot; 0 for all entries
     */
    public Snapshot since(long since) {
        long now = added.get();
        List<String> clients = new ArrayList<>();
        for (long i = Math.max(since, now - MAX_CLIENTS); i < now; i++) {
            String client = last.get((int) (i % MAX_CLIENTS));
            if (client != null) { // null: another thread is adding it
                clients.add(client);
            }
        }
        return new Snapshot(now, clients);
    }
}
