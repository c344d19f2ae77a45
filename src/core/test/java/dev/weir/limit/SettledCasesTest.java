package dev.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Settlements with figures to follow by hand. */
class SettledCasesTest {

    private static final long MINUTE_MS = 60_000;

    private static final List<Limit<?>> BUCKETS_OF_10 = bucketsOf(10, 1_000, 10);

    private static List<Limit<?>> bucketsOf(long tokens, long perMs, long burst) {
        Rate rate = Rate.of(tokens, perMs);
        return List.of(
                new TokenBucket(rate, burst, false),
                new LeakyBucket(rate, burst, false),
                new Gcra(rate, burst, false),
                new IntervalBucket(1, perMs / tokens, burst, false));
    }

    private static Charge reserve(TrialAccount<?> trial, long number, long cost, long nowMs) {
        Charge charge = new Charge(number, nowMs, cost);
        assertThat(trial.permits(cost, nowMs)).isTrue();
        trial.chargeReserved(charge);
        return charge;
    }

    private static void settle(TrialAccount<?> trial, Charge charge, long actualCost, long nowMs) {
        trial.settle(charge, actualCost, 2 * trial.capacity(), nowMs);
    }

    @Test
    void a_bucket_that_has_refilled_since_refunds_nothing() {
        for (Limit<?> limit : BUCKETS_OF_10) {
            TrialAccount<?> trial = TrialAccount.open(limit, 0);
            Charge first = reserve(trial, 1, 10, 0);
            assertThat(trial.request(10, 1_000)).isTrue();
            settle(trial, first, 0, 1_000);
            assertThat(trial.available(1_000))
                    .as("or 20 pass at 1 s: %s", limit)
                    .isZero();
        }
    }

    @Test
    void two_settlements_refund_what_one_of_both_costs_would_have_left() {
        for (Limit<?> limit : BUCKETS_OF_10) {
            TrialAccount<?> trial = TrialAccount.open(limit, 0);
            Charge a = reserve(trial, 1, 5, 0);
            Charge b = reserve(trial, 2, 5, 0);
            assertThat(trial.request(5, 500)).isTrue();
            settle(trial, a, 0, 500);
            assertThat(trial.available(500)).as("%s", limit).isEqualTo(5);
            settle(trial, b, 0, 500);
            assertThat(trial.available(500)).as("not 10: %s", limit).isEqualTo(5);
        }
    }

    @Test
    void a_busy_bucket_refunds_everything() {
        for (Limit<?> limit : BUCKETS_OF_10) {
            TrialAccount<?> trial = TrialAccount.open(limit, 0);
            Charge charge = reserve(trial, 1, 6, 0);
            assertThat(trial.request(4, 0)).isTrue();
            for (int ms = 100; ms <= 2_000; ms += 100) {
                assertThat(trial.request(1, ms)).isTrue();
            }
            settle(trial, charge, 0, 2_000);
            assertThat(trial.available(2_000)).as("%s", limit).isEqualTo(6);
        }
    }

    @Test
    void a_debt_is_paid_by_what_an_empty_bucket_has_lost() {
        for (Limit<?> limit : BUCKETS_OF_10) {
            TrialAccount<?> trial = TrialAccount.open(limit, 0);
            Charge charge = reserve(trial, 1, 5, 0);
            settle(trial, charge, 9, 700); // empty since 500
            assertThat(trial.available(700)).as("%s", limit).isEqualTo(8);
        }
    }

    @Test
    void a_refund_is_first_taken_from_what_a_lowered_limit_has_dropped() {
        TrialAccount<?> trial = TrialAccount.open(new SlidingWindowCounter(100, MINUTE_MS, false, false), 0);
        Charge charge = reserve(trial, 1, 40, 0);
        assertThat(trial.request(10, 0)).isTrue();
        TrialAccount<?> lowered = trial.under(new SlidingWindowCounter(10, MINUTE_MS, false, false), 0);
        settle(lowered, charge, 0, 0);
        assertThat(lowered.available(0)).isZero();
    }

    @Test
    void a_refund_after_the_end_of_a_fixed_window_does_not_let_more_pass_in_the_next_one() {
        TrialAccount<?> trial = TrialAccount.open(new FixedWindow(1_000, MINUTE_MS, false), 0);
        Charge charge = reserve(trial, 1, 900, 59_000);
        assertThat(trial.request(1_000, MINUTE_MS)).isTrue();
        settle(trial, charge, 50, MINUTE_MS + 1);
        assertThat(trial.available(MINUTE_MS + 1)).as("or 1850 pass").isZero();
    }

    @Test
    void a_refund_after_the_entry_has_left_the_log_does_not_let_more_pass() {
        TrialAccount<?> trial = TrialAccount.open(new SlidingWindowLog(1_000, MINUTE_MS, false), 0);
        Charge charge = reserve(trial, 1, 900, 0);
        assertThat(trial.request(90, 59_000)).isTrue();
        settle(trial, charge, 50, MINUTE_MS);
        assertThat(trial.available(MINUTE_MS)).as("or 1090 pass in a minute").isEqualTo(910);
    }

