package dev.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.testing.Effort;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Laws that hold for each limit, whatever its algorithm, at any point of any traffic. Each law is checked before each
 * request of seeded random traffic, on a copy of the account. A failure reports the seed.
 */
abstract class LimitLaws<S> {

    private static final int SEEDS = Effort.times(5);
    private static final int REQUESTS = 40;

    /** The epoch, a current time, the year 9999, and a quarter of the range of a long. */
    private static final long[] STARTS_MS = {0, 1_700_000_000_000L, 253_402_300_799_000L, Long.MAX_VALUE / 4};

    /** Returns the limits on which the laws are checked. */
    abstract List<LimitCase<S>> terms();

    /**
     * Returns whether a refund is available at once, token for token. The sliding window counter refunds the previous
     * window when the current one has nothing left, and only a share of the previous window counts.
     */
    boolean givesBackWhole() {
        return true;
    }

    /**
     * Returns whether the state knows the size of a debt. A log that counts denied requests drops entries that are
     * older than the newest ones that fill the limit, so it only knows that there is a debt.
     */
    boolean knowsItsDebt() {
        return true;
    }

    /** Returns the period after which the windows have the same position; {@link Long#MAX_VALUE} if there is none. */
    long repeatsAfterMs(LimitCase<S> terms) {
        return terms.perMs();
    }

    /** A law, checked on an account just before a request. */
    interface Law<S> {
        void holds(LimitCase<S> terms, TrialAccount<S> trial, long cost, long nowMs, RandomCharges traffic);
    }

    private void always(Law<S> law) {
        for (LimitCase<S> terms : terms()) {
            for (long startMs : STARTS_MS) {
                for (int seed = 0; seed < SEEDS; seed++) {
                    try {
                        tryOut(law, terms, startMs, seed);
                    } catch (AssertionError | RuntimeException e) {
                        throw new AssertionError(terms.limit() + ", start " + startMs + ", seed " + seed, e);
                    }
                }
            }
        }
    }

    private void tryOut(Law<S> law, LimitCase<S> terms, long startMs, long seed) {
        RandomCharges traffic = new RandomCharges(seed, terms.perMs());
        long nowMs = startMs + traffic.random().nextLong(Math.min(terms.perMs(), 1L << 40));
        TrialAccount<S> trial = TrialAccount.open(terms.limit(), nowMs);
        for (int i = 0; i < REQUESTS; i++) {
            nowMs = traffic.nextMs(trial, nowMs);
            long cost = traffic.nextCost(trial, nowMs);
            try {
                law.holds(terms, trial.copy(), cost, nowMs, traffic);
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("request " + i + ": " + cost + " at " + nowMs + " of " + trial, e);
            }
            traffic.pass(trial, cost, nowMs, knowsItsDebt());
        }
    }

    /** Returns what is available, as far as the state knows it. */
    private long known(TrialAccount<S> trial, long nowMs) {
        return knowsItsDebt() ? trial.available(nowMs) : trial.remaining(nowMs);
    }

    private void assertSameAnswers(TrialAccount<S> one, TrialAccount<S> other, RandomCharges traffic, long nowMs) {
        assertThat(known(one, nowMs)).as("available").isEqualTo(known(other, nowMs));
        if (one.capacity() > 0) {
            for (long cost : new long[] {1, traffic.anyCost(one), one.capacity()}) {
                assertThat(one.waitMs(cost, nowMs)).as("wait for %d", cost).isEqualTo(other.waitMs(cost, nowMs));
            }
        }
    }

    @Test
    void never_offers_more_than_the_capacity() {
        always((terms, trial, cost, nowMs, traffic) -> {
            assertThat(trial.available(nowMs)).isLessThanOrEqualTo(trial.capacity());
            assertThat(trial.charge(cost, nowMs).available(nowMs)).isLessThanOrEqualTo(trial.capacity());
        });
    }

