package dev.weir.processor;

import java.util.concurrent.atomic.AtomicInteger;

/** How much heap the states of all tasks of a process may take. The tasks that have some share it evenly. */
public final class HotMemory {

    private final long bytes;
    private final AtomicInteger tasks = new AtomicInteger();

    /** @param bytes 0 if no state is to stay on the heap */
    public HotMemory(long bytes) {
        this.bytes = bytes;
    }

    /** What one task may have. */
    long share() {
        return bytes / Math.max(1, tasks.get());
    }

    void join() {
        tasks.incrementAndGet();
    }

    void leave() {
        tasks.decrementAndGet();
    }
}