    @Test
    void a_refund_of_a_bucket_that_was_full_since_does_not_let_more_pass() {
        for (Limit<?> limit : bucketsOf(1_000, MINUTE_MS, 1_000)) {
            TrialAccount<?> trial = TrialAccount.open(limit, 0);
            Charge charge = reserve(trial, 1, 900, 0);
            assertThat(trial.request(1_000, MINUTE_MS)).isTrue();
            settle(trial, charge, 50, MINUTE_MS + 1);
            assertThat(trial.available(MINUTE_MS + 2))
                    .as("or 1850 pass within 2 ms: %s", limit)
                    .isZero();
        }
    }

    @Test
    void a_charge_of_a_bucket_from_before_a_reset_is_not_known() {
        for (Limit<?> limit : BUCKETS_OF_10) {
            TrialAccount<?> trial = TrialAccount.open(limit, 0);
            Charge charge = reserve(trial, 1, 5, 0);
            TrialAccount<?> reset = TrialAccount.open(limit, 10);
            reserve(reset, 2, 10, 10);
            Object before = reset.state();
            settle(reset, charge, 0, 10);
            reset.forget(charge);
            assertThat(reset.state()).isSameAs(before);
        }
    }

    @Test
    void usage_that_was_converted_is_not_corrected() {
        for (Limit<?> limit : BUCKETS_OF_10) {
            TrialAccount<?> trial = TrialAccount.open(limit, 0);
            Charge charge = reserve(trial, 1, 5, 0);
            for (Limit<?> other : bucketsOf(20, 3_000, 10)) {
                if (!other.isCompatibleWith(limit)) {
                    TrialAccount<?> converted = trial.under(other, 0);
                    settle(converted, charge, 0, 0);
                    assertThat(converted.available(0)).as("%s", other).isEqualTo(5);
                }
            }
        }
    }

    @Test
    void a_charge_of_a_request_with_a_limit_of_its_own_is_corrected_like_any_other() {
        for (Limit<?> limit :
                List.of(new FixedWindow(10, MINUTE_MS, false), new SlidingWindowCounter(10, MINUTE_MS, true, false))) {
            LimitAccount<?> own = LimitAccount.open(limit, 0).withTokens(100, MINUTE_MS);
            Charge charge = new Charge(1, 0, 60);
            LimitAccount<?> account = LimitAccount.open(limit, 0).withUsageOf(own.chargeReserved(charge));
            assertThat(account.used(0)).isEqualTo(60);
            assertThat(account.settled(charge, 4, 10, 1).used(1)).isEqualTo(4);
            assertThat(account.settled(charge, 90, 70, 1).used(1)).isEqualTo(70);
            assertThat(account.settled(charge, 90, 10, 1).used(1))
                    .as("not above what it was")
                    .isEqualTo(60);
        }
    }

    @Test
    void a_charge_that_starts_later_is_corrected_in_its_window() {
        LimitAccount<?> account = LimitAccount.open(new FixedWindow(10, MINUTE_MS, false), 0);
        Charge charge = new Charge(1, MINUTE_MS + 5, 7); // of a delayed request
        account = account.chargeReserved(charge);
        assertThat(account.settled(charge, 2, 10, MINUTE_MS + 5).used(MINUTE_MS + 5))
                .isEqualTo(2);
        assertThat(account.settled(charge, 2, 10, 2 * MINUTE_MS).used(2 * MINUTE_MS))
                .isZero();
    }

    @Test
    void the_state_of_a_bucket_with_open_charges_lives_one_window_longer() {
        for (Limit<?> limit : BUCKETS_OF_10) {
            LimitAccount<?> account = LimitAccount.open(limit, 0);
            Charge charge = new Charge(1, 0, 5);
            long expiresAtMs = account.charge(5, 0).expiresAtMs(0);
            LimitAccount<?> reserved = account.chargeReserved(charge);
            assertThat(reserved.expiresAtMs(0)).isGreaterThanOrEqualTo(Math.max(1_500, expiresAtMs));
            assertThat(reserved.forgotten(charge).expiresAtMs(0)).isEqualTo(expiresAtMs);
        }
    }

    @Test
    void a_state_without_charges_to_correct_is_that_of_plain_charges() {
        for (LimitCase<?> terms : LimitCase.all()) {
            TrialAccount<?> plain = TrialAccount.open(terms.limit(), 0).charge(1, 0);
            TrialAccount<?> reserved = TrialAccount.open(terms.limit(), 0);
            Charge charge = new Charge(1, 0, 1);
            reserved.chargeReserved(charge).forget(charge);
            if (!(terms.limit() instanceof SlidingWindowCounter)) {
                assertThat(reserved.state()).hasToString(plain.state().toString());
            }
        }
    }
}
