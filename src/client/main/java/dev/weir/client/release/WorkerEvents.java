package dev.weir.client.release;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What a worker runs beside its thread: handlers, timers and requests. They end with events, which its thread runs. All
 * methods are for this thread.
 */
final class WorkerEvents {

    private final ExecutorService handlers;
    private final ScheduledExecutorService timer;
    private final LinkedBlockingQueue<Runnable> events = new LinkedBlockingQueue<>();
    private boolean isStopping;

    /** A step that another thread runs. */
    interface Step {
        void run() throws Exception;
    }

    /** What follows a step. */
    interface AfterStep {
        /**
         * Runs in the worker's thread.
         *
         * @param thrown what the step has thrown; null if it has returned
         */
        void run(Throwable thrown);
    }

    /** What follows a request. */
    interface AfterAnswer<T> {
        /**
         * Runs in the worker's thread.
         *
         * @param answer the answer; null if there is none
         * @param failure why there is no answer; otherwise null
         */
        void run(T answer, Throwable failure);
    }

    WorkerEvents(int threads) {
        AtomicInteger names = new AtomicInteger();
        handlers = Executors.newFixedThreadPool(
                threads, task -> new Thread(task, "weir-handler-" + names.incrementAndGet()));
        timer = Executors.newSingleThreadScheduledExecutor();
    }

    /**
     * Runs a step in a thread of its own.
     *
     * @return whether it will run; false if the worker is closed
     */
    boolean runAside(Step step, AfterStep next) {
        try {
            handlers.execute(() -> {
                Throwable thrown = null;
                try {
                    step.run();
                } catch (Throwable e) { // whatever a handler throws must not lose the release
                    thrown = e;
                }
                Throwable last = thrown;
                events.add(() -> next.run(last));
            });
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }

    /** Runs an event when a request is answered. */
    <T> void afterAnswer(CompletableFuture<T> request, AfterAnswer<T> next) {
        var unused = request.whenComplete((answer, failure) -> events.add(() -> next.run(
                answer,
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure)));
    }

    /** Runs an event later, unless the worker is closed before. */
    void after(Duration wait, Runnable next) {
        if (!isStopping) {
            var unused =
                    timer.schedule(() -> events.add(next), TimeUnit.NANOSECONDS.convert(wait), TimeUnit.NANOSECONDS);
        }
    }

    /** Waits for an event, for {@code waitMs} at most, and runs all that have arrived. */
    void run(long waitMs) {
        try {
            Runnable event = waitMs == 0 ? events.poll() : events.poll(waitMs, TimeUnit.MILLISECONDS);
            for (; event != null; event = events.poll()) {
                event.run();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Runs no event later any more. */
    void stopTimer() {
        isStopping = true;
        timer.shutdownNow();
    }

    /** Interrupts the steps. */
    void stopHandlers() {
        handlers.shutdownNow();
    }
}
