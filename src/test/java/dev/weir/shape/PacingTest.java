package dev.weir.shape;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PacingTest {

    private static final long SECOND = 1_000_000_000L;
    private static final long HOUR = 3_600L * SECOND;

    private record Release(long atNanos, long cost) {}

    /** Releases as early as it may, each request being there and the queue awake from a given time on. */
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
    void a_hundred_a_second_leave_ten_milliseconds_apart_and_a_cost_of_three_takes_three_slots() {
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
        count = 7 * 1_000 + 1; // 7 per 11 s: a nanosecond late at the most, each time
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
    void over_every_interval_no_more_leaves_than_the_burst_and_the_rate() {
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
    void what_waits_always_leaves_as_early_as_the_rate_lets_it() {
        int count = 1_000;
        List<Release> releases = releases(Pacing.of(13, 1_000, 4), times(count, 1), times(count, 5));
        for (int i = 4; i < count; i++) {
            long slots = i - 3L;
            assertThat(releases.get(i).atNanos - 5).isEqualTo((slots * SECOND + 12) / 13); // rounded up
        }
    }

    @Test
    void numbers_out_of_range_are_refused() {
        assertThatThrownBy(() -> Pacing.of(0, 1_000, 1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> Pacing.of(1, 1_000, 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> Pacing.of(1, Long.MAX_VALUE, 1)).isInstanceOf(IllegalArgumentException.class);
    }
}
