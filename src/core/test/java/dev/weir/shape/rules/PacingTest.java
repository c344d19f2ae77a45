package dev.weir.shape.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PacingTest {

    private static final long SECOND = 1_000_000_000L;
    private static final long HOUR = 3_600L * SECOND;
    private static final long DAY_MS = 86_400_000;

    private record Release(long atNanos, long cost) {}

    /** Releases requests as early as permitted; each is present, and the queue running, from a given time on. */
    private static List<Release> releases(Pacing pacing, long[] costs, long[] awakeNanos) {
        List<Release> releases = new ArrayList<>();
        Pacing.Arrival state = pacing.fresh(awakeNanos[0]);
        long nowNanos = awakeNanos[0];
        for (int i = 0; i < costs.length; i++) {
            nowNanos = pacing.earliestNanos(state, costs[i], Math.max(nowNanos, awakeNanos[i]));
            state = pacing.released(state, costs[i], nowNanos);
            releases.add(new Release(nowNanos, costs[i]));
        }
        return releases;
    }

    private static long[] times(int count, long time) {
        long[] times = new long[count];
        java.util.Arrays.fill(times, time);
        return times;
    }

    @Test
    void a_hundred_a_second_are_ten_milliseconds_apart_and_a_cost_of_three_takes_the_time_of_three_tokens() {
        List<Release> releases = releases(Pacing.of(100, 1_000, 1), new long[] {1, 3, 1, 1}, times(4, 0));
        assertThat(releases).extracting(Release::atNanos).containsExactly(0L, 10_000_000L, 40_000_000L, 50_000_000L);
    }

    @Test
    void one_an_hour_and_fifty_thousand_a_second_are_exact() {
        assertThat(releases(Pacing.of(1, 3_600_000, 1), new long[] {1, 1, 1}, times(3, 0))
                        .get(2)
                        .atNanos)
                .isEqualTo(2 * HOUR);
        int count = 500_001;
        assertThat(releases(Pacing.of(50_000, 1_000, 1), times(count, 1), times(count, 0))
                        .get(count - 1)
                        .atNanos)
                .isEqualTo(10 * SECOND);
        count = 7 * 1_000 + 1; // 7 per 11 s: at most a nanosecond late each time
        assertThat(releases(Pacing.of(7, 11_000, 1), times(count, 1), times(count, 0))
                        .get(count - 1)
                        .atNanos)
                .isBetween(11_000 * SECOND, 11_000 * SECOND + count);
    }

    @Test
    void a_stall_is_not_caught_up_with() {
        long[] awake = times(40, 0);
        for (int i = 10; i < 40; i++) {
            awake[i] = HOUR; // an hour later
        }
        List<Release> releases = releases(Pacing.of(10, 1_000, 3), times(40, 1), awake);
        assertThat(releases.get(12).atNanos).isEqualTo(HOUR);
        assertThat(releases.get(13).atNanos).isEqualTo(HOUR + SECOND / 10);
        assertThat(releases.get(39).atNanos).isEqualTo(HOUR + SECOND * 27 / 10);
    }

    @Test
    void every_interval_has_at_most_the_burst_and_the_rate() {
        for (int seed = 0; seed < 200; seed++) {
            Random random = new Random(seed);
            long limit = 1L + random.nextInt(50);
            long perMs = 1L + random.nextInt(2_000);
            long burst = 1L + random.nextInt(5);
            int count = 200;
            long[] awake = new long[count];
            long now = 0;
            for (int i = 0; i < count; i++) {
                now += random.nextInt(20) == 0 ? random.nextInt(1_000_000_000) : 0; // stalls
                awake[i] = now;
            }
            long[] costs = random.longs(count, 1, burst + 1).toArray();
            List<Release> releases = releases(Pacing.of(limit, perMs, burst), costs, awake);
            for (int i = 0; i < count; i++) {
                long sum = 0;
                for (int j = i; j < count; j++) {
                    sum += releases.get(j).cost;
                    long lengthNanos = releases.get(j).atNanos - releases.get(i).atNanos;
                    // (sum − burst) / limit ≤ length / per, in whole numbers
                    assertThat(Math.multiplyExact(sum - burst, perMs * 1_000_000L))
                            .as("seed %d, releases %d to %d", seed, i, j)
                            .isLessThanOrEqualTo(Math.multiplyExact(lengthNanos, limit));
                }
            }
        }
    }

    @Test
    void waiting_requests_are_released_as_early_as_the_rate_permits() {
        int count = 1_000;
        List<Release> releases = releases(Pacing.of(13, 1_000, 4), times(count, 1), times(count, 5));
        for (int i = 4; i < count; i++) {
            long slots = i - 3L;
            assertThat(releases.get(i).atNanos - 5).isEqualTo((slots * SECOND + 12) / 13); // rounded up
        }
    }

    @Test
    void numbers_out_of_range_are_rejected() {
        assertThatThrownBy(() -> Pacing.of(0, 1_000, 1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> Pacing.of(1, 1_000, 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> Pacing.of(1, Long.MAX_VALUE, 1)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void rates_of_few_common_factors_and_large_costs_are_exact() {
        // 100,000 tokens at 1,234,567 a day take 6,998.41 s, though they are 8.64e18 units
        List<Release> releases = releases(Pacing.of(1_234_567, DAY_MS, 1), times(4, 100_000), times(4, 0));
        BigInteger dayNanos = BigInteger.valueOf(DAY_MS * 1_000_000);
        for (int i = 1; i < 4; i++) {
            long exact = roundedUp(BigInteger.valueOf(100_000L * i).multiply(dayNanos), 1_234_567);
            assertThat(releases.get(i).atNanos).isBetween(exact, exact + i); // at most a nanosecond late each
        }
    }

    @Test
    void random_rates_and_costs_are_never_early_and_at_most_a_nanosecond_late() {
        for (int seed = 0; seed < 2_000; seed++) {
            Random random = new Random(seed);
            long limit = 1 + (random.nextLong() >>> (1 + random.nextInt(60))) % (1L << 40);
            long perMs = 1 + random.nextInt(Integer.MAX_VALUE) % (30 * DAY_MS);
            long cost = 1 + random.nextInt(1_000_000) % Math.max(1, limit * 10);
            BigInteger taken = BigInteger.valueOf(cost).multiply(BigInteger.valueOf(perMs * 1_000_000));
            if (taken.divide(BigInteger.valueOf(limit)).bitLength() > 58) {
                continue; // years
            }
            Pacing pacing = Pacing.of(limit, perMs, 1);
            Pacing.Arrival state = pacing.released(pacing.fresh(0), cost, 0);
            assertThat(pacing.earliestNanos(state, 1, 0)).as("seed %d", seed).isEqualTo(roundedUp(taken, limit));
        }
    }

    @Test
    void spans_of_centuries_are_capped_without_overflow() {
        Pacing pacing = Pacing.of(1, 30 * DAY_MS, 1L << 61);
        Pacing.Arrival state = pacing.fresh(SECOND);
        long last = 0;
        for (int i = 0; i < 10; i++) {
            state = pacing.released(state, 1L << 60, SECOND);
            assertThat(state.nanos()).isGreaterThanOrEqualTo(last);
            last = state.nanos();
            assertThat(pacing.earliestNanos(state, 1L << 61, SECOND)).isPositive();
        }
    }

    @Test
    void another_pace_keeps_the_usage_in_tokens() {
        Pacing daily = Pacing.of(24, DAY_MS, 1);
        Pacing.Arrival state = daily.released(daily.fresh(0), 2, 0); // two tokens: two hours
        assertThat(Pacing.of(1, 1_000, 1).adopt(daily, state, 0).nanos()).isEqualTo(2 * SECOND);
        assertThat(Pacing.of(1, 1_000, 1).adopt(daily, state, HOUR).nanos()).isEqualTo(HOUR + SECOND);
        assertThat(Pacing.of(1, 1_000, 1).adopt(daily, state, 3 * HOUR).nanos()).isEqualTo(3 * HOUR);
        assertThat(Pacing.of(48, 2 * DAY_MS, 1).adopt(daily, state, HOUR)).isEqualTo(state);
    }

    @Test
    void a_lower_burst_leaves_no_more_than_itself_used() {
        Pacing old = Pacing.of(100, 1_000, 6_000);
        Pacing.Arrival used = old.released(old.fresh(0), 6_000, 0);
        long half = SECOND / 2;
        Pacing lower = Pacing.of(100, 1_000, 1);
        assertThat(lower.earliestNanos(lower.adopt(old, used, half), 1, half)).isEqualTo(half + SECOND / 100);
        Pacing slower = Pacing.of(1, 1_000, 1);
        assertThat(slower.earliestNanos(slower.adopt(old, used, half), 1, half)).isEqualTo(half + SECOND);
        Pacing.Arrival little = old.released(old.fresh(0), 2, 0);
        assertThat(Pacing.of(100, 1_000, 50).adopt(old, little, 0)).isEqualTo(little);
        assertThat(Pacing.of(100, 1_000, 9_000).adopt(old, used, half)).isEqualTo(used);
    }

    @Test
    void a_request_that_cost_more_than_the_burst_keeps_its_time() {
        Pacing old = Pacing.of(100, 1_000, 10);
        Pacing.Arrival used = old.released(old.fresh(0), 500, 0);
        assertThat(Pacing.of(100, 1_000, 1).adopt(old, used, 0)).isEqualTo(used);
        assertThat(Pacing.of(50, 1_000, 1).adopt(old, used, 0).nanos()).isEqualTo(10 * SECOND);
    }

    private static long roundedUp(BigInteger dividend, long divisor) {
        BigInteger[] parts = dividend.divideAndRemainder(BigInteger.valueOf(divisor));
        return parts[0].longValueExact() + parts[1].signum();
    }
}
