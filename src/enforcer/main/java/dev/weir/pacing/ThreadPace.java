package dev.weir.pacing;

import dev.weir.config.WeirConfig;
import dev.weir.time.DueTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.streams.processor.api.ProcessorContext;

/**
 * The commits and polls of one stream thread. Its processors report work and timers, its consumer reports when it polls,
 * and its producer when it commits. A commit is requested from the task that has worked last: Kafka Streams then commits
 * all tasks of the thread. A poll without records ends when a commit or a timer is due, since Kafka Streams looks at
 * timers between polls only.
 */
final class ThreadPace {

    /** While there are records, the clock is read once in so many. A power of two. */
    private static final int RECORDS_A_CHECK = 16;

    private static final long SHRINK_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** How long a poll lasts while a timer is late. */
    private static final long LATE_POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private static final long NANOS_PER_MS = TimeUnit.MILLISECONDS.toNanos(1);

    private final CommitPace pace;
    private final long startNanos = System.nanoTime();
    private final List<CacheOwner> cacheOwners = new ArrayList<>();
    private final List<Timer> timers = new ArrayList<>(); // a few per task
    private ProcessorContext<?, ?> lastWorked; // null if nothing is uncommitted
    private long pollsSinceNanos;
    private long shrunkNanos;
    private int records;

    ThreadPace(WeirConfig.Commits settings) {
        pace = new CommitPace(settings.min().toNanos(), settings.max().toNanos());
    }

    private long nanos() {
        return System.nanoTime() - startNanos;
    }

    /** Records that a task has processed a record or a timer. */
    void work(ProcessorContext<?, ?> context) {
        if (lastWorked == null || ++records % RECORDS_A_CHECK == 0) {
            long nowNanos = nanos();
            pace.work(nowNanos);
            lastWorked = context;
            requestIfDue(nowNanos);
        }
        lastWorked = context;
    }

    /** Records that a task wants a commit soon. */
    void hurry(ProcessorContext<?, ?> context) {
        work(context);
        pace.hurry();
        requestIfDue(nanos());
    }

    private void requestIfDue(long nowNanos) {
        if (lastWorked != null && pace.request(nowNanos)) {
            lastWorked.commit();
        }
    }

    /** A timer of a task that is due again and again until it is cancelled. */
    final class Timer {
        private final ProcessorContext<?, ?> context;
        private final long everyNanos;
        private long dueNanos;
        private boolean isLate; // a poll has ended because it was due, and it did not run

        private Timer(ProcessorContext<?, ?> context, long everyNanos) {
            this.context = context;
            this.everyNanos = everyNanos;
            restart();
        }

        void restart() {
            dueNanos = DueTime.after(nanos(), everyNanos);
            isLate = false;
        }

        /**
         * Returns when a poll ends for this timer. Kafka Streams runs the timer after that poll, unless the task is
         * suspended, or the wall clock, by which it runs timers, was set back.
         */
        private long pollUntilNanos(long nowNanos) {
            if (dueNanos > nowNanos) {
                return dueNanos;
            }
            long untilNanos = isLate ? nowNanos + LATE_POLL_NANOS : nowNanos;
            isLate = true;
            return untilNanos;
        }

        void cancel() {
            timers.remove(this);
        }
    }

    /** Starts a timer of a task. */
    Timer timer(Duration every, ProcessorContext<?, ?> context) {
        Timer timer = new Timer(context, TimeUnit.MILLISECONDS.toNanos(every.toMillis()));
        timers.add(timer);
        return timer;
    }

    /** Records that a poll starts. Returns how long it may wait, so that no commit or timer is late. */
    Duration startPoll(Duration timeout) {
        long nowNanos = nanos();
        pollsSinceNanos = nowNanos;
        requestIfDue(nowNanos);
        if (nowNanos - shrunkNanos >= SHRINK_NANOS) {
            shrunkNanos = nowNanos;
            cacheOwners.forEach(CacheOwner::shrinkCaches);
        }
        long dueNanos = dueNanos(nowNanos);
        if (dueNanos == DueTime.NEVER) {
            return timeout;
        }
        // A consumer ignores parts of a millisecond.
        Duration left = Duration.ofMillis(Math.max(0, dueNanos - nowNanos + NANOS_PER_MS - 1) / NANOS_PER_MS);
        return left.compareTo(timeout) < 0 ? left : timeout;
    }

    /** Returns when a poll ends for the next commit or timer, {@link DueTime#NEVER} if for none. */
    private long dueNanos(long nowNanos) {
        long dueNanos = lastWorked == null ? DueTime.NEVER : pace.dueNanos();
        for (Timer timer : timers) {
            dueNanos = Math.min(dueNanos, timer.pollUntilNanos(nowNanos));
        }
        return dueNanos;
    }

    /** @param isBehind whether the poll returned as many records as it may, so that it did not wait for them */
    void endPoll(boolean isBehind) {
        long nowNanos = nanos();
        if (!isBehind) {
            pace.idle(nowNanos - pollsSinceNanos);
        }
        requestIfDue(nowNanos);
    }

    void startCommit() {
        if (lastWorked != null) {
            pace.start(nanos());
        }
    }

    void endCommit() {
        pace.finish(nanos());
        lastWorked = null;
    }

    void open(CacheOwner owner) {
        cacheOwners.remove(owner);
        cacheOwners.add(owner);
    }

    /** Records that a processor was closed. What its task has not committed was committed before, or is dropped. */
    void close(ProcessorContext<?, ?> context, Object processor) {
        cacheOwners.remove(processor);
        timers.removeIf(timer -> timer.context == context);
        if (lastWorked == context) {
            lastWorked = null;
            pace.forget();
        }
    }
}
