package dev.weir.pacing;

import dev.weir.config.WeirConfig;
import dev.weir.time.DueTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.streams.processor.api.ProcessorContext;

/**
 * The commits of one stream thread. Its processors report work, its consumer reports when it polls, and its producer
 * when it commits. A commit is requested from the task that has worked last: Kafka Streams then commits all tasks of
 * the thread.
 */
final class ThreadPace {

    /** While there are records, the clock is read once in so many. A power of two. */
    private static final int RECORDS_A_CHECK = 16;

    private static final long SHRINK_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long NANOS_PER_MS = TimeUnit.MILLISECONDS.toNanos(1);

    private final CommitPace pace;
    private final long startNanos = System.nanoTime();
    private final List<CacheOwner> cacheOwners = new ArrayList<>();
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

    /** Records that a poll starts. Returns how long it may wait, so that the next commit is not late. */
    Duration startPoll(Duration timeout) {
        long nowNanos = nanos();
        pollsSinceNanos = nowNanos;
        requestIfDue(nowNanos);
        long dueNanos = lastWorked == null ? DueTime.NEVER : pace.dueNanos();
        if (nowNanos - shrunkNanos >= SHRINK_NANOS) {
            shrunkNanos = nowNanos;
            cacheOwners.forEach(CacheOwner::shrinkCaches);
        }
        if (dueNanos == DueTime.NEVER) {
            return timeout;
        }
        // A consumer ignores parts of a millisecond.
        Duration left = Duration.ofMillis((dueNanos - nowNanos + NANOS_PER_MS - 1) / NANOS_PER_MS);
        return left.compareTo(timeout) < 0 ? left : timeout;
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
        if (lastWorked == context) {
            lastWorked = null;
            pace.forget();
        }
    }
}
