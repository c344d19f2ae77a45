package dev.weir.failure.load;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** A thread that sends requests at a rate until it is stopped. It waits while brokers are unavailable. */
public final class PacedLoad implements AutoCloseable {

    private static final long MAX_BACKLOG_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final FailureWorkload workload;
    private final Producers producers;
    private final Thread thread = new Thread(this::run, "load");
    private volatile long nanosPerRequest;
    private volatile String hot;
    private volatile boolean stopped;
    private volatile RuntimeException failure;
    private final AtomicLong sent = new AtomicLong();

    public PacedLoad(FailureWorkload workload, Producers producers, int perSecond) {
        this.workload = workload;
        this.producers = producers;
        rate(perSecond);
        thread.setDaemon(true);
        thread.start();
    }

    public void rate(int perSecond) {
        nanosPerRequest = TimeUnit.SECONDS.toNanos(1) / perSecond;
    }

    /** Sets a client that sends half of the calls from now on, null for none. */
    public void hot(String client) {
        hot = client;
    }

    public long sent() {
        return sent.get();
    }

    /** Stops sending, and waits until all requests are written. */
    public void stop() throws InterruptedException {
        stopped = true;
        thread.join();
        if (failure != null) {
            throw failure;
        }
        producers.flush();
    }

    private void run() {
        try {
            long due = System.nanoTime();
            while (!stopped) {
                LockSupport.parkNanos(due - System.nanoTime());
                if (System.nanoTime() - due >= 0) {
                    workload.hot(hot);
                    producers.send(workload.next());
                    sent.incrementAndGet();
                    due = Math.max(due + nanosPerRequest, System.nanoTime() - MAX_BACKLOG_NANOS);
                }
            }
        } catch (RuntimeException e) {
            failure = e;
        }
    }

    @Override
    public void close() {
        stopped = true;
        producers.close();
    }
}