    @Test
    void starts_full() {
        always((terms, trial, cost, nowMs, traffic) -> {
            TrialAccount<S> fresh = TrialAccount.open(terms.limit(), nowMs);
            assertThat(fresh.available(nowMs)).isEqualTo(fresh.capacity());
            assertThat(fresh.waitMs(fresh.capacity(), nowMs)).isZero();
        });
    }

    @Test
    void a_charge_takes_exactly_its_cost() {
        always((terms, trial, cost, nowMs, traffic) -> {
            long before = known(trial, nowMs);
            long used = trial.used(nowMs);
            trial.charge(cost, nowMs);
            if (terms.limit().capacity() == 0 || terms.limit() instanceof Unlimited) {
                assertThat(trial.available(nowMs)).isEqualTo(before);
            } else if (used <= terms.ceiling() - cost) {
                assertThat(known(trial, nowMs)).isEqualTo(knowsItsDebt() ? before - cost : Math.max(0, before - cost));
            }
        });
    }

    @Test
    void a_charge_never_frees_tokens() {
        always((terms, trial, cost, nowMs, traffic) -> {
            long before = known(trial, nowMs);
            long waitMs = trial.waitMs(trial.capacity(), nowMs);
            trial.charge(cost, nowMs);
            assertThat(known(trial, nowMs)).isLessThanOrEqualTo(before);
            assertThat(trial.waitMs(trial.capacity(), nowMs)).isGreaterThanOrEqualTo(waitMs);
        });
    }

    @Test
    void permits_a_cost_of_zero_and_what_is_available_and_nothing_else() {
        always((terms, trial, cost, nowMs, traffic) -> {
            long available = trial.available(nowMs);
            assertThat(trial.permits(0, nowMs)).isTrue();
            assertThat(trial.permits(cost, nowMs)).isEqualTo(cost == 0 || cost <= available);
            if (available > 0) {
                assertThat(trial.permits(available, nowMs)).isTrue();
            }
            if (available < Long.MAX_VALUE) {
                assertThat(trial.permits(Math.max(0, available) + 1, nowMs)).isFalse();
            }
        });
    }

    @Test
    void time_alone_never_takes_tokens() {
        always((terms, trial, cost, nowMs, traffic) -> {
            long available = trial.available(nowMs);
            for (int i = 0; i < 4; i++) {
                long laterMs = traffic.nextMs(trial, nowMs);
                assertThat(trial.available(laterMs)).isGreaterThanOrEqualTo(available);
            }
        });
    }

    @Test
    void the_wait_is_exact() {
        always((terms, trial, cost, nowMs, traffic) -> {
            if (trial.capacity() == 0) {
                return;
            }
            long most = Math.min(trial.capacity(), Limit.MAX_LEVEL);
            for (long any : new long[] {1, Math.min(2, most), traffic.anyCost(trial), traffic.anyCost(trial), most}) {
                assertExactWait(trial, any, nowMs, traffic.random());
            }
        });
    }

    static void assertExactWait(TrialAccount<?> trial, long cost, long nowMs, Random random) {
        long waitMs = trial.waitMs(cost, nowMs);
        assertThat(waitMs).as("wait for %d", cost).isNotNegative();
        assertThat(waitMs == 0).as("%d passes now", cost).isEqualTo(trial.permits(cost, nowMs));
        assertThat(trial.permits(cost, nowMs + waitMs))
                .as("%d after %d", cost, waitMs)
                .isTrue();
        if (waitMs > 0) {
            assertThat(trial.permits(cost, nowMs + waitMs - 1))
                    .as("%d before %d", cost, waitMs)
                    .isFalse();
            assertThat(trial.permits(cost, nowMs + random.nextLong(waitMs)))
                    .as("%d sooner", cost)
                    .isFalse();
        }
    }

