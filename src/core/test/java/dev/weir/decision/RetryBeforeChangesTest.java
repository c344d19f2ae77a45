package dev.weir.decision;

import static dev.weir.decision.Samples.consume;
import static dev.weir.decision.Samples.gcra;
import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.log;
import static dev.weir.decision.Samples.maxSize;
import static dev.weir.decision.Samples.onExceed;
import static dev.weir.decision.Samples.peek;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.sized;
import static dev.weir.decision.Samples.tokens;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.lease.QuotaSource;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.limit.Blocked;
import dev.weir.limit.Limit;
import dev.weir.policy.EffectivePeriod;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.testing.Effort;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Tests that {@code retryAfterMs} takes into account when policies end, and later versions of them take effect. */
class RetryBeforeChangesTest {

    private final MapStates states = new MapStates();

    private static Policy version(long version, long fromMs, long untilMs, Policy policy) {
        return policy.toBuilder()
                .version(version)
                .effective(new EffectivePeriod(fromMs, untilMs))
                .idempotencyMs(0)
                .sharing(null)
                .build();
    }

    private static Policy until(long untilMs, Policy policy) {
        return version(1, 0, untilMs, policy);
    }

    private static Policy from(long fromMs, Policy policy) {
        return version(2, fromMs, EffectivePeriod.NO_END, policy);
    }

    /** Returns the retry time of a request after one that was allowed one millisecond before. */
    private Long retryAfterMs(Policy... policies) {
        PolicyTable table = PolicyTable.of(List.of(policies));
        Decider.local(states).decide(consume(1, 0), table);
        return ((Decision) Decider.local(states).decide(consume(1, 1), table)).retryAfterMs();
    }

    @Test
    void it_is_the_end_of_the_policy_if_that_comes_first() {
        assertThat(retryAfterMs(until(5_000, policy("p", log(1, 6_400_000))))).isEqualTo(4_999);
    }

    @Test
    void it_is_the_limit_s_own_time_if_the_policy_ends_later() {
        assertThat(retryAfterMs(until(5_000, policy("p", log(1, 4_000))))).isEqualTo(3_999);
    }

    @Test
    void a_next_version_that_permits_more_ends_the_wait() {
        assertThat(retryAfterMs(policy("p", log(1, 60_000)), from(5_000, policy("p", log(2, 60_000)))))
                .isEqualTo(4_999);
    }

    @Test
    void a_next_version_that_denies_prolongs_the_wait() {
        assertThat(retryAfterMs(policy("p", log(1, 10_000)), from(5_000, policy("p", new Blocked()))))
                .isNull();
        assertThat(retryAfterMs(policy("q", log(1, 6_000)), version(2, 5_000, 9_000, policy("q", new Blocked()))))
                .isEqualTo(8_999);
    }

    @Test
    void what_never_passes_now_passes_after_the_end() {
        assertThat(retryAfterMs(until(5_000, policy("p", new Blocked())))).isEqualTo(4_999);
        PolicyTable table = PolicyTable.of(List.of(until(5_000, maxSize(10L, policy("q", log(1, 1_000))))));
        assertThat(((Decision) Decider.local(states).decide(sized(11, consume(1, 0)), table)).retryAfterMs())
                .isEqualTo(5_000);
    }

    @Test
    void the_limits_of_other_layers_remain() {
        assertThat(retryAfterMs(
                        until(5_000, policy("p", log(1, 60_000))), inLayer("other", policy("q", log(1, 20_000)))))
                .isEqualTo(19_999);
    }

    /** Tries all requests again at their retry time and before. */
    @Test
    void it_is_exact() {
        int changed = 0;
        for (int i = 0; i < Effort.times(60); i++) {
            Random random = new Random(i * 0x9E3779B97F4A7C15L); // neighbours differ
            List<Policy> policies = new ArrayList<>();
            for (String id : List.of("p", "q")) {
                OnExceed onExceed = random.nextInt(3) == 0 ? new OnExceed.Throttle(20) : OnExceed.DENY;
                for (int version = 1; version <= 1 + random.nextInt(4); version++) {
                    long fromMs = version == 1 ? 0 : 1_000 + random.nextInt(400);
                    long untilMs = random.nextInt(3) == 0 ? 1_400 + random.nextInt(100) : EffectivePeriod.NO_END;
                    policies.add(version(
                            version,
                            fromMs,
                            untilMs,
                            inLayer(id, onExceed(onExceed, policy(id, randomLimit(random))))));
                }
            }
            PolicyTable table = PolicyTable.of(policies);
            MapStates own = new MapStates();
            long nowMs = 1_000;
            for (int j = 0; j < 60; j++) {
                nowMs += random.nextInt(3) == 0 ? random.nextInt(20) : 0;
                long cost = 1 + random.nextInt(2);
                Decision decision = (Decision) Decider.local(own).decide(consume(cost, nowMs), table);
                Long retryMs = decision.retryAfterMs();
                boolean denied = decision.outcome() == Outcome.DENIED;
                String as = "table " + i + ", request " + j + ": " + decision + " by " + policies;
                for (long atMs = 0; denied && retryMs != null && atMs < retryMs; atMs += 1 + random.nextInt(10)) {
                    assertThat(outcome(peek(cost, nowMs + atMs), table, own))
                            .as(as)
                            .isEqualTo(Outcome.DENIED);
                }
                if (denied && retryMs != null) {
                    assertThat(outcome(peek(cost, nowMs + retryMs), table, own))
                            .as(as)
                            .isEqualTo(Outcome.ALLOWED);
                    changed += table.changesAfter(nowMs) && !table.changesAfter(nowMs + retryMs) ? 1 : 0;
                }
            }
        }
        assertThat(changed).isGreaterThan(50);
    }

    private static Outcome outcome(Request request, PolicyTable table, MapStates states) {
        return ((Decision) Decider.readOnly(states, QuotaSource.local()).decide(request, table)).outcome();
    }

    private static Limit<?> randomLimit(Random random) {
        long limit = 1 + random.nextLong(6);
        long perMs = 20 + random.nextLong(200);
        return switch (random.nextInt(5)) {
            case 0 -> window(limit, perMs);
            case 1 -> log(limit, perMs);
            case 2 -> tokens(limit, perMs, limit);
            case 3 -> gcra(limit, perMs, limit);
            default -> new Blocked();
        };
    }
}
