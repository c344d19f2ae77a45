package dev.weir.limit;

import static dev.weir.limit.CalendarPeriod.MONTH;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;

/** Tests that usage is kept when a limit is changed. */
class AdoptTest {

    private static final int SEEDS = 4;
    private static final int REQUESTS = 12;

    /** A change of terms, tried on an account in the middle of random traffic. */
    private interface Change {
        void tried(LimitCase<?> before, LimitCase<?> after, TrialAccount<?> trial, long nowMs, Random random);
    }

    private static void tryAll(List<LimitCase<?>> before, List<LimitCase<?>> after, Change change) {
        for (LimitCase<?> old : before) {
            for (int seed = 0; seed < SEEDS; seed++) {
                RandomCharges traffic = new RandomCharges(seed, old.perMs());
                long nowMs = 1_700_000_000_000L + traffic.random().nextInt(1_000_000);
                TrialAccount<?> trial = TrialAccount.open(old.limit(), nowMs);
                for (int i = 0; i < REQUESTS; i++) {
                    traffic.pass(trial, traffic.nextCost(trial, nowMs), nowMs, true);
                    nowMs = traffic.nextMs(trial, nowMs);
                }
                for (LimitCase<?> terms : after) {
                    try {
                        change.tried(old, terms, trial, nowMs, traffic.random());
                    } catch (AssertionError | RuntimeException e) {
                        throw new AssertionError(
                                "seed " + seed + ", at " + nowMs + " " + trial + " under " + terms.limit(), e);
                    }
                }
            }
        }
    }

    private static boolean counts(LimitCase<?> terms) {
        return !(terms.limit() instanceof Unlimited) && !(terms.limit() instanceof Blocked);
    }

    /** A log keeps its entries, so a shorter window contains fewer of them. */
    private static boolean isAShorterLog(LimitCase<?> before, LimitCase<?> after) {
        return before.limit() instanceof SlidingWindowLog
                && after.limit() instanceof SlidingWindowLog
                && after.perMs() < before.perMs();
    }

    @Test
    void usage_is_kept_across_every_change() {
        tryAll(LimitCase.all(), LimitCase.all(), (before, after, trial, nowMs, random) -> {
            if (!counts(after) || isAShorterLog(before, after)) {
                return;
            }
            // a strict counter rounds the same windows up, a non-strict one down
            long rounding = before.limit() instanceof SlidingWindowCounter ? 1 : 0;
            assertThat(trial.under(after.limit(), nowMs).used(nowMs))
                    .isBetween(stays(trial, after.limit(), nowMs) - rounding, trial.used(nowMs) + 1);
        });
    }

    /**
     * Returns how many of the tokens in use stay in use: for limits whose wait grows with usage, one full limit and a
     * debt of up to as much.
     */
    private static long stays(TrialAccount<?> trial, Limit<?> after, long nowMs) {
        boolean endsWithTheWindow = after instanceof AlignedWindow || after instanceof SlidingWindowLog;
        return endsWithTheWindow ? trial.used(nowMs) : Math.min(trial.used(nowMs), mostUsed(trial, after, nowMs));
    }

    private static long mostUsed(TrialAccount<?> trial, Limit<?> after, long nowMs) {
        long beyond = trial.limit().countDenied() ? 0 : Math.max(0, trial.used(nowMs) - trial.capacity());
        return after.capacity() + Math.min(after.capacity(), beyond);
    }

    @Test
    void after_every_change_the_wait_is_at_most_that_of_a_client_that_has_just_used_the_new_limit() {
        tryAll(LimitCase.all(), LimitCase.all(), (before, after, trial, nowMs, random) -> {
            if (!counts(after)) {
                return;
            }
            TrialAccount<?> adopted = trial.under(after.limit(), nowMs);
            long mostUsed = mostUsed(trial, after.limit(), nowMs);
            TrialAccount<?> other = TrialAccount.open(after.limit(), nowMs).charge(mostUsed, nowMs);
            for (long cost : new long[] {1, 1 + random.nextLong(adopted.capacity()), adopted.capacity()}) {
                assertThat(adopted.waitMs(cost, nowMs)).isLessThanOrEqualTo(other.waitMs(cost, nowMs));
            }
            boolean isEstimate = after.limit() instanceof SlidingWindowCounter; // still weighs the previous window
            if (mostUsed == adopted.capacity() && !isEstimate) {
                assertThat(adopted.waitMs(adopted.capacity(), nowMs))
                        .isLessThanOrEqualTo(after.limit().windowMs(nowMs));
            }
        });
    }

