package dev.weir.fuzz;

import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;

/** A runner of one kind of fuzz case. Each case has its own seed, so that it can be repeated alone. */
final class FuzzRunner {

    static final long SEED = 20_261_121;

    /** A kind of fuzz case. */
    interface Case {
        /** Runs a case, and reports its outcomes to the trial; throws if a check fails. */
        void run(FuzzCase fuzzCase) throws Exception;

        /**
         * Returns the number of cases that are run first without measuring, so that one-time allocations do not count.
         */
        default int warmUp() {
            return 1_000;
        }
    }

    /** The result of a run. */
    record Report(String name, int runs, Map<String, Integer> outcomes, long peakBytes, long slowestMs, long totalMs) {
        @Override
        public String toString() {
            return String.format(
                    "%s: %,d cases in %.1f s, %s, at most %,d bytes and %,d ms per case",
                    name, runs, totalMs / 1e3, outcomes, peakBytes, slowestMs);
        }
    }

    private static final double NANOS_PER_MS = 1e6;

    private final String name;
    private final long seed;
    private final Case one;

    FuzzRunner(String name, long seed, Case one) {
        this.name = name;
        this.seed = seed;
        this.one = one;
    }

    /** Runs the first cases. */
    Report run(int runs) {
        return run(0, runs);
    }

    /** Runs the cases from {@code from} to before {@code to}. */
    Report run(int from, int to) {
        for (int index = from; index < from + Math.min((to - from) / 2, one.warmUp()); index++) {
            run(index, new FuzzCase(random(index), false));
        }
        Map<String, Integer> outcomes = new TreeMap<>();
        long peakBytes = 0;
        long slowestNanos = 0;
        long begin = System.nanoTime();
        for (int index = from; index < to; index++) {
            FuzzCase fuzzCase = new FuzzCase(random(index), true);
            long before = System.nanoTime();
            run(index, fuzzCase);
            fuzzCase.outcomes().forEach((word, times) -> outcomes.merge(word, times, Integer::sum));
            slowestNanos = Math.max(slowestNanos, System.nanoTime() - before);
            peakBytes = Math.max(peakBytes, fuzzCase.peakBytes());
        }
        long totalNanos = System.nanoTime() - begin;
        return new Report(
                name,
                to - from,
                outcomes,
                peakBytes,
                Math.round(slowestNanos / NANOS_PER_MS),
                Math.round(totalNanos / NANOS_PER_MS));
    }

    /** Runs one case. A failure names the seed and index that repeat it. */
    private void run(int index, FuzzCase fuzzCase) {
        try {
            one.run(fuzzCase);
        } catch (Exception | AssertionError | StackOverflowError | OutOfMemoryError e) {
            throw new AssertionError(name + ", seed " + seed + ", index " + index + ": " + e, e);
        }
    }

    Map<String, Integer> replay(int index) {
        FuzzCase fuzzCase = new FuzzCase(random(index), false);
        run(index, fuzzCase);
        return fuzzCase.outcomes();
    }

    private SplittableRandom random(int index) {
        return new SplittableRandom(seed * 31 + index);
    }
}
