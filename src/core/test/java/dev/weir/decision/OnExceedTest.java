package dev.weir.decision;

import static dev.weir.decision.Samples.consume;
import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.maxSize;
import static dev.weir.decision.Samples.onExceed;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.sized;
import static dev.weir.decision.Samples.window;
import static dev.weir.decision.Samples.windowCountingDenied;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Policies that observe, and policies that shadow-ban. */
class OnExceedTest extends LocalDecisions {

    @Nested
    class Observing {

        private final Policy watching = onExceed(OnExceed.OBSERVE, policy("w", window(2, 60_000)));

        @Test
        void what_it_would_deny_is_not_charged_as_if_it_enforced() {
            decide(consume(1, 0), watching);
            decide(consume(2, 0), watching);
            assertThat(states.of("c", "w").accounts().get(0).used(0)).isOne();
        }

        @Test
        void does_not_keep_others_from_charging() {
            Policy enforcing = inLayer("z", policy("p", window(5, 60_000)));
            decide(consume(3, 0), watching, enforcing);
            assertThat(states.of("c", "w")).isNull();
            assertThat(states.of("c", "p").accounts().get(0).used(0)).isEqualTo(3);
        }

        @Test
        void a_denial_by_another_policy_is_not_observed() {
            Policy enforcing = inLayer("z", policy("p", window(5, 60_000)));
            Decision decision = decide(consume(6, 0), watching, enforcing);
            assertDenied(decision, "p/0", null);
            assertThat(decision.observed()).isFalse();
            assertThat(states.puts()).isZero();
        }

        @Test
        void an_enforcing_limit_binds_before_an_observing_one_when_allowed() {
            Policy enforcing = inLayer("z", policy("p", window(5, 60_000)));
            assertAllowed(decide(consume(1, 0), watching, enforcing), "p/0", 4);
            Policy first = inLayer("a", policy("q", window(5, 60_000)));
            assertAllowed(decide(consume(1, 0), watching, first), "q/0", 4);
        }

        @Test
        void a_too_large_request_is_observed_and_not_charged() {
            Policy policy = maxSize(10L, onExceed(OnExceed.OBSERVE, policy("w", windowCountingDenied(5, 60_000))));
            assertThat(decide(sized(11, consume(1, 0)), policy).observedBy()).containsExactly("w");
            assertThat(states.puts()).as("as if the policy enforced its limits").isZero();
        }

        @Test
        void what_it_would_deny_counts_where_denied_requests_count() {
            Policy policy = onExceed(OnExceed.OBSERVE, policy("w", windowCountingDenied(2, 60_000)));
            decide(consume(3, 0), policy);
            assertThat(states.of("c", "w").accounts().get(0).used(0)).isEqualTo(3);
        }
    }

    @Nested
    class ShadowBanning {

        private final Policy banning = onExceed(OnExceed.SHADOW_BAN, policy("s", window(1, 60_000)));

        @Test
        void denies_with_the_http_status_of_an_allowed_request() {
            assertThat(decide(consume(1, 0), banning).shadowBanned()).isFalse();
            Decision decision = decide(consume(1, 0), banning);
            assertThat(decision.outcome()).isEqualTo(Outcome.DENIED);
            assertThat(decision.shadowBanned()).isTrue();
            assertThat(decision.httpStatus()).isEqualTo(200);
            assertThat(decision.retryAfterMs()).isEqualTo(60_000);
        }

        @Test
        void only_where_its_own_limit_binds() {
            Policy open = inLayer("z", policy("p", window(1, 90_000)));
            decide(consume(1, 0), banning, open);
            Decision decision = decide(consume(1, 0), banning, open);
            assertDenied(decision, "p/0", 90_000L);
            assertThat(decision.shadowBanned()).isFalse();
        }
    }
}
