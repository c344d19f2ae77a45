package dev.weir.lease.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.lease.FreedSlots;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseRequest.Refunds;
import dev.weir.lease.LeaseRequest.Report;
import dev.weir.lease.LeaseRequest.Usage;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.SlotRenewal;
import dev.weir.lease.SlotUse;
import dev.weir.limit.Concurrency;
import dev.weir.limit.LimitAccount;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The ledger of a limit of ten slots that end after a minute. */
class LedgerSlotsTest {

    private static final long NOW = 1_000_000;
    private static final long TTL_MS = 60_000;
    private static final LeaseTerms TERMS = new LeaseTerms(5_000, 300, 10_000).lendingSlots(true);

    private Ledger ledger = Ledger.open(List.of(new Concurrency(10, TTL_MS)), NOW);
    private long numbers = 1;

    private LeaseResponse send(LeaseRequest message, long nowMs) {
        Ledger.Result result = ledger.handle(message, TERMS, nowMs);
        ledger = result.ledger();
        return result.response();
    }

    private LeaseResponse request(String holder, long slots, long nowMs) {
        return send(new LeaseRequest(numbers++, holder, slots, slots, List.of(), 0, 0), nowMs);
    }

    private long granted(String holder, long slots, long nowMs) {
        return ((LeaseResponse.Granted) request(holder, slots, nowMs)).leaseId();
    }

    private void report(String holder, long lease, long usedAtMs, long nowMs, SlotUse... slots) {
        long used = List.of(slots).stream().mapToLong(SlotUse::count).sum();
        Report report = new Report(lease, used, usedAtMs, 0, true, List.of(slots));
        send(LeaseRequest.report(holder, new Usage(List.of(report), 0)), nowMs);
    }

    private void free(String holder, long number, long nowMs, FreedSlots... freed) {
        Refunds refunds = new Refunds(number, List.of(), List.of(freed), List.of());
        send(LeaseRequest.report(holder, new Usage(List.of(), 0, refunds)), nowMs);
    }

    private LeaseResponse.Renewed renew(long nowMs, SlotRenewal... renewals) {
        Refunds refunds = new Refunds(0, List.of(), List.of(), List.of(renewals));
        Usage usage = new Usage(List.of(), 0, refunds);
        return (LeaseResponse.Renewed)
                send(new LeaseRequest(numbers++, "a", LeaseRequest.Wanted.NONE, usage, 0, false), nowMs);
    }

    private long freeAt(long atMs) {
        ledger = ledger.advancedTo(atMs);
        return ledger.free();
    }

    @Test
    void only_what_requests_wait_for_is_lent() {
        LeaseRequest forecast = new LeaseRequest(1, "a", 0, 5, List.of(), 0, 0);
        assertThat(send(forecast, NOW)).isInstanceOf(LeaseResponse.Refused.class);
        LeaseRequest.Wanted wanted = new LeaseRequest.Wanted(1, 3, 8);
        assertThat(send(new LeaseRequest(2, "a", wanted, List.of(), 0, 0, false), NOW))
                .isInstanceOfSatisfying(LeaseResponse.Granted.class, lease -> assertThat(lease.amount())
                        .isEqualTo(3));
    }

    @Test
    void an_unreported_slot_counts_until_the_end_of_its_lease_and_the_ttl() {
        granted("a", 4, NOW);
        long endMs = NOW + 5_000 - 1 + TTL_MS;
        assertThat(freeAt(endMs - 1)).isEqualTo(6);
        assertThat(freeAt(endMs)).isEqualTo(10);
    }

    @Test
    void a_reported_slot_counts_until_its_end_also_if_the_report_is_late() {
        long lease = granted("a", 4, NOW);
        long usedAtMs = NOW + 100;
        report("a", lease, usedAtMs, NOW + 40_000, new SlotUse(usedAtMs + 1_000, 1), new SlotUse(usedAtMs + 50_000, 2));
        assertThat(freeAt(usedAtMs + 49_999))
                .as("one was returned, one has ended")
                .isEqualTo(8);
        assertThat(freeAt(usedAtMs + 50_000)).isEqualTo(10);
    }

    @Test
    void a_use_without_an_end_counts_for_the_ttl() {
        long lease = granted("a", 4, NOW);
        send(LeaseRequest.report("a", List.of(new Report(lease, 4, NOW + 100, 0)), 0), NOW + 200);
        assertThat(freeAt(NOW + 100 + TTL_MS - 1)).isEqualTo(6);
        assertThat(freeAt(NOW + 100 + TTL_MS)).isEqualTo(10);
    }

