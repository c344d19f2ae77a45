package dev.weir.fuzz;

import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;

/** Runs one kind of case many times, each from a seed of its own, so that any of them can be run again alone. */
final class FuzzRunner {

    static final long SEED = 20_261_121;

    /** One try, which tells the trial what came of it, or throws. */
    interface Case {
        void run(FuzzCase trial) throws Exception;

        /** How many are tried first, unmeasured: what classes and tables take once is not the input's. */
        default int warmUp() {
            return 1_000;
        }
    }

    /** What a run came to. */
    record Report(String name, int runs, Map<String, Integer> outcomes, long peakBytes, long slowestMs, long totalMs) {
        @Override
        public String toString() {
            return String.format(
                    "%s: %,d in %.1f s, %s, at most %,d bytes allocated and %,d ms for one",
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

    /** Tries the cases from 0 on. */
    Report run(int runs) {
        return run(0, runs);
    }

    /** Tries the cases from one on to before another. */
    Report run(int from, int to) {
        for (int index = from; index < from + Math.min((to - from) / 2, one.warmUp()); index++) {
            run(index, new FuzzCase(random(index), false));
        }
        Map<String, Integer> outcomes = new TreeMap<>();
        long peakBytes = 0;
        long slowestNanos = 0;
        long begin = System.nanoTime();
        for (int index = from; index < to; index++) {
            FuzzCase trial = new FuzzCase(random(index), true);
            long before = System.nanoTime();
            run(index, trial);
            trial.outcomes().forEach((word, times) -> outcomes.merge(word, times, Integer::sum));
            slowestNanos = Math.max(slowestNanos, System.nanoTime() - before);
            peakBytes = Math.max(peakBytes, trial.peakBytes());
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

    /** Tries one case; a failure tells how to try it again. */
    private void run(int index, FuzzCase trial) {
        try {
            one.run(trial);
        } catch (Exception | AssertionError | StackOverflowError | OutOfMemoryError e) {
            throw new AssertionError(name + ", seed " + seed + ", index " + index + ": " + e, e);
        }
    }

    Map<String, Integer> replay(int index) {
        FuzzCase trial = new FuzzCase(random(index), false);
        run(index, trial);
        return trial.outcomes();
    }

    private SplittableRandom random(int index) {
        return new SplittableRandom(seed * 31 + index);
    }
}
