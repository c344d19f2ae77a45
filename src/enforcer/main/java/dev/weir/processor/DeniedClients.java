package dev.weir.processor;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** The clients that were denied last, a client as often as it was; many may add at once. */
public final class DeniedClients {

    /** How many are kept. */
    public static final int MAX_CLIENTS = 4_096;

    private final AtomicReferenceArray<String> last = new AtomicReferenceArray<>(MAX_CLIENTS);
    private final AtomicLong added = new AtomicLong();

    /**
     * Those that were added since an earlier look.
     *
     * @param added how many were added since the process started
     * @param clients those that came since the earlier look, or the last {@value #MAX_CLIENTS} of them
     */
    public record Snapshot(long added, List<String> clients) {}

    void add(String client) {
        last.set((int) (added.getAndIncrement() % MAX_CLIENTS), client);
    }

    /** @param since what {@link Snapshot#added} was then; 0: all */
    public Snapshot since(long since) {
        long now = added.get();
        List<String> clients = new ArrayList<>();
        for (long i = Math.max(since, now - MAX_CLIENTS); i < now; i++) {
            String client = last.get((int) (i % MAX_CLIENTS));
            if (client != null) { // else it is being added
                clients.add(client);
            }
        }
        return new Snapshot(now, clients);
    }
}
