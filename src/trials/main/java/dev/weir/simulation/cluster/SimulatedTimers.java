package dev.weir.simulation.cluster;

import dev.weir.simulation.schedule.InjectedFlaw;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.Punctuator;

/**
 * The punctuations of a task. As in Kafka Streams, each fires at most once per round, those that are due first fire
 * first, and missed ones are skipped.
 */
public final class SimulatedTimers {

    private final class Timer implements Cancellable {
        private final Punctuator punctuator;
        private final long everyMs;
        private long dueMs;
        private boolean isCancelled;

        Timer(Punctuator punctuator, long everyMs, long dueMs) {
            this.punctuator = punctuator;
            this.everyMs = everyMs;
            this.dueMs = dueMs;
        }

        @Override
        public void cancel() {
            isCancelled = flaw != InjectedFlaw.PUNCTUATIONS_PILE_UP;
        }
    }

    private final List<Timer> timers = new ArrayList<>();
    private final InjectedFlaw flaw;
    private int scheduled;

    public SimulatedTimers(InjectedFlaw flaw) {
        this.flaw = flaw;
    }

    Cancellable schedule(long everyMs, long nowMs, Punctuator punctuator) {
        Timer timer = new Timer(punctuator, everyMs, nowMs + everyMs);
        if (flaw != InjectedFlaw.NOT_WOKEN || scheduled++ < 5) {
            timers.add(timer);
        }
        return timer;
    }

    /** Fires the punctuations that are due. Returns how many. */
    int fire(long nowMs) {
        int fired = 0;
        List<Timer> inOrder = new ArrayList<>(timers);
        inOrder.sort(Comparator.comparingLong(timer -> timer.dueMs));
        for (Timer timer : inOrder) {
            if (!timer.isCancelled && timer.dueMs <= nowMs) {
                timer.dueMs += timer.everyMs * (1 + (nowMs - timer.dueMs) / timer.everyMs);
                timer.punctuator.punctuate(nowMs);
                fired++;
            }
        }
        timers.removeIf(timer -> timer.isCancelled);
        return fired;
    }

    int size() {
        timers.removeIf(timer -> timer.isCancelled);
        return timers.size();
    }
}
