package dev.weir.processor;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** How much heap the states of all tasks of a process may take. The tasks that have some share it evenly. */
public final class HotMemory {

    private final long bytes;
    private final AtomicInteger tasks = new AtomicInteger();
    private final LongAdder used = new LongAdder();

    /** @param bytes 0 if no state is to stay on the heap */
    public HotMemory(long bytes) {
        this.bytes = bytes;
    }

    /** About how many bytes may be taken. */
    public long bytes() {
        return bytes;
    }

    /** About how many bytes are taken. */
    public long usedBytes() {
        return used.sum();
    }

    /** @param more bytes of a task; below 0: less */
    void use(long more) {
        used.add(more);
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
