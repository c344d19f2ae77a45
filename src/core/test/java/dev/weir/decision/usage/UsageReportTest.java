package dev.weir.decision.usage;

import static dev.weir.decision.Samples.consume;
import static dev.weir.decision.Samples.counter;
import static dev.weir.decision.Samples.gcra;
import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.keyed;
import static dev.weir.decision.Samples.leaky;
import static dev.weir.decision.Samples.log;
import static dev.weir.decision.Samples.match;
import static dev.weir.decision.Samples.onExceed;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.request;
import static dev.weir.decision.Samples.settle;
import static dev.weir.decision.Samples.steps;
import static dev.weir.decision.Samples.table;
import static dev.weir.decision.Samples.tokens;
import static dev.weir.decision.Samples.window;
import static dev.weir.decision.Samples.windowCountingDenied;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.Decider;
import dev.weir.decision.MapStates;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.limit.Blocked;
import dev.weir.limit.Concurrency;
import dev.weir.limit.Limit;
import dev.weir.limit.Unlimited;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class UsageReportTest {

    private final MapStates states = new MapStates();

    static Stream<Limit<?>> limits() {
        return Stream.of(
                window(7, 1_000),
                windowCountingDenied(7, 1_000),
                log(70, 1_000),
                counter(7, 1_000),
                tokens(7, 1_100, 12),
                leaky(7, 1_100, 5),
                gcra(7, 1_100, 9),
                steps(3, 1_000, 7));
    }

    private PolicyUsage usage(Policy policy, long atMs) {
        int puts = states.puts();
        PolicyUsage usage = UsageReport.of(
                new UsageReport.Subject(policy, new StateKey("c", policy.id(), List.of())), atMs, states);
        assertThat(states.puts()).isEqualTo(puts);
        return usage;
    }

    private List<String> subjects(Request request, PolicyTable policies) {
        return UsageReport.subjects(List.of(request), policies, states.all().keySet()).stream()
                .map(subject -> subject.policy().id() + subject.key().namesAndValues())
                .toList();
    }

    @ParameterizedTest
    @MethodSource("limits")
    void reports_what_the_last_decision_reported(Limit<?> limit) {
        assertUsageIsWhatDecisionsTell(policy("p", limit), limit);
    }

    @ParameterizedTest
    @MethodSource("limits")
    void reports_what_the_last_decision_of_a_throttling_policy_reported(Limit<?> limit) {
        assertUsageIsWhatDecisionsTell(onExceed(new OnExceed.Throttle(800), policy("p", limit)), limit);
    }

    private void assertUsageIsWhatDecisionsTell(Policy policy, Limit<?> limit) {
        Random random = new Random(1);
        long nowMs = 5_000_000;
        for (int i = 0; i < 2_000; i++) {
            nowMs += random.nextInt(4) == 0 ? random.nextInt(700) : random.nextInt(20);
            Request next =
                    random.nextInt(9) == 0 ? settle(random.nextInt(9) - 4, nowMs) : consume(random.nextInt(4), nowMs);
            Decision decision = (Decision) Decider.local(states).decide(next, table(policy));
            PolicyUsage usage = usage(policy, nowMs);
            assertThat(usage.limits()).hasSize(1);
            PolicyUsage.LimitUsage reported = usage.limits().get(0);
            assertThat(reported.label()).isEqualTo("p/0");
            assertThat(reported.limit()).isEqualTo(limit.capacity()).isEqualTo(decision.limit());
            assertThat(reported.windowMs()).isEqualTo(decision.windowMs());
            assertThat(reported.remaining()).isEqualTo(decision.remaining());
            assertThat(reported.resetAfterMs()).isEqualTo(decision.resetAfterMs());
            assertThat(Math.max(0, reported.limit() - reported.used())).isEqualTo(reported.remaining());
        }
    }

    @Test
    void a_client_without_usage_has_the_whole_limit_left() {
        assertThat(usage(policy("p", window(5, 1_000)), 70))
                .isEqualTo(new PolicyUsage(
                        policy("p", window(5, 1_000)),
                        List.of(),
                        null,
                        List.of(new PolicyUsage.LimitUsage("p/0", 5L, 1_000L, 0L, 5L, 0)),
                        null,
                        null));
    }

    @Test
    void a_time_before_the_last_charge_is_that_of_the_charge() {
        Policy policy = policy("p", gcra(10, 1_000, 10));
        Decider.local(states).decide(consume(4, 9_000), table(policy));
        assertThat(usage(policy, 1_000)).isEqualTo(usage(policy, 9_000));
        assertThat(usage(policy, 1_000).lastChargeMs()).isEqualTo(9_000);
    }

    @Test
    void a_limit_of_nothing_and_no_limit_have_no_window() {
        assertThat(usage(policy("p", new Unlimited(), new Blocked()), 0).limits())
                .containsExactly(
                        new PolicyUsage.LimitUsage("p/0", null, null, null, null, 0),
                        new PolicyUsage.LimitUsage("p/1", 0L, null, 0L, 0L, 0));
    }

    @Test
    void changed_limits_are_reported_with_their_usage() {
        Decider.local(states).decide(consume(40, 1_000), table(policy("p", log(100, 1_000))));
        Policy changed = policy("p", tokens(50, 1_000, 50), log(60, 1_000));
        assertThat(usage(changed, 1_500).limits())
                .extracting(PolicyUsage.LimitUsage::used)
                .containsExactly(0L, 40L);
    }

    @Test
    void slots_in_use_are_reported_also_above_a_lowered_limit() {
        Decider.local(states).decide(consume(4, 1_000), table(policy("p", new Concurrency(5, 60_000))));
        assertThat(usage(policy("p", new Concurrency(5, 60_000)), 2_000).limits())
                .containsExactly(new PolicyUsage.LimitUsage("p/0", 5L, null, 4L, 1L, 59_000));
        assertThat(usage(policy("p", new Concurrency(3, 60_000)), 2_000).limits())
                .containsExactly(new PolicyUsage.LimitUsage("p/0", 3L, null, 4L, 0L, 59_000));
        assertThat(usage(policy("p", new Concurrency(5, 60_000)), 61_000).limits())
                .containsExactly(new PolicyUsage.LimitUsage("p/0", 5L, null, 0L, 5L, 0));
    }

    @Test
    void a_policy_that_sends_everything_to_a_queue_has_no_limits() {
        Policy all = onExceed(
                new OnExceed.Shape("q"),
                Policy.builder("p").onExceed(new OnExceed.Shape("q")).build());
        assertThat(usage(all, 0)).isEqualTo(new PolicyUsage(all, List.of(), null, List.of(), null, null));
    }

    @Test
    void reports_applicable_policies_and_others_with_usage_by_id_and_key() {
        Policy any = policy("any", window(5, 1_000));
        Policy byEndpoint = keyed(
                List.of("endpoint", "client"),
                policy("by-endpoint", "endpoint", 0, match("endpoint", "**"), window(5, 1_000)));
        Policy ofGold = policy("gold", "gold", 0, match("tier", "gold"), window(5, 1_000));
        Policy unused = policy("unused", "free", 0, match("tier", "free"), window(5, 1_000));
        PolicyTable policies = table(any, byEndpoint, ofGold, unused);
        for (String endpoint : List.of("/b", "/a", "/c")) {
            Decider.local(states).decide(request("c", "gold", Map.of("endpoint", endpoint)), policies);
        }
        assertThat(subjects(request("c", null, Map.of()), policies))
                .containsExactly(
                        "any[]",
                        "by-endpoint[endpoint, /a]",
                        "by-endpoint[endpoint, /b]",
                        "by-endpoint[endpoint, /c]",
                        "gold[]");
        assertThat(subjects(request("c", "free", Map.of("endpoint", "/d")), policies))
                .contains("by-endpoint[endpoint, /d]", "unused[]")
                .hasSize(7);
        Policy otherKey = keyed(List.of("client", "region"), byEndpoint);
        assertThat(subjects(request("c", null, Map.of()), table(otherKey, inLayer("x", ofGold))))
                .containsExactly("gold[]");
        assertThat(subjects(request("c", null, Map.of()), PolicyTable.EMPTY)).isEmpty();
    }
}