    @Test
    void a_used_up_limit_lowered_from_a_thousand_an_hour_to_ten_permits_again_within_the_hour() {
        long hourMs = 3_600_000;
        Rate many = Rate.of(1_000, hourMs);
        Rate few = Rate.of(10, hourMs);
        List<Limit<?>> before = List.of(
                new TokenBucket(many, 1_000, false),
                new LeakyBucket(many, 1_000, false),
                new Gcra(many, 1_000, false),
                new IntervalBucket(1_000, hourMs, 1_000, false),
                new SlidingWindowLog(1_000, hourMs, false),
                new FixedWindow(1_000, hourMs, false));
        List<Limit<?>> after = List.of(
                new TokenBucket(few, 10, false),
                new LeakyBucket(few, 10, false),
                new Gcra(few, 10, false),
                new IntervalBucket(10, hourMs, 10, false),
                new SlidingWindowLog(10, hourMs, false),
                new FixedWindow(10, hourMs, false));
        for (Limit<?> old : before) {
            TrialAccount<?> trial = TrialAccount.open(old, 0).charge(1_000, 0);
            for (Limit<?> lowered : after) {
                assertThat(trial.under(lowered, 60_000).waitMs(10, 60_000))
                        .as("%s, then %s", old, lowered)
                        .isLessThanOrEqualTo(hourMs);
            }
        }
    }

    @Test
    void unlimited_and_blocked_count_nothing_after_every_change() {
        tryAll(LimitCase.all(), new ArrayList<>(LimitCase.uncounted()), (before, after, trial, nowMs, random) -> {
            TrialAccount<?> adopted = trial.under(after.limit(), nowMs);
            assertThat(adopted.used(nowMs)).isZero();
            assertThat(adopted.available(nowMs)).isEqualTo(after.limit().capacity());
        });
    }

    @Test
    void waits_are_exact_after_every_change() {
        tryAll(LimitCase.all(), LimitCase.all(), (before, after, trial, nowMs, random) -> {
            TrialAccount<?> adopted = trial.under(after.limit(), nowMs);
            if (adopted.capacity() > 0) {
                long most = Math.min(adopted.capacity(), Limit.MAX_LEVEL);
                for (long cost : new long[] {1, 1 + random.nextLong(most), most}) {
                    if (adopted.waitMs(cost, nowMs) < Limit.MAX_LEVEL / 2) { // longer waits are clamped
                        LimitLaws.assertExactWait(adopted, cost, nowMs, random);
                    }
                }
            }
        });
    }

    @Test
    void adopting_does_not_modify_the_old_account() {
        tryAll(LimitCase.all(), LimitCase.all(), (before, after, trial, nowMs, random) -> {
            String state = trial.state().toString();
            int calls = trial.segments().puts() + trial.segments().deletes();
            trial.under(after.limit(), nowMs);
            assertThat(trial.state().toString()).isEqualTo(state);
            assertThat(trial.segments().puts() + trial.segments().deletes()).isEqualTo(calls);
        });
    }

    /** Changes only the number of tokens. Expects the same usage as before, or one token more by rounding up. */
    private static <S> void assertSizeKeepsUse(
            List<LimitCase<S>> before, BiFunction<Limit<S>, Long, Limit<?>> resized, int rounding) {
        for (LimitCase<S> old : before) {
            for (long factor : new long[] {1, 2, 3, 10}) {
                for (boolean grows : new boolean[] {false, true}) {
                    long size = grows
                            ? Math.min(
                                    old.ceiling() / 4, Math.max(1, old.limit().capacity() / 4) * factor)
                            : Math.max(1, old.limit().capacity() / factor);
                    Limit<?> limit;
                    try {
                        limit = resized.apply(old.limit(), Math.max(1, size));
                    } catch (IllegalArgumentException tooLarge) {
                        continue;
                    }
                    tryAll(
                            List.of(old),
                            List.of(new LimitCase<>(limit, old.perMs(), old.ceiling())),
                            (terms, after, trial, nowMs, random) -> {
                                long stays = stays(trial, after.limit(), nowMs);
                                assertThat(trial.under(after.limit(), nowMs).used(nowMs))
                                        .isBetween(stays, trial.used(nowMs) + rounding);
                            });
                }
            }
        }
    }

    @Test
    void a_fixed_window_of_another_size_keeps_its_count() {
        assertSizeKeepsUse(
                LimitCase.fixedWindows(false),
                (old, size) -> new FixedWindow(size, ((FixedWindow) old).perMs(), false),
                0);
    }

    @Test
    void a_log_of_another_size_keeps_its_entries() {
        assertSizeKeepsUse(
                LimitCase.logs(false),
                (old, size) -> new SlidingWindowLog(size, ((SlidingWindowLog) old).perMs(), false),
                0);
    }

    @Test
    void a_counter_of_another_size_keeps_its_windows() {
        assertSizeKeepsUse(
                LimitCase.counters(false, false),
                (old, size) -> new SlidingWindowCounter(size, ((SlidingWindowCounter) old).perMs(), false, false),
                0);
    }

    @Test
    void a_bucket_of_another_burst_keeps_its_level_exactly() {
        assertSizeKeepsUse(
                LimitCase.tokenBuckets(false),
                (old, size) -> new TokenBucket(((ContinuousBucket) old).rate(), size, false),
                0);
        assertSizeKeepsUse(
                LimitCase.leakyBuckets(false),
                (old, size) -> new LeakyBucket(((ContinuousBucket) old).rate(), size, false),
                0);
        assertSizeKeepsUse(LimitCase.gcras(false), (old, size) -> new Gcra(((Gcra) old).rate(), size, false), 0);
    }

