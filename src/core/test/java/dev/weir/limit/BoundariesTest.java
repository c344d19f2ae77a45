package dev.weir.limit;

import static dev.weir.limit.Limit.MAX_CAPACITY;
import static dev.weir.limit.Limit.MAX_LEVEL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.ZoneOffset;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests boundary cases of each algorithm. */
class BoundariesTest {

    private static final long YEAR_9999_MS = 253_402_300_799_999L;

    @Nested
    class OfFixedWindow {

        @Test
        void window_last_millisecond_still_counts_first_of_next_does_not() {
            TrialAccount<?> trial = TrialAccount.open(new FixedWindow(1, 60_000, false), 0);
            assertThat(trial.request(1, 0)).isTrue();
            assertThat(trial.permits(1, 59_999)).isFalse();
            assertThat(trial.permits(1, 60_000)).isTrue();
        }

        @Test
        void window_is_aligned_to_the_epoch_not_to_the_first_request() {
            TrialAccount<?> trial = TrialAccount.open(new FixedWindow(1, 60_000, false), 59_999);
            assertThat(trial.request(1, 59_999)).isTrue();
            assertThat(trial.request(1, 60_000)).isTrue();
        }

        @Test
        void window_skipped_starts_at_zero() {
            TrialAccount<?> trial = TrialAccount.open(new FixedWindow(1, 60_000, false), 0);
            trial.charge(1, 0);
            assertThat(trial.available(600_000)).isOne();
        }

        @Test
        void window_across_the_epoch() {
            TrialAccount<?> trial = TrialAccount.open(new FixedWindow(1, 60_000, false), -1);
            assertThat(trial.request(1, -1)).isTrue();
            assertThat(trial.request(1, 0)).isTrue();
            assertThat(trial.permits(1, 59_999)).isFalse();
        }

        @Test
        void window_of_one_millisecond() {
            TrialAccount<?> trial = TrialAccount.open(new FixedWindow(1, 1, false), 5);
            assertThat(trial.request(1, 5)).isTrue();
            assertThat(trial.request(1, 5)).isFalse();
            assertThat(trial.waitMs(1, 5)).isOne();
            assertThat(trial.request(1, 6)).isTrue();
        }

        @Test
        void counted_denials_do_not_reach_the_next_window() {
            TrialAccount<?> trial = TrialAccount.open(new FixedWindow(1, 1_000, true), 0);
            for (int i = 0; i < 50; i++) {
                trial.request(1, 0);
            }
            assertThat(trial.used(999)).as("one extra limit").isEqualTo(2);
            assertThat(trial.waitMs(1, 999)).isOne();
            assertThat(trial.available(1_000)).isOne();
        }
    }

    @Nested
    class OfSlidingWindowCounter {

        @Test
        void share_at_the_first_millisecond_is_all_of_the_previous_window() {
            TrialAccount<?> trial = TrialAccount.open(new SlidingWindowCounter(10, 1_000, false, false), 0);
            trial.charge(10, 0);
            assertThat(trial.available(999)).isZero();
            assertThat(trial.available(1_000)).isZero();
            assertThat(trial.available(1_001)).as("⌊9.99⌋ = 9").isOne();
            assertThat(trial.available(1_100)).isOne();
            assertThat(trial.available(1_101)).isEqualTo(2);
        }

        @Test
        void strict_share_keeps_a_token_until_its_last_millisecond() {
            TrialAccount<?> trial = TrialAccount.open(new SlidingWindowCounter(10, 1_000, true, false), 0);
            trial.charge(10, 0);
            assertThat(trial.available(1_099)).isZero();
            assertThat(trial.available(1_100)).isOne();
            assertThat(trial.available(1_999)).isEqualTo(9);
            assertThat(trial.available(2_000)).isEqualTo(10);
        }

        @Test
        void wait_reaches_into_the_next_window() {
            TrialAccount<?> trial = TrialAccount.open(new SlidingWindowCounter(10, 1_000, false, false), 0);
            trial.charge(10, 500);
            assertThat(trial.waitMs(1, 500)).isEqualTo(501);
            assertThat(trial.waitMs(10, 500)).isEqualTo(1_401);
        }

        @Test
        void an_empty_window_in_between_clears_the_usage() {
            TrialAccount<?> trial = TrialAccount.open(new SlidingWindowCounter(10, 1_000, false, false), 0);
            trial.charge(10, 999);
            assertThat(trial.available(2_000)).isEqualTo(10);
        }

