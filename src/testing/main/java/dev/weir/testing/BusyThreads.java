package dev.weir.testing;

import java.util.ArrayList;
import java.util.List;

/** Threads that keep processors busy until they are closed, for measurements and tests on a loaded machine. */
public final class BusyThreads implements AutoCloseable {

    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean isClosed;

    /** @param count the number of processors to keep busy, 0 or more */
    public BusyThreads(int count) {
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(this::spin, "busy-" + i);
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
    }

    private void spin() {
        while (!isClosed) {
            Thread.onSpinWait();
        }
    }

    @Override
    public void close() {
        isClosed = true;
    }
}