    @Test
    void a_bucket_of_another_rate_keeps_its_level_in_whole_tokens() {
        assertSizeKeepsUse(
                LimitCase.tokenBuckets(false),
                (old, size) -> new TokenBucket(
                        Rate.of(size, ((ContinuousBucket) old).rate().perMs()), size, false),
                1);
        assertSizeKeepsUse(
                LimitCase.gcras(false),
                (old, size) -> new Gcra(Rate.of(size, ((Gcra) old).rate().perMs()), size, false),
                1);
    }

    @Test
    void an_interval_bucket_of_another_size_keeps_its_use_and_its_steps() {
        assertSizeKeepsUse(
                LimitCase.intervalBuckets(false),
                (old, size) -> new IntervalBucket(
                        ((IntervalBucket) old).tokens(), ((IntervalBucket) old).perMs(), size, false),
                0);
        TrialAccount<IntervalBucket.Steps> trial = TrialAccount.open(new IntervalBucket(1, 1_000, 5, false), 400);
        trial.charge(5, 400);
        assertThat(trial.under(new IntervalBucket(2, 1_000, 5, false), 900).waitMs(2, 900))
                .as("the next step is still at 1400")
                .isEqualTo(500);
    }

    @Test
    void token_bucket_and_leaky_bucket_convert_exactly() {
        Rate rate = Rate.of(7, 11_000);
        TrialAccount<ContinuousBucket.Level> trial =
                TrialAccount.open(new TokenBucket(rate, 7, false), 0).charge(7, 0);
        for (long nowMs = 0; nowMs < 12_000; nowMs += 7) {
            TrialAccount<ContinuousBucket.Level> leaky = trial.under(new LeakyBucket(rate, 7, false), nowMs);
            for (long cost = 1; cost <= 7; cost++) {
                assertThat(leaky.waitMs(cost, nowMs)).isEqualTo(trial.waitMs(cost, nowMs));
            }
        }
    }

    @Test
    void a_larger_limit_on_a_live_counter_frees_only_the_difference() {
        TrialAccount<AlignedWindow.Window> trial =
                TrialAccount.open(new FixedWindow(10, 60_000, false), 0).charge(10, 0);
        assertThat(trial.under(new FixedWindow(15, 60_000, false), 1).available(1))
                .isEqualTo(5);
    }

    @Test
    void a_smaller_limit_on_a_live_counter_leaves_a_debt() {
        TrialAccount<AlignedWindow.Window> trial =
                TrialAccount.open(new FixedWindow(10, 60_000, false), 0).charge(10, 0);
        assertThat(trial.under(new FixedWindow(4, 60_000, false), 1).available(1))
                .isEqualTo(-6);
    }

    @Test
    void usage_is_kept_between_clock_and_calendar_windows_and_time_zones() {
        long nowMs = Instant.parse("2026-03-31T22:30:00Z").toEpochMilli();
        TrialAccount<?> daily =
                TrialAccount.open(new FixedWindow(10, 86_400_000, false), nowMs).charge(4, nowMs);
        TrialAccount<?> berlin = daily.under(new CalendarWindow(10, MONTH, ZoneId.of("Europe/Berlin"), false), nowMs);
        TrialAccount<?> utc = berlin.under(new CalendarWindow(10, MONTH, ZoneId.of("UTC"), false), nowMs);

        assertThat(berlin.available(nowMs)).isEqualTo(6);
        assertThat(berlin.waitMs(10, nowMs))
                .as("April has not begun")
                .isEqualTo(Duration.ofHours(719).plusMinutes(30).toMillis());
        assertThat(utc.available(nowMs)).isEqualTo(6);
        assertThat(utc.waitMs(10, nowMs))
                .as("March ends")
                .isEqualTo(Duration.ofMinutes(90).toMillis());
        assertThat(utc.under(new FixedWindow(10, 60_000, false), nowMs).available(nowMs))
                .isEqualTo(6);
    }

    @Test
    void a_log_under_a_shorter_window_keeps_the_entries_in_it() {
        TrialAccount<SlidingWindowLog.Log> trial = TrialAccount.open(new SlidingWindowLog(10, 60_000, false), 0);
        trial.charge(4, 0).charge(3, 50_000);
        assertThat(trial.under(new SlidingWindowLog(10, 20_000, false), 55_000).available(55_000))
                .isEqualTo(7);
    }

    @Test
    void a_log_under_a_longer_window_does_not_restore_expired_entries() {
        TrialAccount<SlidingWindowLog.Log> trial = TrialAccount.open(new SlidingWindowLog(10, 60_000, false), 0);
        trial.charge(4, 0).charge(3, 50_000);
        assertThat(trial.under(new SlidingWindowLog(10, 120_000, false), 70_000).available(70_000))
                .isEqualTo(7);
    }
}