        @Test
        void a_refund_reaches_into_the_previous_window() {
            TrialAccount<?> trial = TrialAccount.open(new SlidingWindowCounter(10, 1_000, false, false), 0);
            trial.charge(8, 0).charge(1, 1_500);
            assertThat(trial.available(1_500)).isEqualTo(5);
            trial.charge(-3, 1_500);
            assertThat(trial.available(1_500)).as("10 − ⌊6 · 0.5⌋").isEqualTo(7);
        }

        @Test
        void a_cost_of_long_max_refunds_nothing() {
            TrialAccount<?> trial = TrialAccount.open(new SlidingWindowCounter(10, 1_000, false, false), 0);
            trial.charge(10, 0).charge(2, 1_000).charge(Long.MAX_VALUE, 1_000);
            assertThat(trial.available(1_000)).isEqualTo(-MAX_LEVEL / 1_000);
        }
    }

    @Nested
    class OfBuckets {

        @Test
        void refill_one_millisecond_before_the_token_and_on_it() {
            for (TrialAccount<?> trial : new TrialAccount<?>[] {
                TrialAccount.open(new TokenBucket(Rate.of(1, 1_000), 1, false), 0),
                TrialAccount.open(new LeakyBucket(Rate.of(1, 1_000), 1, false), 0),
                TrialAccount.open(new Gcra(Rate.of(1, 1_000), 1, false), 0),
                TrialAccount.open(new IntervalBucket(1, 1_000, 1, false), 0)
            }) {
                assertThat(trial.request(1, 0)).isTrue();
                assertThat(trial.permits(1, 999)).isFalse();
                assertThat(trial.permits(1, 1_000)).isTrue();
            }
        }

        @Test
        void refill_never_beyond_the_burst() {
            TrialAccount<?> trial = TrialAccount.open(new TokenBucket(Rate.of(5, 1_000), 10, false), 0);
            assertThat(trial.request(3, 0)).isTrue();
            assertThat(trial.available(1_000_000)).isEqualTo(10);
            assertThat(trial.available(YEAR_9999_MS)).isEqualTo(10);
        }

        @Test
        void refill_late_by_a_part_of_a_millisecond_when_full_loses_that_part() {
            // T = 1571.43 ms: the bucket of one is full at 1571.43, is used at 1572, and refills from there
            TrialAccount<?> trial = TrialAccount.open(new Gcra(Rate.of(7, 11_000), 1, false), 0);
            assertThat(trial.request(1, 0)).isTrue();
            assertThat(trial.waitMs(1, 0)).isEqualTo(1_572);
            assertThat(trial.request(1, 1_572)).isTrue();
            assertThat(trial.waitMs(1, 1_572)).isEqualTo(1_572);
        }

        @Test
        void debt_is_paid_off_by_the_rate() {
            TrialAccount<?> trial = TrialAccount.open(new TokenBucket(Rate.of(5, 1_000), 10, false), 0);
            trial.charge(15, 0);
            assertThat(trial.available(0)).isEqualTo(-5);
            assertThat(trial.available(1_000)).isZero();
            assertThat(trial.waitMs(1, 0)).isEqualTo(1_200);
            assertThat(trial.waitMs(10, 0)).isEqualTo(3_000);
        }

        @Test
        void debt_of_a_part_of_a_token_counts_as_a_whole_one() {
            TrialAccount<?> trial = TrialAccount.open(new TokenBucket(Rate.of(1, 1_000), 1, false), 0);
            trial.charge(2, 0);
            assertThat(trial.available(1)).as("−0.999, rounded down").isEqualTo(-1);
        }

        @Test
        void a_refund_never_fills_beyond_the_burst() {
            TrialAccount<?> trial = TrialAccount.open(new Gcra(Rate.of(5, 1_000), 10, false), 0);
            trial.charge(1, 0).charge(-50, 0);
            assertThat(trial.available(0)).isEqualTo(10);
            assertThat(trial.request(11, 0)).isFalse();
        }
    }

    @Nested
    class OfIntervalBucket {

        @Test
        void usage_beyond_the_burst_is_bounded_by_the_refill_of_the_longest_time() {
            assertThat(new IntervalBucket(2, 1_000, 7, false).maxUsed()).isEqualTo(2 * (Limit.MAX_LEVEL / 1_000 - 1));
            long longMs = Limit.MAX_LEVEL / 3;
            assertThat(new IntervalBucket(3, longMs, 2, false).maxUsed())
                    .as("two steps")
                    .isEqualTo(6);
            assertThat(new IntervalBucket(Limit.MAX_LEVEL / 2, 1, Limit.MAX_LEVEL / 2, false).maxUsed())
                    .isEqualTo(Limit.MAX_LEVEL);
        }

