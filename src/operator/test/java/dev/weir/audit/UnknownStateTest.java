package dev.weir.audit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.LimitOverride;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Limit;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.policy.Policy;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class UnknownStateTest {

    private static final long MINUTE_MS = 60_000;

    private final List<StateKey> fresh = new ArrayList<>();
    private final UnknownState unknown = new UnknownState(UnverifiedReason.BEFORE_RETENTION, 0, fresh::add);

    private static Policy policy(Limit<?> limit, boolean allowsOverride) {
        return Policy.builder("p")
                .terms(List.of(new Policy.Term("limit", limit, limit.capacity(), allowsOverride)))
                .build();
    }

    private static Request request(long timestampMs) {
        return Request.builder("r", "alice")
                .timestampMs(timestampMs)
                .source(0, 0)
                .build();
    }

    private void allow(Policy policy, Request request) {
        Decision allowed = new Decision(
                Decision.Identity.of(request),
                Decision.Status.allowed(Reason.WITHIN_LIMITS),
                Decision.Timing.passed(request.timestampMs()),
                policy.versionId(),
                null,
                null,
                DecisionContext.UNKNOWN);
        unknown.observe(request, List.of(policy), allowed, false);
    }

    private boolean isKnown(Policy policy, long atMs) {
        return unknown.unverifiedReason(request(atMs), List.of(policy)) == null;
    }

    @Test
    void a_full_limit_has_recovered_after_the_window() {
        Policy policy = policy(new SlidingWindowCounter(1, MINUTE_MS, false, false), false);
        assertThat(isKnown(policy, 1_000)).isFalse();
        allow(policy, request(1_000));
        assertThat(isKnown(policy, MINUTE_MS)).isFalse();
        assertThat(isKnown(policy, MINUTE_MS + 1)).isTrue();
        assertThat(fresh).hasSize(1);
    }

    @Test
    void the_limit_of_a_request_may_have_admitted_any_cost() {
        Policy policy = policy(new SlidingWindowCounter(1, MINUTE_MS, false, false), true);
        allow(policy, request(1_000).withLimitOverride(new LimitOverride(1_000_000, MINUTE_MS)));
        assertThat(isKnown(policy, MINUTE_MS + 1)).isFalse();
        assertThat(isKnown(policy, 2 * MINUTE_MS - 1)).isFalse();
        assertThat(isKnown(policy, 2 * MINUTE_MS)).isTrue();
    }

    @Test
    void a_fixed_window_has_recovered_at_its_end_whatever_was_admitted() {
        Policy policy = policy(new FixedWindow(1, MINUTE_MS, false), true);
        allow(policy, request(1_000));
        assertThat(isKnown(policy, MINUTE_MS - 1)).isFalse();
        assertThat(isKnown(policy, MINUTE_MS)).isTrue();
    }
}
