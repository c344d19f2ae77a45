package dev.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests that rounding does not accumulate: after a billion tokens the results still equal those of exact rationals. */
@Tag("slow")
class ExactnessTest {

    private static final int STEPS = 1_000_000;
    private static final long START_MS = 1_700_000_000_123L;

    /** The buckets that refill continuously. */
    enum Algorithm {
        TOKEN_BUCKET,
        LEAKY_BUCKET,
        GCRA;

        Limit<?> limit(long tokens, long perMs, long burst) {
            Rate rate = Rate.of(tokens, perMs);
            return switch (this) {
                case TOKEN_BUCKET -> new TokenBucket(rate, burst, false);
                case LEAKY_BUCKET -> new LeakyBucket(rate, burst, false);
                case GCRA -> new Gcra(rate, burst, false);
            };
        }
    }

    private static long ceilingOfDivision(BigInteger dividend, long divisor) {
        return dividend.add(BigInteger.valueOf(divisor - 1))
                .divide(BigInteger.valueOf(divisor))
                .longValueExact();
    }

    @ParameterizedTest
    @EnumSource
    void one_per_day_passes_on_the_millisecond_for_a_million_days(Algorithm algorithm) {
        long dayMs = 86_400_000;
        TrialAccount<?> trial = TrialAccount.open(algorithm.limit(1, dayMs, 1), START_MS);
        for (long day = 0; day < STEPS; day++) {
            long nowMs = START_MS + day * dayMs;
            if (day > 0) {
                assertThat(trial.permits(1, nowMs - 1)).isFalse();
                assertThat(trial.waitMs(1, nowMs - 1)).isOne();
            }
            assertThat(trial.request(1, nowMs)).isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource
    void a_million_per_second_passes_exactly_a_thousand_each_millisecond(Algorithm algorithm) {
        TrialAccount<?> trial = TrialAccount.open(algorithm.limit(1_000_000, 1_000, 1_000), START_MS);
        for (long i = 0; i < STEPS; i++) {
            long nowMs = START_MS + i;
            assertThat(trial.available(nowMs)).isEqualTo(1_000);
            assertThat(trial.request(999, nowMs)).isTrue();
            assertThat(trial.request(2, nowMs)).isFalse();
            assertThat(trial.request(1, nowMs)).isTrue();
        }
    }

    /**
     * The bucket is never full again, so no token is lost: token k beyond the burst is available at ⌈k · 11000 / 7⌉ ms.
     */
    @ParameterizedTest
    @EnumSource
    void seven_per_eleven_seconds_is_exact_after_a_billion_tokens(Algorithm algorithm) {
        long cost = 1_000;
        TrialAccount<?> trial = TrialAccount.open(algorithm.limit(7, 11_000, 2 * cost), START_MS);
        long nowMs = START_MS;
        for (long i = 0; i < STEPS; i++) {
            nowMs += trial.waitMs(cost, nowMs);
            long tokens = Math.max(0, (i - 1) * cost);
            assertThat(nowMs - START_MS)
                    .isEqualTo(ceilingOfDivision(BigInteger.valueOf(tokens).multiply(BigInteger.valueOf(11_000)), 7));
            assertThat(trial.request(cost, nowMs)).isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource
    void awkward_rates_match_the_model_after_many_requests_at_odd_times(Algorithm algorithm) {
        for (long[] numbers : List.of(
                new long[] {7, 11_000, 50}, new long[] {999_983, 1_000_003, 10_000}, new long[] {3, 86_400_000, 3})) {
            long tokens = numbers[0];
            long perMs = numbers[1];
            long burst = numbers[2];
            TrialAccount<?> trial = TrialAccount.open(algorithm.limit(tokens, perMs, burst), START_MS);
            Random random = new Random(7);
            // the level in units, perMs of which make a token
            long parts = 0;
            long nowMs = START_MS;
            for (int i = 0; i < STEPS / 5; i++) {
                long gapMs = random.nextLong(2 * perMs / tokens + 2);
                nowMs += gapMs;
                parts = Math.max(0, parts - gapMs * tokens);
                long available = Math.floorDiv(burst * perMs - parts, perMs);
                assertThat(trial.available(nowMs)).as("request %d", i).isEqualTo(available);
                long cost = 1 + random.nextLong(2);
                if (cost <= available) {
                    parts += cost * perMs;
                }
                assertThat(trial.request(cost, nowMs)).isEqualTo(cost <= available);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void large_costs_are_exact_over_a_billion_tokens(Algorithm algorithm) {
        long burst = 3_000_000_000L;
        TrialAccount<?> trial = TrialAccount.open(algorithm.limit(7, 11_000, burst), START_MS);
        LimitOracle model = LimitOracle.of(trial.limit());
        model.charge(0, START_MS);
        Random random = new Random(3);
        long nowMs = START_MS;
        for (int i = 0; i < 2_000; i++) {
            nowMs += random.nextLong(3_000_000_000_000L / (1 + random.nextInt(1_000)));
            assertThat(trial.available(nowMs)).isEqualTo(model.available(nowMs));
            long cost = 1 + random.nextLong(Math.max(1, trial.remaining(nowMs)));
            if (trial.request(cost, nowMs)) {
                model.charge(cost, nowMs);
            }
            long half = burst / 2;
            long waitMs = trial.waitMs(half, nowMs);
            assertThat(model.available(nowMs + waitMs)).isGreaterThanOrEqualTo(half);
            assertThat(waitMs == 0 || model.available(nowMs + waitMs - 1) < half)
                    .isTrue();
        }
    }
}