        @Test
        void its_window_is_the_time_that_refills_it() {
            assertThat(new IntervalBucket(2, 1_000, 6, false).windowMs(0)).isEqualTo(3_000);
            assertThat(new IntervalBucket(2, 1_000, 7, false).windowMs(0)).isEqualTo(4_000);
        }

        @Test
        void step_does_not_move_with_later_requests() {
            TrialAccount<?> trial = TrialAccount.open(new IntervalBucket(2, 1_000, 2, false), 300);
            trial.charge(2, 300).charge(2, 1_900);
            assertThat(trial.waitMs(1, 1_900)).isEqualTo(400);
        }

        @Test
        void wait_for_more_than_a_step_takes_several() {
            TrialAccount<?> trial = TrialAccount.open(new IntervalBucket(3, 1_000, 7, false), 0);
            trial.charge(7, 0);
            assertThat(trial.waitMs(1, 1)).isEqualTo(999);
            assertThat(trial.waitMs(3, 1)).isEqualTo(999);
            assertThat(trial.waitMs(4, 1)).isEqualTo(1_999);
            assertThat(trial.waitMs(7, 1)).isEqualTo(2_999);
        }

        @Test
        void phase_is_kept_for_a_day_of_idleness() {
            TrialAccount<?> trial = TrialAccount.open(new IntervalBucket(1, 1_000, 1, false), 300);
            trial.charge(1, 300);
            long lastMs = 1_300 + IntervalBucket.PHASE_RETENTION_MS - 1;
            assertThat(trial.copy().charge(1, lastMs).waitMs(1, lastMs)).isOne();
        }

        @Test
        void phase_expires_after_a_day_of_idleness_whether_the_state_is_kept_or_not() {
            TrialAccount<?> trial = TrialAccount.open(new IntervalBucket(1, 1_000, 1, false), 300);
            trial.charge(1, 300);
            long expiredMs = 1_300 + IntervalBucket.PHASE_RETENTION_MS;
            assertThat(trial.expiresAtMs(300)).isEqualTo(expiredMs);
            trial.charge(1, expiredMs + 77);
            assertThat(trial.waitMs(1, expiredMs + 77)).isEqualTo(1_000);
        }

        @Test
        void phase_of_a_window_longer_than_a_day_is_kept_for_a_window() {
            long perMs = 30L * 86_400_000;
            TrialAccount<?> trial = TrialAccount.open(new IntervalBucket(1, perMs, 1, false), 0);
            trial.charge(1, 0);
            assertThat(trial.copy().charge(1, 2 * perMs - 5).waitMs(1, 2 * perMs - 5))
                    .isEqualTo(5);
            assertThat(trial.copy().charge(1, 2 * perMs + 5).waitMs(1, 2 * perMs + 5))
                    .isEqualTo(perMs);
        }
    }

    @Nested
    class OfLimitsThatCountNothing {

        @Test
        void unlimited_permits_anything() {
            TrialAccount<?> trial = TrialAccount.open(new Unlimited(), 0);
            assertThat(trial.request(Long.MAX_VALUE, 0)).isTrue();
            assertThat(trial.request(Long.MAX_VALUE, 0)).isTrue();
            assertThat(trial.account().remaining(0)).isEqualTo(Long.MAX_VALUE);
            assertThat(trial.account().resetAfterMs(0)).isZero();
        }

        @Test
        void blocked_permits_nothing_but_a_cost_of_zero() {
            TrialAccount<?> trial = TrialAccount.open(new Blocked(), 0);
            assertThat(trial.request(1, 0)).isFalse();
            assertThat(trial.request(0, 0)).isTrue();
            assertThat(trial.limit().fits(1)).isFalse();
            assertThat(trial.limit().fits(0)).isTrue();
            assertThat(trial.account().remaining(0)).isZero();
            assertThat(trial.account().resetAfterMs(0)).isZero();
        }

        @Test
        void neither_changes_or_is_worth_keeping() {
            for (Limit<?> limit : new Limit<?>[] {new Unlimited(), new Blocked()}) {
                TrialAccount<?> trial = TrialAccount.open(limit, 5);
                LimitAccount<?> before = trial.account();
                assertThat(trial.charge(3, 5).charge(-9, 5).account()).isSameAs(before);
                assertThat(trial.expiresAtMs(5)).isEqualTo(5);
            }
        }
    }

    @Nested
    class OfAccounts {

        @Test
        void a_cost_of_zero_changes_nothing() {
            for (LimitCase<?> terms : LimitCase.all()) {
                TrialAccount<?> trial = TrialAccount.open(terms.limit(), 1_000);
                LimitAccount<?> before = trial.account();
                assertThat(trial.charge(0, 2_000).account()).isSameAs(before);
            }
        }

