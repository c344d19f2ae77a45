package dev.weir.runtime;

import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Utils;

/**
 * A clock that starts at the wall clock's time and advances with the monotonic clock. Kafka Streams uses it for
 * punctuations, commits and timeouts, so that they neither stall nor pile up when the wall clock is set.
 */
final class MonotonicTime implements Time {

    private final long startMs = System.currentTimeMillis();
    private final long startNanos = System.nanoTime();

    @Override
    public long milliseconds() {
        return startMs + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
    }

    @Override
    public long nanoseconds() {
        return System.nanoTime();
    }

    @Override
    public void sleep(long ms) {
        Utils.sleep(ms);
    }

    @Override
    public void waitObject(Object monitor, Supplier<Boolean> condition, long deadlineMs) throws InterruptedException {
        synchronized (monitor) {
            while (!condition.get()) {
                long leftMs = deadlineMs - milliseconds();
                if (leftMs <= 0) {
                    throw new TimeoutException("Condition not satisfied before deadline");
                }
                monitor.wait(leftMs);
            }
        }
    }
}
