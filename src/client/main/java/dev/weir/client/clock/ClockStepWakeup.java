package dev.weir.client.clock;

import dev.weir.lease.holder.ClockStepDetector;
import java.time.Duration;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.apache.kafka.common.errors.WakeupException;

/**
 * Wakes up a Kafka consumer when the wall clock is set back, and repeats the call that this ends. Kafka measures the
 * timeout of a poll by the wall clock, so without this a poll would take longer by the length of the step.
 */
public final class ClockStepWakeup implements AutoCloseable {

    private static final Duration CHECK = Duration.ofMillis(200);

    private final Runnable wakeup;
    private final LongSupplier wallMs;
    private final ClockStepDetector clock = new ClockStepDetector();
    private final AtomicBoolean requested = new AtomicBoolean();
    private final ScheduledThreadPoolExecutor timer;
    private long setBack; // only for the thread of the timer
    private boolean isCalling; // only for the thread of the consumer

    /**
     * Starts to check the clock.
     *
     * @param wakeup calls {@link org.apache.kafka.clients.consumer.Consumer#wakeup}, which nothing else may call
     */
    public ClockStepWakeup(Runnable wakeup) {
        this(wakeup, System::currentTimeMillis);
        var unused = timer.scheduleWithFixedDelay(this::check, 0, CHECK.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** Creates a check that its caller repeats. */
    ClockStepWakeup(Runnable wakeup, LongSupplier wallMs) {
        this.wakeup = wakeup;
        this.wallMs = wallMs;
        timer = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "weir-clock-check");
            thread.setDaemon(true);
            return thread;
        });
        check();
    }

    /** Wakes up the consumer if its clock was set back since the last check. */
    void check() {
        var unused = clock.observe(System::nanoTime, wallMs);
        if (clock.backwardCount() > setBack) {
            setBack = clock.backwardCount();
            wakeup.run();
        }
    }

    /** Ends the {@link #call} that is running, or the next one, with a {@link WakeupException}. Thread-safe. */
    public void wakeup() {
        requested.set(true);
        wakeup.run();
    }

    /**
     * Runs a call of the consumer. Repeats it if it is ended by a step of the clock. A listener that the consumer calls
     * can run further calls: a {@link #wakeup} ends these, too.
     *
     * @param <T> the type of the result
     * @param call calls the consumer
     * @return the result of the call
     * @throws WakeupException if {@link #wakeup} was called
     */
    public <T> T call(Supplier<T> call) {
        boolean isOutermost = !isCalling;
        isCalling = true;
        try {
            while (true) {
                try {
                    return call.get();
                } catch (WakeupException e) {
                    if (isOutermost ? requested.getAndSet(false) : requested.get()) {
                        throw e;
                    }
                }
            }
        } finally {
            isCalling = !isOutermost;
        }
    }

    /**
     * Runs a call without a result like {@link #call}.
     *
     * @param call calls the consumer
     */
    public void run(Runnable call) {
        var unused = call(() -> {
            call.run();
            return true;
        });
    }

    /** Stops checking the clock. */
    @Override
    public void close() {
        timer.shutdownNow();
    }
}