        @Test
        void a_cost_above_the_capacity_never_fits() {
            LimitAccount<?> account = LimitAccount.open(new FixedWindow(5, 1_000, false), 0);
            assertThat(account.permits(6, 0)).isFalse();
            assertThat(account.limit().fits(6)).isFalse();
            assertThat(account.limit().fits(5)).isTrue();
            assertThat(account.remaining(0)).isEqualTo(5);
        }

        @Test
        void a_denial_still_reports_what_remains() {
            LimitAccount<?> account =
                    LimitAccount.open(new FixedWindow(5, 1_000, false), 0).charge(3, 0);
            assertThat(account.permits(4, 100)).isFalse();
            assertThat(account.remaining(100)).isEqualTo(2);
            assertThat(account.resetAfterMs(100)).isEqualTo(900);
            assertThat(account.waitMs(4, 100)).isEqualTo(900);
        }

        @Test
        void in_debt_remaining_is_zero() {
            LimitAccount<?> account =
                    LimitAccount.open(new FixedWindow(5, 1_000, false), 0).charge(8, 0);
            assertThat(account.remaining(0)).isZero();
        }
    }

    @Nested
    class OfNumbers {

        static LongStream notPositive() {
            return LongStream.of(Long.MIN_VALUE, -1, 0, MAX_LEVEL + 1, Long.MAX_VALUE);
        }