    @Test
    void after_the_wait_the_cost_is_charged_like_any_other() {
        always((terms, trial, cost, nowMs, traffic) -> {
            if (trial.capacity() == 0 || cost < 1 || cost > trial.capacity()) {
                return;
            }
            long thenMs = nowMs + trial.waitMs(cost, nowMs);
            long before = trial.available(thenMs);
            assertThat(trial.request(cost, thenMs)).isTrue();
            long expected = terms.limit() instanceof Unlimited ? before : before - cost;
            assertThat(trial.available(thenMs)).isEqualTo(expected);
        });
    }

    @Test
    void an_account_reports_what_remains_and_when_it_is_reset() {
        always((terms, trial, cost, nowMs, traffic) -> {
            LimitAccount<?> account = trial.account();
            assertThat(account.remaining(nowMs)).isEqualTo(Math.max(0, trial.available(nowMs)));
            long resetAfterMs = account.resetAfterMs(nowMs);
            long freeMs = nowMs + resetAfterMs;
            assertThat(trial.available(freeMs)).isEqualTo(trial.capacity());
            if (resetAfterMs > 0) {
                assertThat(trial.available(freeMs - 1)).isLessThan(trial.capacity());
            }
            if (!trial.limit().fits(cost)) {
                assertThat(trial.permits(cost, nowMs)).isFalse();
            } else if (!trial.permits(cost, nowMs)) {
                assertThat(account.waitMs(cost, nowMs))
                        .isPositive()
                        .isEqualTo(trial.waitMs(cost, nowMs))
                        .isLessThanOrEqualTo(resetAfterMs);
            }
        });
    }

    @Test
    void an_immediate_refund_undoes_a_charge() {
        always((terms, trial, cost, nowMs, traffic) -> {
            if (trial.used(nowMs) > terms.ceiling() - cost) {
                return;
            }
            TrialAccount<S> there = trial.copy().charge(cost, nowMs);
            TrialAccount<S> back = there.copy().charge(-cost, nowMs);
            if (knowsItsDebt()) {
                assertSameAnswers(back, trial, traffic, nowMs);
            } else {
                assertThat(back.remaining(nowMs)).isGreaterThanOrEqualTo(trial.remaining(nowMs));
            }
        });
    }

    @Test
    void a_refund_never_fills_beyond_the_capacity() {
        always((terms, trial, cost, nowMs, traffic) -> {
            long before = trial.available(nowMs);
            long used = trial.used(nowMs);
            long after = trial.charge(-cost, nowMs).available(nowMs);
            assertThat(after).isBetween(before, trial.capacity());
            assertThat(after - before).isLessThanOrEqualTo(Math.min(used, cost));
            if (givesBackWhole()) {
                assertThat(after - before).isEqualTo(Math.min(used, cost));
            }
        });
    }

    @Test
    void a_refund_never_delays_a_request() {
        always((terms, trial, cost, nowMs, traffic) -> {
            if (trial.capacity() > 0) {
                long any = traffic.anyCost(trial);
                long waitMs = trial.waitMs(any, nowMs);
                assertThat(trial.charge(-cost, nowMs).waitMs(any, nowMs)).isLessThanOrEqualTo(waitMs);
            }
        });
    }

    @Test
    void a_full_refund_is_like_a_fresh_start() {
        always((terms, trial, cost, nowMs, traffic) -> {
            trial.charge(-Limit.MAX_LEVEL, nowMs);
            assertThat(trial.available(nowMs)).isEqualTo(trial.capacity());
            assertThat(trial.waitMs(trial.capacity(), nowMs)).isZero();
        });
    }

    @Test
    void a_charge_does_not_modify_the_previous_state() {
        always((terms, trial, cost, nowMs, traffic) -> {
            S state = trial.state();
            String before = state.toString();
            long available = trial.available(nowMs);
            trial.copy().charge(cost, nowMs);
            trial.copy().charge(-cost, nowMs);
            assertThat(state.toString()).isEqualTo(before);
            assertThat(trial.available(nowMs)).isEqualTo(available);
        });
    }

