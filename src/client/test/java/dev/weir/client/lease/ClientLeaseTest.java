package dev.weir.client.lease;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.RequestBuilder;
import dev.weir.client.clock.AnswerClock;
import dev.weir.decision.LeasedPolicyDecider;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.holder.LeaseSession;
import dev.weir.limit.FixedWindow;
import dev.weir.policy.Policy;
import dev.weir.policy.Sharing;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ClientLeaseTest {

    private static final long NOW = 2_000;
    private static final long BROKER = 1_000_000;

    /** The interval of batches with the default terms and a short round trip. */
    private static final long BATCH = 160;

    private static final Policy POLICY = Policy.builder("all")
            .layer("all")
            .key(List.of())
            .terms(List.of(new Policy.Term("fixed-window 1000000/1h", new FixedWindow(1_000_000, 3_600_000, false))))
            .sharing(new Sharing(OptionalLong.empty(), true))
            .build();

    private final LeasedPolicyDecider policy = new LeasedPolicyDecider(POLICY, LeaseTerms.DEFAULTS);
    private final StateKey key = new StateKey(StateKey.NO_CLIENT, "all", List.of());
    private final LeaseSession session = new LeaseSession("me", 1, () -> 0);
    private final ClientLease lease = lease(ClientLease.LEADS);

    /** Returns a lease with the lead of the policy if the number is a multiple of that of the leads. */
    private ClientLease lease(long number) {
        return new ClientLease(
                new ClientLease.Place(key, number, new AnswerClock()),
                new ClientPolicyRegistry.Rule(policy, new LeasedKeys(List.of())),
                new UsageAggregator(key, "me", new AtomicLong()),
                session,
                NOW);
    }

    @BeforeEach
    void lend() {
        lend(lease);
    }

    /** Requests and receives 100 tokens, and does the maintenance that follows. */
    private void lend(ClientLease lease) {
        lease.put(lease.book().withDemand(1, NOW), policy, NOW);
        lease.holder().recordUnmetDemand(1);
        LeaseRequest request = lease.next(policy, NOW).message().orElseThrow();
        lease.respond(new LeaseResponse.Granted(request.number(), 1, 100, BROKER, BROKER, BROKER + 5_000, 7), NOW);
        assertThat(lease.next(policy, NOW).message()).isEmpty();
    }

    private boolean take(LeasedPolicyDecider by, long nowMs) {
        long atMs = lease.timeMs(nowMs);
        assertThat(lease.has(1, by, nowMs, atMs)).isTrue();
        return lease.take(1, nowMs, atMs);
    }

    @Test
    void maintenance_is_scheduled_before_a_lease_must_be_requested_and_not_for_each_request() {
        int taken = 1;
        while (!take(policy, NOW)) {
            assertThat(lease.holder().shouldRequest(NOW)).isFalse();
            taken++;
        }
        assertThat(taken).isBetween(50, 99);
        long prefetchMs = NOW + LeaseTerms.DEFAULTS.leadMs();
        while (lease.next(policy, prefetchMs).message().isEmpty()) {
            take(policy, prefetchMs);
            taken++;
        }
        assertThat(taken).as("a lease is requested before this one is used up").isLessThan(100);
    }

    @Test
    void maintenance_is_scheduled_after_a_lead_because_the_round_trip_may_have_changed() {
        assertThat(take(policy, NOW + LeaseTerms.DEFAULTS.leadMs() - 1)).isFalse();
        assertThat(take(policy, NOW + LeaseTerms.DEFAULTS.leadMs())).isTrue();
    }

    @Test
    void maintenance_is_scheduled_when_the_policy_has_changed() {
        assertThat(take(policy, NOW)).isFalse();
        assertThat(take(new LeasedPolicyDecider(POLICY, LeaseTerms.DEFAULTS), NOW))
                .isTrue();
    }

    @Test
    void leases_that_were_granted_together_are_renewed_at_different_times() {
        Set<Long> dueMs = new HashSet<>();
        for (int number = 1; number <= ClientLease.LEADS; number++) {
            ClientLease one = lease(number);
            lend(one);
            long atMs = one.timeMs(NOW);
            assertThat(one.has(1, policy, NOW, atMs)).isTrue();
            one.take(1, NOW, atMs);
            dueMs.add(one.dueMs(NOW));
        }
        assertThat(dueMs).hasSizeGreaterThan(1).allMatch(atMs -> atMs % BATCH == 0);
    }

    @Test
    void messages_for_which_no_request_waits_are_sent_at_the_end_of_a_batch() {
        long dueMs = lease.dueMs(NOW);
        assertThat(dueMs % BATCH).isZero();
        assertThat(lease.batchEndMs(dueMs)).isEqualTo(dueMs);
        assertThat(lease.batchEndMs(dueMs + 1)).isEqualTo(dueMs + BATCH);
        long renewedMs = NOW + 5_000 - 2 * LeaseTerms.DEFAULTS.leadMs();
        assertThat(dueMs)
                .as("unused tokens are returned a lead before the end, and replaced a lead before that")
                .isBetween(renewedMs, renewedMs + BATCH);
    }

    @Test
    void a_batch_leaves_of_the_lead_what_the_round_trip_needs() {
        roundTrips(200);
        assertThat(lease.batchEndMs(1)).as("300 ms less 250 ms: at most 50 ms").isEqualTo(40);
        roundTrips(2_000);
        assertThat(lease.batchEndMs(1))
                .as("the lead is a round trip and a quarter")
                .isEqualTo(1);
    }

    private void roundTrips(long ms) {
        for (int i = 0; i < 100; i++) {
            session.roundTrip().sample(ms);
        }
    }

    @Test
    void a_request_that_waits_does_not_wait_for_the_batch() {
        assertThat(lease.setDueWithBatch()).isTrue();
        assertThat(lease.setDueWithBatch()).isFalse();
        assertThat(lease.setDue()).isTrue();
        assertThat(lease.isDueWithBatch()).isFalse();
        assertThat(lease.setDueWithBatch()).isFalse();
        assertThat(lease.isDueWithBatch()).as("it stays due now").isFalse();
        lease.setDone();
        assertThat(lease.setDueWithBatch()).isTrue();
        assertThat(lease.isDueWithBatch()).isTrue();
    }

    @Test
    void a_lease_that_is_no_longer_used_keeps_no_requests() {
        lease.park(new NoWaiter(), NOW + 1_000);
        assertThat(lease.lines()).anySatisfy(line -> assertThat(line).hasSize(1));
        lease.markRemoved();
        assertThat(lease.isRemoved()).isTrue();
        assertThat(lease.lines()).allSatisfy(line -> assertThat(line).isEmpty());
    }

    private static final class NoWaiter implements LeaseWaiter {

        @Override
        public Request request() {
            return RequestBuilder.of("alice").build();
        }

        @Override
        public long withinNanos() {
            return 0;
        }

        @Override
        public long waitedNanos() {
            return 0;
        }

        @Override
        public boolean enter(AnswerClock ledger) {
            return true;
        }

        @Override
        public void waitFor(AnswerClock ledger) {}

        @Override
        public boolean isOver() {
            return true;
        }

        @Override
        public void end(LeaseReply reply) {}
    }
}
