package dev.weir.client.lease;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.LeaseUsage;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.LeaseHolder;
import dev.weir.lease.holder.LeaseSession;
import dev.weir.limit.FixedWindow;
import dev.weir.policy.Policy;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class UsageAggregatorTest {

    private static final Policy POLICY = Policy.builder("all")
            .layer("all")
            .terms(List.of(new Policy.Term("fixed-window 10/1m", new FixedWindow(10, 60_000, false))))
            .build();

    private final UsageAggregator usage =
            new UsageAggregator(new StateKey(StateKey.NO_CLIENT, "all", List.of()), "me", new AtomicLong());
    private final LeaseBook lent = lent();

    /** Returns a book with a lease of 10 tokens. */
    private static LeaseBook lent() {
        LeaseHolder<String> holder = LeaseHolder.empty(new LeaseSession("me", 1, () -> 0), LeaseTerms.DEFAULTS);
        holder.setBook(holder.book().withDemand(1, 1_000));
        holder.recordUnmetDemand(1);
        LeaseRequest request = holder.nextMessage(1_000).orElseThrow();
        holder.handleResponse(new LeaseResponse.Granted(request.number(), 1, 10, 1_000, 1_000, 5_000, 0), 1_000);
        return holder.book();
    }

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
