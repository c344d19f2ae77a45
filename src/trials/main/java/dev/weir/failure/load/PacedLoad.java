package dev.weir.failure.load;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;

/**
 * A thread that sends requests at a rate until it is stopped. It waits while brokers are unavailable. A machine may be
 * too slow for the rate. So the thread sends nothing once as many requests have no decision as it sends in {@value
 * #MAX_BEHIND_SECONDS} s, until they are as many as it sends in {@value #CAUGHT_UP_SECONDS} s. Most takeovers are
 * shorter.
 */
public final class PacedLoad implements AutoCloseable {

    /** A lag of up to this many seconds of load is no backlog: slow machines always have some lag. */
    public static final int CAUGHT_UP_SECONDS = 3;

    static final int MAX_BEHIND_SECONDS = 15;

    private static final long MAX_BACKLOG_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final FailureWorkload workload;
    private final Producers producers;
    private final LongSupplier answered;
    private final Thread thread = new Thread(this::run, "load");
    private volatile int perSecond;
    private volatile String hot;
    private volatile boolean stopped;
    private volatile RuntimeException failure;
    private final AtomicLong sent = new AtomicLong();

    /** @param answered returns how many of the requests have a decision */
    public PacedLoad(FailureWorkload workload, Producers producers, int perSecond, LongSupplier answered) {
        this.workload = workload;
        this.producers = producers;
        this.answered = answered;
        this.perSecond = perSecond;
        thread.setDaemon(true);
        thread.start();
    }

    public void rate(int perSecond) {
        this.perSecond = perSecond;
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
            boolean isWaiting = false;
            while (!stopped) {
                LockSupport.parkNanos(due - System.nanoTime());
                if (System.nanoTime() - due < 0) {
                    continue;
                }
                int rate = perSecond;
                isWaiting = isBehind(rate * (isWaiting ? CAUGHT_UP_SECONDS : MAX_BEHIND_SECONDS));
                if (!isWaiting) {
                    workload.hot(hot);
                    producers.send(workload.next());
                    sent.incrementAndGet();
                }
                due = Math.max(due + TimeUnit.SECONDS.toNanos(1) / rate, System.nanoTime() - MAX_BACKLOG_NANOS);
            }
        } catch (RuntimeException e) {
            failure = e;
        }
    }

    private boolean isBehind(int most) {
        return sent.get() - answered.getAsLong() >= most;
    }

    @Override
    public void close() {
        stopped = true;
        producers.close();
    }
}