    @Test
    void freed_slots_are_free_once_and_only_those_that_end_at_that_time() {
        long lease = granted("a", 4, NOW);
        report("a", lease, NOW + 10, NOW + 20, new SlotUse(NOW + 30_000, 3), new SlotUse(NOW + 40_000, 1));
        free("a", 7, NOW + 30, new FreedSlots(NOW + 10, NOW + 30_000, 1));
        assertThat(ledger.free()).isEqualTo(7);
        free("a", 7, NOW + 40, new FreedSlots(NOW + 10, NOW + 30_000, 1));
        free("a", 6, NOW + 40, new FreedSlots(NOW + 10, NOW + 30_000, 1));
        assertThat(ledger.free()).as("repeated").isEqualTo(7);
        free("a", 8, NOW + 50, new FreedSlots(NOW + 10, NOW + 30_000, 9), new FreedSlots(NOW + 10, NOW + 30_001, 9));
        assertThat(ledger.free()).isEqualTo(9);
        free("a", 9, NOW + 40_000, new FreedSlots(NOW + 10, NOW + 40_000, 1));
        assertThat(ledger.free()).as("ended").isEqualTo(10);
    }

    @Test
    void a_renewal_prolongs_slots_that_have_not_ended() {
        long lease = granted("a", 4, NOW);
        report("a", lease, NOW + 10, NOW + 20, new SlotUse(NOW + 30_000, 2), new SlotUse(NOW + 40_000, 2));
        LeaseResponse.Renewed renewed = renew(
                NOW + 30_000,
                new SlotRenewal(1, NOW + 10, NOW + 30_000, TTL_MS, 2),
                new SlotRenewal(2, NOW + 10, NOW + 40_000, TTL_MS, 2),
                new SlotRenewal(3, NOW + 10, NOW + 40_000, TTL_MS, 1));
        assertThat(renewed.ended()).containsExactly(1L, 3L);
        assertThat(renewed.renewedAtMs()).isEqualTo(NOW + 30_000);
        assertThat(renewed.free()).isEqualTo(8);
        assertThat(freeAt(NOW + 89_999)).isEqualTo(8);
        assertThat(freeAt(NOW + 90_000)).isEqualTo(10);
    }

    @Test
    void a_renewal_never_shortens() {
        long lease = granted("a", 1, NOW);
        report("a", lease, NOW + 10, NOW + 20, new SlotUse(NOW + 30_000, 1));
        renew(NOW + 30, new SlotRenewal(1, NOW + 10, NOW + 30_000, 5, 1));
        assertThat(freeAt(NOW + 29_999)).isEqualTo(9);
    }

    @Test
    void what_was_used_before_a_reset_is_neither_freed_nor_renewed() {
        long lease = granted("a", 5, NOW);
        report("a", lease, NOW + 10, NOW + 20, new SlotUse(NOW + 30_000, 5));
        ledger = ledger.reset(List.of(LimitAccount.open(new Concurrency(10, TTL_MS), NOW)), "b", NOW + 50);
        assertThat(ledger.free()).isEqualTo(10);
        long after = granted("c", 5, NOW + 60);
        report("c", after, NOW + 70, NOW + 80, new SlotUse(NOW + 30_000, 5));
        free("a", 1, NOW + 90, new FreedSlots(NOW + 10, NOW + 30_000, 5));
        assertThat(renew(NOW + 100, new SlotRenewal(1, NOW + 10, NOW + 30_000, TTL_MS, 5))
                        .ended())
                .isEmpty();
        assertThat(freeAt(NOW + 29_999)).isEqualTo(5);
        assertThat(freeAt(NOW + 30_000)).isEqualTo(10);
    }

    @Test
    void a_lease_counts_until_its_slots_end_by_a_longer_ttl() {
        granted("a", 4, NOW);
        Concurrency longer = new Concurrency(10, 10 * TTL_MS);
        ledger = ledger.withAccounts(List.of(ledger.accounts().get(0).migrateTo(longer, NOW)));
        assertThat(freeAt(NOW + 9 * TTL_MS)).isEqualTo(6);
        assertThat(freeAt(NOW + 5_000 + 10 * TTL_MS)).isEqualTo(10);
    }
}
