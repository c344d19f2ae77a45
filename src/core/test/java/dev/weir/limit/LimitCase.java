package dev.weir.limit;

import static dev.weir.limit.Limit.MAX_CAPACITY;
import static dev.weir.limit.Limit.MAX_LEVEL;

import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;

/**
 * Limits of each algorithm, from the smallest to the largest that can be counted.
 *
 * @param limit the limit
 * @param perMs its window; the longest one if windows differ in length
 * @param ceiling the most tokens that its state can hold; debt beyond it is lost
 */
record LimitCase<S>(Limit<S> limit, long perMs, long ceiling) {

    private static final long DAY_MS = 86_400_000;

    static List<LimitCase<AlignedWindow.Window>> fixedWindows(boolean countDenied) {
        List<LimitCase<AlignedWindow.Window>> terms = new ArrayList<>();
        for (long[] numbers : new long[][] {
            {1, 1}, {3, 10}, {7, 11_000}, {500, 60_000}, {1, DAY_MS}, {MAX_CAPACITY, 1_000}, {MAX_CAPACITY, MAX_LEVEL}
        }) {
            terms.add(new LimitCase<>(new FixedWindow(numbers[0], numbers[1], countDenied), numbers[1], MAX_LEVEL));
        }
        return terms;
    }

    static List<LimitCase<AlignedWindow.Window>> calendarWindows(boolean countDenied) {
        List<LimitCase<AlignedWindow.Window>> terms = new ArrayList<>();
        for (CalendarPeriod period : CalendarPeriod.values()) {
            long days =
                    switch (period) {
                        case DAY -> 1;
                        case WEEK -> 7;
                        case MONTH -> 31;
                    };
            long perMs = days * DAY_MS + DAY_MS / 24;
            for (String zone : List.of("UTC", "Europe/Berlin", "America/St_Johns", "Etc/GMT-14")) {
                long limit = zone.equals("UTC") ? MAX_CAPACITY : days;
                terms.add(new LimitCase<>(
                        new CalendarWindow(limit, period, ZoneId.of(zone), countDenied), perMs, MAX_LEVEL));
            }
        }
        return terms;
    }

    static List<LimitCase<SlidingWindowLog.Log>> logs(boolean countDenied) {
        List<LimitCase<SlidingWindowLog.Log>> terms = new ArrayList<>();
        for (long[] numbers : new long[][] {
            {1, 1}, {2, 60}, {7, 11_000}, {40, 100}, {300, 1_000}, {1, DAY_MS}, {MAX_CAPACITY, 1L << 40}, {5, MAX_LEVEL}
        }) {
            terms.add(
                    new LimitCase<>(new SlidingWindowLog(numbers[0], numbers[1], countDenied), numbers[1], MAX_LEVEL));
        }
        return terms;
    }

    static List<LimitCase<SlidingWindowCounter.Windows>> counters(boolean strict, boolean countDenied) {
        List<LimitCase<SlidingWindowCounter.Windows>> terms = new ArrayList<>();
        for (long[] numbers : new long[][] {
            {1, 1},
            {1, 7},
            {3, 10},
            {7, 60_000},
            {500, 60_000},
            {40, 100},
            {1L << 19, 1L << 41},
            {MAX_CAPACITY / 11, 11},
            {1, MAX_CAPACITY}
        }) {
            terms.add(new LimitCase<>(
                    new SlidingWindowCounter(numbers[0], numbers[1], strict, countDenied),
                    numbers[1],
                    MAX_LEVEL / numbers[1]));
        }
        return terms;
    }

    static List<LimitCase<ContinuousBucket.Level>> tokenBuckets(boolean countDenied) {
        List<LimitCase<ContinuousBucket.Level>> terms = new ArrayList<>();
        for (long[] numbers : BUCKETS) {
            Rate rate = Rate.of(numbers[0], numbers[1]);
            terms.add(new LimitCase<>(
                    new TokenBucket(rate, numbers[2], countDenied), numbers[1], MAX_LEVEL / rate.unitsPerToken()));
        }
        return terms;
    }

    static List<LimitCase<ContinuousBucket.Level>> leakyBuckets(boolean countDenied) {
        List<LimitCase<ContinuousBucket.Level>> terms = new ArrayList<>();
        for (long[] numbers : BUCKETS) {
            Rate rate = Rate.of(numbers[0], numbers[1]);
            terms.add(new LimitCase<>(
                    new LeakyBucket(rate, numbers[2], countDenied), numbers[1], MAX_LEVEL / rate.unitsPerToken()));
        }
        return terms;
    }

    static List<LimitCase<Gcra.Arrival>> gcras(boolean countDenied) {
        List<LimitCase<Gcra.Arrival>> terms = new ArrayList<>();
        for (long[] numbers : BUCKETS) {
            Rate rate = Rate.of(numbers[0], numbers[1]);
            terms.add(new LimitCase<>(
                    new Gcra(rate, numbers[2], countDenied), numbers[1], MAX_LEVEL / rate.unitsPerToken()));
        }
        return terms;
    }

    static List<LimitCase<IntervalBucket.Steps>> intervalBuckets(boolean countDenied) {
        List<LimitCase<IntervalBucket.Steps>> terms = new ArrayList<>();
        for (long[] numbers : new long[][] {
            {1, 1, 1},
            {3, 1_000, 7},
            {1, 10, 4},
            {5, 7, 3},
            {100, 15_000, 1_000},
            {7, DAY_MS, 30},
            {3, 40 * DAY_MS, 5},
            {MAX_LEVEL, 1_000, MAX_CAPACITY},
            {1, 1, MAX_CAPACITY - 1}
        }) {
            terms.add(new LimitCase<>(
                    new IntervalBucket(numbers[0], numbers[1], numbers[2], countDenied), numbers[1], MAX_LEVEL));
        }
        return terms;
    }

    static List<LimitCase<UncountedLimit.NoState>> uncounted() {
        return List.of(
                new LimitCase<>(new Unlimited(), 1_000, MAX_LEVEL), new LimitCase<>(new Blocked(), 1_000, MAX_LEVEL));
    }

    /** Returns all cases of all algorithms. */
    static List<LimitCase<?>> all() {
        List<LimitCase<?>> all = new ArrayList<>();
        for (boolean countDenied : new boolean[] {false, true}) {
            all.addAll(fixedWindows(countDenied));
            all.addAll(calendarWindows(countDenied));
            all.addAll(logs(countDenied));
            all.addAll(counters(false, countDenied));
            all.addAll(counters(true, countDenied));
            all.addAll(tokenBuckets(countDenied));
            all.addAll(leakyBuckets(countDenied));
            all.addAll(gcras(countDenied));
            all.addAll(intervalBuckets(countDenied));
        }
        all.addAll(uncounted());
        return all;
    }

    private static final long[][] BUCKETS = {
        {1, 1, 1},
        {10, 1_000, 10},
        {5, 1_000, 10},
        {7, 11_000, 1},
        {7, 11_000, 30},
        {3, 10, 5},
        {1, DAY_MS, 1},
        {1_000_000, 1_000, 1_000},
        {MAX_LEVEL - 1, 1, MAX_CAPACITY - 1},
        {MAX_LEVEL, 1_000, MAX_CAPACITY / 125},
        {1, MAX_CAPACITY, 1},
        {999_983, MAX_LEVEL / 1_000, 500},
    };
}
