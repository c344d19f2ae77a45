package dev.weir.lease.holder;

import static dev.weir.lease.holder.LeaseBooks.available;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseRequest.Report;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.limit.Limit;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LeaseBookTest {

    private static final LeaseTerms TERMS = new LeaseTerms(1_000, 100, 0);

    /** A time of the holder's clock, which is unrelated to the broker's. */
    private static final long NOW = 5_000;

    private static final long BROKER = 1_000_000;

    private final LeaseSession session = new LeaseSession("me", 1, () -> 0);
    private LeaseBook book = LeaseBook.empty();
    private long lastNumber;
    private long lastLease;

    private LeaseRequest next(long waits, long nowMs) {
        LeaseBook.Transition sending = book.nextMessage(session, LeaseBook.Needs.of(waits), TERMS, nowMs);
        if (sending == null) {
            return null;
        }
        book = sending.book();
        if (sending.message() != null && sending.message().requestsLease()) {
            lastNumber = sending.message().number();
        }
        return sending.message();
    }

    private void want(long cost, long nowMs) {
        book = book.withDemand(cost, nowMs);
    }

    private LeaseResponse.Granted granted(long amount, long atMs, long untilMs) {
        return new LeaseResponse.Granted(lastNumber, ++lastLease, amount, atMs, atMs, untilMs, 1);
    }

    private void respond(LeaseResponse response, long nowMs) {
        book = book.withResponse(response, TERMS, nowMs);
    }

    /** Requests a lease at {@link #NOW} and receives one that the broker granted at {@link #BROKER}. */
    private void lend(long amount) {
        want(amount, NOW);
        next(amount, NOW);
        respond(granted(amount, BROKER, BROKER + 1_000), NOW);
    }

    private void take(long cost, long nowMs) {
        book = book.take(cost, nowMs, book.decisionTimeMs(nowMs));
    }

    @Test
    void an_unused_book_requests_nothing() {
        assertThat(next(0, NOW)).isNull();
        assertThat(book.schedule(TERMS).dueAtMs(NOW)).isEqualTo(Long.MAX_VALUE);
        assertThat(book.isIdle(TERMS, NOW)).isTrue();
    }

    @Test
    void a_waiting_request_makes_it_request_a_lease_once() {
        want(3, NOW);
        assertThat(next(3, NOW)).isEqualTo(new LeaseRequest(1, "me", 3, 3, List.of(), 0, 0));
        want(1, NOW);
        assertThat(next(3, NOW)).isNull();
        assertThat(next(3, NOW + 4_999)).isNull();
        assertThat(next(3, NOW + 5_000)).as("no response has arrived").isNotNull();
        assertThat(next(3, NOW + 14_999)).as("it waits twice as long now").isNull();
        assertThat(next(3, NOW + 15_000)).isNotNull();
    }

    @Test
    void a_refused_amount_is_not_requested_before_it_can_be_granted() {
        want(3, NOW);
        next(3, NOW);
        respond(new LeaseResponse.Refused(1, BROKER, 0, 295, false), NOW + 5);
        assertThat(next(3, NOW + 299)).isNull();
        assertThat(next(3, NOW + 300)).isNotNull();
    }

    @Test
    void a_refused_amount_is_requested_again_after_a_term_whatever_the_ledger_said() {
        want(3, NOW);
        next(3, NOW);
        respond(new LeaseResponse.Refused(1, BROKER, 0, 3_600_000, false), NOW);
        assertThat(((LastRequest.Refused) book.request()).retryAtMs()).isEqualTo(NOW + 3_600_000);
        assertThat(book.mayBeGranted(3, TERMS, NOW + 999)).isFalse();
        assertThat(next(3, NOW + 999)).isNull();
        assertThat(book.mayBeGranted(3, TERMS, NOW + 1_000)).isTrue();
        assertThat(next(3, NOW + 1_000)).isNotNull();
    }

    @Test
    void a_limit_is_scarce_while_the_last_response_left_nothing_until_another_arrives_or_two_terms_have_passed() {
        lend(2);
        assertThat(book.isScarce(3, NOW)).as("the ledger has more").isFalse();
        take(2, NOW);
        want(1, NOW);
        next(1, NOW);
        respond(new LeaseResponse.Granted(lastNumber, ++lastLease, 1, BROKER, BROKER, BROKER + 1_000, 0), NOW);
        assertThat(book.isScarce(2, NOW)).isTrue();
        take(1, NOW);
        next(1, NOW);
        assertThat(book.request().isPending()).isTrue();
        assertThat(book.isScarce(1, NOW + 1_999)).isTrue();
        assertThat(book.isScarce(1, NOW + 2_000)).as("no response has arrived").isFalse();
        respond(new LeaseResponse.Refused(lastNumber, BROKER, 0, 100, false), NOW);
        assertThat(book.isScarce(1, NOW + 1_999)).isTrue();
        next(1, NOW + 100);
        respond(granted(5, BROKER + 100, BROKER + 1_000), NOW + 100);
        assertThat(book.isScarce(6, NOW + 100)).isFalse();
    }

    @Test
    void a_large_amount_that_was_refused_does_not_make_a_small_one_scarce() {
        want(50, NOW);
        next(50, NOW);
        respond(new LeaseResponse.Refused(lastNumber, BROKER, 0, 100, false), NOW);
        assertThat(book.isScarce(50, NOW)).isTrue();
        assertThat(book.isScarce(49, NOW)).isFalse();
    }

    /** A demand of five a second is one within two leads. */
    @Test
    void a_refused_amount_is_requested_again_without_a_waiting_request_if_it_is_in_demand_within_two_leads() {
        want(5, NOW - 1);
        next(1, NOW);
        respond(new LeaseResponse.Refused(1, BROKER, 0, 100, false), NOW);
        assertThat(book.schedule(TERMS).dueAtMs(NOW)).isEqualTo(NOW + 100);
        assertThat(next(0, NOW + 99)).isNull();
        assertThat(next(0, NOW + 100).minTokens()).isEqualTo(1);
    }

    @Test
    void a_refused_amount_in_rare_demand_is_requested_again_when_a_request_waits() {
        want(4, NOW - 1);
        next(1, NOW);
        respond(new LeaseResponse.Refused(1, BROKER, 0, 100, false), NOW);
        assertThat(next(0, NOW + 100).minTokens()).isZero();
    }

    @Test
    void a_refusal_of_a_large_amount_does_not_apply_to_a_small_one() {
        want(11, NOW);
        next(11, NOW);
        respond(new LeaseResponse.Refused(1, BROKER, 0, Long.MAX_VALUE, false), NOW);
        assertThat(next(11, NOW)).isNull();
        assertThat(next(3, NOW).minTokens()).isEqualTo(3);
    }

    /**
     * Sent at 5.000, appended at 1000.000, received at 5.040: at 5.100 the broker's clock is at least at 1000.060 and
     * at most at 1000.100.
     */
    @Test
    void decision_times_are_the_brokers_clock_as_of_when_the_request_was_sent() {
        want(5, NOW);
        next(5, NOW);
        respond(granted(5, BROKER, BROKER + 1_000), NOW + 40);
        assertThat(book.decisionTimeMs(NOW + 100)).isEqualTo(BROKER + 100);
        take(2, NOW + 100);
        assertThat(book.clockMs()).isEqualTo(BROKER + 100);
        assertThat(book.leases().get(0).lastUsedMs()).isEqualTo(BROKER + 100);
    }

    @Test
    void a_lease_expires_a_term_after_its_request_was_sent_but_for_the_drift_of_clocks() {
        want(5, NOW);
        next(5, NOW);
        respond(granted(5, BROKER, BROKER + 1_000), NOW + 40);
        take(2, NOW + 40);
        assertThat(available(book, NOW + 979)).isEqualTo(3);
        assertThat(available(book, NOW + 980)).isZero();
        assertThatThrownBy(() -> take(1, NOW + 980)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void no_decision_time_is_before_the_lease_was_granted_or_after_its_end() {
        want(5, NOW);
        next(5, NOW);
        respond(new LeaseResponse.Granted(1, 1, 5, BROKER, BROKER + 600, BROKER + 1_000, 1), NOW);
        assertThat(book.decisionTimeMs(NOW + 100)).isEqualTo(BROKER + 600);
        assertThat(book.available(NOW + 100, BROKER + 999)).isEqualTo(5);
        assertThat(book.available(NOW + 100, BROKER + 1_000)).isZero();
    }

    @Test
    void the_lease_that_ends_first_is_used_first() {
        want(5, NOW);
        next(5, NOW);
        respond(granted(5, BROKER, BROKER + 1_000), NOW);
        want(7, NOW);
        next(7, NOW);
        respond(granted(5, BROKER, BROKER + 500), NOW);
        take(6, NOW);
        assertThat(book.leases()).extracting(Lease::id).containsExactly(2L, 1L);
        assertThat(book.leases()).extracting(Lease::used).containsExactly(5L, 1L);
    }

    @Test
    void the_next_lease_is_requested_before_the_last_one_is_used_up() {
        want(100, NOW);
        next(100, NOW);
        respond(granted(102, BROKER, BROKER + 1_000), NOW);
        take(2, NOW);
        assertThat(next(0, NOW + 100))
                .as("100 tokens are the cost of one request")
                .isNull();
        take(1, NOW + 50);
        assertThat(next(0, NOW + 99)).as("too soon after a response").isNull();
        assertThat(next(0, NOW + 100))
                .isEqualTo(new LeaseRequest(2, "me", 0, 1, List.of(new Report(1, 3, BROKER + 50, 99)), 0, 0));
    }

    @Test
    void while_a_key_is_in_use_the_next_lease_is_requested_two_leads_before_the_last_one_expires() {
        lend(3);
        take(1, NOW + 500);
        want(1, NOW + 500);
        long dueMs = book.schedule(TERMS).dueAtMs(NOW + 500);
        assertThat(dueMs).isEqualTo(NOW + 980 - 200);
        assertThat(next(0, dueMs - 1)).isNull();
        assertThat(next(0, dueMs))
                .isEqualTo(new LeaseRequest(2, "me", 0, 4, List.of(new Report(1, 1, BROKER + 500, 2)), 0, 0));
        assertThat(book.schedule(TERMS).dueAtMs(dueMs))
                .as("then it returns the rest")
                .isEqualTo(NOW + 880);
    }

    @Test
    void unused_quota_is_returned_before_the_lease_expires() {
        book = LeaseBooks.holding(5, NOW, 1_000);
        long dueMs = book.schedule(TERMS).dueAtMs(NOW);
        assertThat(dueMs).isEqualTo(NOW + 980 - 100);
        assertThat(next(0, dueMs - 1)).isNull();
        assertThat(next(0, dueMs)).isEqualTo(LeaseRequest.report("me", List.of(new Report(1, 0, 0, 0)), 0));
        assertThat(available(book, dueMs)).isZero();
        assertThat(book.schedule(TERMS).dueAtMs(dueMs)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void a_lease_that_is_used_up_is_reported_soon() {
        book = LeaseBooks.holding(5, NOW, 1_000);
        take(5, NOW + 40);
        assertThat(book.schedule(TERMS).dueAtMs(NOW + 40)).isEqualTo(NOW + 140);
        assertThat(next(0, NOW + 139)).isNull();
        assertThat(next(0, NOW + 140)).isEqualTo(LeaseRequest.report("me", List.of(new Report(1, 5, NOW + 40, 0)), 0));
        assertThat(book.schedule(TERMS).dueAtMs(NOW + 140)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void a_lease_that_expired_on_its_way_is_returned() {
        want(3, NOW);
        next(3, NOW);
        respond(granted(3, BROKER, BROKER + 1_000), NOW + 3_000);
        assertThat(available(book, NOW + 3_000)).isZero();
        assertThat(next(0, NOW + 3_000)).isEqualTo(LeaseRequest.report("me", List.of(new Report(1, 0, 0, 0)), 0));
    }

    @Test
    void a_response_to_an_earlier_request_is_not_used_and_its_lease_is_returned() {
        want(3, NOW);
        next(3, NOW);
        LeaseResponse late = granted(3, BROKER, BROKER + 60_000);
        next(3, NOW + 5_000);
        respond(late, NOW + 5_001);
        assertThat(available(book, NOW + 5_001)).isZero();
        assertThat(next(0, NOW + 5_001).reports()).containsExactly(new Report(1, 0, 0, 0));
        respond(granted(3, BROKER + 5_000, BROKER + 6_000), NOW + 5_040);
        assertThat(available(book, NOW + 5_040)).isEqualTo(3);
    }

    @Test
    void a_response_that_arrives_twice_counts_once() {
        want(5, NOW);
        next(5, NOW);
        LeaseResponse granted = granted(5, BROKER, BROKER + 1_000);
        respond(granted, NOW);
        take(5, NOW);
        respond(granted, NOW);
        assertThat(available(book, NOW)).isZero();
        assertThat(book.leases()).hasSize(1);
    }

    @Test
    void after_a_restart_leases_are_reported_and_returned_and_never_used() {
        lend(5);
        take(2, NOW + 10);
        book = LeaseBook.fromStore(book.pool(), book.corrections()).revoked();
        assertThat(book.decisionTimeMs(NOW)).as("the clock of the book").isEqualTo(BROKER + 10);
        assertThat(available(book, NOW)).isZero();
        assertThat(book.schedule(TERMS).dueAtMs(NOW)).isLessThan(NOW);
        assertThat(next(0, NOW)).isEqualTo(LeaseRequest.report("me", List.of(new Report(1, 2, BROKER + 10, 0)), 0));
    }

    @Test
    void after_a_clock_step_the_response_to_an_earlier_request_is_returned() {
        want(3, NOW);
        next(3, NOW);
        book = book.revoked();
        respond(granted(3, BROKER, BROKER + 1_000), NOW + 10);
        assertThat(available(book, NOW + 10)).isZero();
        assertThat(next(3, NOW + 10).reports()).containsExactly(new Report(1, 0, 0, 0));
    }

    @Test
    void a_correction_uses_the_leases_and_sends_the_rest_to_the_ledger() {
        LeaseBook held = LeaseBooks.holding(10, NOW, 5_000);
        assertThat(held.settle(7, NOW, NOW)).isEqualTo(held.take(7, NOW, NOW));
        LeaseBook beyond = held.settle(13, NOW, NOW);
        assertThat(available(beyond, NOW)).isZero();
        LeaseBook.Transition sending = beyond.nextMessage(session, LeaseBook.Needs.NONE, TERMS, NOW);
        assertThat(sending.message()).isEqualTo(LeaseRequest.report("me", List.of(new Report(1, 10, NOW, 0)), 3));
        assertThat(sending.book().corrections().settled()).isZero();
    }

    @Test
    void corrections_add_up_without_an_overflow() {
        LeaseBook beyond = LeaseBook.empty().settle(Long.MAX_VALUE, NOW, NOW).settle(Long.MAX_VALUE, NOW, NOW);
        assertThat(beyond.corrections().settled()).isEqualTo(Limit.MAX_LEVEL);
    }

    @Test
    void a_lease_is_not_requested_before_it_is_due_while_the_tokens_until_then_are_not_used_up() {
        Random random = new Random(1);
        long used = 0;
        for (int i = 0; i < 2_000; i++) {
            book = LeaseBook.empty();
            long nowMs = random.nextInt(10_000);
            for (int leases = 1 + random.nextInt(4); leases > 0; leases--) {
                want(1 + random.nextInt(200), nowMs);
                next(1, nowMs);
                respond(granted(1 + random.nextInt(500), BROKER + nowMs, BROKER + nowMs + 1_000), nowMs);
                nowMs += random.nextInt(400);
                take(Math.min(random.nextInt(50), available(book, nowMs)), nowMs);
            }
            next(0, nowMs);
            used += useUntilDue(random, nowMs);
        }
        assertThat(used).isGreaterThan(10_000);
    }

    /** Uses tokens at random times until a lease must be requested. Returns how many were used. */
    private long useUntilDue(Random random, long fromMs) {
        long tokens = book.schedule(TERMS).tokensUntilDue(fromMs);
        long dueMs = Math.min(book.schedule(TERMS).dueAtMs(fromMs), fromMs + 2 * TERMS.termMs());
        long used = 0;
        for (long nowMs = fromMs; nowMs < dueMs; nowMs += 1 + random.nextInt(20)) {
            long cost = 1 + random.nextInt(10);
            if (used + 2 * cost <= tokens && cost <= available(book, nowMs)) {
                want(cost, nowMs);
                take(cost, nowMs);
                used += cost;
            }
            LeaseBook.Transition sending = book.nextMessage(session, LeaseBook.Needs.NONE, TERMS, nowMs);
            assertThat(sending == null
                            || sending.message() == null
                            || !sending.message().requestsLease())
                    .as("%d of %d tokens used at %d, due at %d: %s", used, tokens, nowMs, dueMs, book)
                    .isTrue();
        }
        return used;
    }
}