    @Test
    void splitting_a_cost_changes_nothing() {
        always((terms, trial, cost, nowMs, traffic) -> {
            long part = traffic.random().nextLong(cost + 1);
            TrialAccount<S> whole = trial.copy().charge(cost, nowMs);
            TrialAccount<S> parts = trial.copy().charge(part, nowMs).charge(cost - part, nowMs);
            assertSameAnswers(parts, whole, traffic, nowMs);
        });
    }

    @Test
    void splitting_a_refund_changes_nothing() {
        always((terms, trial, cost, nowMs, traffic) -> {
            long part = traffic.random().nextLong(cost + 1);
            TrialAccount<S> whole = trial.copy().charge(-cost, nowMs);
            TrialAccount<S> parts = trial.copy().charge(-part, nowMs).charge(part - cost, nowMs);
            assertSameAnswers(parts, whole, traffic, nowMs);
        });
    }

    @Test
    void at_one_instant_the_order_of_charges_does_not_matter() {
        always((terms, trial, cost, nowMs, traffic) -> {
            long more = traffic.nextCost(trial, nowMs);
            TrialAccount<S> one =
                    trial.copy().charge(cost, nowMs).charge(more, nowMs).charge(1, nowMs);
            TrialAccount<S> other =
                    trial.copy().charge(1, nowMs).charge(more, nowMs).charge(cost, nowMs);
            assertSameAnswers(one, other, traffic, nowMs);
        });
    }

    @Test
    void a_reserved_charge_settled_with_its_cost_is_a_plain_charge() {
        always((terms, trial, cost, nowMs, traffic) -> {
            Charge charge = new Charge(1, nowMs, Math.max(1, cost)); // even one of 0 starts the steps of a bucket
            TrialAccount<S> plain = trial.copy().charge(charge.cost(), nowMs);
            TrialAccount<S> reserved = trial.copy().chargeReserved(charge);
            TrialAccount<S> forgotten = reserved.copy().forget(charge);
            assertSameAnswers(reserved, plain, traffic, nowMs);
            long laterMs = nowMs;
            for (int i = 0; i < 4; i++) {
                long next = traffic.nextCost(plain, laterMs);
                plain.request(next, laterMs);
                reserved.request(next, laterMs);
                forgotten.request(next, laterMs);
                TrialAccount<S> settled = reserved.copy().settle(charge, charge.cost(), Limit.MAX_LEVEL, laterMs);
                assertSameAnswers(settled, plain, traffic, laterMs);
                assertSameAnswers(forgotten, plain, traffic, laterMs);
                laterMs = traffic.nextMs(plain, laterMs);
            }
        });
    }

    @Test
    void a_reserved_charge_settled_with_0_at_once_never_happened() {
        always((terms, trial, cost, nowMs, traffic) -> {
            if (trial.used(nowMs) > terms.ceiling() - cost) {
                return;
            }
            Charge charge = new Charge(1, nowMs, cost);
            TrialAccount<S> settled = trial.copy().chargeReserved(charge).settle(charge, 0, trial.capacity(), nowMs);
            if (knowsItsDebt()) {
                assertSameAnswers(settled, trial, traffic, nowMs);
                long laterMs = traffic.nextMs(trial, nowMs);
                assertSameAnswers(settled, trial, traffic, laterMs);
            } else {
                assertThat(settled.remaining(nowMs)).isEqualTo(trial.remaining(nowMs));
            }
        });
    }

    @Test
    void a_settlement_within_the_capacity_charges_the_actual_cost() {
        always((terms, trial, cost, nowMs, traffic) -> {
            long actual = Math.min(traffic.nextCost(trial, nowMs), trial.capacity());
            if (trial.used(nowMs) > terms.ceiling() - cost - actual || !knowsItsDebt()) {
                return;
            }
            Charge charge = new Charge(1, nowMs, cost);
            TrialAccount<S> settled =
                    trial.copy().chargeReserved(charge).settle(charge, actual, Limit.MAX_LEVEL, nowMs);
            assertSameAnswers(settled, trial.copy().charge(actual, nowMs), traffic, nowMs);
        });
    }

