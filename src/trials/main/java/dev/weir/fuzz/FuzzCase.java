package dev.weir.fuzz;

import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.Callable;

/** One try's chance, what came of it, and what it allocates. */
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

    /** Counts what came of it, or of a part of it. */
    void came(String word) {
        outcomes.merge(word, 1, Integer::sum);
    }

    Map<String, Integer> outcomes() {
        return outcomes;
    }

    /** Does it; what it allocates, returning or throwing, must be within the bound. */
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
            throw new AssertionError("allocated " + bytes + " bytes, the most is " + mostBytes);
        }
    }

    long peakBytes() {
        return peakBytes;
    }
}
