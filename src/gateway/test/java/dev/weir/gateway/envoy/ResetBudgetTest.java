package dev.weir.gateway.envoy;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class ResetBudgetTest {

    private static final long START = Long.MAX_VALUE - 5; // overflows
    private static final long SECOND = Duration.ofSeconds(1).toNanos();

    private final ResetBudget budget = new ResetBudget(2, START);

    @Test
    void a_number_of_resets_is_permitted_in_each_second() {
        for (int second = 0; second < 3; second++) {
            long nowNanos = START + second * SECOND;
            assertThat(budget.reset(nowNanos)).isTrue();
            assertThat(budget.reset(nowNanos)).isTrue();
            assertThat(budget.reset(nowNanos + SECOND - 1)).isFalse();
        }
    }

    @Test
    void each_answered_call_permits_one_further_reset() {
        for (int i = 0; i < 3; i++) {
            budget.answered();
        }
        for (int i = 0; i < 2 + 3; i++) {
            assertThat(budget.reset(START)).isTrue();
        }
        assertThat(budget.reset(START)).isFalse();
    }

    @Test
    void what_answered_calls_permit_is_bounded() {
        for (int i = 0; i < 2 * ResetBudget.MAX_CREDIT; i++) {
            budget.answered();
        }
        for (int i = 0; i < 2 + ResetBudget.MAX_CREDIT; i++) {
            assertThat(budget.reset(START)).isTrue();
        }
        assertThat(budget.reset(START)).isFalse();
    }
}
