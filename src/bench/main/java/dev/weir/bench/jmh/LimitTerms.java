package dev.weir.bench.jmh;

import dev.weir.limit.Concurrency;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Gcra;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.LeakyBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.Rate;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.TokenBucket;

/** Creates limits by algorithm, with a burst of one full limit. */
public final class LimitTerms {

    private LimitTerms() {}

    public static Limit<?> of(String algorithm, long tokens, long perMs) {
        return switch (algorithm) {
            case "fixed-window" -> new FixedWindow(tokens, perMs, false);
            case "sliding-window-log" -> new SlidingWindowLog(tokens, perMs, false);
            case "sliding-window-counter" -> new SlidingWindowCounter(tokens, perMs, false, false);
            case "token-bucket" -> new TokenBucket(Rate.of(tokens, perMs), tokens, false);
            case "interval-bucket" -> new IntervalBucket(tokens, perMs, tokens, false);
            case "leaky-bucket" -> new LeakyBucket(Rate.of(tokens, perMs), tokens, false);
            case "concurrency" -> new Concurrency(tokens, perMs);
            case "gcra" -> new Gcra(Rate.of(tokens, perMs), tokens, false);
            default -> throw new IllegalArgumentException(algorithm);
        };
    }
}
