package dev.weir.lease.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseRequest.Report;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.LentLimits;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Limit;
import dev.weir.limit.Rate;
import dev.weir.limit.SlidingWindowCounter;
import dev.weir.limit.TokenBucket;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class LedgerTest {

    private static final LeaseTerms TERMS = new LeaseTerms(1_000, 100, 0);
    private static final long NOW = 5_000;
    private static final long FIRST = NOW << 20;

    private Ledger ledger = Ledger.open(List.of(new TokenBucket(Rate.of(10, 10_000), 10, false)), NOW);

    private LeaseResponse ask(String holder, long least, long want, long nowMs, Report... reports) {
        LeaseRequest request = new LeaseRequest(9, holder, least, want, List.of(reports), 0, 0);
        Ledger.Result answer = ledger.handle(request, TERMS, nowMs);
        ledger = answer.ledger();
        return withoutFree(answer.response());
    }

    /** Returns a response that says of the free tokens only whether there are any, and only if it grants a lease. */
    private static LeaseResponse withoutFree(LeaseResponse response) {
        if (response instanceof LeaseResponse.Refused refused) {
            return new LeaseResponse.Refused(
                    refused.number(), refused.appendedAtMs(), 0, refused.retryAfterMs(), refused.isLent());
        }
        LeaseResponse.Granted lease = (LeaseResponse.Granted) response;
        return lease == null
                ? null
                : new LeaseResponse.Granted(
                        lease.number(),
                        lease.leaseId(),
                        lease.amount(),
                        lease.appendedAtMs(),
                        lease.fromMs(),
                        lease.untilMs(),
                        Math.max(0, Math.min(1, lease.free())));
    }

    private static LeaseResponse granted(long lease, long amount, long fromMs, long untilMs) {
        return new LeaseResponse.Granted(9, lease, amount, fromMs, fromMs, untilMs, 1);
    }

    private static LeaseResponse grantedTheLast(long lease, long amount, long fromMs, long untilMs) {
        return new LeaseResponse.Granted(9, lease, amount, fromMs, fromMs, untilMs, 0);
    }

    @Test
    void a_lease_is_the_requested_amount_if_it_is_free_and_otherwise_a_share() {
        ledger = refillsWithinATerm();
        assertThat(ask("a", 1, 4, NOW)).isEqualTo(granted(FIRST, 4, NOW, NOW + 1_000));
        assertThat(ask("b", 1, 9, NOW)).isEqualTo(granted(FIRST + 1, 3, NOW, NOW + 1_000));
        assertThat(ask("c", 3, 9, NOW)).isEqualTo(grantedTheLast(FIRST + 2, 3, NOW, NOW + 1_000));
        assertThat(ledger.free()).isZero();
        assertThat(ledger.lent()).isEqualTo(10);
    }

    @Test
    void a_refusal_says_when_enough_may_be_free() {
        ask("a", 8, 8, NOW);
        assertThat(ask("b", 3, 3, NOW)).isEqualTo(new LeaseResponse.Refused(9, NOW, 0, 1_000, false));
        assertThat(ask("b", 11, 11, NOW)).isEqualTo(new LeaseResponse.Refused(9, NOW, 0, Long.MAX_VALUE, false));
        assertThat(ask("b", 3, 3, NOW + 1_999)).as("one token was refilled").isInstanceOf(LeaseResponse.Granted.class);
    }

    @Test
    void of_a_small_limit_a_lease_has_at_most_what_requests_wait_for() {
        ledger = Ledger.open(List.of(new FixedWindow(8, 60_000, false)), NOW);
        assertThat(amount(askDefault("a", new LeaseRequest.Wanted(1, 1, 60)))).isEqualTo(1);
        assertThat(amount(askDefault("b", new LeaseRequest.Wanted(1, 4, 60)))).isEqualTo(4);
        assertThat(amount(askDefault("c", new LeaseRequest.Wanted(2, 3, 60)))).isEqualTo(2);
    }

    @Test
    void of_a_large_limit_a_lease_has_up_to_an_eighth_beyond_the_demand_of_a_second() {
        ledger = Ledger.open(List.of(new FixedWindow(800, 60_000, false)), NOW);
        assertThat(amount(askDefault("a", 1, 90))).isEqualTo(90);
        assertThat(amount(askDefault("b", 1, 250))).isEqualTo(100);
        assertThat(amount(askDefault("c", 1, 600))).isEqualTo(120);
    }

    @Test
    void nothing_of_a_small_limit_is_lent_in_reserve() {
        ledger = Ledger.open(List.of(new FixedWindow(15, 60_000, false)), NOW);
        assertThat(askDefault("a", 0, 1)).isEqualTo(new LeaseResponse.Refused(9, NOW, 0, Long.MAX_VALUE, false));
        ledger = Ledger.open(List.of(new FixedWindow(16, 60_000, false)), NOW);
        assertThat(amount(askDefault("a", 0, 1))).isEqualTo(1);
        ledger = Ledger.open(List.of(new FixedWindow(15, 1_000, false)), NOW);
        assertThat(amount(askDefault("a", 0, 1))).as("free again soon").isEqualTo(1);
    }

    @Test
    void a_lease_in_reserve_is_refused_until_a_quarter_is_free() {
        ledger = Ledger.open(List.of(new TokenBucket(Rate.of(20, 10_000), 20, false)), NOW);
        ask("a", 16, 16, NOW);
        assertThat(ask("b", 0, 1, NOW)).isEqualTo(new LeaseResponse.Refused(9, NOW, 0, 1_000, false));
    }

    @Test
    void a_refusal_says_when_a_lease_ends_although_its_report_may_arrive_later() {
        ledger = Ledger.open(List.of(new FixedWindow(8, 60_000, false)), NOW);
        LeaseRequest all = new LeaseRequest(9, "a", 8, 8, List.of(), 0, 0);
        ledger = ledger.handle(all, LeaseTerms.DEFAULTS, NOW).ledger();
        LeaseRequest one = new LeaseRequest(9, "b", 1, 1, List.of(), 0, 0);
        assertThat(withoutFree(
                        ledger.handle(one, LeaseTerms.DEFAULTS, NOW + 100).response()))
                .as("the lease is new, so it may be in use")
                .isEqualTo(new LeaseResponse.Refused(9, NOW + 100, 0, 4_900, false));
        assertThat(withoutFree(
                        ledger.handle(one, LeaseTerms.DEFAULTS, NOW + 1_000).response()))
                .as("otherwise its use would have been reported")
                .isEqualTo(new LeaseResponse.Refused(9, NOW + 1_000, 0, 4_000, true));
        assertThat(withoutFree(
                        ledger.handle(one, LeaseTerms.DEFAULTS, NOW + 6_000).response()))
                .as("until the grace period ends")
                .isEqualTo(new LeaseResponse.Refused(9, NOW + 6_000, 0, 29_000, false));
        Report used = new Report(FIRST, 8, NOW, 0);
        ledger = ledger.handle(LeaseRequest.report("a", List.of(used), 0), LeaseTerms.DEFAULTS, NOW + 1_000)
                .ledger();
        assertThat(withoutFree(
                        ledger.handle(one, LeaseTerms.DEFAULTS, NOW + 1_000).response()))
                .as("until the window ends")
                .isEqualTo(new LeaseResponse.Refused(9, NOW + 1_000, 0, 54_000, false));
    }

    private LeaseResponse askDefault(String holder, long least, long want) {
        return askDefault(holder, new LeaseRequest.Wanted(least, least, want));
    }

    private LeaseResponse askDefault(String holder, LeaseRequest.Wanted wanted) {
        LeaseRequest request = new LeaseRequest(9, holder, wanted, List.of(), 0, 0, false);
        Ledger.Result answer = ledger.handle(request, LeaseTerms.DEFAULTS, NOW);
        ledger = answer.ledger();
        return withoutFree(answer.response());
    }

    @Test
    void a_lease_ends_with_its_window_unless_that_ends_very_soon() {
        ledger = Ledger.open(List.of(new FixedWindow(100, 5_700, false), new FixedWindow(100, 60_000, false)), NOW);
        assertThat(ask("a", 1, 1, NOW)).isEqualTo(granted(FIRST, 1, NOW, NOW + 700));
        assertThat(ask("a", 1, 1, NOW + 500)).isEqualTo(granted(FIRST + 1, 1, NOW + 500, NOW + 1_500));
        ledger = Ledger.open(List.of(new SlidingWindowCounter(100, 2_800, false, false)), NOW);
        assertThat(ask("a", 1, 1, NOW)).isEqualTo(granted(FIRST, 1, NOW, NOW + 600));
    }

    @Test
    void a_returned_amount_is_free_at_once() {
        ask("a", 10, 10, NOW);
        assertThat(ask("a", 0, 0, NOW, new Report(FIRST, 3, NOW, 2))).isNull();
        assertThat(ledger.free()).isEqualTo(5);
        assertThat(ledger.lent()).isEqualTo(2);
    }

    @Test
    void a_duplicate_or_late_report_counts_once() {
        ask("a", 10, 10, NOW);
        Report early = new Report(FIRST, 3, NOW, 7);
        Report late = new Report(FIRST, 5, NOW + 10, 4);
        ask("a", 0, 0, NOW + 10, late);
        Ledger once = ledger;
        ask("a", 0, 0, NOW + 10, late);
        ask("a", 0, 0, NOW + 10, early);
        assertThat(ledger).isEqualTo(once);
        assertThat(ledger.free()).isEqualTo(1);
    }

    @Test
    void an_unreported_lease_is_charged_when_it_ends() {
        ask("a", 10, 10, NOW);
        Ledger ended = ledger.advancedTo(NOW + 1_000);
        assertThat(ended.lent()).isZero();
        assertThat(ended.accounts().get(0).used(NOW + 1_000)).isEqualTo(10);
        ledger = ended;
        ask("a", 0, 0, NOW + 1_000, new Report(FIRST, 0, 0, 0));
        assertThat(ledger.accounts().get(0).used(NOW + 1_000))
                .as("too late to return tokens")
                .isEqualTo(10);
    }

    @Test
    void a_lease_can_be_returned_for_a_grace_period_after_its_end() {
        LeaseTerms withGrace = new LeaseTerms(1_000, 100, 500);
        LeaseRequest request = new LeaseRequest(9, "a", 10, 10, List.of(), 0, 0);
        Ledger lent = ledger.handle(request, withGrace, NOW).ledger();
        assertThat(lent.advancedTo(NOW + 1_499).lent()).isEqualTo(10);
        assertThat(lent.advancedTo(NOW + 1_500).lent()).isZero();
        assertThat(lent.advancedTo(NOW + 1_500).accounts().get(0).used(NOW + 1_000))
                .isEqualTo(10);
        LeaseRequest late = LeaseRequest.report("a", List.of(new Report(FIRST, 2, NOW + 900, 0)), 0);
        Ledger returned = lent.handle(late, withGrace, NOW + 1_499).ledger();
        assertThat(returned.lent()).isZero();
        assertThat(returned.accounts().get(0).used(NOW + 900)).isEqualTo(2);
    }

    @Test
    void usage_by_a_clock_ahead_advances_the_ledger_up_to_the_end_of_the_lease() {
        ask("a", 10, 10, NOW);
        ask("a", 0, 0, NOW + 1, new Report(FIRST, 4, NOW + 500, 6));
        assertThat(ledger.clockMs()).isEqualTo(NOW + 500);
        ask("a", 0, 0, NOW + 1, new Report(FIRST, 4, NOW + 500_000, 6));
        assertThat(ledger.clockMs()).isEqualTo(NOW + 999);
        assertThat(ledger.usage().lastChargeMs()).isEqualTo(NOW + 500);
    }

    @Test
    void a_lowered_limit_grants_nothing_until_enough_has_been_returned() {
        ask("a", 8, 8, NOW);
        ask("a", 0, 0, NOW, new Report(FIRST, 6, NOW, 2));
        ledger = ledger.advancedTo(NOW + 900);
        TokenBucket smaller = new TokenBucket(Rate.of(10, 10_000), 5, false);
        ledger = ledger.withAccounts(List.of(ledger.accounts().get(0).migrateTo(smaller, ledger.clockMs())));
        assertThat(ledger.free()).isZero();
        assertThat(ask("b", 1, 1, NOW + 900)).isInstanceOf(LeaseResponse.Refused.class);
        long used = ledger.accounts().get(0).used(NOW + 900);
        ask("a", 0, 0, NOW + 900, new Report(FIRST, 7, NOW, 0));
        assertThat(ledger.accounts().get(0).used(NOW + 900))
                .as("one more, not charged before the change")
                .isEqualTo(used + 1);
    }

    @Test
    void a_holder_cannot_report_the_lease_of_another() {
        ask("a", 8, 8, NOW);
        ask("b", 0, 0, NOW, new Report(FIRST, 0, 0, 0));
        assertThat(ledger.lent()).isEqualTo(8);
    }

    private static LeaseRequest settlement(long tokens, Report... reports) {
        return LeaseRequest.report("foreign", List.of(reports), tokens);
    }

    private long used() {
        return ledger.accounts().get(0).used(ledger.clockMs());
    }

    static Stream<Limit<?>> limits() {
        return LentLimits.of(40, 1_000);
    }

    @ParameterizedTest
    @MethodSource("limits")
    void a_settlement_leaves_at_most_the_maximum_used_and_lent(Limit<?> limit) {
        List<Long> maxUsed = List.of(limit.capacity() + 5);
        ledger = Ledger.open(List.of(limit), NOW);
        ask("a", 30, 30, NOW);
        ledger = ledger.handle(settlement(3), TERMS, maxUsed, NOW).ledger();
        assertThat(used()).isEqualTo(3);
        for (long tokens : List.of(1_000_000_000_000L, Long.MAX_VALUE, 1L)) {
            ledger = ledger.handle(settlement(tokens), TERMS, maxUsed, NOW).ledger();
            assertThat(used()).isEqualTo(limit.capacity() + 5 - 30);
        }
        ask("a", 0, 0, NOW, new Report(FIRST, 30, NOW, 0));
        assertThat(used()).as("all that was lent is used").isEqualTo(limit.capacity() + 5);
    }

    @Test
    void each_limit_has_its_own_maximum() {
        ledger = Ledger.open(List.of(new FixedWindow(100, 60_000, false), new FixedWindow(7, 60_000, false)), NOW);
        ledger = ledger.handle(settlement(1_000), TERMS, List.of(150L, 7L), NOW).ledger();
        assertThat(ledger.accounts().get(0).used(NOW)).isEqualTo(150);
        assertThat(ledger.accounts().get(1).used(NOW)).isEqualTo(7);
        ledger = ledger.handle(settlement(1_000), TERMS, NOW).ledger();
        assertThat(ledger.accounts().get(0).used(NOW)).as("without a maximum").isEqualTo(200);
        assertThat(ledger.accounts().get(1).used(NOW)).isEqualTo(14);
    }

    @Test
    void a_negative_settlement_refunds_nothing() {
        ask("a", 8, 8, NOW);
        ask("a", 0, 0, NOW, new Report(FIRST, 6, NOW, 2));
        Ledger before = ledger;
        for (long tokens : List.of(-1L, -1_000_000_000_000L, Long.MIN_VALUE)) {
            ledger = ledger.handle(settlement(tokens), TERMS, NOW).ledger();
            assertThat(ledger).isEqualTo(before);
        }
        LeaseRequest request = new LeaseRequest(9, "a", 3, 3, List.of(new Report(FIRST, 6, NOW, 0)), -50, 0);
        Ledger.Result answer = ledger.handle(request, TERMS, NOW);
        assertThat(answer.response()).as("its report is applied").isEqualTo(granted(FIRST + 1, 3, NOW, NOW + 1_000));
        assertThat(answer.ledger().free()).isEqualTo(1);
    }

    /** One token becomes free each second. */
    @Test
    void the_holder_that_was_refused_first_gets_the_next_token() {
        useAll();
        assertThat(ask("a", 1, 10, NOW)).isEqualTo(new LeaseResponse.Refused(9, NOW, 0, 1_000, false));
        assertThat(ask("b", 1, 10, NOW)).isEqualTo(new LeaseResponse.Refused(9, NOW, 0, 2_000, false));
        assertThat(ask("b", 1, 10, NOW + 1_000)).as("reserved for a").isInstanceOf(LeaseResponse.Refused.class);
        assertThat(ask("a", 1, 10, NOW + 1_001)).isEqualTo(grantedTheLast(FIRST + 1, 1, NOW + 1_001, NOW + 2_001));
        ask("a", 1, 10, NOW + 1_010, new Report(FIRST + 1, 1, NOW + 1_001, 0));
        assertThat(ask("a", 1, 10, NOW + 2_000)).as("reserved for b").isInstanceOf(LeaseResponse.Refused.class);
        assertThat(ask("b", 1, 10, NOW + 2_001)).isInstanceOf(LeaseResponse.Granted.class);
        assertThat(ledger.refusals()).extracting(RefusedHolders.Refusal::holder).containsExactly("a");
    }

    @Test
    void a_refused_holder_that_does_not_return_in_time_loses_its_place() {
        useAll();
        ask("a", 1, 10, NOW);
        assertThat(ledger.refusals()).containsExactly(new RefusedHolders.Refusal("a", 1, 10, NOW + 1_200));
        assertThat(ask("b", 1, 1, NOW + 1_199)).isInstanceOf(LeaseResponse.Refused.class);
        assertThat(ask("b", 1, 1, NOW + 1_200)).isInstanceOf(LeaseResponse.Granted.class);
        assertThat(ledger.refusals()).isEmpty();
    }

    @Test
    void a_refused_holder_keeps_a_place_only_if_it_needs_as_much_again_within_two_leads() {
        useAll();
        ask("large", 3, 30, NOW);
        ask("ahead", 0, 30, NOW);
        assertThat(ledger.refusals()).isEmpty();
        ledger = Ledger.open(List.of(new TokenBucket(Rate.of(100, 10_000), 100, false)), NOW);
        ask("a", 100, 100, NOW);
        ask("a", 0, 0, NOW, new Report(FIRST, 100, NOW, 0));
        ask("slow", 1, 4, NOW);
        assertThat(ledger.refusals()).as("one in 250 ms").isEmpty();
        ask("fast", 1, 5, NOW);
        assertThat(ledger.refusals()).hasSize(1);
    }

    @Test
    void the_places_of_refused_holders_are_bounded() {
        useAll();
        for (int i = 0; i <= RefusedHolders.MAX_REFUSALS; i++) {
            ask("p" + i, 1, 10, NOW);
        }
        assertThat(ledger.refusals()).hasSize(RefusedHolders.MAX_REFUSALS);
        assertThat(ask("new", 1, 10, NOW + 1_000)).isInstanceOf(LeaseResponse.Refused.class);
        assertThat(ask("p0", 1, 10, NOW + 1_000)).isInstanceOf(LeaseResponse.Granted.class);
    }

    @Test
    void a_lease_without_a_waiting_request_is_granted_while_a_quarter_of_the_limit_is_free() {
        ledger = Ledger.open(List.of(new TokenBucket(Rate.of(160, 10_000), 160, false)), NOW);
        long scarce = 40;
        ask("a", 160 - scarce, 160 - scarce, NOW);
        assertThat(ask("b", 0, 1, NOW)).isInstanceOf(LeaseResponse.Granted.class);
        assertThat(ask("c", 0, 1, NOW)).as("one less is free").isInstanceOf(LeaseResponse.Refused.class);
        assertThat(ask("c", 1, 1, NOW)).as("a request waits").isInstanceOf(LeaseResponse.Granted.class);
    }

    @Test
    void a_holder_returns_no_more_than_it_has() {
        ask("a", 10, 10, NOW);
        ask("a", 0, 0, NOW, new Report(FIRST, 4, NOW, 9));
        assertThat(ledger.lent()).isEqualTo(6);
        assertThat(ledger.free()).isZero();
        ask("a", 0, 0, NOW, new Report(FIRST, 5, NOW, -1));
        assertThat(ledger.lent()).isZero();
        assertThat(ledger.free()).isEqualTo(5);
    }

    /** The demand of a holder with a new lease may be unknown; a quarter of a term later it counts as known. */
    @Test
    void a_holder_with_a_new_lease_is_left_an_even_share() {
        ledger = refillsWithinATerm();
        ask("a", 1, 1, NOW);
        assertThat(ask("b", 1, 9, NOW)).as("half of nine").isEqualTo(granted(FIRST + 1, 5, NOW, NOW + 1_000));
        ledger = refillsWithinATerm();
        ask("a", 1, 1, NOW);
        long knownMs = NOW + TERMS.termMs() / 4;
        assertThat(ask("b", 1, 9, knownMs))
                .as("all but what a requested")
                .extracting(LedgerTest::amount)
                .isEqualTo(8L);
    }

    @Test
    void a_refused_holder_is_left_what_it_requested() {
        useAll();
        ask("a", 1, 10, NOW);
        ask("b", 1, 10, NOW);
        assertThat(ledger.refusals())
                .extracting(RefusedHolders.Refusal::requestedTokens)
                .containsExactly(10L, 10L);
        assertThat(ask("a", 1, 10, NOW + 1_150)).extracting(LedgerTest::amount).isEqualTo(1L);
    }

    @Test
    void the_number_of_leases_is_bounded_and_the_first_to_end_makes_room() {
        ledger = Ledger.open(List.of(new TokenBucket(Rate.of(1_000_000, 10_000), 1_000_000, false)), NOW);
        ask("h", 1, 1, NOW);
        OutstandingLease lease = ledger.outstanding().leases().get(0);
        List<OutstandingLease> many = LongStream.range(FIRST, FIRST + OutstandingLeases.MAX_LEASES - 2)
                .mapToObj(id -> new OutstandingLease(id, "h" + id, 1, 0, 1, lease.untilMs(), lease.dueMs()))
                .toList();
        ledger = new Ledger(ledger.usage(), new OutstandingLeases(many, FIRST + many.size()), ledger.refused());
        assertThat(ask("last but one", 1, 1, NOW)).isInstanceOf(LeaseResponse.Granted.class);
        assertThat(ask("last", 1, 1, NOW + 1)).isInstanceOf(LeaseResponse.Granted.class);
        assertThat(ask("new", 1, 1, NOW + 1)).isEqualTo(new LeaseResponse.Refused(9, NOW + 1, 0, 999, false));
        assertThat(ask("new", 1, 1, NOW + 1_000)).isInstanceOf(LeaseResponse.Granted.class);
    }

    private static long amount(LeaseResponse response) {
        return ((LeaseResponse.Granted) response).amount();
    }

    /** Returns a ledger of which leases in reserve are lent, although its capacity is small. */
    private static Ledger refillsWithinATerm() {
        return Ledger.open(List.of(new TokenBucket(Rate.of(10, TERMS.termMs()), 10, false)), NOW);
    }

    private void useAll() {
        ask("z", 10, 10, NOW);
        ask("z", 0, 0, NOW, new Report(FIRST, 10, NOW, 0));
    }
}
