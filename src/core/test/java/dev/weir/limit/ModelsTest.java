package dev.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.testing.Effort;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests that each limit gives the results of its {@link LimitOracle}: what is available, what passes, and the waits. */
class ModelsTest {

    private static final int SEEDS = Effort.times(3);
    private static final int REQUESTS = 60;

    /** Limits by the clock whose windows are short enough to find the end of a wait by testing each millisecond. */
    static List<Limit<?>> shortLimits() {
        List<Limit<?>> limits = new ArrayList<>();
        for (boolean countDenied : new boolean[] {false, true}) {
            for (long[] numbers : new long[][] {{1, 1}, {1, 7}, {3, 10}, {10, 60}, {40, 50}, {7, 11}, {100, 33}}) {
                limits.add(new FixedWindow(numbers[0], numbers[1], countDenied));
                limits.add(new SlidingWindowLog(numbers[0], numbers[1], countDenied));
                limits.add(new SlidingWindowCounter(numbers[0], numbers[1], false, countDenied));
                limits.add(new SlidingWindowCounter(numbers[0], numbers[1], true, countDenied));
                for (long burst : new long[] {1, numbers[0], 2 * numbers[0] + 1}) {
                    Rate rate = Rate.of(numbers[0], numbers[1]);
                    limits.add(new TokenBucket(rate, burst, countDenied));
                    limits.add(new LeakyBucket(rate, burst, countDenied));
                    limits.add(new Gcra(rate, burst, countDenied));
                    limits.add(new IntervalBucket(numbers[0], numbers[1], burst, countDenied));
                }
            }
        }
        for (CalendarPeriod period : CalendarPeriod.values()) {
            for (String zone : List.of("UTC", "America/St_Johns", "Pacific/Apia")) {
                limits.add(new CalendarWindow(7, period, ZoneId.of(zone), period == CalendarPeriod.WEEK));
            }
        }
        limits.add(new Unlimited());
        limits.add(new Blocked());
        return limits;
    }

    private static long perMs(Limit<?> limit) {
        if (limit instanceof FixedWindow window) {
            return window.perMs();
        } else if (limit instanceof CalendarWindow window) {
            return Duration.ofDays(window.period() == CalendarPeriod.MONTH ? 31 : 1)
                    .toMillis();
        } else if (limit instanceof SlidingWindowLog log) {
            return log.perMs();
        } else if (limit instanceof SlidingWindowCounter counter) {
            return counter.perMs();
        } else if (limit instanceof ContinuousBucket bucket) {
            return bucket.rate().perMs();
        } else if (limit instanceof Gcra gcra) {
            return gcra.rate().perMs();
        } else if (limit instanceof IntervalBucket bucket) {
            return bucket.perMs();
        }
        return 10;
    }

    @ParameterizedTest
    @MethodSource("shortLimits")
    void agree_with_the_model(Limit<?> limit) {
        for (int seed = 0; seed < SEEDS; seed++) {
            try {
                run(limit, seed);
            } catch (AssertionError e) {
                throw new AssertionError(limit + ", seed " + seed, e);
            }
        }
    }

    private static void run(Limit<?> limit, int seed) {
        boolean dropsOld = limit instanceof SlidingWindowLog && limit.countDenied();
        RandomCharges traffic = new RandomCharges(seed, perMs(limit));
        LimitOracle model = LimitOracle.of(limit);
        long nowMs = seed % 2 == 0 ? traffic.random().nextInt(3) : 1_700_000_000_000L + seed;
        TrialAccount<?> trial = null;
        for (int i = 0; i < REQUESTS; i++) {
            // the first request opens the account; a preliminary one serves to choose that request
            trial = trial == null ? TrialAccount.open(limit, nowMs) : trial;
            nowMs = traffic.nextMs(trial, nowMs);
            long cost = traffic.nextCost(trial, nowMs);
            trial = i == 0 ? TrialAccount.open(limit, nowMs) : trial;
            if (i == 0) {
                cost = Math.min(1, limit.capacity());
            }
            long available = model.available(nowMs);
            assertThat(dropsOld ? trial.remaining(nowMs) : trial.available(nowMs))
                    .as("available before %d at %d", cost, nowMs)
                    .isEqualTo(dropsOld ? Math.max(0, available) : available);
            assertSameWaits(trial, model, nowMs);
            int kind = dropsOld ? 2 : traffic.random().nextInt(12);
            if (kind < 2) { // a settlement, up or down
                long change = kind == 0 ? cost : -cost;
                trial.charge(change, nowMs);
                model.charge(change, nowMs);
            } else {
                boolean passes = cost == 0 || cost <= available;
                assertThat(trial.request(cost, nowMs)).isEqualTo(passes);
                if (passes) {
                    model.charge(cost, nowMs);
                } else if (limit.countDenied()) {
                    model.chargeDenied(cost, limit, nowMs);
                }
            }
        }
    }

