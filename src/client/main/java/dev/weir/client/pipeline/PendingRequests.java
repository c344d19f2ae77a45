package dev.weir.client.pipeline;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** The requests of a client that wait, by number, with their time-outs. Bounds their count. Thread-safe. */
final class PendingRequests implements AutoCloseable {

    /** How often {@link #mark} should be called. */
    static final Duration MARK = Duration.ofMillis(200);

    /** As many marks as in 5 s: a decision that is later comes from an enforcer with a backlog of an outage. */
    private static final int MARKS = 25;

    private final AtomicLong numbers = new AtomicLong();
    private final long[] marks = new long[MARKS]; // the highest numbers at the last marks; guarded by itself
    private int nextMark; // guarded by marks
    private final Map<Long, PendingRequest> byNumber = new ConcurrentHashMap<>();
    private final int max;
    private final Semaphore permits;
    private final long maxWaitNanos;
    private final ScheduledThreadPoolExecutor timer;
    private volatile boolean closed;

    /**
     * Creates an empty set.
     *
     * @param max the maximum number of requests
     * @param maxWait how long {@link #reserve} waits
     */
    PendingRequests(int max, Duration maxWait) {
        this.max = max;
        permits = new Semaphore(max);
        maxWaitNanos = TimeUnit.NANOSECONDS.convert(maxWait);
        timer = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "weir-client-timeouts");
            thread.setDaemon(true);
            return thread;
        });
        timer.setRemoveOnCancelPolicy(true);
    }

    /** Returns the maximum number of requests. */
    int max() {
        return max;
    }

    /** Reserves room for a request that is {@linkplain #add added} next. Returns false if there is none. */
    boolean tryReserve() {
        return permits.tryAcquire();
    }

    /** Reserves room like {@link #tryReserve}, and waits for it. Returns false if the thread is interrupted. */
    boolean reserve() {
        try {
            return permits.tryAcquire() || permits.tryAcquire(maxWaitNanos, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /**
     * Adds a request for which room was reserved, and schedules its time-out.
     *
     * @param whenTimedOut runs when the request may wait no longer, even if it was removed at that moment
     * @return false if this was closed; then the caller must end the request
     */
    boolean add(PendingRequest request, Runnable whenTimedOut) {
        request.begin(numbers.incrementAndGet());
        byNumber.put(request.number(), request);
        try {
            request.setTimeout(timer.schedule(whenTimedOut, request.within().toNanos(), TimeUnit.NANOSECONDS));
        } catch (RejectedExecutionException e) {
            return false;
        }
        return !closed; // all requests may have ended before this one was added
    }

    /** Records which number is the highest now. */
    void mark() {
        synchronized (marks) {
            marks[nextMark] = numbers.get();
            nextMark = (nextMark + 1) % MARKS;
        }
    }

    /** Returns whether a number was given within the last {@value #MARKS} marks. */
    boolean isRecent(long number) {
        synchronized (marks) {
            return number > marks[nextMark];
        }
    }

    /** Removes a request, which the caller must complete. Returns null if it was removed before. */
    PendingRequest remove(long number) {
        PendingRequest request = byNumber.remove(number);
        if (request != null) {
            permits.release();
            request.cancelTimeout();
        }
        return request;
    }

    /** Runs a task at intervals in the thread of time-outs, which it must not block, until this is closed. */
    void repeat(Runnable task, Duration every) {
        var unused = timer.scheduleWithFixedDelay(task, 0, every.toMillis(), TimeUnit.MILLISECONDS);
    }

    /**
     * Runs a task once, after a time, in the thread of time-outs, which it must not block.
     *
     * @return the task; empty if this was closed, so that it will not run
     */
    Optional<Future<?>> schedule(Runnable task, long afterNanos) {
        try {
            return Optional.of(timer.schedule(task, afterNanos, TimeUnit.NANOSECONDS));
        } catch (RejectedExecutionException e) {
            return Optional.empty();
        }
    }

    boolean contains(PendingRequest request) {
        return byNumber.containsKey(request.number());
    }

    int size() {
        return byNumber.size();
    }

    /** Returns the numbers of the requests. */
    Iterable<Long> numbers() {
        return byNumber.keySet();
    }

    boolean isClosed() {
        return closed;
    }

    /** Stops the time-outs. Keeps the requests, which the caller must end afterwards. */
    @Override
    public void close() {
        closed = true;
        timer.shutdownNow();
    }
}
