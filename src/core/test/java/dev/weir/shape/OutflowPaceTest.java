package dev.weir.shape;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class OutflowPaceTest {

    private static final long MS = TimeUnit.MILLISECONDS.toNanos(1);

    private record Left(long atNanos, long cost) {}

    @Test
    void a_burst_may_be_released_at_once_and_then_one_request_per_token() {
        OutflowPace pace = new OutflowPace(1_000, 2);
        assertThat(pace.earlyNanos(10, 0, 1)).isLessThanOrEqualTo(0);
        assertThat(pace.earlyNanos(10, 0, 1)).isLessThanOrEqualTo(0);
        assertThat(pace.earlyNanos(10, 100 * MS, 1)).isLessThanOrEqualTo(0);
        assertThat(pace.earlyNanos(10, 199 * MS, 1)).isEqualTo(MS);
    }

    @Test
    void a_cost_above_the_burst_delays_the_next_release() {
        OutflowPace pace = new OutflowPace(1_000, 2);
        assertThat(pace.earlyNanos(10, 0, 5)).isLessThanOrEqualTo(0);
        assertThat(pace.earlyNanos(10, 300 * MS, 1)).isEqualTo(100 * MS);
    }

    /** Compares with the definition, interval by interval. */
    @Test
    void a_release_is_early_if_an_interval_that_ends_with_it_exceeds_the_rate() {
        for (int seed = 0; seed < 200; seed++) {
            Random random = new Random(seed);
            long limit = 1 + random.nextInt(20);
            long burst = 1 + random.nextInt(4);
            OutflowPace pace = new OutflowPace(1_000, burst);
            List<Left> all = new ArrayList<>();
            long atNanos = random.nextInt(1_000) * MS;
            for (int i = 0; i < 50; i++) {
                atNanos += random.nextInt((int) (2_000 / limit)) * MS;
                all.add(new Left(atNanos, random.nextInt(4)));
                Left last = all.get(i);
                assertThat(pace.earlyNanos(limit, atNanos, last.cost) > 0)
                        .as("seed %d, release %d of %s", seed, i, all)
                        .isEqualTo(isTooMuch(all, limit, burst));
            }
        }
    }

    private static boolean isTooMuch(List<Left> all, long limit, long burst) {
        Left last = all.get(all.size() - 1);
        for (int from = 0; from < all.size(); from++) {
            long before = all.subList(from, all.size() - 1).stream()
                    .mapToLong(Left::cost)
                    .sum();
            long lengthNanos = last.atNanos - all.get(from).atNanos;
            if ((before + Math.min(last.cost, burst) - burst) * 1_000 * MS > lengthNanos * limit) {
                return true;
            }
        }
        return false;
    }
}
