package dev.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Checks limits whose number of tokens changes from request to request. */
class OverriddenLimitTest {

    private static final int SEEDS = Effort.times(5);
    private static final int REQUESTS = 200;

    static List<LimitCase<?>> overridable() {
        List<LimitCase<?>> cases = new ArrayList<>();
        for (boolean countDenied : new boolean[] {false, true}) {
            cases.addAll(LimitCase.fixedWindows(countDenied));
            cases.addAll(LimitCase.counters(false, countDenied));
            cases.addAll(LimitCase.counters(true, countDenied));
        }
        return cases;
    }

    @ParameterizedTest
    @MethodSource("overridable")
    void the_usage_is_one_count_for_all_numbers_and_decides_by_the_number_of_the_request(LimitCase<?> terms) {
        for (int seed = 0; seed < SEEDS; seed++) {
            passTraffic(terms.limit(), terms.perMs(), new Random(seed));
        }
    }

    private static <S> void passTraffic(Limit<S> limit, long perMs, Random random) {
        long most = limit instanceof SlidingWindowCounter ? Limit.MAX_CAPACITY / perMs : Limit.MAX_CAPACITY;
        long stepMs = Math.min(perMs, 1L << 40);
        long nowMs = 1_700_000_000_000L;
        LimitAccount<S> account = LimitAccount.open(limit, nowMs);
        LimitOracle model = LimitOracle.of(limit);
        for (int i = 0; i < REQUESTS; i++) {
            nowMs += random.nextInt(3) == 0 ? random.nextLong(stepMs + 1) : 0;
            long tokens = random.nextInt(5) == 0 ? most : random.nextLong(Math.min(most, 3 * limit.capacity()) + 1);
            LimitAccount<S> one = account.withTokens(tokens, perMs);
            assertThat(one.limit().capacity()).isEqualTo(tokens);
            assertThat(one.limit().countDenied()).isEqualTo(limit.countDenied());
            long available = model.withTokens(tokens).available(nowMs);
            assertThat(one.limit().available(one.state(), nowMs)).isEqualTo(available);
            assertThat(one.remaining(nowMs)).isEqualTo(Math.max(0, available));
            long cost = 1 + random.nextLong(Math.max(1, Math.min(limit.capacity(), Math.max(1, available)) + 2));
            boolean permits = cost <= available;
            assertThat(one.permits(cost, nowMs)).isEqualTo(permits);
            assertThat(one.permits(0, nowMs)).isTrue();
            if (one.limit().fits(cost)) {
                long waitMs = one.waitMs(cost, nowMs);
                assertThat(waitMs).isGreaterThanOrEqualTo(0);
                assertThat(one.permits(cost, nowMs + waitMs)).isTrue();
                assertThat(waitMs == 0 || !one.permits(cost, nowMs + waitMs - 1))
                        .isTrue();
            }
            if (permits) {
                model.charge(cost, nowMs);
                LimitAccount<S> charged = account.withUsageOf(one.charge(cost, nowMs));
                assertThat(charged).isEqualTo(account.charge(cost, nowMs));
                account = charged;
            }
        }
    }

    @Test
    void a_window_of_another_length_keeps_its_number() {
        for (LimitCase<?> terms : overridable()) {
            assertThat(terms.limit().withTokens(1, terms.perMs() + 1)).isSameAs(terms.limit());
        }
    }

    @Test
    void only_windows_of_a_fixed_length_can_be_overridden() {
        for (LimitCase<?> terms : LimitCase.all()) {
            boolean isWindow = terms.limit() instanceof FixedWindow || terms.limit() instanceof SlidingWindowCounter;
            assertThat(terms.limit().isOverridable()).as("%s", terms.limit()).isEqualTo(isWindow);
            if (!isWindow) {
                assertThat(terms.limit().withTokens(1, terms.perMs())).isSameAs(terms.limit());
            }
        }
    }

    @Test
    void a_number_that_a_counter_cannot_weigh_exactly_is_lowered() {
        SlidingWindowCounter daily = new SlidingWindowCounter(5, 86_400_000, false, false);
        assertThat(daily.withTokens(Limit.MAX_CAPACITY, 86_400_000).capacity())
                .isEqualTo(Limit.MAX_CAPACITY / 86_400_000);
    }

    @Test
    void a_limit_of_zero_permits_no_cost_above_zero() {
        for (Limit<?> limit : List.of(
                new FixedWindow(5, 10, false),
                new SlidingWindowCounter(5, 10, false, false),
                new SlidingWindowCounter(5, 10, true, true))) {
            LimitAccount<?> none = LimitAccount.open(limit, 0).charge(4, 0).withTokens(0, 10);
            for (long nowMs : new long[] {0, 9, 10, 19, 20, 1_000}) {
                assertThat(none.permits(1, nowMs)).isFalse();
                assertThat(none.permits(0, nowMs)).isTrue();
                assertThat(none.remaining(nowMs)).isZero();
                assertThat(none.resetAfterMs(nowMs)).isBetween(0L, 20L);
            }
            assertThat(none.limit().fits(1)).isFalse();
        }
    }
}
