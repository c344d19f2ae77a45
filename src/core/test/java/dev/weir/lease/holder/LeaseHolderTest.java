package dev.weir.lease.holder;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LeaseHolderTest {

    private static final LeaseTerms TERMS = new LeaseTerms(1_000, 100, 0);

    /** A time of the holder's clock. The ledger's clock is {@link #AHEAD} ms ahead of it. */
    private static final long NOW = 5_000;

    private static final long AHEAD = 995_000;

    private long clockSteps;
    private final LeaseSession session = new LeaseSession("me", 1, () -> clockSteps);
    private final LeaseHolder<String> holder = LeaseHolder.empty(session, TERMS);
    private long lastLease;

    /** Parks a request that waits at most 500 ms, and sends the next message. */
    private LeaseRequest park(String request, long cost, long nowMs) {
        holder.setBook(holder.book().withDemand(cost, nowMs));
        holder.park(request, cost, nowMs + 500);
        return holder.nextMessage(nowMs).orElse(null);
    }

    private void grant(LeaseRequest request, long amount, long nowMs) {
        long atMs = nowMs + AHEAD;
        holder.handleResponse(
                new LeaseResponse.Granted(request.number(), ++lastLease, amount, atMs, atMs, atMs + 1_000, 1), nowMs);
    }

    private void refuse(LeaseRequest request, long retryAfterMs, long nowMs) {
        holder.handleResponse(
                new LeaseResponse.Refused(request.number(), nowMs + AHEAD, 0, retryAfterMs, false), nowMs);
    }

    private long take(long tokens, long nowMs) {
        holder.take(tokens, nowMs, holder.book().decisionTimeMs(nowMs));
        return available(nowMs);
    }

    private long available(long nowMs) {
        return holder.book().available(nowMs, holder.book().decisionTimeMs(nowMs));
    }

    @Test
    void a_new_holder_has_nothing_to_do() {
        assertThat(holder.hasWaiting()).isFalse();
        assertThat(holder.takers().first()).isNull();
        assertThat(holder.isFirstReady(holder.takers(), NOW)).isFalse();
        assertThat(holder.nextMessage(NOW)).isEmpty();
        assertThat(holder.lastMessage()).isEmpty();
        assertThat(holder.dueAtMs(NOW)).isEqualTo(Long.MAX_VALUE);
        assertThat(holder.isIdle(NOW)).isTrue();
        assertThat(holder.terms()).isEqualTo(TERMS);
    }

    @Test
    void a_parked_request_is_ready_when_a_lease_covers_it() {
        LeaseRequest sent = park("r1", 3, NOW);
        assertThat(sent).isEqualTo(new LeaseRequest(1, "me", 3, 3, List.of(), 0, 0));
        assertThat(holder.hasWaiting()).isTrue();
        assertThat(holder.isIdle(NOW)).isFalse();
        assertThat(holder.isFirstReady(holder.takers(), NOW)).isFalse();
        grant(sent, 3, NOW + 10);
        assertThat(holder.isFirstReady(holder.takers(), NOW + 10)).isTrue();
        assertThat(holder.takers().first().request()).isEqualTo("r1");
        holder.takers().removeFirst();
        assertThat(holder.hasWaiting()).isFalse();
        assertThat(take(3, NOW + 10)).isZero();
    }

    @Test
    void requests_wait_in_their_order() {
        park("r1", 3, NOW);
        park("r2", 1, NOW + 1);
        assertThat(holder.takers()).extracting(WaitingLine.Waiting::request).containsExactly("r1", "r2");
        assertThat(holder.takers().first().cost()).isEqualTo(3);
    }

    @Test
    void a_parked_request_is_ready_when_it_is_refused() {
        LeaseRequest sent = park("r1", 3, NOW);
        refuse(sent, 300, NOW + 10);
        assertThat(holder.isFirstReady(holder.takers(), NOW + 10)).isTrue();
        assertThat(holder.isFirstUnanswered(holder.takers(), NOW + 500))
                .as("the ledger answered")
                .isFalse();
    }

    @Test
    void a_parked_request_is_ready_when_it_times_out() {
        park("r1", 3, NOW);
        assertThat(holder.isFirstReady(holder.takers(), NOW + 499)).isFalse();
        assertThat(holder.isFirstUnanswered(holder.takers(), NOW + 499)).isFalse();
        assertThat(holder.isFirstReady(holder.takers(), NOW + 500)).isTrue();
        assertThat(holder.isFirstUnanswered(holder.takers(), NOW + 500)).isTrue();
    }

    @Test
    void a_request_that_is_covered_is_not_unanswered() {
        grant(park("r1", 3, NOW), 3, NOW);
        holder.takers().removeFirst();
        holder.park("r2", 3, NOW + 500);
        assertThat(holder.isFirstUnanswered(holder.takers(), NOW + 500)).isFalse();
        holder.takers().removeFirst();
        holder.park("r3", 4, NOW + 500);
        assertThat(holder.isFirstUnanswered(holder.takers(), NOW + 500)).isTrue();
    }

    @Test
    void a_request_to_the_ledger_is_unanswered_from_the_first_attempt_until_a_response_arrives() {
        assertThat(holder.isUnanswered(0, NOW)).isFalse();
        LeaseRequest first = park("r1", 3, NOW);
        assertThat(holder.isUnanswered(100, NOW + 99)).isFalse();
        assertThat(holder.isUnanswered(100, NOW + 100)).isTrue();
        LeaseRequest again = holder.nextMessage(NOW + 5_000).orElseThrow();
        assertThat(holder.isUnanswered(5_000, NOW + 5_000)).isTrue();
        grant(first, 3, NOW + 5_000);
        assertThat(holder.isUnanswered(5_000, NOW + 5_000))
                .as("that was not the latest request")
                .isTrue();
        grant(again, 3, NOW + 5_001);
        assertThat(holder.isUnanswered(0, NOW + 5_001)).isFalse();
    }

    @Test
    void a_prefetch_is_not_counted_as_unanswered() {
        grant(park("r1", 10, NOW), 10, NOW);
        holder.takers().removeFirst();
        take(10, NOW);
        LeaseRequest prefetch = holder.nextMessage(NOW + 100).orElseThrow();
        assertThat(prefetch.minTokens()).isZero();
        assertThat(holder.isUnanswered(0, NOW + 200)).isFalse();
    }

    @Test
    void unmet_demand_is_requested_once_without_a_waiting_request() {
        assertThat(holder.shouldRequest(NOW)).isFalse();
        holder.recordUnmetDemand(4);
        holder.recordUnmetDemand(2);
        assertThat(holder.shouldRequest(NOW)).isTrue();
        LeaseRequest sent = holder.nextMessage(NOW).orElseThrow();
        assertThat(sent.minTokens()).isEqualTo(4);
        assertThat(holder.shouldRequest(NOW)).as("it has just been sent").isFalse();
        holder.recordUnmetDemand(4);
        assertThat(holder.shouldRequest(NOW)).as("a request is pending").isFalse();
        refuse(sent, 300, NOW);
        assertThat(holder.shouldRequest(NOW + 299)).as("it was refused").isFalse();
        assertThat(holder.shouldRequest(NOW + 300)).isTrue();
    }

    @Test
    void it_is_due_at_the_end_of_the_wait_or_at_the_next_attempt() {
        LeaseRequest sent = park("r1", 3, NOW);
        assertThat(holder.dueAtMs(NOW)).isEqualTo(NOW + 500);
        refuse(sent, 300, NOW);
        assertThat(holder.dueAtMs(NOW)).isEqualTo(NOW + 300);
    }

    @Test
    void it_is_due_when_a_lease_must_be_returned() {
        grant(park("r1", 3, NOW), 3, NOW);
        holder.takers().removeFirst();
        assertThat(holder.dueAtMs(NOW)).isBetween(NOW + 1, NOW + 900);
    }

    @Test
    void usage_is_entered_in_the_book_and_both_books_are_returned() {
        grant(park("r1", 5, NOW), 5, NOW);
        LeaseBook before = holder.book();
        LeaseHolder.Change change = holder.take(2, NOW, before.decisionTimeMs(NOW));
        assertThat(change.before()).isSameAs(before);
        assertThat(change.after()).isSameAs(holder.book());
        assertThat(available(NOW)).isEqualTo(3);
    }

    @Test
    void a_step_of_the_clock_revokes_its_leases_before_they_are_used_again() {
        grant(park("r1", 5, NOW), 5, NOW);
        assertThat(available(NOW)).isEqualTo(5);
        clockSteps++;
        session.checkClock();
        assertThat(available(NOW)).isZero();
        assertThat(holder.isFirstReady(holder.takers(), NOW)).isFalse();
    }

    @Test
    void a_restored_holder_returns_the_leases_of_its_predecessor() {
        grant(park("r1", 5, NOW), 5, NOW);
        take(2, NOW);
        LeaseHolder<String> restored = LeaseHolder.restored(session, holder.book(), TERMS);
        assertThat(restored.book().available(NOW, NOW + AHEAD)).isZero();
        LeaseRequest sent = restored.nextMessage(NOW).orElseThrow();
        assertThat(sent.reports()).containsExactly(new LeaseRequest.Report(1, 2, NOW + AHEAD, 0));
    }

    @Test
    void its_last_message_reports_usage_and_returns_the_rest() {
        grant(park("r1", 5, NOW), 5, NOW);
        take(2, NOW);
        LeaseRequest last = holder.lastMessage().orElseThrow();
        assertThat(last.requestsLease()).isFalse();
        assertThat(last.reports()).containsExactly(new LeaseRequest.Report(1, 2, NOW + AHEAD, 0));
        assertThat(holder.lastMessage()).isEmpty();
    }

    @Test
    void its_last_message_reports_a_settlement_without_a_lease() {
        holder.setBook(holder.book().settle(7, NOW, NOW + AHEAD));
        assertThat(holder.isIdle(NOW + 1_000_000)).isFalse();
        assertThat(holder.lastMessage()).map(LeaseRequest::settled).isEqualTo(Optional.of(7L));
        assertThat(holder.lastMessage()).isEmpty();
    }

    @Test
    void it_is_idle_when_demand_has_ended_and_all_is_returned() {
        grant(park("r1", 5, NOW), 5, NOW);
        holder.takers().removeFirst();
        holder.lastMessage();
        long idleAtMs = holder.idleAtMs();
        assertThat(idleAtMs).isEqualTo(NOW + 2_000);
        assertThat(holder.isIdle(idleAtMs - 1)).isFalse();
        assertThat(holder.isIdle(idleAtMs)).isTrue();
    }

    @Test
    void terms_follow_the_policy_and_the_measured_round_trip() {
        holder.setTerms(new LeaseTerms(2_000, 50, 0));
        assertThat(holder.terms()).isEqualTo(new LeaseTerms(2_000, 50, 0));
        LeaseRequest sent = park("r1", 5, NOW);
        grant(sent, 5, NOW + 800);
        assertThat(session.roundTrip().smoothedMs()).isEqualTo(800);
        assertThat(holder.terms()).isEqualTo(new LeaseTerms(2_400, 800, 0));
        holder.setTerms(new LeaseTerms(6_000, 50, 0));
        assertThat(holder.terms()).isEqualTo(new LeaseTerms(6_000, 1_000, 0));
    }

    @Test
    void ledger_time_is_known_from_the_first_response_on() {
        assertThat(session.ledgerTimeMs(NOW, 42)).isEqualTo(42);
        LeaseRequest sent = park("r1", 5, NOW);
        grant(sent, 5, NOW);
        assertThat(session.ledgerTimeMs(NOW + 7, 42)).isEqualTo(NOW + 7 + AHEAD);
    }
}