        @ParameterizedTest
        @MethodSource("notPositive")
        void out_of_range_is_rejected(long number) {
            assertThatIllegalArgumentException().isThrownBy(() -> new FixedWindow(1, number, false));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new CalendarWindow(number, CalendarPeriod.DAY, ZoneOffset.UTC, false));
            assertThatIllegalArgumentException().isThrownBy(() -> new SlidingWindowLog(number, 1, false));
            assertThatIllegalArgumentException().isThrownBy(() -> new SlidingWindowLog(1, number, false));
            assertThatIllegalArgumentException().isThrownBy(() -> new SlidingWindowCounter(1, number, true, false));
            assertThatIllegalArgumentException().isThrownBy(() -> new IntervalBucket(number, 1, 1, false));
            assertThatIllegalArgumentException().isThrownBy(() -> new IntervalBucket(1, number, 1, false));
            assertThatIllegalArgumentException().isThrownBy(() -> new IntervalBucket(1, 1, number, false));
            assertThatIllegalArgumentException().isThrownBy(() -> Rate.of(number, 1));
            assertThatIllegalArgumentException().isThrownBy(() -> Rate.of(1, number));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new TokenBucket(Rate.of(1, 1), number, false))
                    .withMessageContaining("burst");
            assertThatIllegalArgumentException().isThrownBy(() -> new LeakyBucket(Rate.of(1, 1), number, false));
            assertThatIllegalArgumentException().isThrownBy(() -> new Gcra(Rate.of(1, 1), number, false));
        }

        @ParameterizedTest
        @ValueSource(longs = {Long.MIN_VALUE, -1, MAX_CAPACITY + 1, Long.MAX_VALUE})
        void overridable_limits_can_be_zero_but_not_negative_or_too_large(long number) {
            assertThatIllegalArgumentException().isThrownBy(() -> new FixedWindow(number, 1, false));
            assertThatIllegalArgumentException().isThrownBy(() -> new SlidingWindowCounter(number, 1, false, false));
            assertThat(new FixedWindow(0, 1, false).capacity()).isZero();
            assertThat(new SlidingWindowCounter(0, 1, true, false).capacity()).isZero();
        }

        @Test
        void largest_are_accepted() {
            assertThat(new FixedWindow(MAX_CAPACITY, MAX_LEVEL, false).capacity())
                    .isEqualTo(MAX_CAPACITY);
            assertThat(new SlidingWindowLog(MAX_CAPACITY, MAX_LEVEL, false).capacity())
                    .isEqualTo(MAX_CAPACITY);
            assertThat(new TokenBucket(Rate.of(MAX_LEVEL, 1), MAX_CAPACITY, false).capacity())
                    .isEqualTo(MAX_CAPACITY);
            assertThat(new IntervalBucket(MAX_LEVEL, 1_000, MAX_CAPACITY, false).capacity())
                    .isEqualTo(MAX_CAPACITY);
        }

        @Test
        void a_capacity_whose_debt_cannot_be_counted_is_rejected() {
            long number = MAX_CAPACITY + 1;
            assertThatIllegalArgumentException().isThrownBy(() -> new FixedWindow(number, 1, false));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new CalendarWindow(number, CalendarPeriod.DAY, ZoneOffset.UTC, false));
            assertThatIllegalArgumentException().isThrownBy(() -> new SlidingWindowLog(number, 1, false));
            assertThatIllegalArgumentException().isThrownBy(() -> new SlidingWindowCounter(number, 1, false, false));
            assertThatIllegalArgumentException().isThrownBy(() -> new IntervalBucket(number, 1, number, false));
            assertThatIllegalArgumentException().isThrownBy(() -> new Gcra(Rate.of(1, 1), number, false));
        }

        @ParameterizedTest
        @CsvSource({"1000, 1152921504606846", "60000, 19215358410114", "86400000, 13343998895"})
        void counter_limit_too_large_to_weigh_is_rejected(long perMs, long most) {
            assertThat(new SlidingWindowCounter(most, perMs, false, false).limit())
                    .isEqualTo(most);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new SlidingWindowCounter(most + 1, perMs, false, false))
                    .withMessageContaining("the maximum is " + most);
        }

        @ParameterizedTest
        @CsvSource({"1, 86400000, 13343998895", "7, 11000, 104811045873349", "10, 1000, 11529215046068469"})
        void bucket_burst_too_large_to_count_is_rejected(long tokens, long perMs, long most) {
            Rate rate = Rate.of(tokens, perMs);
            assertThat(new Gcra(rate, most, false).burst()).isEqualTo(most);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new Gcra(rate, most + 1, false))
                    .withMessageContaining("the maximum is " + most);
            assertThatIllegalArgumentException().isThrownBy(() -> new TokenBucket(rate, most + 1, false));
            assertThatIllegalArgumentException().isThrownBy(() -> new LeakyBucket(rate, most + 1, false));
        }

        @Test
        void interval_bucket_that_takes_too_long_to_fill_is_rejected() {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new IntervalBucket(1, 1_000, MAX_LEVEL / 1_000 / 2 + 1, false))
                    .withMessageContaining("takes too long to refill");
            long most = MAX_LEVEL / 1_000 / 2 - 1;
            TrialAccount<?> trial = TrialAccount.open(new IntervalBucket(1, 1_000, most, false), 0);
            trial.charge(2 * trial.capacity(), 0);
            assertThat(trial.waitMs(trial.capacity(), 0)).isEqualTo(2 * most * 1_000);
        }

        @Test
        void add_to_level_stays_in_its_range() {
            assertThat(Limit.addToLevel(0, -1)).isZero();
            assertThat(Limit.addToLevel(5, -5)).isZero();
            assertThat(Limit.addToLevel(5, Long.MIN_VALUE)).isZero();
            assertThat(Limit.addToLevel(MAX_LEVEL, 1)).isEqualTo(MAX_LEVEL);
            assertThat(Limit.addToLevel(MAX_LEVEL, Long.MAX_VALUE)).isEqualTo(MAX_LEVEL);
            assertThat(Limit.addToLevel(MAX_LEVEL, -MAX_LEVEL)).isZero();
            assertThat(Limit.addToLevel(2, 3)).isEqualTo(5);
        }

        @Test
        void rate_arithmetic_saturates() {
            Rate rate = Rate.of(MAX_LEVEL - 1, 3);
            assertThat(rate.unitsIn(Long.MAX_VALUE)).isEqualTo(MAX_LEVEL);
            assertThat(rate.unitsIn(2)).isEqualTo(MAX_LEVEL);
            assertThat(rate.unitsIn(-5)).isZero();
            assertThat(rate.units(Long.MAX_VALUE)).isEqualTo(MAX_LEVEL);
            assertThat(rate.units(Long.MIN_VALUE)).isEqualTo(-MAX_LEVEL);
            assertThat(Rate.of(1, MAX_LEVEL).units(-1)).isEqualTo(-MAX_LEVEL);
            assertThat(Rate.of(1, MAX_LEVEL).units(4)).isEqualTo(MAX_LEVEL);
        }

        @Test
        void rate_rounds_tokens_down_and_time_up() {
            Rate rate = Rate.of(7, 11_000);
            assertThat(rate.wholeTokens(10_999)).isZero();
            assertThat(rate.wholeTokens(11_000)).isOne();
            assertThat(rate.wholeTokens(-1)).isEqualTo(-1);
            assertThat(rate.msToFlow(7)).isOne();
            assertThat(rate.msToFlow(8)).isEqualTo(2);
            assertThat(rate.msToFlow(0)).isZero();
            assertThat(rate.msToFlow(-9)).isZero();
        }
    }
}