    @Test
    void a_settlement_above_the_estimate_leaves_at_most_the_bound_in_use() {
        always((terms, trial, cost, nowMs, traffic) -> {
            if (terms.limit().capacity() == 0 || terms.limit() instanceof Unlimited || !knowsItsDebt()) {
                return;
            }
            Charge charge = new Charge(1, nowMs, cost);
            TrialAccount<S> reserved = trial.copy().chargeReserved(charge);
            long used = reserved.used(nowMs);
            long mostUsed = traffic.random().nextLong(terms.limit().maxUsed());
            long more = traffic.anyCost(trial);
            if (used <= terms.ceiling() - more) {
                assertThat(reserved.settle(charge, cost + more, mostUsed, nowMs).used(nowMs))
                        .isEqualTo(Math.max(used, Math.min(mostUsed, used + more)));
            }
        });
    }

    @Test
    void a_settlement_does_not_modify_the_previous_state() {
        always((terms, trial, cost, nowMs, traffic) -> {
            Charge charge = new Charge(1, nowMs, cost);
            trial.chargeReserved(charge);
            S state = trial.state();
            String before = state.toString();
            trial.copy().settle(charge, 0, Limit.MAX_LEVEL, nowMs);
            trial.copy().settle(charge, cost + 1, Limit.MAX_LEVEL, nowMs);
            trial.copy().forget(charge);
            assertThat(state.toString()).isEqualTo(before);
        });
    }

    @Test
    void an_expired_state_decides_like_a_fresh_one() {
        always((terms, trial, cost, nowMs, traffic) -> {
            traffic.pass(trial, cost, nowMs, knowsItsDebt());
            long expiresAtMs = trial.expiresAtMs(nowMs);
            assertThat(expiresAtMs).isGreaterThanOrEqualTo(nowMs);
            long atMs = expiresAtMs + Math.max(0, traffic.random().nextInt(5) - 1);
            TrialAccount<S> fresh = TrialAccount.open(terms.limit(), atMs);
            boolean kept = false; // an initial state is not stored before it is charged
            for (int i = 0; i < 12; i++) {
                fresh = kept ? fresh : TrialAccount.open(terms.limit(), atMs);
                assertSameAnswers(trial, fresh, traffic, atMs);
                long next = traffic.nextCost(fresh, atMs);
                S before = fresh.state();
                assertThat(trial.request(next, atMs)).isEqualTo(fresh.request(next, atMs));
                kept |= !fresh.state().equals(before);
                atMs = traffic.nextMs(fresh, atMs);
            }
        });
    }

    @Test
    void expiry_does_not_depend_on_the_time_of_the_call() {
        always((terms, trial, cost, nowMs, traffic) -> {
            traffic.pass(trial, cost, nowMs, knowsItsDebt());
            long expiresAtMs = trial.expiresAtMs(nowMs);
            long laterMs = traffic.nextMs(trial, nowMs);
            if (laterMs < expiresAtMs) {
                assertThat(trial.expiresAtMs(laterMs)).isEqualTo(expiresAtMs);
            }
        });
    }

    @Test
    void whole_windows_later_the_same_requests_get_the_same_answers() {
        for (LimitCase<S> terms : terms()) {
            for (long startMs : STARTS_MS) {
                long shiftMs = startMs / repeatsAfterMs(terms) * repeatsAfterMs(terms);
                RandomCharges traffic = new RandomCharges(11, terms.perMs());
                long nowMs = traffic.random().nextLong(Math.min(terms.perMs(), 1L << 40));
                TrialAccount<S> early = TrialAccount.open(terms.limit(), nowMs);
                TrialAccount<S> late = TrialAccount.open(terms.limit(), nowMs + shiftMs);
                for (int i = 0; i < REQUESTS; i++) {
                    nowMs = traffic.nextMs(early, nowMs);
                    long cost = traffic.nextCost(early, nowMs);
                    assertThat(late.available(nowMs + shiftMs)).isEqualTo(early.available(nowMs));
                    assertThat(late.waitMs(Math.min(cost, late.capacity()), nowMs + shiftMs))
                            .isEqualTo(early.waitMs(Math.min(cost, early.capacity()), nowMs));
                    assertThat(late.request(cost, nowMs + shiftMs)).isEqualTo(early.request(cost, nowMs));
                }
            }
        }
    }

