package dev.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.limit.SlidingWindowLog.Log;
import dev.weir.limit.segment.LogSegment;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the segments of a log: their boundaries, what remains in the store, and the cost of a request. */
class SlidingWindowLogTest {

    /** Returns a log of {@code entries} entries of cost 1, at 10, 20, 30, … */
    private static TrialAccount<Log> filled(int entries, long perMs) {
        TrialAccount<Log> trial = TrialAccount.open(new SlidingWindowLog(entries, perMs, false), 0);
        for (int i = 1; i <= entries; i++) {
            assertThat(trial.request(1, 10L * i)).isTrue();
        }
        return trial;
    }

    /** Returns the number of stored segments without live entries. */
    private static long garbage(TrialAccount<Log> trial) {
        return trial.segments().size()
                - (trial.state().segments().end() - trial.state().headNumber());
    }

    @ParameterizedTest
    @CsvSource({"1, 0", "31, 0", "32, 0", "33, 1", "63, 1", "64, 1", "65, 2", "96, 2", "97, 3"})
    void a_segment_is_stored_when_the_thirty_third_entry_arrives(int entries, int segments) {
        TrialAccount<Log> trial = filled(entries, 10_000);
        assertThat(trial.segments().size()).isEqualTo(segments);
        assertThat(trial.available(10L * entries)).isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 31, 32, 33, 34, 63, 64, 65, 66, 100})
    void entries_expire_one_by_one(int entries) {
        TrialAccount<Log> trial = filled(entries, 10_000);
        for (int gone = 0; gone <= entries; gone++) {
            long nowMs = 10L * gone + 10_000;
            assertThat(trial.available(nowMs)).as("at %d", nowMs).isEqualTo(gone);
            assertThat(trial.available(nowMs + 9)).isEqualTo(gone);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 31, 32, 33, 34, 63, 64, 65, 66, 100})
    void every_wait_ends_with_the_entry_that_frees_enough(int entries) {
        TrialAccount<Log> trial = filled(entries, 10_000);
        long nowMs = 10L * entries;
        for (int cost = 1; cost <= entries; cost++) {
            assertThat(trial.waitMs(cost, nowMs)).as("wait for %d", cost).isEqualTo(10_000 + 10L * cost - nowMs);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {31, 32, 33, 64, 65, 100})
    void expiring_entries_are_replaced_one_for_one_by_new_ones(int entries) {
        TrialAccount<Log> trial = filled(entries, 10L * entries);
        for (long nowMs = 10L * (entries + 1); nowMs < 100L * entries; nowMs += 10) {
            assertThat(trial.permits(1, nowMs - 1)).isFalse();
            assertThat(trial.request(1, nowMs)).isTrue();
            assertThat(trial.permits(1, nowMs)).isFalse();
            assertThat(trial.segments().size()).isLessThanOrEqualTo(entries / LogSegment.CAPACITY + 2);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {31, 32, 33, 64, 65, 200})
    void after_an_idle_gap_the_log_starts_over(int entries) {
        TrialAccount<Log> trial = filled(entries, 10_000);
        long nowMs = 1_000_000;
        assertThat(trial.available(nowMs)).isEqualTo(entries);
        for (int i = 0; i < entries; i++) {
            assertThat(trial.request(1, nowMs + i)).isTrue();
            assertThat(trial.available(nowMs + i)).isEqualTo(entries - i - 1);
        }
        assertThat(trial.waitMs(1, nowMs + entries)).isEqualTo(10_000 - entries);
        assertThat(garbage(trial)).isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {31, 32, 33, 64, 65, 100})
    void a_refund_removes_the_newest_entries_across_segments(int entries) {
        long nowMs = 10L * entries;
        for (int credit = 0; credit <= entries + 1; credit++) {
            TrialAccount<Log> trial = filled(entries, 10_000).charge(-credit, nowMs);
            int left = Math.max(0, entries - credit);
            assertThat(trial.available(nowMs)).isEqualTo(entries - left);
            assertThat(trial.waitMs(entries, nowMs)).isEqualTo(left == 0 ? 0 : 10_000 + 10L * left - nowMs);
            for (int gone = 0; gone <= left; gone++) {
                assertThat(trial.available(10_000 + 10L * gone)).isEqualTo(entries - left + gone);
            }
            trial.charge(entries - left, nowMs);
            assertThat(trial.available(nowMs)).isZero();
            assertThat(trial.available(10_000 + nowMs - 1)).isEqualTo(Math.min(left, entries - 1));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {32, 33, 64, 65})
    void a_charge_and_refund_at_a_segment_boundary_leave_nothing_behind(int entries) {
        TrialAccount<Log> trial = filled(entries, 10_000);
        int segments = trial.segments().size();
        for (int i = 0; i < 10; i++) {
            long nowMs = 10L * entries + 1 + i;
            trial.charge(1, nowMs).charge(-1, nowMs);
            assertThat(trial.available(nowMs)).isZero();
            assertThat(trial.segments().size()).isLessThanOrEqualTo(segments);
        }
    }

    @Test
    void a_partly_refunded_entry_keeps_its_time() {
        TrialAccount<Log> trial = TrialAccount.open(new SlidingWindowLog(10, 1_000, false), 0);
        trial.charge(4, 100).charge(6, 200).charge(-2, 300);
        assertThat(trial.available(300)).isEqualTo(2);
        assertThat(trial.waitMs(6, 300)).isEqualTo(800);
        assertThat(trial.waitMs(10, 300)).isEqualTo(900);
    }

    @Test
    void a_refund_does_not_restore_expired_entries() {
        TrialAccount<Log> trial = TrialAccount.open(new SlidingWindowLog(10, 1_000, false), 0);
        trial.charge(4, 100).charge(6, 1_050).charge(-8, 1_150);
        assertThat(trial.available(1_150)).isEqualTo(10);
        assertThat(trial.charge(10, 1_150).available(1_150)).isZero();
    }

    @Test
    void requests_of_one_millisecond_share_an_entry() {
        TrialAccount<Log> trial = TrialAccount.open(new SlidingWindowLog(10_000, 1_000, false), 0);
        for (int i = 0; i < 5_000; i++) {
            trial.request(1, 7);
        }
        assertThat(trial.segments().calls()).isZero();
        assertThat(trial.state().tail().size()).isOne();
        assertThat(trial.waitMs(10_000, 7)).isEqualTo(1_000);
    }

    @Test
    void a_full_tail_takes_more_of_its_last_millisecond() {
        TrialAccount<Log> trial = filled(32, 10_000);
        trial.charge(5, 320);
        assertThat(trial.segments().size()).isZero();
        assertThat(trial.available(320)).isEqualTo(-5);
    }

    @Test
    void an_entry_of_age_per_is_gone() {
        TrialAccount<Log> trial = TrialAccount.open(new SlidingWindowLog(1, 60_000, false), 0);
        trial.charge(1, 0);
        assertThat(trial.permits(1, 59_999)).isFalse();
        assertThat(trial.permits(1, 60_000)).isTrue();
    }

    /** Compares long logs, on traffic with gaps, debts and credits, with a plain list. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void long_logs_agree_with_the_model(long seed) {
        Random random = new Random(seed);
        int limit = 50 + random.nextInt(400);
        long perMs = 200 + random.nextLong(2_000);
        TrialAccount<Log> trial = TrialAccount.open(new SlidingWindowLog(limit, perMs, false), 0);
        LimitOracle model = LimitOracle.of(trial.limit());
        long nowMs = 0;
        for (int i = 0; i < 6_000; i++) {
            nowMs += random.nextInt(200) == 0 ? random.nextLong(perMs * 5 / 4) : random.nextLong(4);
            long available = model.available(nowMs);
            assertThat(trial.available(nowMs)).as("request %d at %d", i, nowMs).isEqualTo(available);
            long cost = 1 + random.nextLong(random.nextInt(20) == 0 ? limit : 2);
            if (random.nextInt(30) == 0) {
                long change = random.nextBoolean() ? cost : -cost;
                trial.charge(change, nowMs);
                model.charge(change, nowMs);
            } else if (trial.request(cost, nowMs)) {
                model.charge(cost, nowMs);
            } else {
                long waitMs = trial.waitMs(cost, nowMs);
                assertThat(model.available(nowMs + waitMs)).isGreaterThanOrEqualTo(cost);
                assertThat(model.available(nowMs + waitMs - 1)).isLessThan(cost);
            }
            assertThat(garbage(trial)).isBetween(0L, (long) limit / LogSegment.CAPACITY + 40);
        }
        trial.charge(1, nowMs + 10 * perMs);
        for (int i = 0; garbage(trial) > 0; i++) {
            assertThat(i).as("requests until the garbage is gone").isLessThan(200);
            trial.charge(1, nowMs + 10 * perMs);
        }
        assertThat(trial.segments().size()).isZero();
    }

    @Test
    void a_request_deletes_at_most_two_segments_however_long_the_log_was() {
        TrialAccount<Log> trial = filled(3_200, 100_000);
        assertThat(trial.segments().size()).isEqualTo(99);
        long nowMs = 1_000_000;
        for (int left = 97; left > 0; left -= 2) {
            trial.charge(1, nowMs);
            assertThat(trial.segments().size()).isEqualTo(left);
        }
        trial.charge(1, nowMs);
        assertThat(trial.segments().size()).isZero();
    }

    @Test
    void a_charge_changes_neither_the_log_nor_the_store() {
        TrialAccount<Log> trial = filled(330, 100_000);
        int calls = trial.segments().puts() + trial.segments().deletes();
        long used = trial.used(400);
        Log one = trial.state();
        Log other = trial.state();
        for (int i = 0; i < 100; i++) {
            one = trial.limit().charge(one, i % 10 == 9 ? -40 : 5, 400 + i);
            other = trial.limit().charge(other, i % 10 == 9 ? -40 : 5, 400 + i);
        }
        assertThat(one).isEqualTo(other);
        assertThat(trial.segments().puts() + trial.segments().deletes()).isEqualTo(calls);
        assertThat(trial.used(400)).isEqualTo(used);
    }

    @Test
    void a_retired_log_is_deleted_in_steps() {
        TrialAccount<Log> trial = filled(330, 100_000);
        Log log = trial.state().retired();
        int rounds = 0;
        while (log.hasGarbage()) {
            log = log.trimmed();
            rounds++;
        }
        assertThat(rounds).isEqualTo(5);
        trial.segments().store(log);
        assertThat(trial.segments().size()).isZero();
        assertThat(log.liveCost()).isZero();
    }

    /** Calls everything that a decision needs of a limit. */
    private static void decide(TrialAccount<?> trial, long cost, long nowMs) {
        boolean permitted = trial.request(cost, nowMs);
        trial.account().remaining(nowMs);
        trial.account().resetAfterMs(nowMs);
        if (!permitted) {
            trial.waitMs(cost, nowMs);
        }
    }

    /**
     * Returns the most calls to the store that one request makes, for requests that keep the log full for many windows.
     */
    private static int mostCalls(int limit, int requestsAMs) {
        TrialAccount<Log> trial = TrialAccount.open(new SlidingWindowLog(limit, limit, false), 0);
        int most = 0;
        for (long nowMs = 1; nowMs < 3L * limit + 1_000; nowMs++) {
            for (int i = 0; i < requestsAMs; i++) {
                int before = trial.segments().calls();
                decide(trial, 1, nowMs);
                most = Math.max(most, trial.segments().calls() - before);
            }
        }
        return most;
    }

    @Test
    void the_cost_of_a_request_does_not_grow_with_the_limit() {
        int small = mostCalls(1_000, 1);
        assertThat(small).isLessThanOrEqualTo(10);
        assertThat(mostCalls(10, 1)).isLessThanOrEqualTo(small);
        assertThat(mostCalls(100_000, 1)).isEqualTo(small);
    }

    @Test
    void the_cost_of_a_denial_does_not_grow_with_the_limit() {
        int small = mostCalls(1_000, 3);
        assertThat(small).isLessThanOrEqualTo(10);
        assertThat(mostCalls(10, 3)).isLessThanOrEqualTo(small);
        assertThat(mostCalls(100_000, 3)).isEqualTo(small);
    }

    @Test
    void after_a_pause_the_oldest_live_entry_is_found_in_logarithmically_many_reads() {
        TrialAccount<Log> trial = TrialAccount.open(new SlidingWindowLog(100_000, 100_000, false), 0);
        for (long nowMs = 1; nowMs <= 100_000; nowMs++) {
            trial.request(1, nowMs);
        }
        for (long pauseMs : new long[] {10, 1_000, 50_000, 99_999}) {
            TrialAccount<Log> copy = trial.copy();
            int before = copy.segments().gets();
            assertThat(copy.available(100_000 + pauseMs)).isEqualTo(pauseMs);
            assertThat(copy.segments().gets() - before)
                    .as("reads after %d ms", pauseMs)
                    .isLessThan(30);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {5, 6_400})
    void denied_requests_that_count_do_not_make_the_log_longer_than_its_bound(int limit) {
        int bound = limit / LogSegment.CAPACITY + LogBound.EXCESS_SEGMENTS;
        int longest = 0;
        TrialAccount<Log> trial = TrialAccount.open(new SlidingWindowLog(limit, 1_000_000, true), 0);
        for (long nowMs = 1; nowMs <= 100_000; nowMs++) {
            trial.request(1, nowMs);
            longest = Math.max(longest, trial.segments().size());
        }
        assertThat(longest).isBetween(bound, bound + 5);
        assertThat(trial.waitMs(1, 100_000))
                .as("the newest entries fill the limit")
                .isEqualTo(1_000_000 - limit + 1);
        assertThat(trial.waitMs(limit, 100_000)).isEqualTo(1_000_000);
    }

    @Test
    void a_refund_of_counted_denials_keeps_the_rest() {
        LimitAccount<Log> account = LimitAccount.open(new SlidingWindowLog(1, 1_000, true), 0)
                .charge(1, 1) // admitted
                .charge(1, 2) // denied and counted
                .charge(-1, 3);
        assertThat(account.limit().available(account.state(), 3)).isZero();
        assertThat(account.limit().available(account.state(), 1_001)).isEqualTo(1);
    }
}
