package dev.weir.backtest;

import dev.weir.policy.DurationsAndSizes;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.function.BooleanSupplier;

/**
 * The bounds of a backtest on recent requests: a time, a part of the heap for the requests, an equal part for the state
 * of the decisions, and the caller's connection. The backtest ends when the caller disconnects.
 */
public final class BacktestBudget {

    /** Each of the two parts is the heap divided by this. */
    private static final int HEAP_PARTS = 16;

    private static final long CHECK_EVERY_NANOS = 100_000_000;

    private final Duration time;
    private final BooleanSupplier isAwaited;
    private final long heapBytes;
    private final long startNanos = System.nanoTime();
    private long checkedNanos = startNanos;

    /**
     * Creates a budget that starts now.
     *
     * @param isAwaited called from time to time, to check whether the caller is still connected
     */
    public BacktestBudget(Duration time, BooleanSupplier isAwaited) {
        this(time, isAwaited, Runtime.getRuntime().maxMemory() / HEAP_PARTS);
    }

    /** @param heapBytes the size of each of the two parts of the heap */
    public BacktestBudget(Duration time, BooleanSupplier isAwaited, long heapBytes) {
        this.time = time;
        this.isAwaited = isAwaited;
        this.heapBytes = heapBytes;
    }

    /** Returns how much heap the requests may use, by estimate. */
    long heapBytes() {
        return heapBytes;
    }

    /**
     * Must be called often.
     *
     * @param keptBytes how much heap the state of the decisions uses, by estimate
     * @throws ResultTooLargeException if the time is over, or the state uses too much heap
     * @throws CancellationException if the caller has disconnected
     */
    void check(long keptBytes) {
        if (keptBytes > heapBytes) {
            throw new ResultTooLargeException(
                    "deciding the requests of this period takes too much memory: use fewer minutes");
        }
        long nowNanos = System.nanoTime();
        if (nowNanos - startNanos > time.toNanos()) {
            throw new ResultTooLargeException(
                    "deciding the requests of this period takes longer than service.backtest-timeout, "
                            + DurationsAndSizes.duration(time.toMillis()) + ": use fewer minutes");
        }
        if (nowNanos - checkedNanos > CHECK_EVERY_NANOS) {
            checkedNanos = nowNanos;
            if (!isAwaited.getAsBoolean()) {
                throw new CancellationException("the caller has disconnected");
            }
        }
    }
}
