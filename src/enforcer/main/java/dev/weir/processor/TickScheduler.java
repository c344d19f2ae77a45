package dev.weir.processor;

import java.time.Duration;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.ProcessorContext;

/**
 * Runs an action of a task once, at the earliest of the times that were requested since it last ran. At most one
 * wall-clock punctuation is pending. Times are milliseconds of the task's clock.
 */
final class TickScheduler {

    /** The action runs no sooner than this after a request: what is due in between is done together. */
    static final long LEAST_MS = 5;

    private final Runnable action;
    private ProcessorContext<?, ?> context;
    private Cancellable pending; // null if none is
    private long pendingAtMs;

    /** @param action may request the next run */
    TickScheduler(Runnable action) {
        this.action = action;
    }

    /** Opens a task, or opens it again after a failure: a run that is pending is cancelled. */
    void open(ProcessorContext<?, ?> ofTask) {
        cancel();
        context = ofTask;
    }

    /** Requests a run at a time. Has no effect if a run is pending that is not later. */
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

    private void cancel() {
        if (pending != null) {
            pending.cancel();
            pending = null;
        }
    }
}
