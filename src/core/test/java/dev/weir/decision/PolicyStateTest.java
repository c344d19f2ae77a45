package dev.weir.decision;

import static dev.weir.decision.Samples.consume;
import static dev.weir.decision.Samples.counter;
import static dev.weir.decision.Samples.gcra;
import static dev.weir.decision.Samples.leaky;
import static dev.weir.decision.Samples.log;
import static dev.weir.decision.Samples.peek;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.settle;
import static dev.weir.decision.Samples.steps;
import static dev.weir.decision.Samples.table;
import static dev.weir.decision.Samples.tokens;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.PolicyState;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.limit.Blocked;
import dev.weir.limit.IntervalBucket;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.SlidingWindowLog.Log;
import dev.weir.limit.Unlimited;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PolicyStateTest {

    private static final StateKey KEY = new StateKey("c", "p", List.of());

    private final MapStates states = new MapStates();

    private PolicyState after(long cost, long nowMs, Limit<?>... limits) {
        Decider.local(states).decide(consume(cost, nowMs), table(policy("p", limits)));
        return states.of("c", "p");
    }

    private PolicyState under(PolicyState state, long nowMs, Limit<?>... limits) {
        return state.migrateTo(policy("p", limits), nowMs);
    }

    private static List<Long> used(PolicyState state, long nowMs) {
        return state.accounts().stream().map(account -> account.used(nowMs)).toList();
    }

    private static List<Integer> logIds(PolicyState state) {
        return state.accounts().stream()
                .filter(account -> account.state() instanceof Log)
                .map(account -> ((Log) account.state()).id())
                .toList();
    }

    @Test
    void under_the_same_limits_is_the_same_state() {
        PolicyState state = after(2, 0, window(5, 1_000), log(5, 1_000));
        assertThat(under(state, 500, window(5, 1_000), log(5, 1_000))).isSameAs(state);
    }

    @Test
    void a_fresh_state_is_full() {
        PolicyState state = PolicyState.fresh(policy("p", window(5, 1_000), log(6, 1_000), log(7, 1_000)), 3);
        assertThat(state.lastChargeMs()).isEqualTo(3);
        assertThat(used(state, 3)).containsExactly(0L, 0L, 0L);
        assertThat(logIds(state)).containsExactly(0, 1);
        assertThat(state.retired()).isEmpty();
    }

    @Test
    void the_same_limit_is_continued_first_at_any_position() {
        after(2, 0, window(5, 1_000), window(6, 2_000));
        PolicyState state = after(1, 1_000, window(5, 1_000), window(6, 2_000));
        assertThat(used(state, 1_000)).containsExactly(1L, 3L);
        assertThat(used(under(state, 1_000, window(6, 2_000), window(5, 1_000)), 1_000))
                .containsExactly(3L, 1L);
        assertThat(used(under(state, 1_000, window(9, 9_000), window(6, 2_000)), 1_000))
                .containsExactly(1L, 3L);
        assertThat(used(under(state, 1_000, window(6, 2_000)), 1_000)).containsExactly(3L);
    }

    @Test
    void then_a_limit_of_the_same_algorithm_is_continued() {
        after(2, 0, window(5, 1_000), log(6, 2_000));
        PolicyState state = after(1, 1_000, window(5, 1_000), log(6, 2_000));
        assertThat(used(state, 1_000)).containsExactly(1L, 3L);
        assertThat(used(under(state, 1_000, log(60, 2_000), window(50, 1_000)), 1_000))
                .containsExactly(3L, 1L);
    }

    @Test
    void then_any_remaining_limit_is_continued() {
        PolicyState state = after(3, 0, window(5, 1_000));
        for (Limit<?> limit : List.of(
                log(9, 1_000),
                counter(9, 1_000),
                tokens(9, 1_000, 9),
                leaky(9, 1_000, 9),
                gcra(9, 1_000, 9),
                steps(9, 1_000, 9))) {
            assertThat(used(under(state, 0, limit), 0)).as("%s", limit).containsExactly(3L);
        }
    }

    @Test
    void otherwise_a_limit_starts_fresh() {
        PolicyState state = after(3, 0, window(5, 1_000));
        assertThat(used(under(state, 0, window(5, 1_000), window(5, 2_000), log(5, 1_000)), 0))
                .containsExactly(3L, 0L, 0L);
    }

    @Test
    void two_of_the_same_limit_stay_two() {
        PolicyState state = after(3, 0, log(5, 1_000), log(5, 1_000));
        assertThat(logIds(state)).containsExactly(0, 1);
        assertThat(logIds(under(state, 0, log(5, 1_000), log(5, 1_000), log(5, 1_000))))
                .containsExactly(0, 1, 2);
    }

    @Test
    void unlimited_and_blocked_count_nothing_and_suspend_what_they_replace() {
        PolicyState state = after(3, 0, window(5, 1_000), log(9, 1_000));
        for (Limit<?> uncounted : List.of(new Unlimited(), new Blocked())) {
            PolicyState suspended = under(state, 0, uncounted);
            assertThat(used(suspended, 0)).containsExactly(0L);
            assertThat(suspended.suspended()).isEqualTo(state.accounts());
            assertThat(suspended.retired()).isEmpty();
            assertThat(suspended.expiresAtMs()).isEqualTo(state.expiresAtMs());
            assertThat(under(suspended, 0, window(5, 1_000), log(9, 1_000)).accounts())
                    .isEqualTo(state.accounts());
            assertThat(used(under(suspended, 0, log(8, 1_000)), 0)).containsExactly(3L);
        }
    }

    @Test
    void a_suspended_count_ends_when_it_expires_or_the_policy_counts_without_it() {
        PolicyState suspended = under(after(3, 0, window(5, 1_000), log(9, 1_000)), 0, new Blocked());
        assertThat(used(under(suspended, 1_000, window(5, 1_000)), 1_000)).containsExactly(0L);
        PolicyState counted = under(suspended, 0, window(5, 1_000));
        assertThat(counted.suspended()).isEmpty();
        assertThat(counted.retired()).hasSize(1);
        assertThat(counted.purge().isPurged()).isTrue();
    }

    @Test
    void suspended_counts_are_bounded() {
        PolicyState state = after(3, 0, log(5, 1_000));
        for (int i = 0; i < 3 * Policy.MAX_LIMITS; i++) {
            List<Limit<?>> limits = new ArrayList<>(List.of(new Blocked()));
            for (int j = 0; j < 3; j++) {
                limits.add(log(6 + 3 * i + j, 1_000));
            }
            state = under(state, 0, limits.toArray(Limit<?>[]::new));
            assertThat(state.suspended()).hasSizeLessThanOrEqualTo(Policy.MAX_LIMITS);
        }
    }

    @Test
    void a_log_keeps_its_segments_and_a_new_one_gets_unused_ones() {
        PolicyState state = after(3, 0, log(5, 1_000), log(6, 1_000));
        assertThat(logIds(under(state, 0, log(6, 1_000), log(5, 1_000)))).containsExactly(1, 0);
        assertThat(logIds(under(state, 0, log(6, 1_000)))).containsExactly(1);
        assertThat(logIds(under(state, 0, log(6, 1_000), log(7, 1_000), log(8, 1_000))))
                .containsExactly(1, 0, 2);
        PolicyState without = under(state, 0, window(9, 9), window(8, 8));
        assertThat(without.retired()).hasSize(2);
        assertThat(logIds(under(without, 0, log(5, 1_000), log(6, 1_000)))).containsExactly(2, 3);
    }

    @Test
    void changing_terms_writes_nothing_by_itself() {
        for (int i = 1; i <= 100; i++) {
            after(1, i, log(1_000, 100_000));
        }
        PolicyState state = states.of("c", "p");
        int segments = states.segments();
        under(state, 200, window(1_000, 100_000));
        under(state, 200, log(1_000, 50));
        assertThat(states.segments()).isEqualTo(segments);
        assertThat(states.of("c", "p")).isSameAs(state);
    }

    @Test
    void expires_with_the_last_of_its_accounts() {
        PolicyState state = after(3, 500, window(5, 1_000), log(5, 2_000), tokens(1, 1_000, 5));
        assertThat(state.expiresAtMs()).isEqualTo(3_500);
        assertThat(after(1, 600, window(9, 9_000)).expiresAtMs()).isEqualTo(9_000);
    }

    @Test
    void never_expires_before_its_last_charge() {
        after(3, 500, window(5, 1_000));
        Decider.local(states).decide(settle(-3, 600), table(policy("p", window(5, 1_000))));
        PolicyState state = states.of("c", "p");
        assertThat(state.lastChargeMs()).isEqualTo(600);
        assertThat(state.expiresAtMs()).isGreaterThanOrEqualTo(600);
    }

    @Test
    void without_a_log_is_deleted_at_once() {
        assertThat(after(3, 0, window(5, 1_000), tokens(1, 1, 5)).purge().isPurged())
                .isTrue();
        assertThat(after(1, 0, log(5, 1_000)).purge().isPurged())
                .as("a log without full segments")
                .isTrue();
    }

    @Test
    void with_a_log_is_deleted_in_bounded_rounds() {
        for (int i = 1; i <= 33 + 4 * 32; i++) {
            after(1, i, log(1_000, 100_000));
        }
        assertThat(states.segments()).isEqualTo(5);
        assertThat(states.purge(KEY)).isEqualTo(3);
        assertThat(states.segments()).isZero();
    }

    @Test
    void a_request_during_a_deletion_starts_fresh() {
        for (int i = 1; i <= 1_000; i++) {
            after(1, i, log(1_000, 5_000));
        }
        states.put(KEY, states.of("c", "p").purge());
        int garbage = states.segments();
        PolicyState state = after(1, 10_000, log(1_000, 5_000));
        assertThat(used(state, 10_000)).containsExactly(1L);
        assertThat(logIds(state)).containsExactly(1);
        assertThat(states.segments()).isEqualTo(garbage - 2);
        for (int i = 0; i < garbage / 2; i++) {
            after(1, 10_000, log(1_000, 5_000));
        }
        assertThat(states.segments()).isZero();
        assertThat(states.of("c", "p").retired()).isEmpty();
    }

    /** Whatever changes, waits stay finite, every segment that is read exists, and in the end none is left. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void random_changes_under_traffic_leave_no_segment_behind(long seed) {
        Random random = new Random(seed);
        Policy policy = randomPolicy(random);
        long nowMs = 0;
        for (int i = 0; i < 8_000; i++) {
            nowMs += random.nextInt(300) == 0 ? random.nextInt(3_000) : random.nextInt(3);
            policy = random.nextInt(400) == 0 ? randomPolicy(random) : policy;
            Request request = random.nextInt(40) == 0
                    ? settle(random.nextInt(41) - 20L, nowMs)
                    : consume(random.nextInt(3), nowMs);
            Decision decision = (Decision) Decider.local(states).decide(request, table(policy));
            assertThat(decision.resetAfterMs() == null || decision.resetAfterMs() >= 0)
                    .isTrue();
            PolicyState state = states.of("c", "p");
            if (state != null) {
                assertThat(state.accounts().stream().map(LimitAccount::limit).toList())
                        .as("seed %d, request %d", seed, i)
                        .hasSizeLessThanOrEqualTo(4);
                assertThat(logIds(state)).doesNotHaveDuplicates();
                assertThat(states.segments()).isLessThan(600);
            }
            if (state != null && random.nextInt(500) == 0) { // idle until the state can be deleted
                nowMs = Math.max(nowMs, state.expiresAtMs());
                states.purge(KEY);
                assertThat(states.segments()).isZero();
            }
        }
        if (states.of("c", "p") != null) {
            states.purge(KEY);
        }
        assertThat(states.segments()).isZero();
    }

    /** A state that is deleted as soon as possible leads to the same decisions as one that is kept forever. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void deleting_never_changes_a_decision(long seed) {
        Random random = new Random(seed);
        MapStates kept = new MapStates();
        Policy policy = randomPolicy(random);
        long nowMs = 0;
        int expired = 0;
        for (int i = 0; i < 6_000; i++) {
            nowMs += switch (random.nextInt(60)) {
                case 0 -> random.nextLong(3_000);
                case 1 -> IntervalBucket.PHASE_RETENTION_MS + random.nextLong(100);
                default -> random.nextLong(4);
            };
            policy = random.nextInt(100) == 0 ? randomPolicy(random) : policy;
            PolicyState state = states.of("c", "p");
            if (state != null && nowMs >= state.expiresAtMs()) {
                states.purge(KEY);
                expired++;
            }
            long cost = 1 + random.nextLong(80);
            Request request =
                    switch (random.nextInt(20)) {
                        case 0 -> settle(cost, nowMs);
                        case 1 -> settle(-cost, nowMs);
                        case 2 -> peek(cost, nowMs);
                        default -> consume(cost, nowMs);
                    };
            assertThat(Decider.local(states).decide(request, table(policy)))
                    .as("seed %d, request %d by %s", seed, i, policy)
                    .isEqualTo(Decider.local(kept).decide(request, table(policy)));
        }
        assertThat(expired).as("number of deleted states").isGreaterThan(50);
    }

    private static Policy randomPolicy(Random random) {
        List<Limit<?>> limits = new ArrayList<>(List.of(
                log(200 + random.nextInt(3), 500),
                log(300, 700 + random.nextInt(3)),
                log(2_000, 2_500),
                new SlidingWindowLog(100, 1_000, true),
                window(500, 1_000),
                counter(500, 1_000),
                tokens(1, 2, 100),
                gcra(1, 2, 200),
                new IntervalBucket(10, 20, 300, false),
                random.nextBoolean() ? new Unlimited() : new Blocked()));
        Collections.shuffle(limits, random);
        return policy("p", limits.subList(0, 1 + random.nextInt(4)).toArray(Limit<?>[]::new));
    }
}
