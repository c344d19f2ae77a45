package dev.weir.decision;

import static dev.weir.decision.Samples.consume;
import static dev.weir.decision.Samples.counter;
import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.keyed;
import static dev.weir.decision.Samples.log;
import static dev.weir.decision.Samples.match;
import static dev.weir.decision.Samples.maxSize;
import static dev.weir.decision.Samples.peek;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.request;
import static dev.weir.decision.Samples.settle;
import static dev.weir.decision.Samples.sized;
import static dev.weir.decision.Samples.table;
import static dev.weir.decision.Samples.tokens;
import static dev.weir.decision.Samples.window;
import static dev.weir.decision.Samples.windowCountingDenied;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.PolicyState;
import dev.weir.decision.state.lease.QuotaSource;
import dev.weir.event.Decision;
import dev.weir.event.EnforcedLimit;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.limit.Blocked;
import dev.weir.limit.SlidingWindowLog;
import dev.weir.limit.Unlimited;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class DeciderTest extends LocalDecisions {

    @Test
    void a_decision_explains_itself() {
        assertThat(decide(consume(4, 1_000), policy("p", window(10, 60_000))))
                .isEqualTo(new Decision(
                                new Decision.Identity("r", "c", new Request.Source(3, 14)),
                                new Decision.Status(Outcome.ALLOWED, Reason.WITHIN_LIMITS, 200),
                                Decision.Timing.passed(1_000))
                        .withLimit(new PolicyVersion("p", 1), new LimitStatus("p/0", 10L, 60_000L, 6L, 59_000L))
                        .withLimits(List.of(new EnforcedLimit("p", 1, 10, 60_000L, 6L, 59_000L, 0L))));
        assertThat(decide(consume(7, 2_000), policy("p", window(10, 60_000))))
                .isEqualTo(new Decision(
                                new Decision.Identity("r", "c", new Request.Source(3, 14)),
                                new Decision.Status(Outcome.DENIED, Reason.LIMIT_EXCEEDED, 429),
                                new Decision.Timing(2_000, 58_000L, null))
                        .withLimit(new PolicyVersion("p", 1), new LimitStatus("p/0", 10L, 60_000L, 6L, 58_000L))
                        .withLimits(List.of(new EnforcedLimit("p", 1, 10, 60_000L, 6L, 58_000L, 58_000L))));
    }

    @Test
    void without_a_policy_everything_is_allowed() {
        Policy other = Samples.policy("p", "client", 0, match("tier", "gold"), window(1, 1_000));
        Decision decision = decide(consume(99, 5), other);
        assertThat(decision.outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(decision.reason()).isEqualTo(Reason.NO_POLICY);
        assertThat(decision.policyId()).isNull();
        assertThat(decision.policyVersion()).isNull();
        assertThat(decision.remaining()).isNull();
        assertThat(decision.decidedAtMs()).isEqualTo(5);
        assertThat(states.puts()).isZero();
    }

    @Test
    void key_fields_that_a_request_lacks_are_reported() {
        Policy plain = policy("p", window(9, 1_000));
        Policy keyed = Policy.builder("p")
                .effective(plain.effective())
                .match(plain.match())
                .key(List.of("client", "tenant", "tier"))
                .terms(plain.terms())
                .build();
        List<String> missing = new ArrayList<>();
        EvaluationListener listener = new EvaluationListener() {
            @Override
            public void evaluated(Policy policy, Outcome result) {}

            @Override
            public void keyFieldMissing(Policy policy, String field) {
                missing.add(policy.id() + " " + field);
            }
        };
        var unused = new Decider(states, QuotaSource.local(), listener)
                .decide(consume(1, 1_000), PolicyTable.of(List.of(keyed)));
        assertThat(missing).containsExactly("p tenant", "p tier");
    }

    @Test
    void each_policy_is_reported_with_its_own_result() {
        Policy first = policy("first", window(1, 1_000));
        Policy second = inLayer("second", policy("second", window(1, 60_000)));
        Policy third = inLayer("third", policy("third", window(9, 1_000)));
        Map<String, List<Outcome>> results = new TreeMap<>();
        Decider decider = new Decider(states, QuotaSource.local(), (evaluated, result) -> results.computeIfAbsent(
                        evaluated.id(), id -> new ArrayList<>())
                .add(result));
        decider.decide(consume(1, 0), table(first, second, third));
        Decision denied = (Decision) decider.decide(consume(1, 10), table(first, second, third));
        assertThat(denied.policyId()).isEqualTo("second");
        assertThat(results)
                .containsExactly(
                        Map.entry("first", List.of(Outcome.ALLOWED, Outcome.DENIED)),
                        Map.entry("second", List.of(Outcome.ALLOWED, Outcome.DENIED)),
                        Map.entry("third", List.of(Outcome.ALLOWED, Outcome.ALLOWED)));
    }

    @Test
    void the_same_input_gives_the_same_decisions() {
        Policy policy = policy("p", tokens(7, 11_000, 5), log(6, 10_000), counter(8, 9_000));
        List<Request> requests = List.of(
                consume(1, 0),
                consume(3, 10),
                peek(1, 20),
                consume(4, 30),
                settle(2, 40),
                consume(1, 5_000),
                consume(2, 9_999));
        MapStates again = new MapStates();
        for (Request request : requests) {
            assertThat(Decider.local(again).decide(request, table(policy))).isEqualTo(decide(request, policy));
        }
    }

    @Nested
    class AllOrNothing {

        @Test
        void within_a_policy_a_denial_by_one_limit_charges_none() {
            Policy policy = policy("p", window(10, 60_000), window(3, 60_000));
            assertDenied(decide(consume(4, 0), policy), "p/1", null);
            assertThat(states.puts()).isZero();
            assertAllowed(decide(consume(3, 0), policy), "p/1", 0);
            assertDenied(decide(consume(1, 0), policy), "p/1", 60_000L);
            assertAllowed(decide(peek(0, 0), policy), "p/1", 0);
            assertThat(states.of("c", "p").accounts().get(0).used(0)).isEqualTo(3);
        }

        @Test
        void across_layers_a_denial_by_one_policy_charges_none() {
            Policy first = inLayer("a", policy("p", window(10, 60_000)));
            Policy second = inLayer("b", policy("q", window(3, 60_000)));
            assertAllowed(decide(consume(2, 0), first, second), "q/0", 1);
            assertDenied(decide(consume(2, 0), first, second), "q/0", 60_000L);
            assertThat(states.of("c", "p").accounts().get(0).used(0)).isEqualTo(2);
            assertThat(states.of("c", "q").accounts().get(0).used(0)).isEqualTo(2);
            assertThat(states.puts()).isEqualTo(2);
        }

        @Test
        void across_layers_a_denial_by_the_last_policy_charges_none() {
            Policy first = inLayer("a", policy("p", log(10, 60_000)));
            Policy second = inLayer("b", policy("q", new Blocked()));
            assertDenied(decide(consume(1, 0), first, second), "q/0", null);
            assertThat(states.puts()).isZero();
        }

        @Test
        void a_denial_writes_nothing() {
            Policy policy = policy("p", tokens(1, 1_000, 1), log(5, 1_000));
            decide(consume(1, 0), policy);
            PolicyState before = states.of("c", "p");
            assertDenied(decide(consume(1, 999), policy), "p/0", 1L);
            assertThat(states.of("c", "p")).isSameAs(before);
            assertThat(states.puts()).isOne();
        }
    }

    @Nested
    class Binding {

        @Test
        void on_a_denial_it_is_the_denying_limit_with_the_longest_retry() {
            Policy policy = policy("p", window(2, 1_000), window(2, 60_000), window(2, 5_000), window(9, 90_000));
            decide(consume(2, 0), policy);
            assertDenied(decide(consume(1, 0), policy), "p/1", 60_000L);
        }

        @Test
        void on_a_denial_a_limit_that_permits_does_not_bind_however_little_remains() {
            Policy policy = policy("p", window(3, 60_000), tokens(1, 1_000, 2));
            decide(consume(2, 0), policy);
            Decision decision = decide(consume(1, 0), policy);
            assertDenied(decision, "p/1", 1_000L);
            assertThat(decision.remaining()).isZero();
            assertThat(decision.resetAfterMs()).isEqualTo(2_000);
            assertThat(decision.limit()).isEqualTo(2);
        }

        @Test
        void on_a_denial_a_cost_that_never_fits_outlasts_any_wait() {
            Policy policy = policy("p", window(2, 60_000), window(1, 1_000));
            decide(consume(1, 0), policy);
            Decision decision = decide(consume(2, 0), policy);
            assertDenied(decision, "p/1", null);
            assertThat(decision.reason()).isEqualTo(Reason.COST_NEVER_FITS);
        }

        @Test
        void on_a_denial_a_tie_goes_to_the_first() {
            Policy policy = policy("p", window(2, 60_000), window(1, 60_000), window(1, 60_000));
            decide(consume(1, 0), policy);
            assertDenied(decide(consume(1, 0), policy), "p/1", 60_000L);
            Policy first = inLayer("a", policy("z", window(1, 60_000)));
            Policy second = inLayer("b", policy("y", window(1, 60_000)));
            decide(consume(1, 0), first, second);
            assertDenied(decide(consume(1, 0), first, second), "z/0", 60_000L);
        }

        @Test
        void when_allowed_it_is_the_limit_with_the_least_remaining() {
            Policy first = inLayer("a", policy("p", window(9, 60_000), window(5, 1_000)));
            Policy second = inLayer("b", policy("q", window(4, 60_000), window(6, 1_000)));
            assertAllowed(decide(consume(1, 0), first, second), "q/0", 3);
            assertAllowed(decide(consume(1, 0), second, first), "q/0", 2);
        }

        @Test
        void when_allowed_a_tie_goes_to_the_first() {
            Policy first = inLayer("a", policy("p", window(5, 60_000), window(4, 1_000)));
            Policy second = inLayer("b", policy("q", window(4, 60_000)));
            assertAllowed(decide(consume(1, 0), first, second), "p/1", 3);
        }

        @Test
        void when_allowed_unlimited_never_binds() {
            assertAllowed(decide(consume(1, 0), policy("p", new Unlimited(), window(5, 1_000))), "p/1", 4);
        }

        @Test
        void if_everything_is_unlimited_no_limit_binds() {
            Decision decision = decide(consume(1, 0), policy("p", new Unlimited()));
            assertThat(decision.outcome()).isEqualTo(Outcome.ALLOWED);
            assertThat(decision.reason()).isEqualTo(Reason.WITHIN_LIMITS);
            assertThat(decision.policyId()).isEqualTo("p");
            assertThat(decision.limitedBy()).isNull();
            assertThat(decision.limit()).isNull();
            assertThat(decision.remaining()).isNull();
            assertThat(decision.resetAfterMs()).isNull();
            assertThat(states.puts()).isZero();
        }
    }

    @Nested
    class Peeking {

        @Test
        void returns_what_a_consume_would_return_but_charges_nothing() {
            Policy policy = policy("p", window(5, 60_000), log(4, 1_000), windowCountingDenied(9, 1_000));
            decide(consume(1, 0), policy);
            PolicyState before = states.of("c", "p");
            assertAllowed(decide(peek(3, 1), policy), "p/1", 3);
            assertDenied(decide(peek(4, 1), policy), "p/1", 999L);
            assertDenied(decide(peek(10, 1), policy), "p/0", null);
            assertThat(states.of("c", "p")).isSameAs(before);
            assertThat(states.puts()).isOne();
        }

        @Test
        void of_an_unknown_client_leaves_no_state() {
            assertAllowed(decide(peek(3, 1), policy("p", log(4, 1_000))), "p/0", 4);
            assertThat(states.all()).isEmpty();
        }
    }

    @Nested
    class CountingDenied {

        @Test
        void a_denial_charges_only_the_limits_that_count_it() {
            Policy policy = policy("p", window(2, 60_000), windowCountingDenied(3, 60_000));
            decide(consume(2, 0), policy);
            assertDenied(decide(consume(1, 0), policy), "p/0", 60_000L);
            assertThat(states.of("c", "p").accounts().get(0).used(0)).isEqualTo(2);
            assertThat(states.of("c", "p").accounts().get(1).used(0)).isEqualTo(3);
        }

        @Test
        void a_denial_by_another_layer_counts_too() {
            Policy first = inLayer("a", policy("p", windowCountingDenied(10, 60_000)));
            Policy second = inLayer("b", policy("q", new Blocked()));
            decide(consume(4, 0), first, second);
            assertThat(states.of("c", "p").accounts().get(0).used(0)).isEqualTo(4);
        }

        @Test
        void the_retry_includes_the_counted_denial() {
            Policy policy = policy("p", new SlidingWindowLog(2, 60_000, true));
            decide(consume(1, 0), policy);
            decide(consume(1, 10_000), policy);
            assertDenied(decide(consume(1, 20_000), policy), "p/0", 50_000L);
            assertThat(decide(peek(1, 69_999), policy).outcome()).isEqualTo(Outcome.DENIED);
            assertThat(decide(peek(1, 70_000), policy).outcome()).isEqualTo(Outcome.ALLOWED);
        }

        @Test
        void a_peek_that_is_denied_does_not_count() {
            Policy policy = policy("p", windowCountingDenied(1, 60_000));
            decide(peek(2, 0), policy);
            assertThat(states.puts()).isZero();
        }
    }

    @Nested
    class Sizes {

        private final Policy policy = maxSize(100L, policy("p", windowCountingDenied(5, 60_000)));

        @Test
        void a_larger_request_is_denied413_and_nothing_is_charged() {
            Decision decision = decide(sized(101, consume(1, 0)), policy);
            assertThat(decision.outcome()).isEqualTo(Outcome.DENIED);
            assertThat(decision.reason()).isEqualTo(Reason.TOO_LARGE);
            assertThat(decision.httpStatus()).isEqualTo(413);
            assertThat(decision.limitedBy()).isEqualTo("max-size");
            assertThat(decision.limit()).isEqualTo(100);
            assertThat(decision.retryAfterMs()).isNull();
            assertThat(decision.remaining()).isNull();
            assertThat(states.puts()).isZero();
        }

        @Test
        void the_size_itself_is_not_too_large() {
            assertAllowed(decide(sized(100, consume(1, 0)), policy), "p/0", 4);
        }

        @Test
        void outlasts_every_other_denial() {
            Policy first = inLayer("a", policy("q", new Blocked()));
            assertThat(decide(sized(101, consume(1, 0)), first, policy).httpStatus())
                    .isEqualTo(413);
            assertThat(states.puts()).isZero();
        }

        @Test
        void charges_no_other_layer_either() {
            Policy first = inLayer("a", policy("q", windowCountingDenied(5, 60_000)));
            decide(sized(101, consume(1, 0)), first, policy);
            assertThat(states.puts()).isZero();
        }
    }

    @Nested
    class CostOfZero {

        @Test
        void is_allowed_in_debt_and_at_a_limit_of_zero_and_reports_the_state() {
            Policy policy = policy("p", window(5, 60_000));
            decide(consume(2, 0), policy);
            assertAllowed(decide(consume(0, 0), policy), "p/0", 3);
            decide(settle(9, 0), policy);
            assertAllowed(decide(consume(0, 0), policy), "p/0", 0);
            assertAllowed(decide(consume(0, 0), policy("b", new Blocked())), "b/0", 0);
        }

        @Test
        void writes_nothing() {
            decide(consume(0, 0), policy("p", log(5, 60_000), tokens(1, 1, 1)));
            assertThat(states.puts()).isZero();
        }
    }

    @Nested
    class Keys {

        private final Policy policy = keyed(List.of("client", "endpoint"), policy("p", window(1, 60_000)));

        @Test
        void clients_do_not_share() {
            assertThat(decide(request("a", null, Map.of()), policy).outcome()).isEqualTo(Outcome.ALLOWED);
            assertThat(decide(request("b", null, Map.of()), policy).outcome()).isEqualTo(Outcome.ALLOWED);
            assertThat(decide(request("a", null, Map.of()), policy).outcome()).isEqualTo(Outcome.DENIED);
        }

        @Test
        void the_values_of_the_key_do_not_share() {
            for (String endpoint : List.of("/a", "/b")) {
                Request request = request("a", null, Map.of("endpoint", endpoint));
                assertThat(decide(request, policy).outcome()).isEqualTo(Outcome.ALLOWED);
                assertThat(decide(request, policy).outcome()).isEqualTo(Outcome.DENIED);
            }
        }
    }

    @Nested
    class TimeThatGoesBack {

        @Test
        void is_held_at_the_last_charge() {
            Policy policy = policy("p", tokens(1, 1_000, 1));
            decide(consume(1, 10_000), policy);
            Decision decision = decide(consume(1, 3_000), policy);
            assertDenied(decision, "p/0", 1_000L);
            assertThat(decision.decidedAtMs()).isEqualTo(10_000);
            assertAllowed(decide(consume(1, 11_000), policy), "p/0", 0);
        }

        @Test
        void is_held_at_the_latest_charge_of_all_layers() {
            Policy first = inLayer("a", policy("p", window(9, 1_000)));
            Policy second = inLayer("b", policy("q", window(9, 1_000)));
            decide(consume(1, 5_500), second);
            assertThat(decide(consume(1, 1_000), first, second).decidedAtMs()).isEqualTo(5_500);
            assertThat(states.of("c", "p").lastChargeMs()).isEqualTo(5_500);
        }

        @Test
        void is_the_request_time_for_another_client() {
            Policy policy = policy("p", window(9, 1_000));
            decide(consume(1, 5_500), policy);
            assertThat(decide(request("other", null, Map.of()), policy).decidedAtMs())
                    .isZero();
        }

        @Test
        void never_frees_what_the_log_holds() {
            Policy policy = policy("p", log(2, 1_000));
            decide(consume(2, 10_000), policy);
            assertDenied(decide(consume(1, 8_000), policy), "p/0", 1_000L);
            decide(settle(1, 500), policy);
            assertDenied(decide(consume(2, 10_999), policy), "p/0", 1L);
            assertAllowed(decide(consume(2, 11_000), policy), "p/0", 0);
        }
    }
}