    @Test
    void a_client_that_stops_is_allowed_again_within_two_windows_after_any_number_of_denials() {
        for (LimitCase<S> terms : terms()) {
            for (int seed = 0; seed < SEEDS; seed++) {
                RandomCharges traffic = new RandomCharges(seed, terms.perMs());
                long nowMs = 1_700_000_000_000L;
                TrialAccount<S> trial = TrialAccount.open(terms.limit(), nowMs);
                for (int i = 0; i < 5 * REQUESTS; i++) {
                    nowMs += traffic.random().nextInt(4) == 0 ? traffic.random().nextLong(terms.perMs() / 8 + 2) : 0;
                    trial.request(traffic.nextCost(trial, nowMs), nowMs);
                    long served = Math.min(trial.capacity(), Limit.MAX_LEVEL);
                    assertThat(trial.waitMs(served, nowMs))
                            .as("%s, seed %d, request %d", terms.limit(), seed, i)
                            .isLessThanOrEqualTo(2 * terms.limit().windowMs(nowMs));
                }
            }
        }
    }

    @Test
    void a_charge_up_to_a_bound_leaves_at_most_the_bound_in_use() {
        always((terms, trial, cost, nowMs, traffic) -> {
            if (terms.limit().capacity() == 0 || terms.limit() instanceof Unlimited || !knowsItsDebt()) {
                return;
            }
            long used = trial.used(nowMs);
            long mostUsed = traffic.random().nextLong(terms.limit().maxUsed());
            LimitAccount<S> bounded = trial.copy().account().chargeUpTo(mostUsed, cost, nowMs);
            assertThat(bounded.used(nowMs)).isEqualTo(Math.max(used, Math.min(mostUsed, used + cost)));
            LimitAccount<S> less = trial.copy().account().chargeUpTo(mostUsed, -cost, nowMs);
            assertThat(less.used(nowMs)).isEqualTo(trial.charge(-cost, nowMs).used(nowMs));
        });
    }

    @Test
    void no_cost_overflows() {
        long[] extremes = {
            Long.MAX_VALUE, Long.MAX_VALUE - 1, Limit.MAX_LEVEL + 1, Limit.MAX_LEVEL, -Limit.MAX_LEVEL, Long.MIN_VALUE
        };
        always((terms, trial, cost, nowMs, traffic) -> {
            for (int i = 0; i < 3; i++) {
                long extreme = extremes[traffic.random().nextInt(extremes.length)];
                if (extreme > 0 && !(terms.limit() instanceof Unlimited)) {
                    assertThat(trial.permits(extreme, nowMs))
                            .as("permits %d", extreme)
                            .isEqualTo(extreme <= trial.available(nowMs));
                }
                long before = known(trial, nowMs);
                long after = known(trial.charge(extreme, nowMs), nowMs);
                assertThat(after).as("available after %d", extreme).isLessThanOrEqualTo(trial.capacity());
                if (extreme > 0) {
                    assertThat(after).as("available after %d", extreme).isLessThanOrEqualTo(before);
                } else {
                    assertThat(after).as("available after %d", extreme).isGreaterThanOrEqualTo(before);
                }
                for (long any : new long[] {0, Math.min(1, trial.capacity()), trial.capacity()}) {
                    assertThat(trial.waitMs(any, nowMs)).as("wait for %d", any).isNotNegative();
                }
                assertThat(trial.expiresAtMs(nowMs)).isGreaterThanOrEqualTo(nowMs);
            }
        });
    }
}
