package dev.weir.fuzz;

import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.Callable;

/** The random numbers, outcomes and allocations of one fuzz case. */
final class FuzzCase {

    private static final com.sun.management.ThreadMXBean THREAD =
            (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final SplittableRandom random;
    private final boolean measures;
    private final Map<String, Integer> outcomes = new TreeMap<>();
    private long peakBytes;

    FuzzCase(SplittableRandom random, boolean measures) {
        this.random = random;
        this.measures = measures;
    }

    SplittableRandom random() {
        return random;
    }

    /** Counts an outcome of the case or of a part of it. */
    void came(String word) {
        outcomes.merge(word, 1, Integer::sum);
    }

    Map<String, Integer> outcomes() {
        return outcomes;
    }

    /**
     * Runs {@code work}.
     *
     * @throws AssertionError if it allocates more than {@code mostBytes}, whether it returns or throws
     */
    <T> T within(long mostBytes, Callable<T> work) throws Exception {
        long before = THREAD.getCurrentThreadAllocatedBytes();
        try {
            T result = work.call();
            check(THREAD.getCurrentThreadAllocatedBytes() - before, mostBytes);
            return result;
        } catch (Exception e) {
            check(THREAD.getCurrentThreadAllocatedBytes() - before, mostBytes);
            throw e;
        }
    }

    private void check(long bytes, long mostBytes) {
        peakBytes = Math.max(peakBytes, bytes);
        if (measures && bytes > mostBytes) {
            throw new AssertionError("allocated " + bytes + " bytes, the limit is " + mostBytes);
        }
    }

    long peakBytes() {
        return peakBytes;
    }
}
