package dev.weir.storage;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * The heap that all {@link WriteBackStore}s of a process may take together. Those that have entries share it evenly.
 */
public final class CacheBudget {

    private final long bytes;
    private final AtomicInteger stores = new AtomicInteger();
    private final LongAdder used = new LongAdder();

    /** @param bytes 0 to keep no value on the heap */
    public CacheBudget(long bytes) {
        this.bytes = bytes;
    }

    /** Returns about how many bytes may be taken. */
    public long bytes() {
        return bytes;
    }

    /** Returns about how many bytes are taken. */
    public long usedBytes() {
        return used.sum();
    }

    /**
     * Reports that a store takes more bytes than before.
     *
     * @param more negative if it takes less
     */
    void use(long more) {
        used.add(more);
    }

    /** Returns how many bytes one store may take. */
    long share() {
        return bytes / Math.max(1, stores.get());
    }

    /** Adds a store to those that share the memory. */
    void join() {
        stores.incrementAndGet();
    }

    void leave() {
        stores.decrementAndGet();
    }
}
