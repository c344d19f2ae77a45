package dev.weir.processor;

import java.time.Duration;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.ProcessorContext;

/**
 * Runs an action of a task once, at the earliest time that was requested since its last run. At most one wall-clock
 * punctuation is pending. Times are milliseconds of the task's clock.
 */
final class TickScheduler {

    /** The minimum delay of a run after a request, so that work that falls due within this time is done together. */
    static final long LEAST_MS = 5;

    private final Runnable action;
    private ProcessorContext<?, ?> context;
    private Cancellable pending; // null if none is
    private long pendingAtMs;

    /** @param action the action; it may request the next run */
    TickScheduler(Runnable action) {
        this.action = action;
    }

    /** Sets the task. If it is initialized again after a failure, a pending run is cancelled. */
    void open(ProcessorContext<?, ?> ofTask) {
        cancel();
        context = ofTask;
    }

    /** Requests a run. Has no effect if an earlier run, or one at the same time, is pending. */
    void request(long atMs, long nowMs) {
        long runAtMs = Math.max(atMs, nowMs + LEAST_MS);
        if (pending != null && pendingAtMs <= runAtMs) {
            return;
        }
        cancel();
        pendingAtMs = runAtMs;
        pending = context.schedule(
                Duration.ofMillis(runAtMs - nowMs), PunctuationType.WALL_CLOCK_TIME, punctuatedMs -> run());
    }

    private void run() {
        cancel(); // a punctuation repeats until it is cancelled
        action.run();
    }

    /** Cancels the pending run, if any. */
    void cancel() {
        if (pending != null) {
            pending.cancel();
            pending = null;
        }
    }
}
