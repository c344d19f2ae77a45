package dev.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Tests how much each algorithm permits in any interval, whatever the traffic. */
class GuaranteesTest {

    private static final int SEEDS = Effort.times(15);
    private static final int REQUESTS = 300;

    /** A request that was permitted. */
    private record Admitted(long atMs, long cost) {}

    /** Generates more traffic than the limit permits, and collects what was permitted. */
    private static List<Admitted> admitted(Limit<?> limit, long perMs, int seed) {
        Random random = new Random(seed);
        RandomCharges traffic = new RandomCharges(seed, perMs);
        long nowMs = random.nextInt(1_000);
        TrialAccount<?> trial = TrialAccount.open(limit, nowMs);
        List<Admitted> admitted = new ArrayList<>();
        for (int i = 0; i < REQUESTS; i++) {
            if (i > 0) {
                nowMs = traffic.nextMs(trial, nowMs);
            }
            long cost = random.nextInt(4) == 0 ? trial.remaining(nowMs) : traffic.nextCost(trial, nowMs);
            if (trial.request(cost, nowMs) && cost > 0) {
                admitted.add(new Admitted(nowMs, cost));
            }
        }
        return admitted;
    }

    /** Returns the most that was permitted in any window {@code (t − per, t]}. */
    private static long mostInAWindow(List<Admitted> admitted, long perMs) {
        long most = 0;
        for (int last = 0; last < admitted.size(); last++) {
            long sum = 0;
            for (int i = last; i >= 0 && admitted.get(i).atMs > admitted.get(last).atMs - perMs; i--) {
                sum += admitted.get(i).cost;
            }
            most = Math.max(most, sum);
        }
        return most;
    }

    private static long mostInAnAlignedWindow(List<Admitted> admitted, long perMs) {
        Map<Long, Long> sums = new HashMap<>();
        admitted.forEach(one -> sums.merge(Math.floorDiv(one.atMs, perMs), one.cost, Long::sum));
        return sums.values().stream().mapToLong(Long::longValue).max().orElse(0);
    }

    private static final long[][] NUMBERS = {{1, 1}, {1, 50}, {5, 100}, {100, 1_000}, {7, 11_000}, {64, 20}};

    @Test
    void the_log_never_admits_more_than_the_limit_in_any_window() {
        for (long[] numbers : NUMBERS) {
            for (boolean countDenied : new boolean[] {false, true}) {
                for (int seed = 0; seed < SEEDS; seed++) {
                    List<Admitted> admitted =
                            admitted(new SlidingWindowLog(numbers[0], numbers[1], countDenied), numbers[1], seed);
                    assertThat(mostInAWindow(admitted, numbers[1]))
                            .as("%d per %d ms, seed %d", numbers[0], numbers[1], seed)
                            .isLessThanOrEqualTo(numbers[0]);
                }
            }
        }
    }

    @Test
    void the_fixed_window_never_admits_more_than_the_limit_in_an_aligned_window_nor_twice_that_in_any() {
        for (long[] numbers : NUMBERS) {
            for (int seed = 0; seed < SEEDS; seed++) {
                List<Admitted> admitted = admitted(new FixedWindow(numbers[0], numbers[1], false), numbers[1], seed);
                assertThat(mostInAnAlignedWindow(admitted, numbers[1])).isLessThanOrEqualTo(numbers[0]);
                assertThat(mostInAWindow(admitted, numbers[1])).isLessThanOrEqualTo(2 * numbers[0]);
            }
        }
    }

    @Test
    void the_counter_never_admits_more_than_the_limit_in_an_aligned_window_nor_twice_that_in_any() {
        for (long[] numbers : NUMBERS) {
            for (int seed = 0; seed < SEEDS; seed++) {
                List<Admitted> admitted =
                        admitted(new SlidingWindowCounter(numbers[0], numbers[1], false, false), numbers[1], seed);
                assertThat(mostInAnAlignedWindow(admitted, numbers[1])).isLessThanOrEqualTo(numbers[0]);
                assertThat(mostInAWindow(admitted, numbers[1])).isLessThanOrEqualTo(2 * numbers[0]);
            }
        }
    }

    @Test
    void the_strict_counter_admits_less_than_twice_the_limit_in_any_window() {
        for (long[] numbers : NUMBERS) {
            for (int seed = 0; seed < SEEDS; seed++) {
                List<Admitted> admitted =
                        admitted(new SlidingWindowCounter(numbers[0], numbers[1], true, false), numbers[1], seed);
                assertThat(mostInAnAlignedWindow(admitted, numbers[1])).isLessThanOrEqualTo(numbers[0]);
                assertThat(mostInAWindow(admitted, numbers[1])).isLessThan(2 * numbers[0]);
            }
        }
    }

    @Test
    void the_counters_bound_of_twice_the_limit_is_reached() {
        TrialAccount<?> trial = TrialAccount.open(new SlidingWindowCounter(2, 1_000, false, false), 999);
        assertThat(trial.request(2, 999)).isTrue();
        assertThat(trial.request(2, 1_501)).as("⌊2 · 499/1000⌋ = 0").isTrue();
    }

    @Test
    void the_strict_counters_bound_is_reached() {
        TrialAccount<?> trial = TrialAccount.open(new SlidingWindowCounter(2, 1_000, true, false), 999);
        assertThat(trial.request(2, 999)).isTrue();
        assertThat(trial.request(2, 1_998)).as("⌈2 · 2/1000⌉ = 1").isFalse();
        assertThat(trial.request(1, 1_998)).isTrue();
    }

    @Test
    void the_buckets_never_admit_more_than_the_burst_and_the_refill() {
        for (long[] numbers : NUMBERS) {
            Rate rate = Rate.of(numbers[0], numbers[1]);
            for (long burst : new long[] {1, numbers[0], 3 * numbers[0]}) {
                for (Limit<?> limit : List.of(
                        new TokenBucket(rate, burst, false),
                        new LeakyBucket(rate, burst, false),
                        new Gcra(rate, burst, false))) {
                    for (int seed = 0; seed < SEEDS / 3; seed++) {
                        List<Admitted> admitted = admitted(limit, numbers[1], seed);
                        for (int first = 0; first < admitted.size(); first++) {
                            long sum = 0;
                            for (int last = first; last < admitted.size(); last++) {
                                sum += admitted.get(last).cost;
                                long flownMs = admitted.get(last).atMs - admitted.get(first).atMs;
                                assertThat((sum - burst) * numbers[1])
                                        .as("%s, seed %d, in %d ms", limit, seed, flownMs)
                                        .isLessThanOrEqualTo(numbers[0] * flownMs);
                            }
                        }
                    }
                }
            }
        }
    }

    @Test
    void the_interval_bucket_never_admits_more_than_the_burst_and_its_steps() {
        for (long[] numbers : NUMBERS) {
            for (long burst : new long[] {1, numbers[0], 3 * numbers[0]}) {
                for (int seed = 0; seed < SEEDS / 3; seed++) {
                    List<Admitted> admitted =
                            admitted(new IntervalBucket(numbers[0], numbers[1], burst, false), numbers[1], seed);
                    for (int first = 0; first < admitted.size(); first++) {
                        long sum = 0;
                        for (int last = first; last < admitted.size(); last++) {
                            sum += admitted.get(last).cost;
                            long steps = (admitted.get(last).atMs - admitted.get(first).atMs) / numbers[1] + 1;
                            assertThat(sum).isLessThanOrEqualTo(burst + steps * numbers[0]);
                        }
                    }
                }
            }
        }
    }
}
