package dev.weir.backtest;

import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.function.BooleanSupplier;

/**
 * The bounds of trying policies on recent requests: a time, a part of the heap for the requests, another part for what
 * deciding them keeps, and the caller's presence: it ends when the caller has left.
 */
public final class BacktestBudget {

    /** A trial may take two of so many parts of the heap. */
    private static final int HEAP_PARTS = 16;

    private static final long CHECK_EVERY_NANOS = 100_000_000;

    private final Duration time;
    private final BooleanSupplier isAwaited;
    private final long heapBytes;
    private final long startNanos = System.nanoTime();
    private long checkedNanos = startNanos;

    /**
     * The budget of a trial that begins now.
     *
     * @param isAwaited is asked from time to time
     */
    public BacktestBudget(Duration time, BooleanSupplier isAwaited) {
        this(time, isAwaited, Runtime.getRuntime().maxMemory() / HEAP_PARTS);
    }

    /** @param heapBytes how much heap each of the two may take */
    public BacktestBudget(Duration time, BooleanSupplier isAwaited, long heapBytes) {
        this.time = time;
        this.isAwaited = isAwaited;
        this.heapBytes = heapBytes;
    }

    /** How much heap the requests may take, as far as it can be estimated. */
    long heapBytes() {
        return heapBytes;
    }

    /**
     * To be called often.
     *
     * @param keptBytes what deciding keeps on the heap, as far as it can be estimated
     * @throws ResultTooLargeException if the time is over, or more is kept than may be
     * @throws CancellationException if the caller has left
     */
    void check(long keptBytes) {
        if (keptBytes > heapBytes) {
            throw new ResultTooLargeException(
                    "deciding the requests of this time takes too much memory: take fewer minutes");
        }
        long nowNanos = System.nanoTime();
        if (nowNanos - startNanos > time.toNanos()) {
            throw new ResultTooLargeException(
                    "deciding the requests of this time takes longer than service.backtest-timeout, " + time.toSeconds()
                            + " s: take fewer minutes");
        }
        if (nowNanos - checkedNanos > CHECK_EVERY_NANOS) {
            checkedNanos = nowNanos;
            if (!isAwaited.getAsBoolean()) {
                throw new CancellationException("the caller has left");
            }
        }
    }
}
