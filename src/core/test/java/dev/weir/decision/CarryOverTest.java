package dev.weir.decision;

import static dev.weir.decision.Samples.calendar;
import static dev.weir.decision.Samples.consume;
import static dev.weir.decision.Samples.counter;
import static dev.weir.decision.Samples.gcra;
import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.keyed;
import static dev.weir.decision.Samples.leaky;
import static dev.weir.decision.Samples.log;
import static dev.weir.decision.Samples.match;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.steps;
import static dev.weir.decision.Samples.table;
import static dev.weir.decision.Samples.tokens;
import static dev.weir.decision.Samples.window;
import static dev.weir.limit.CalendarPeriod.DAY;
import static dev.weir.limit.CalendarPeriod.MONTH;
import static dev.weir.limit.CalendarPeriod.WEEK;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.CarryOver.LimitCarryOver;
import dev.weir.decision.CarryOver.Start;
import dev.weir.decision.state.PolicyState;
import dev.weir.limit.Blocked;
import dev.weir.limit.Concurrency;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Limit;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.Unlimited;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class CarryOverTest {

    /** One limit that replaces another. */
    record Row(Limit<?> before, Limit<?> after, Start start) {}

    static List<Row> rows() {
        return List.of(
                new Row(window(5, 60), window(5, 60), Start.UNCHANGED),
                new Row(window(5, 60), window(9, 60), Start.CONTINUED),
                new Row(window(5, 60), new FixedWindow(5, 60, true), Start.CONTINUED),
                new Row(window(5, 60), window(5, 61), Start.CONVERTED),
                new Row(calendar(5, DAY, "UTC"), calendar(9, DAY, "UTC"), Start.CONTINUED),
                new Row(calendar(5, DAY, "UTC"), calendar(5, WEEK, "UTC"), Start.CONVERTED),
                new Row(calendar(5, DAY, "UTC"), calendar(5, DAY, "Asia/Tokyo"), Start.CONVERTED),
                new Row(calendar(5, DAY, "UTC"), window(5, 86_400_000), Start.CONVERTED),
                new Row(window(5, 86_400_000), calendar(5, DAY, "UTC"), Start.CONVERTED),
                new Row(log(5, 60), log(9, 90), Start.CONTINUED),
                new Row(counter(5, 60), counter(9, 60), Start.CONTINUED),
                new Row(counter(5, 60), counter(5, 90), Start.CONVERTED),
                new Row(tokens(5, 60, 5), tokens(5, 60, 9), Start.CONTINUED),
                new Row(tokens(5, 60, 5), tokens(10, 120, 5), Start.CONTINUED), // both have 12 units per token
                new Row(tokens(5, 60, 5), tokens(7, 60, 5), Start.CONVERTED), // 60 units per token
                new Row(tokens(5, 60, 5), leaky(5, 60, 9), Start.CONTINUED),
                new Row(tokens(5, 60, 5), steps(5, 60, 5), Start.CONVERTED),
                new Row(steps(5, 60, 5), steps(7, 60, 9), Start.CONTINUED),
                new Row(steps(5, 60, 5), steps(5, 61, 5), Start.CONVERTED),
                new Row(gcra(5, 60, 5), gcra(5, 60, 9), Start.CONTINUED),
                new Row(gcra(5, 60, 5), gcra(10, 120, 5), Start.CONVERTED),
                new Row(gcra(5, 60, 5), log(5, 60), Start.CONVERTED),
                new Row(new Concurrency(5, 60), new Concurrency(2, 60), Start.CONTINUED),
                new Row(new Concurrency(5, 60), new Concurrency(5, 90), Start.CONTINUED),
                new Row(new Unlimited(), log(5, 60), Start.RESUMED),
                new Row(new Blocked(), log(5, 60), Start.RESUMED),
                new Row(log(5, 60), new Unlimited(), Start.UNCOUNTED),
                new Row(log(5, 60), new Blocked(), Start.UNCOUNTED),
                new Row(new Blocked(), new Blocked(), Start.UNCOUNTED));
    }

    @ParameterizedTest
    @MethodSource("rows")
    void one_limit_replaces_another(Row row) {
        CarryOver carryOver = waitsLeftOut(policy("p", row.before), policy("p", row.after));
        boolean goesOn = row.start != Start.RESUMED && row.start != Start.UNCOUNTED;
        boolean counted = !(row.before instanceof Blocked) && !(row.before instanceof Unlimited);
        assertThat(carryOver)
                .isEqualTo(new CarryOver(
                        true,
                        List.of(new LimitCarryOver("p/0", row.start, goesOn ? "p/0" : null, 0)),
                        List.of(),
                        goesOn || !counted ? List.of() : List.of("p/0")));
    }

    @Test
    void slots_and_tokens_do_not_continue_each_other() {
        Policy slots = policy("p", new Concurrency(5, 60));
        Policy rate = policy("p", log(5, 60));
        CarryOver restart = new CarryOver(
                true, List.of(new LimitCarryOver("p/0", Start.RESET, null, 0)), List.of("p/0"), List.of());
        assertThat(waitsLeftOut(slots, rate)).isEqualTo(restart);
        assertThat(waitsLeftOut(rate, slots)).isEqualTo(restart);
    }

    @Test
    void several_limits_are_paired_as_their_states_are() {
        Policy before = policy("p", window(5, 60), log(6, 60), gcra(7, 60, 7));
        assertThat(waitsLeftOut(before, policy("p", log(9, 60), gcra(7, 60, 7), tokens(1, 1, 1), tokens(2, 1, 1))))
                .isEqualTo(new CarryOver(
                        true,
                        List.of(
                                new LimitCarryOver("p/0", Start.CONTINUED, "p/1", 0),
                                new LimitCarryOver("p/1", Start.UNCHANGED, "p/2", 0),
                                new LimitCarryOver("p/2", Start.CONVERTED, "p/0", 0),
                                new LimitCarryOver("p/3", Start.RESET, null, 0)),
                        List.of(),
                        List.of()));
        assertThat(waitsLeftOut(before, policy("p", log(6, 60))))
                .isEqualTo(new CarryOver(
                        true,
                        List.of(new LimitCarryOver("p/0", Start.UNCHANGED, "p/1", 0)),
                        List.of("p/0", "p/2"),
                        List.of()));
    }

    @Test
    void a_limit_continues_the_one_with_the_same_period_wherever_it_is() {
        Policy before = policy("p", window(1_000, 3_600_000));
        Policy after = policy("p", window(50, 1_000), window(2_000, 3_600_000));
        assertThat(waitsLeftOut(before, after).limits())
                .containsExactly(
                        new LimitCarryOver("p/0", Start.RESET, null, 0),
                        new LimitCarryOver("p/1", Start.CONTINUED, "p/0", 0));
        Policy rates = policy("p", tokens(10, 1_000, 10), gcra(10, 1_000, 1), gcra(1_000, 3_600_000, 1));
        Policy swapped = policy("p", gcra(2_000, 3_600_000, 1), tokens(20, 1_000, 20), gcra(20, 1_000, 1));
        assertThat(waitsLeftOut(rates, swapped).limits())
                .extracting(LimitCarryOver::from)
                .containsExactly("p/2", "p/0", "p/1");
    }

    @Test
    void fixed_windows_that_get_a_time_zone_continue_those_at_their_positions() {
        Policy before = policy("p", window(5, 86_400_000), calendar(90, MONTH, "UTC"));
        Policy after = policy("p", calendar(5, DAY, "Asia/Tokyo"), calendar(90, MONTH, "Asia/Tokyo"));
        assertThat(waitsLeftOut(before, after).limits())
                .containsExactly(
                        new LimitCarryOver("p/0", Start.CONVERTED, "p/0", 0),
                        new LimitCarryOver("p/1", Start.CONVERTED, "p/1", 0));
        assertThat(waitsLeftOut(after, before).limits())
                .containsExactly(
                        new LimitCarryOver("p/0", Start.CONVERTED, "p/0", 0),
                        new LimitCarryOver("p/1", Start.CONVERTED, "p/1", 0));
    }

    @Test
    void another_key_or_id_starts_a_new_count() {
        Policy before = keyed(List.of("client", "ip", "tier"), policy("p", window(5, 60)));
        CarryOver reset = new CarryOver(
                false, List.of(new LimitCarryOver("p/0", Start.RESET, null, 0)), List.of("p/0"), List.of());
        assertThat(waitsLeftOut(before, keyed(List.of("client", "ip"), before))).isEqualTo(reset);
        assertThat(waitsLeftOut(before, keyed(List.of("client", "tier", "ip"), before)))
                .isEqualTo(reset);
        assertThat(waitsLeftOut(before, keyed(List.of("ip", "client", "tier"), before))
                        .keepsAllCounts())
                .as("the position of the client in the key does not matter")
                .isTrue();
        Policy renamed = keyed(before.key(), policy("q", window(5, 60)));
        assertThat(waitsLeftOut(before, renamed).sameKey()).isFalse();
    }

    @Test
    void other_changes_keep_the_counts() {
        Policy before = policy("p", window(5, 60), new Unlimited());
        for (Policy after : List.of(
                inLayer("other", before),
                policy("p", Policy.DEFAULT_LAYER, 7, match("tier", "free"), window(5, 60), new Unlimited()),
                Samples.maxSize(5L, before),
                Samples.onExceed(OnExceed.OBSERVE, before))) {
            assertThat(waitsLeftOut(before, after).keepsAllCounts()).isTrue();
        }
        assertThat(waitsLeftOut(before, policy("p", window(5, 61), new Unlimited()))
                        .keepsAllCounts())
                .isFalse();
        assertThat(waitsLeftOut(before, policy("p", new Unlimited())).keepsAllCounts())
                .isFalse();
    }

    /** Compares what it predicts with the accounts after the change. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void holds_for_states_under_traffic(long seed) {
        Random random = new Random(seed);
        for (int round = 0; round < 300; round++) {
            MapStates states = new MapStates();
            Policy before = randomPolicy(random);
            Policy after = randomPolicy(random);
            long nowMs = 1_000_000;
            for (int i = 0; i < 20; i++) {
                nowMs += random.nextInt(40);
                Decider.local(states).decide(consume(1 + random.nextInt(3), nowMs), table(before));
            }
            PolicyState state = states.of("c", "p");
            if (state != null) {
                PolicyState next = state.migrateTo(after, nowMs);
                CarryOver carryOver = waitsLeftOut(before, after);
                for (int i = 0; i < carryOver.limits().size(); i++) {
                    LimitCarryOver limit = carryOver.limits().get(i);
                    LimitAccount<?> old = limit.from() == null ? null : account(before, state, limit.from());
                    check(limit, old, next.accounts().get(i), nowMs);
                }
            }
        }
    }

    private static LimitAccount<?> account(Policy policy, PolicyState state, String label) {
        List<String> labels = policy.terms().stream().map(Policy.Term::label).toList();
        return state.accounts().get(labels.indexOf(label));
    }

    private static void check(LimitCarryOver limit, LimitAccount<?> old, LimitAccount<?> next, long nowMs) {
        String change = old + " to " + next;
        switch (limit.start()) {
            case UNCHANGED -> {
                assertThat(next.limit()).isEqualTo(old.limit());
                for (long atMs = nowMs; atMs < nowMs + 200; atMs++) {
                    assertThat(next.used(atMs)).as(change).isEqualTo(old.used(atMs));
                }
            }
            case CONTINUED -> {
                if (!(next.limit() instanceof SlidingWindowLog log)
                        || log.perMs() >= ((SlidingWindowLog) old.limit()).perMs()) {
                    assertThat(next.used(nowMs)).as(change).isEqualTo(old.used(nowMs));
                }
            }
            case CONVERTED ->
                assertThat(next.used(nowMs))
                        .as(change)
                        .isEqualTo(LimitAccount.open(next.limit(), nowMs)
                                .charge(old.used(nowMs), nowMs)
                                .used(nowMs));
            case RESET, RESUMED, UNCOUNTED ->
                assertThat(next.used(nowMs)).as(change).isZero();
        }
    }

    private static Policy randomPolicy(Random random) {
        List<Limit<?>> limits = new ArrayList<>(List.of(
                window(50, 60 + 10 * random.nextInt(2)),
                log(50 + random.nextInt(2), 90),
                log(60, 100 + random.nextInt(2)),
                counter(50 + random.nextInt(2), 70 + 10 * random.nextInt(2)),
                tokens(5 + random.nextInt(2), 60, 50),
                leaky(5, 60, 60),
                gcra(5, 60 + 10 * random.nextInt(2), 50 + random.nextInt(2)),
                steps(5, 60, 50 + random.nextInt(2)),
                new Unlimited()));
        Collections.shuffle(limits, random);
        return policy("p", limits.subList(0, 1 + random.nextInt(5)).toArray(Limit<?>[]::new));
    }

    private static CarryOver waitsLeftOut(Policy before, Policy after) {
        CarryOver all = CarryOver.of(before, after);
        List<LimitCarryOver> limits = all.limits().stream()
                .map(limit -> new LimitCarryOver(limit.label(), limit.start(), limit.from(), 0))
                .toList();
        return new CarryOver(all.sameKey(), limits, all.dropped(), all.suspended());
    }

    @Test
    void the_longest_wait_is_that_for_one_token_after_the_old_limit_is_used_up() {
        long hourMs = 3_600_000;
        assertThat(longestWaitMs(tokens(1_000, hourMs, 1_000), tokens(10, hourMs, 10)))
                .isEqualTo(hourMs / 10);
        assertThat(longestWaitMs(gcra(1_000, hourMs, 1_000), gcra(10, hourMs, 10)))
                .isEqualTo(hourMs / 10);
        assertThat(longestWaitMs(tokens(1_000, hourMs, 1_000), log(10, hourMs))).isEqualTo(hourMs);
        assertThat(longestWaitMs(tokens(1_000, hourMs, 1_000), calendar(10, MONTH, "Europe/Berlin")))
                .isEqualTo(31 * 24 * hourMs);
        assertThat(longestWaitMs(tokens(10, hourMs, 10), tokens(1_000, hourMs, 1_000)))
                .isZero();
        assertThat(longestWaitMs(log(10, hourMs), log(10, hourMs))).isZero();
    }

    private static long longestWaitMs(Limit<?> before, Limit<?> after) {
        return CarryOver.of(policy("p", before), policy("p", after))
                .limits()
                .get(0)
                .longestWaitMs();
    }
}