    private static void assertSameWaits(TrialAccount<?> trial, LimitOracle model, long nowMs) {
        long capacity = trial.capacity() == Long.MAX_VALUE ? 100 : trial.capacity();
        long waitMs = 0;
        for (long cost = 1; cost <= capacity; cost += 1 + capacity / 20) {
            waitMs = firstFitMs(model, cost, nowMs, waitMs);
            assertThat(trial.waitMs(cost, nowMs))
                    .as("wait for %d at %d", cost, nowMs)
                    .isEqualTo(waitMs);
        }
        if (trial.capacity() != Long.MAX_VALUE) {
            waitMs = firstFitMs(model, capacity, nowMs, waitMs);
            assertThat(trial.waitMs(capacity, nowMs)).as("reset at %d", nowMs).isEqualTo(waitMs);
        }
    }

    /**
     * Returns the time until a cost fits. Windows of the calendar are too long to test each millisecond.
     *
     * @param fromMs the wait for a smaller cost, which is never longer
     */
    private static long firstFitMs(LimitOracle model, long cost, long nowMs, long fromMs) {
        long modelMs = model.waitMs(cost, nowMs);
        if (model instanceof CalendarOracle) {
            return modelMs;
        }
        long waitMs = fromMs;
        while (model.available(nowMs + waitMs) < cost) {
            waitMs++;
        }
        assertThat(modelMs).as("the oracle's own wait").isEqualTo(waitMs);
        return waitMs;
    }

    @Test
    void the_three_buckets_are_one_function() {
        for (long[] numbers :
                new long[][] {{7, 11_000, 7}, {7, 11_000, 30}, {1, 86_400_000, 1}, {1_000_000, 1_000, 5_000}}) {
            Rate rate = Rate.of(numbers[0], numbers[1]);
            for (int seed = 0; seed < 50; seed++) {
                RandomCharges traffic = new RandomCharges(seed, numbers[1]);
                long nowMs = 1_700_000_000_000L;
                TrialAccount<ContinuousBucket.Level> tokens =
                        TrialAccount.open(new TokenBucket(rate, numbers[2], false), nowMs);
                TrialAccount<ContinuousBucket.Level> leaky =
                        TrialAccount.open(new LeakyBucket(rate, numbers[2], false), nowMs);
                TrialAccount<Gcra.Arrival> gcra = TrialAccount.open(new Gcra(rate, numbers[2], false), nowMs);
                for (int i = 0; i < 400; i++) {
                    nowMs = traffic.nextMs(tokens, nowMs);
                    long cost = traffic.nextCost(tokens, nowMs);
                    boolean passes = tokens.permits(cost, nowMs);
                    for (TrialAccount<?> other : List.of(leaky, gcra)) {
                        assertThat(other.permits(cost, nowMs)).isEqualTo(passes);
                        String name = "seed %d, request %d of %s".formatted(seed, i, other.limit());
                        assertThat(other.remaining(nowMs)).as(name).isEqualTo(tokens.remaining(nowMs));
                        assertThat(other.waitMs(other.capacity(), nowMs))
                                .as(name)
                                .isEqualTo(tokens.waitMs(tokens.capacity(), nowMs));
                        assertThat(other.limit().fits(cost))
                                .isEqualTo(tokens.limit().fits(cost));
                        if (tokens.limit().fits(cost)) {
                            assertThat(other.waitMs(cost, nowMs)).as(name).isEqualTo(tokens.waitMs(cost, nowMs));
                        }
                    }
                    if (passes) {
                        tokens.charge(cost, nowMs);
                        leaky.charge(cost, nowMs);
                        gcra.charge(cost, nowMs);
                    }
                }
            }
        }
    }
}
