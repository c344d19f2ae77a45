package dev.weir.storage.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.decision.state.PolicyLedger;
import dev.weir.event.Admission;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.fault.UnreadableException;
import dev.weir.lease.FreedSlots;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.LeaseTerms;
import dev.weir.lease.Refund;
import dev.weir.lease.SlotRenewal;
import dev.weir.lease.SlotUse;
import dev.weir.lease.holder.LeaseBook;
import dev.weir.lease.holder.LeaseBooks;
import dev.weir.lease.holder.LeasePart;
import dev.weir.lease.holder.LeaseSession;
import dev.weir.lease.holder.LentSlots;
import dev.weir.lease.holder.SlotRenewals;
import dev.weir.lease.ledger.EarlierUse;
import dev.weir.lease.ledger.Ledger;
import dev.weir.lease.ledger.LedgerUsage;
import dev.weir.lease.ledger.OutstandingLease;
import dev.weir.lease.ledger.OutstandingLeases;
import dev.weir.lease.ledger.RefundableUse;
import dev.weir.lease.ledger.RefusedHolders;
import dev.weir.limit.Blocked;
import dev.weir.limit.FixedWindow;
import dev.weir.limit.LimitAccount;
import dev.weir.limit.MapSegments;
import dev.weir.limit.Rate;
import dev.weir.limit.TokenBucket;
import dev.weir.policy.Policy;
import dev.weir.storage.LeaseKeys;
import dev.weir.wire.LeaseRequestAvro;
import dev.weir.wire.LeaseResponseAvro;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class LeaseCodecTest {

    private static final LeaseTerms TERMS = LeaseTerms.DEFAULTS;
    private static final long NOW = 1_790_000_000_000L;

    /** The {@code max.message.bytes} of changelogs. */
    private static final int MAX_RECORD_BYTES = 3 << 20;

    @Test
    void a_lease_book_survives_a_round_trip() {
        assertComesBack(LeaseBook.empty());
        LeaseBook book = LeaseBooks.plus(LeaseBooks.holding(30, NOW - 5, 5_000), 2, NOW + 1_500, 4_400);
        assertComesBack(book);
        book = book.take(31, NOW + 1_600, NOW + 1_700);
        assertComesBack(book);
        book = book.settle(5, NOW + 1_700, NOW + 1_800);
        assertComesBack(book);
        assertComesBack(book.settle(Long.MAX_VALUE, NOW + 1_700, NOW + 1_800));
        LeaseSession session = new LeaseSession("p1", 1, () -> 0);
        assertComesBack(book.nextMessage(session, LeaseBook.Needs.of(0), LeaseTerms.DEFAULTS, NOW + 4_950)
                .book());
        assertComesBack(book.revoked());
    }

    @Test
    void a_lease_book_with_refunds_survives_a_round_trip() {
        LeaseBook unused = LeaseBooks.holding(30, NOW, 5_000);
        LeaseBook book = unused.reserve(20, NOW, NOW);
        List<LeasePart> parts = book.takenSince(unused);
        LeaseSession session = new LeaseSession("p1", 1, () -> 0);
        LeaseBook reported =
                book.nextMessage(session, LeaseBook.Needs.of(30), TERMS, NOW).book();
        assertComesBack(reported);
        LeaseBook refunded = reported.refund(parts, 20, NOW, TERMS, NOW + 10).settle(99, NOW, NOW);
        assertThat(refunded.corrections().refunds()).containsExactly(new Refund(1, NOW, 20));
        assertThat(LeaseCodec.decodeBook(LeaseCodec.encode(refunded)).isStoredLike(refunded))
                .isTrue();
        assertThat(LeaseCodec.decodeBook(LeaseCodec.encode(refunded))
                        .corrections()
                        .dueMs())
                .as("due at once")
                .isLessThan(NOW);
    }

    @Test
    void a_lease_book_with_slots_survives_a_round_trip() {
        LeaseTerms terms = TERMS.lendingSlots(true);
        LeaseSession session = new LeaseSession("p1", 1, () -> 0);
        LeaseBook unused = LeaseBooks.holding(30, NOW, 5_000);
        LeaseBook book = unused.reserveSlots(2, NOW, NOW, NOW + 60_000);
        book = book.reserveSlots(3, NOW, NOW + 1, NOW + 9);
        assertComesBack(book);
        List<LeasePart> parts = book.takenSince(unused);
        LentSlots slots = new LentSlots(7, parts, NOW, NOW + 60_000);
        LeaseBook freed = book.nextMessage(session, LeaseBook.Needs.of(30), terms, NOW)
                .book()
                .free(slots, terms, NOW);
        assertThat(freed.corrections().freed()).hasSize(1);
        assertStoredLike(freed);
        LeaseBook renewing = book.renew(slots, 60_000, true).renew(new LentSlots(8, parts, NOW, NOW + 9), 5, false);
        assertStoredLike(renewing);
        LeaseBook.Transition sending = renewing.nextMessage(session, LeaseBook.Needs.of(0), terms, NOW);
        LeaseResponse.Renewed renewed =
                new LeaseResponse.Renewed(sending.message().number(), NOW, 3, NOW + 10, List.of(8L));
        LeaseBook answered = sending.book().withResponse(renewed, terms, NOW + 20);
        assertThat(answered.renewals().answer(7)).contains(new SlotRenewals.Answer(7, NOW + 60_010, true, true));
        assertThat(answered.renewals().answer(8)).contains(new SlotRenewals.Answer(8, NOW + 9, false, false));
        assertStoredLike(answered);
        LeaseBook ended = sending.book().free(slots, terms, NOW + 15);
        LeaseBook stored = LeaseCodec.decodeBook(LeaseCodec.encode(ended)).revoked();
        assertThat(stored.corrections().freed()).containsExactly(new FreedSlots(NOW, NOW + 60_000, 5));
        assertThat(stored.renewals().isPending(8)).as("asked again").isTrue();
        assertThat(ended.withResponse(renewed, terms, NOW + 20).corrections().freed())
                .containsExactly(new FreedSlots(NOW, NOW + 60_010, 5));
    }

    private static void assertStoredLike(LeaseBook book) {
        assertThat(LeaseCodec.decodeBook(LeaseCodec.encode(book)).isStoredLike(book))
                .isTrue();
    }

    private static void assertComesBack(LeaseBook book) {
        byte[] bytes = LeaseCodec.encode(book);
        LeaseBook kept = LeaseBook.fromStore(book.pool(), book.corrections());
        assertThat(LeaseCodec.decodeBook(bytes)).isEqualTo(kept);
        assertThat(StateCodec.expiresAtMs(bytes)).isEqualTo(book.pool().expiresAtMs());
    }

    @Test
    void a_ledger_survives_a_round_trip() {
        Ledger ledger = Ledger.open(
                List.of(new FixedWindow(100, 60_000, false), new TokenBucket(Rate.of(50, 1_000), 70, false)), NOW);
        assertComesBack(ledger);
        ledger = ledger.handle(new LeaseRequest(1, "p0", 5, 20, List.of(), 0, 0), TERMS, NOW + 10)
                .ledger();
        ledger = ledger.handle(new LeaseRequest(1, "p1", 5, 20, List.of(), 3, 30), TERMS, NOW + 20)
                .ledger();
        assertComesBack(ledger);
        long lease = ledger.leases().get(0).leaseId();
        List<LeaseRequest.Report> reports = List.of(new LeaseRequest.Report(lease, 4, NOW + 500, 6));
        ledger = ledger.handle(LeaseRequest.report("p0", reports, 0), TERMS, NOW + 900)
                .ledger();
        assertComesBack(ledger);
        LeaseRequest all = new LeaseRequest(1, "p3", ledger.free(), ledger.free(), List.of(), 0, 30);
        ledger = ledger.handle(all, TERMS, NOW + 900).ledger();
        ledger = ledger.handle(new LeaseRequest(2, "p1", 10, 900, List.of(), 0, 30), TERMS, NOW + 950)
                .ledger();
        ledger = ledger.handle(new LeaseRequest(2, "p2", 3, 100, List.of(), 0, 30), TERMS, NOW + 960)
                .ledger();
        assertThat(ledger.refusals()).extracting(RefusedHolders.Refusal::holder).containsExactly("p1", "p2");
        assertComesBack(ledger);
        assertComesBack(ledger.advancedTo(NOW + 10_000));
        LeaseRequest.Report reserved = new LeaseRequest.Report(lease, 8, NOW + 960, 2, true);
        LeaseRequest.Refunds refunds = new LeaseRequest.Refunds(4, List.of(new Refund(lease, NOW + 20, 3)));
        LeaseRequest refund = LeaseRequest.report("p0", new LeaseRequest.Usage(List.of(reserved), 0, refunds));
        Ledger refunded = ledger.handle(refund, TERMS, NOW + 970).ledger();
        assertThat(refunded.usage().earlier().refundable().holders()).hasSize(1);
        assertComesBack(refunded);
        assertComesBack(refunded.reset(ledger.accounts(), "p1", NOW));
        assertComesBack(ledger.reset(ledger.accounts(), "p1", NOW));
        assertComesBack(ledger.withAccounts(List.of(LimitAccount.open(new Blocked(), NOW)), ledger.accounts()));
    }

    @Test
    void the_largest_ledger_fits_a_record() {
        String holder = "h".repeat(LeaseRequestAvro.MAX_HOLDER_BYTES);
        OutstandingLease lease = new OutstandingLease(
                Long.MAX_VALUE, holder, Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE, Long.MIN_VALUE);
        RefusedHolders.Refusal refusal =
                new RefusedHolders.Refusal(holder, Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE);
        Ledger empty = Ledger.open(List.of(new FixedWindow(100, 60_000, false)), NOW);
        EarlierUse earlier = new EarlierUse(
                List.of(), Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE, holder, mostRefundable(holder));
        Ledger largest = new Ledger(
                new LedgerUsage(empty.clockMs(), empty.usage().lastChargeMs(), empty.accounts(), earlier),
                new OutstandingLeases(
                        Collections.nCopies(OutstandingLeases.MAX_LEASES, lease),
                        empty.outstanding().nextId()),
                new RefusedHolders(Collections.nCopies(RefusedHolders.MAX_REFUSALS, refusal)));
        byte[] bytes = LeaseCodec.encode(new PolicyLedger(largest, List.of()));
        assertThat(LeaseKeys.MAX_BYTES + bytes.length).isLessThan(MAX_RECORD_BYTES - (256 << 10));
    }

    private static RefundableUse mostRefundable(String holder) {
        RefundableUse.RefundingHolder one = new RefundableUse.RefundingHolder(holder, Long.MAX_VALUE);
        return new RefundableUse(
                Long.MAX_VALUE,
                true,
                Collections.nCopies(Policy.MAX_LIMITS, Long.MAX_VALUE),
                Collections.nCopies(RefundableUse.MAX_HOLDERS, one));
    }

    private static void assertComesBack(Ledger ledger) {
        PolicyLedger of = new PolicyLedger(ledger, List.of());
        byte[] bytes = LeaseCodec.encode(of);
        assertThat(LeaseCodec.decodeLedger(bytes, logId -> new MapSegments())).isEqualTo(of);
        assertThat(StateCodec.expiresAtMs(bytes)).isEqualTo(of.expiresAtMs());
    }

    @Test
    void truncated_bytes_are_rejected() {
        byte[] book = LeaseCodec.encode(LeaseBooks.holding(2, NOW, 10));
        for (int length = 0; length < book.length; length++) {
            byte[] part = Arrays.copyOf(book, length);
            assertThatThrownBy(() -> LeaseCodec.decodeBook(part)).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void lease_requests_and_responses_survive_a_round_trip() throws UnreadableException {
        List<LeaseRequest.Report> reports =
                List.of(new LeaseRequest.Report(NOW << 20, 4, NOW, 6), new LeaseRequest.Report(3, 0, 0, 0));
        LeaseRequest.Report reserved = new LeaseRequest.Report(4, 5, NOW, 6, true);
        LeaseRequest.Refunds refunds =
                new LeaseRequest.Refunds(9, List.of(new Refund(4, NOW, 3), new Refund(5, NOW + 1, Long.MAX_VALUE)));
        LeaseRequest.Report slots =
                new LeaseRequest.Report(4, 5, NOW, 6, true, List.of(new SlotUse(NOW + 7, 2), new SlotUse(NOW + 8, 1)));
        LeaseRequest.Refunds freed = new LeaseRequest.Refunds(
                9,
                List.of(),
                List.of(new FreedSlots(NOW, NOW + 5, 3)),
                List.of(new SlotRenewal(8, NOW, NOW + 9, 60_000, 2)));
        for (LeaseRequest ask : List.of(
                LeaseRequest.report("p1", reports, -4),
                LeaseRequest.check("p1", 7),
                LeaseRequest.report("p1", new LeaseRequest.Usage(List.of(reserved), 5, refunds)),
                LeaseRequest.report("p1", new LeaseRequest.Usage(List.of(slots), 0, freed)),
                new LeaseRequest(3, "p1", new LeaseRequest.Wanted(0, 0, 0, 1), reports, 2, 35, true),
                new LeaseRequest(NOW << 20, "c", 3, 90, List.of(), 0, 35))) {
            LeaseRequestAvro.Addressed question = new LeaseRequestAvro.Addressed(ask, 17);
            assertThat(new LeaseRequestAvro().decode(new LeaseRequestAvro().encode(question)))
                    .isEqualTo(question);
        }
        for (LeaseResponse response : List.of(
                new LeaseResponse.Granted(4, NOW << 20, 8, NOW, NOW + 2, NOW + 9, 17),
                new LeaseResponse.Refused(5, NOW, 3, Long.MAX_VALUE, false),
                new LeaseResponse.Refused(6, NOW, 0, 5, true),
                new LeaseResponse.Checked(7, NOW, Long.MAX_VALUE, 0, false),
                new LeaseResponse.Checked(8, NOW, 2, 9, true),
                new LeaseResponse.Renewed(9, NOW, -2, NOW + 3, List.of(4L, 5L)))) {
            LeaseResponseAvro.Addressed answer = new LeaseResponseAvro.Addressed(response, "p1", 17);
            assertThat(new LeaseResponseAvro().decode(new LeaseResponseAvro().encode(answer), 17))
                    .isEqualTo(answer);
        }
    }

    @Test
    void impossible_lease_requests_are_rejected() {
        LeaseRequestAvro avro = new LeaseRequestAvro();
        for (LeaseRequestAvro.Addressed question : List.of(
                new LeaseRequestAvro.Addressed(LeaseRequest.report("p1", List.of(), 0), -1),
                new LeaseRequestAvro.Addressed(LeaseRequest.check("p1", -1), 0),
                new LeaseRequestAvro.Addressed(new LeaseRequest(1, "p1", -1, 0, List.of(), 0, 0), 0),
                new LeaseRequestAvro.Addressed(new LeaseRequest(1, "p1", 2, 1, List.of(), 0, 0), 0))) {
            assertThatThrownBy(() -> avro.decode(avro.encode(question))).isInstanceOf(UnreadableException.class);
        }
    }

    @Test
    void a_waiting_request_survives_a_round_trip() {
        Request request = Request.builder("r", "alice")
                .tier("free")
                .cost(3)
                .attributes(Map.of("endpoint", "/sms"))
                .deadlineMs(NOW + 9)
                .payload(new byte[] {1, 2})
                .timestampMs(NOW)
                .source(3, 14)
                .build();
        List<Admission.Header> headers = List.of(new Admission.Header("trace", new byte[] {7}));
        StateKey on = new StateKey(StateKey.NO_CLIENT, "all", List.of("endpoint", "/sms"));
        WaiterCodec codec = new WaiterCodec();
        WaiterCodec.Waiter read = codec.decode(codec.encode(new WaiterCodec.Waiter(on, 100, request, headers)));
        assertThat(read.key()).isEqualTo(on);
        assertThat(read.maxWaitMs()).isEqualTo(100);
        assertThat(read.request()).usingRecursiveComparison().isEqualTo(request);
        assertThat(read.headers()).usingRecursiveComparison().isEqualTo(headers);
    }
}
