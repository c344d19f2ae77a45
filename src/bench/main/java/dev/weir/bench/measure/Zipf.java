package dev.weir.bench.measure;

import java.util.SplittableRandom;

/**
 * A generator of ranks from 0 to n − 1 with a Zipf distribution: the probability of rank k is proportional to
 * 1 / (k + 1). The distribution is exact, by rejection sampling from 1 / x.
 */
public final class Zipf {

    private static final double LN_2 = Math.log(2);

    private final long n;
    private final SplittableRandom random;

    public Zipf(long n, long seed) {
        this.n = n;
        this.random = new SplittableRandom(seed);
    }

    /** Returns the next random rank. */
    public long next() {
        while (true) {
            double rank = Math.floor(Math.exp(random.nextDouble() * Math.log(n + 1.0)));
            if (random.nextDouble() * rank * Math.log1p(1 / rank) <= LN_2) {
                return Math.min(n, (long) rank) - 1;
            }
        }
    }
}
