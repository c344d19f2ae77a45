package dev.weir.processor;

import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.shape.Shaper;
import dev.weir.shape.effect.QueueEffect;
import dev.weir.shape.effect.QueueMessage;
import dev.weir.time.DueTime;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.kafka.streams.processor.api.ProcessorContext;

/**
 * The queues of an open task: feeds them with messages and time, and carries out the effects. Other threads can query
 * them between two steps. Time is the broker's, as estimated by {@link QueueTime}: while requests wait, the task sends
 * itself a marker every second. An idle queue needs no ticks.
 */
final class QueueTask {

    /** The maximum number of steps per tick, so that records are read in between. */
    private static final int STEPS_A_TICK = 5_000;

    /** The steps of a tick whose effects are on the heap at once, with the payloads of requests that are released. */
    private static final int STEPS_AT_ONCE = 100;

    /** While requests wait, changed rules are applied after this time at the latest. */
    private static final long MAX_TICK_MS = 500;

    private final ReentrantLock working = new ReentrantLock(true); // fair, so that queries run between two records
    private final ProcessorContext<?, ?> context;
    private final PolicyRegistry policies;
    private final QueueEffectForwarder forwarder;
    private final TickScheduler ticks;
    private final Shaper shaper;
    private final QueueTime time;
    private long changesSeen = -1;
    private boolean isClosed;

    /**
     * Opens the queues.
     *
     * @param ticks calls {@link #tick}
     */
    QueueTask(
            ProcessorContext<?, ?> context,
            PolicyRegistry policies,
            QueueEffectForwarder forwarder,
            TickScheduler ticks,
            Shaper shaper) {
        this.context = context;
        this.policies = policies;
        this.forwarder = forwarder;
        this.ticks = ticks;
        this.shaper = shaper;
        time = new QueueTime(shaper.lastWriteMs());
        planTick();
    }

    /**
     * Handles a message.
     *
     * @param offset its offset
     * @param appendMs when the broker appended it
     */
    void receive(QueueMessage message, long offset, long appendMs) {
        long localMs = context.currentSystemTimeMs();
        work(() -> {
            if (message instanceof QueueMessage.Marker marker) {
                if (time.readMarker(marker, appendMs, localMs)) {
                    carryOut(shaper.stepBack(time.nanos(localMs)), localMs);
                }
            } else {
                time.read(appendMs, localMs);
                carryOut(shaper.receive(message, offset, appendMs, time.nanos(localMs)), localMs);
                sendMarker(localMs, time.isAheadOf(appendMs, localMs));
            }
            planTick();
        });
    }

    /** Does what is due. */
    void tick() {
        long localMs = context.currentSystemTimeMs();
        work(() -> {
            if (time.isSynchronized()) {
                long nowNanos = time.nanos(localMs);
                long changes = policies.queueChanges();
                if (changes != changesSeen) {
                    changesSeen = changes;
                    carryOut(shaper.refresh(nowNanos), localMs);
                }
                for (int steps = 0; steps == 0 || steps < STEPS_A_TICK && shaper.dueNanos() <= nowNanos; ) {
                    carryOut(shaper.tick(nowNanos, STEPS_AT_ONCE), localMs);
                    steps += STEPS_AT_ONCE;
                }
            }
            sendMarker(localMs, false);
            planTick();
        });
    }

    private void carryOut(List<QueueEffect> effects, long localMs) {
        forwarder.carryOut(effects, time.ms(localMs));
    }

    /**
     * Sends a marker if one is due and needed.
     *
     * @param isLate whether a record was read that was appended long before queue time: the task lags, or the broker's
     *     clock was set back
     */
    private void sendMarker(long localMs, boolean isLate) {
        if (time.isMarkerDue(localMs) && (isLate || shaper.needsTime() || mustSynchronize())) {
            forwarder.send(time.nextMarker(context.taskId().partition(), localMs), time.ms(localMs));
        }
    }

    /** Returns whether work has to wait for the first marker, such as restored buckets that may be idle by now. */
    private boolean mustSynchronize() {
        return !time.isSynchronized() && shaper.dueNanos() < DueTime.NEVER;
    }

    private void planTick() {
        long dueNanos = shaper.dueNanos();
        if (dueNanos == DueTime.NEVER) {
            return;
        }
        long localMs = context.currentSystemTimeMs();
        long dueInMs = time.untilMs(dueNanos, localMs);
        long mostMs = shaper.needsTime() || !time.isSynchronized() ? MAX_TICK_MS : DueTime.NEVER;
        ticks.request(localMs + (time.isSynchronizing() ? MAX_TICK_MS : Math.min(mostMs, dueInMs)), localMs);
    }

    private void work(Runnable step) {
        working.lock();
        try {
            step.run();
        } finally {
            working.unlock();
        }
    }

    /** Ends queries; waits for those that run. */
    void close() {
        work(() -> isClosed = true);
    }

    /** Runs a read-only query on the queues. Returns empty if they are busy for longer, or the task is closed. */
    <T> Optional<T> query(Duration timeout, QueueRegistry.QueueQuery<T> query) {
        try {
            if (!working.tryLock(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
                return Optional.empty();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
        try {
            return isClosed
                    ? Optional.empty()
                    : Optional.of(query.run(shaper.queries(), time.nanos(context.currentSystemTimeMs())));
        } finally {
            working.unlock();
        }
    }
}
