package dev.weir.storage;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** The heap that all {@link WriteBackStore}s of a process can use together. Stores with entries share it evenly. */
public final class CacheBudget {

    private final long bytes;
    private final AtomicInteger stores = new AtomicInteger();
    private final LongAdder used = new LongAdder();

    /** @param bytes the maximum in bytes; 0 to cache no values */
    public CacheBudget(long bytes) {
        this.bytes = bytes;
    }

    /** Returns the approximate maximum in bytes. */
    public long bytes() {
        return bytes;
    }

    /** Returns approximately how many bytes are in use. */
    public long usedBytes() {
        return used.sum();
    }

    /**
     * Records a change of a store's usage.
     *
     * @param more the number of additional bytes, negative if the store uses less than before
     */
    void use(long more) {
        used.add(more);
    }

    /** Returns how many bytes one store can use. */
    long share() {
        return bytes / Math.max(1, stores.get());
    }

    /** Adds a store to those that share the budget. */
    void join() {
        stores.incrementAndGet();
    }

    /** Removes a store from those that share the budget. */
    void leave() {
        stores.decrementAndGet();
    }
}
