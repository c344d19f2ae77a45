package dev.weir.testing;

import dev.weir.limit.AlignedWindow;
import dev.weir.limit.ContinuousBucket;
import dev.weir.limit.Gcra;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.Rate;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.SlidingWindowLog;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Checks that admitted requests keep a limit, by the definition of the limit and not by the way it is counted. */
public final class Promise {

    /**
     * An admitted amount.
     *
     * @param timeMs the decision time
     * @param cost the tokens
     */
    public record Use(long timeMs, long cost) {}

    private Promise() {}

    /**
     * Returns how admitted requests exceed a limit, or null if they do not.
     *
     * @param account the account of the limit when it came into force
     * @param most the maximum at one time: the capacity, or what was leased before if that is more
     * @param all all admitted amounts, ordered by time
     */
    public static String brokenBy(LimitAccount<?> account, long most, List<Use> all) {
        Limit<?> limit = account.limit();
        List<Use> uses = together(all);
        if (limit instanceof AlignedWindow window) {
            return inWindows(window, most, uses);
        } else if (limit instanceof SlidingWindowLog log) {
            return inAnyWindow(log, most, uses);
        } else if (limit instanceof SlidingWindowCounter counter) {
            return byEstimate(counter, most, uses);
        } else if (limit instanceof ContinuousBucket bucket) {
            return byFlow(bucket.rate(), most, uses);
        } else if (limit instanceof Gcra gcra) {
            return byFlow(gcra.rate(), most, uses);
        } else if (limit instanceof IntervalBucket bucket) {
            return bySteps(bucket, most, ((IntervalBucket.Steps) account.state()).stepMs(), uses);
        }
        throw new IllegalArgumentException("there is no check for " + limit);
    }

    /** Adds up amounts of the same time, since these have no order. */
    private static List<Use> together(List<Use> uses) {
        Map<Long, Long> costs = new TreeMap<>();
        uses.forEach(use -> costs.merge(use.timeMs(), use.cost(), Long::sum));
        return costs.entrySet().stream()
                .map(each -> new Use(each.getKey(), each.getValue()))
                .toList();
    }

    private static String inWindows(AlignedWindow window, long most, List<Use> uses) {
        Map<Long, Long> sums = new HashMap<>();
        for (Use use : uses) {
            long start = window.startMs(use.timeMs());
            if (sums.merge(start, use.cost(), Long::sum) > most) {
                return "more than " + most + " in the window of " + start;
            }
        }
        return null;
    }

    private static String inAnyWindow(SlidingWindowLog log, long most, List<Use> uses) {
        long sum = 0;
        int first = 0;
        for (Use use : uses) {
            sum += use.cost();
            while (uses.get(first).timeMs() <= use.timeMs() - log.perMs()) {
                sum -= uses.get(first++).cost();
            }
            if (sum > most) {
                return sum + " in the window that ends at " + use.timeMs();
            }
        }
        return null;
    }

    private static String byEstimate(SlidingWindowCounter counter, long most, List<Use> uses) {
        long start = Long.MIN_VALUE;
        long previous = 0;
        long current = 0;
        for (Use use : uses) {
            long window = use.timeMs() - Math.floorMod(use.timeMs(), counter.perMs());
            if (window != start) {
                previous = window == start + counter.perMs() ? current : 0;
                current = 0;
                start = window;
            }
            current += use.cost();
            long share = previous * (counter.perMs() - (use.timeMs() - start));
            long whole =
                    counter.strict() ? -Math.floorDiv(-share, counter.perMs()) : Math.floorDiv(share, counter.perMs());
            if (whole + current > most) {
                return whole + " + " + current + " at " + use.timeMs();
            }
        }
        return null;
    }

    /** Checks that in any interval at most the burst and the inflow is used: computes the exact level of the bucket. */
    private static String byFlow(Rate rate, long atOnce, List<Use> uses) {
        BigInteger level = BigInteger.ZERO; // in tokens × perMs
        BigInteger most = BigInteger.valueOf(atOnce).multiply(BigInteger.valueOf(rate.perMs()));
        long last = Long.MIN_VALUE;
        for (Use use : uses) {
            if (last != Long.MIN_VALUE) {
                BigInteger flown = BigInteger.valueOf(use.timeMs() - last).multiply(BigInteger.valueOf(rate.tokens()));
                level = level.subtract(flown).max(BigInteger.ZERO);
            }
            last = use.timeMs();
            level = level.add(BigInteger.valueOf(use.cost()).multiply(BigInteger.valueOf(rate.perMs())));
            if (level.compareTo(most) > 0) {
                return level + " of " + most + " at " + use.timeMs();
            }
        }
        return null;
    }

    /** Checks like {@link #byFlow}, with an inflow in steps that are a window apart. */
    private static String bySteps(IntervalBucket bucket, long most, long firstMs, List<Use> uses) {
        long used = 0;
        long steps = 0;
        for (Use use : uses) {
            long now = Math.floorDiv(use.timeMs() - firstMs, bucket.perMs());
            used = Math.max(0, used - (now - steps) * bucket.tokens()) + use.cost();
            steps = now;
            if (used > most) {
                return used + " of " + most + " at " + use.timeMs();
            }
        }
        return null;
    }
}
