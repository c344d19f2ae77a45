package dev.weir.lease.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseRequest.Refunds;
import dev.weir.lease.LeaseRequest.Report;
import dev.weir.lease.LeaseRequest.Usage;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.LentLimits;
import dev.weir.lease.Refund;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.Limit;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests what a ledger refunds to reservations: 400 used by {@code a} at 100 ms, then 400 by {@code b} at 200 ms. */
class LedgerRefundTest {

    private static final long NOW = 1_000_000_000L;
    private static final LeaseTerms TERMS = LeaseTerms.DEFAULTS;
    private static final LeaseTerms SHORT = new LeaseTerms(1_000, 100, 1_000);

    private Ledger ledger;
    private long leaseOfA;
    private long leaseOfB;

    static List<Limit<?>> limits() {
        return LentLimits.of(1_000, 1_000_000_000_000L).toList();
    }

    private void use(Limit<?> limit) {
        ledger = Ledger.open(List.of(limit), NOW);
        leaseOfA = lend("a", 500, NOW);
        leaseOfB = lend("b", 400, NOW);
        ask("a", NOW + 300, new Usage(List.of(new Report(leaseOfA, 400, NOW + 100, 0, true)), 0));
        ask("b", NOW + 400, new Usage(List.of(new Report(leaseOfB, 400, NOW + 200, 0, true)), 0));
        assertThat(ledger.free()).isEqualTo(limit.capacity() - 800);
    }

    private long lend(String holder, long tokens, long nowMs) {
        Ledger.Result result =
                ledger.handle(new LeaseRequest(1, holder, tokens, tokens, List.of(), 0, 0), TERMS, nowMs);
        ledger = result.ledger();
        return ((LeaseResponse.Granted) result.response()).leaseId();
    }

    private void ask(String holder, long nowMs, Usage usage) {
        ledger = ledger.handle(LeaseRequest.report(holder, usage), TERMS, nowMs).ledger();
    }

    private void refund(String holder, long number, Refund... refunds) {
        ask(holder, NOW + 500, new Usage(List.of(), 0, new Refunds(number, List.of(refunds))));
    }

    @ParameterizedTest
    @MethodSource("limits")
    void each_reservation_is_refunded_in_any_order(Limit<?> limit) {
        use(limit);
        refund("a", 1, new Refund(leaseOfA, NOW + 100, 400));
        assertThat(ledger.free()).isEqualTo(limit.capacity() - 400);
        refund("b", 1, new Refund(leaseOfB, NOW + 200, 150), new Refund(leaseOfB, NOW + 150, 250));
        assertThat(ledger.free()).isEqualTo(limit.capacity());
        use(limit);
        refund("b", 1, new Refund(leaseOfB, NOW + 200, 400));
        refund("a", 1, new Refund(leaseOfA, NOW + 50, 400));
        assertThat(ledger.free()).isEqualTo(limit.capacity());
    }

    @ParameterizedTest
    @MethodSource("limits")
    void a_message_is_refunded_once(Limit<?> limit) {
        use(limit);
        refund("a", 7, new Refund(leaseOfA, NOW + 100, 100));
        refund("a", 7, new Refund(leaseOfA, NOW + 100, 100));
        refund("a", 6, new Refund(leaseOfA, NOW + 100, 100));
        assertThat(ledger.free()).isEqualTo(limit.capacity() - 700);
        refund("b", 1, new Refund(leaseOfB, NOW + 200, 50));
        refund("a", 8, new Refund(leaseOfA, NOW + 100, 100), new Refund(leaseOfA, NOW + 100, -100));
        assertThat(ledger.free()).isEqualTo(limit.capacity() - 550);
    }

    @ParameterizedTest
    @MethodSource("limits")
    void leases_of_another_ledger_and_uses_before_a_reset_are_not_refunded(Limit<?> limit) {
        use(limit);
        refund("a", 1, new Refund(leaseOfA - 1, NOW + 100, 100), new Refund(leaseOfB + 1, NOW + 100, 100));
        assertThat(ledger.free()).isEqualTo(limit.capacity() - 800);
        ledger = ledger.reset(Ledger.open(List.of(limit), NOW + 450).accounts(), "c", NOW + 450);
        long lease = lend("c", 300, NOW + 600);
        ask("c", NOW + 620, new Usage(List.of(new Report(lease, 300, NOW + 610, 0, true)), 0));
        refund("a", 2, new Refund(leaseOfA, NOW + 100, 400));
        assertThat(ledger.free()).isEqualTo(limit.capacity() - 300);
        refund("c", 1, new Refund(lease, NOW + 610, 300));
        assertThat(ledger.free()).isEqualTo(limit.capacity());
    }

    /** The reset frees what b has used before; nothing had been reported as reserved then. */
    @ParameterizedTest
    @MethodSource("limits")
    void a_use_that_a_reset_has_freed_before_its_report_is_not_refunded(Limit<?> limit) {
        ledger = Ledger.open(List.of(limit), NOW);
        leaseOfB = lend("b", 400, NOW);
        ledger = ledger.reset(Ledger.open(List.of(limit), NOW + 450).accounts(), "c", NOW + 450);
        long lease = lend("c", 300, NOW + 460);
        ask("c", NOW + 470, new Usage(List.of(new Report(lease, 300, NOW + 470, 0)), 0));
        ask("b", NOW + 480, new Usage(List.of(new Report(leaseOfB, 400, NOW + 200, 0, true)), 0));
        refund("b", 1, new Refund(leaseOfB, NOW + 200, 400));
        assertThat(ledger.free()).isEqualTo(limit.capacity() - 300);
    }

    @Test
    void a_window_that_has_ended_is_not_refunded() {
        ledger = Ledger.open(List.of(new FixedWindow(1_000, 10_000, false)), NOW);
        long lease = lend("a", 900, NOW);
        ask("a", NOW + 200, new Usage(List.of(new Report(lease, 900, NOW + 100, 0, true)), 0));
        long next = NOW + 10_000;
        long other = ((LeaseResponse.Granted)
                        ledger.handle(new LeaseRequest(1, "b", 600, 600, List.of(), 0, 0), SHORT, next)
                                .response())
                .leaseId();
        ledger = ledger.handle(new LeaseRequest(1, "b", 600, 600, List.of(), 0, 0), SHORT, next)
                .ledger();
        ask("b", next + 10, new Usage(List.of(new Report(other, 600, next + 10, 0)), 0));
        ask("a", next + 20, new Usage(List.of(), 0, new Refunds(1, List.of(new Refund(lease, NOW + 100, 900)))));
        assertThat(ledger.free()).isEqualTo(400);
    }

    /** Holder a is killed: its lease is charged when it is due, and its reservation can still be refunded then. */
    @ParameterizedTest
    @MethodSource("limits")
    void a_lease_that_was_never_reported_is_refunded_if_reservations_were_seen_before(Limit<?> limit) {
        use(limit);
        leaseOfA = lend("a", 100, NOW + 500);
        ledger = ledger.advancedTo(NOW + 1_000_000);
        assertThat(ledger.lent()).isZero();
        assertThat(ledger.free()).isEqualTo(limit.capacity() - 900);
        refund("a", 1, new Refund(leaseOfA, NOW + 600, 100));
        assertThat(ledger.free()).isEqualTo(limit.capacity() - 800);
    }
}
