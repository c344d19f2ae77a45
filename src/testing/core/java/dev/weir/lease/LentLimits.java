package dev.weir.lease;

import dev.weir.limit.FixedWindow;
import dev.weir.limit.Gcra;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.LeakyBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.Rate;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.TokenBucket;
import java.util.stream.Stream;

/** The limits of all algorithms that can be leased. */
public final class LentLimits {

    private LentLimits() {}

    /** Returns a limit of each algorithm and option. */
    public static Stream<Limit<?>> of(long limit, long perMs) {
        return Stream.of(
                new FixedWindow(limit, perMs, false),
                new SlidingWindowLog(limit, perMs, false),
                new SlidingWindowCounter(limit, perMs, false, false),
                new SlidingWindowCounter(limit, perMs, true, false),
                new TokenBucket(Rate.of(limit, perMs), limit, false),
                new TokenBucket(Rate.of(limit, perMs), 2 * limit + 3, false),
                new LeakyBucket(Rate.of(limit, perMs), limit, false),
                new Gcra(Rate.of(limit, perMs), limit, false),
                new IntervalBucket(limit, perMs, limit, false));
    }
}
