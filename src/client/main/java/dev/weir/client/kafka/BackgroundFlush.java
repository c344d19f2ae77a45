package dev.weir.client.kafka;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Flushes a producer in another thread, because a flush waits until the brokers have confirmed. One flush runs at a
 * time, and at most one more waits: it is also for the requests that follow. Thread-safe.
 */
public final class BackgroundFlush implements AutoCloseable {

    private static final long IDLE_SECONDS = 1;

    private final Runnable flush;
    private final ThreadPoolExecutor executor;

    /**
     * Creates an instance without a thread.
     *
     * @param flush flushes the producer
     */
    public BackgroundFlush(Runnable flush) {
        this.flush = flush;
        executor = new ThreadPoolExecutor(
                1,
                1,
                IDLE_SECONDS,
                TimeUnit.SECONDS,
                new ArrayBlockingQueue<>(1),
                task -> {
                    Thread thread = new Thread(task, "weir-client-flush");
                    thread.setDaemon(true);
                    return thread;
                },
                new ThreadPoolExecutor.DiscardPolicy());
        executor.allowCoreThreadTimeOut(true);
    }

    /** Requests a flush, and does not wait for it. Does nothing after {@link #close}. */
    public void request() {
        executor.execute(flush);
    }

    /** Ends the thread after the requested flushes, which end when the producer is closed. */
    @Override
    public void close() {
        executor.shutdown();
    }
}
