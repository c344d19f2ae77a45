package dev.weir.processor;

import dev.weir.time.DueTime;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.apache.kafka.streams.processor.api.ProcessorContext;

/**
 * Runs the cleaning of a task while there is work for it, at intervals. An idle task is not cleaned, since each timer
 * that fires costs a transaction. Times are milliseconds of the task's clock.
 */
final class CleaningSchedule {

    private final ProcessorContext<?, ?> context;
    private final long intervalMs;
    private final TickScheduler ticks;
    private final LongSupplier dueMs;
    private boolean isPlanned;

    /**
     * @param clean cleans, once
     * @param dueMs returns the earliest time at which there is work, {@link DueTime#NEVER} if there is none
     */
    CleaningSchedule(ProcessorContext<?, ?> context, Duration interval, Runnable clean, LongSupplier dueMs) {
        this.context = context;
        this.dueMs = dueMs;
        intervalMs = interval.toMillis();
        ticks = new TickScheduler(() -> {
            isPlanned = false;
            clean.run();
            plan();
        });
        ticks.open(context);
    }

    /** Plans the next run, if there is work. */
    void plan() {
        if (isPlanned) {
            return;
        }
        long atMs = dueMs.getAsLong();
        if (atMs != DueTime.NEVER) {
            long nowMs = context.currentSystemTimeMs();
            isPlanned = true;
            ticks.request(Math.max(nowMs + intervalMs, atMs), nowMs);
        }
    }

    /** Cancels the next run, which would otherwise survive when a failed task is initialized again. */
    void stop() {
        ticks.cancel();
    }
}
