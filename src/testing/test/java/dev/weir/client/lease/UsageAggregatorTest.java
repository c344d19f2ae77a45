package dev.weir.client.lease;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.LeaseUsage;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseBook;
import dev.weir.lease.LeaseBooks;
import dev.weir.limit.FixedWindow;
import dev.weir.policy.EffectivePeriod;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.RequestMatcher;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class UsageAggregatorTest {

    private static final Policy POLICY = new Policy(
            "all",
            1,
            EffectivePeriod.ALWAYS,
            "all",
            0,
            RequestMatcher.ALL,
            List.of("client"),
            List.of(new Policy.Term("fixed-window 10/1m", new FixedWindow(10, 60_000, false))),
            null,
            OnExceed.DENY,
            0,
            null);

    private final UsageAggregator usage =
            new UsageAggregator(new StateKey(StateKey.NO_CLIENT, "all", List.of()), "me", new AtomicLong());
    private final LeaseBook lent = LeaseBooks.holding(10, 1_000, 4_000);

    @Test
    void its_times_are_those_of_allowed_requests() {
        usage.allowed(lent, lent.take(1, 1_000, 1_000), 1, 1_000, 1_000);
        usage.drain(POLICY);
        LeaseBook later = lent.take(2, 1_200, 1_200);
        usage.denied(1_100);
        usage.allowed(lent, later, 2, 1_200, 1_300);
        usage.denied(1_400);
        LeaseUsage reported = usage.drain(POLICY).get(0);
        assertThat(reported.sinceMs()).isEqualTo(1_200);
        assertThat(reported.untilMs()).isEqualTo(1_300);
        assertThat(reported.amount().requests()).isEqualTo(2);
        assertThat(reported.amount().denied()).isEqualTo(2);
    }

    @Test
    void its_times_are_those_of_denied_requests_if_none_was_allowed() {
        usage.denied(1_100);
        usage.denied(1_400);
        LeaseUsage reported = usage.drain(POLICY).get(0);
        assertThat(reported.sinceMs()).isEqualTo(1_100);
        assertThat(reported.untilMs()).isEqualTo(1_400);
    }
}
