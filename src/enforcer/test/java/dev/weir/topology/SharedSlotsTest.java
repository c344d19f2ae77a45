package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Slots of shared limits of concurrency. */
@Tag("slow")
class SharedSlotsTest extends SharingHarness {

    private static final String SLOTS =
            "  - {id: all, key: [], limits: [{algorithm: concurrency, limit: 10, ttl: 60s}]}";

    private static final LeaseRequest ALL_SLOTS = new LeaseRequest(1, "other", 10, 10, List.of(), 0, 0);

    private Request aboutReservation(RequestKind kind, String id) {
        return Request.builder(id, "alice")
                .kind(kind)
                .timestampMs(nowMs)
                .source(0, 0)
                .build();
    }

    private List<Reason> reasons() throws Exception {
        return decided().stream().map(Decision::reason).toList();
    }

    @Test
    void slots_of_all_clients_together_are_at_most_the_limit_and_can_be_used_again() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 7);
        reservation(RequestKind.CONSUME, "b", 3);
        assertThat(decided()).extracting(Decision::remaining).containsExactly(3L, 0L);
        reservation(RequestKind.RELEASE, "b", 1);
        request("bob", 3);
        assertThat(reasons()).as("at once, by the lease").containsExactly(Reason.RELEASED, Reason.WITHIN_LIMITS);
        reservation(RequestKind.CONSUME, "c", 1);
        assertThat(decided()).singleElement().returns(Reason.LIMIT_EXCEEDED, Decision::reason);
        endLeases();
        reservation(RequestKind.CANCEL, "a", 1);
        reservation(RequestKind.CANCEL, "a", 1);
        endLeases();
        request("bob", 8);
        request("carol", 7);
        exchange();
        assertThat(reasons())
                .as("freed by the ledger, once")
                .containsExactly(Reason.CANCELLED, Reason.CANCELLED, Reason.LIMIT_EXCEEDED, Reason.WITHIN_LIMITS);
    }

    @Test
    void slots_that_nobody_frees_end_by_the_time_of_the_ledger() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 10);
        endLeases();
        pass(53_000);
        request("bob", 1);
        exchange();
        pass(1_500);
        request("bob", 10);
        exchange();
        assertThat(reasons()).containsExactly(Reason.WITHIN_LIMITS, Reason.LIMIT_EXCEEDED, Reason.WITHIN_LIMITS);
    }

    @Test
    void slots_of_a_holder_that_is_never_heard_of_again_return_a_ttl_after_its_lease() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 10);
        pass(5_000);
        asksOut.readRecordsToList(); // the report
        nowMs += 59_000;
        lending.advanceWallClockTime(Duration.ofMillis(59_000));
        assertThat(foreign(ALL_SLOTS)).isInstanceOf(LeaseResponse.Refused.class);
        nowMs += 2_000;
        assertThat(foreign(ALL_SLOTS)).isInstanceOf(LeaseResponse.Granted.class);
    }

    @Test
    void a_renewal_waits_for_the_ledger_and_holds_the_slots() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 10);
        endLeases();
        pass(44_000);
        assertThat(reasons()).containsExactly(Reason.WITHIN_LIMITS);
        send(aboutReservation(RequestKind.RENEW, "a"));
        assertThat(decided()).as("until the ledger has confirmed it").isEmpty();
        exchange();
        assertThat(reasons()).containsExactly(Reason.RENEWED);
        pass(30_000);
        request("bob", 1);
        exchange();
        assertThat(reasons()).as("the first end has passed").containsExactly(Reason.LIMIT_EXCEEDED);
        send(aboutReservation(RequestKind.RENEW, "a"));
        send(aboutReservation(RequestKind.RELEASE, "a"));
        exchange();
        assertThat(reasons())
                .as("which was ended while it waited")
                .containsExactly(Reason.RELEASED, Reason.RESERVATION_ENDED);
        endLeases();
        request("bob", 10);
        exchange();
        assertThat(reasons()).containsExactly(Reason.WITHIN_LIMITS);
    }

    @Test
    @Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
    void renewals_are_confirmed_one_after_the_other_while_a_request_waits_for_slots() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 5);
        reservation(RequestKind.CONSUME, "b", 5);
        endLeases();
        assertThat(reasons()).containsOnly(Reason.WITHIN_LIMITS).hasSize(2);
        send(aboutReservation(RequestKind.RENEW, "a"));
        send(aboutReservation(RequestKind.RENEW, "b"));
        request("bob", 1);
        assertThat(decided()).as("until the ledger responds").isEmpty();
        exchange();
        assertThat(reasons()).containsExactlyInAnyOrder(Reason.RENEWED, Reason.RENEWED, Reason.LIMIT_EXCEEDED);
    }

    /** Sends a request about a reservation, which waits for the ledger. Returns the decision. */
    private Decision decideLate(RequestKind kind) throws Exception {
        send(aboutReservation(kind, "a"));
        pass(70);
        exchange();
        return decided().get(0);
    }

    private void passUntil(long atMs) {
        pass(atMs - nowMs);
    }

    /** The decisions say when slots end, by the time of the ledger: they can be renewed until then, and not after it. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void slots_end_when_the_last_decision_said(boolean isRenewed) throws Exception {
        apply(SLOTS, 1);
        Decision last = decideLate(RequestKind.CONSUME);
        assertThat(last.reservedUntilMs()).isEqualTo(last.decidedAtMs() + 60_000);
        endLeases();
        if (isRenewed) {
            passUntil(last.reservedUntilMs() - 1);
            send(aboutReservation(RequestKind.RENEW, "a"));
            exchange();
            last = decided().get(0);
            assertThat(last.reason()).isEqualTo(Reason.RENEWED);
            assertThat(last.decidedAtMs()).isEqualTo(nowMs);
            assertThat(last.reservedUntilMs()).isEqualTo(nowMs + 60_000);
        }
        passUntil(last.reservedUntilMs() - 1);
        assertThat(foreign(ALL_SLOTS)).isInstanceOf(LeaseResponse.Refused.class);
        passUntil(last.reservedUntilMs());
        assertThat(foreign(ALL_SLOTS)).isInstanceOf(LeaseResponse.Granted.class);
        send(aboutReservation(RequestKind.RENEW, "a"));
        exchange();
        assertThat(reasons()).containsExactly(Reason.RESERVATION_ENDED);
    }

    /** A slot of a client and one that is shared are free at the same time, also if the request waited. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void a_reservation_on_own_and_shared_limits_has_one_end(boolean isRenewed) throws Exception {
        String own = "  - {id: own, layer: own, limits: [{algorithm: concurrency, limit: 3, ttl: 20s}]}";
        apply(SLOTS + "\n" + own, 1);
        Decision last = decideLate(RequestKind.CONSUME);
        endLeases();
        last = isRenewed ? decideLate(RequestKind.RENEW) : last;
        assertThat(last.reservedUntilMs()).isEqualTo(last.decidedAtMs() + 20_000);
        passUntil(last.reservedUntilMs() - 1);
        assertThat(remainingOfOwn()).isEqualTo(2);
        assertThat(foreign(ALL_SLOTS)).isInstanceOf(LeaseResponse.Refused.class);
        passUntil(last.reservedUntilMs());
        assertThat(remainingOfOwn()).isEqualTo(3);
        assertThat(foreign(ALL_SLOTS)).isInstanceOf(LeaseResponse.Granted.class);
    }

    private long remainingOfOwn() throws Exception {
        request("alice", RequestKind.PEEK, 1);
        exchange();
        return decided().get(0).limits().stream()
                .filter(limit -> limit.policyId().equals("own"))
                .findFirst()
                .orElseThrow()
                .remaining();
    }

    @Test
    void a_renewal_without_an_answer_is_denied_when_the_wait_is_over() throws Exception {
        apply(SLOTS.replace("key: []", "key: [], max-wait: 500ms"), 1);
        reservation(RequestKind.CONSUME, "a", 10);
        send(aboutReservation(RequestKind.RENEW, "a"));
        assertThat(reasons()).containsExactly(Reason.WITHIN_LIMITS);
        pass(400);
        assertThat(decided()).isEmpty();
        pass(200);
        assertThat(decided())
                .singleElement()
                .returns(Reason.RESERVATION_ENDED, Decision::reason)
                .returns(410, Decision::httpStatus);
    }

    @Test
    void a_renewal_does_not_wait_for_slots_of_a_policy_that_has_none_any_more() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 10);
        apply("  - {id: all, key: [], limits: [{algorithm: fixed-window, limit: 5, per: 1h}]}", 2);
        reservationWithoutExchange(RequestKind.RENEW, "a", 1);
        assertThat(reasons()).containsExactly(Reason.WITHIN_LIMITS, Reason.RENEWED);
    }

    @Test
    void a_slot_whose_end_the_ledger_has_passed_is_not_renewed() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 10);
        endLeases();
        Request late = aboutReservation(RequestKind.RENEW, "a"); // by the clock of its client, it is in time
        nowMs += 60_000;
        send(late);
        exchange();
        assertThat(reasons()).containsExactly(Reason.WITHIN_LIMITS, Reason.RESERVATION_ENDED);
    }

    @Test
    void a_waiting_request_passes_by_a_slot_that_is_freed_here() throws Exception {
        apply(SLOTS.replace("key: []", "key: [], max-wait: 500ms"), 1);
        reservation(RequestKind.CONSUME, "a", 3);
        request("bob", 4);
        assertThat(reasons()).as("waits for the ledger").containsExactly(Reason.WITHIN_LIMITS);
        reservationWithoutExchange(RequestKind.CONSUME, "b", 1);
        send(aboutReservation(RequestKind.RELEASE, "a"));
        assertThat(reasons()).containsExactly(Reason.RELEASED);
        exchange();
        assertThat(reasons()).containsExactly(Reason.WITHIN_LIMITS, Reason.WITHIN_LIMITS);
    }

    @Test
    void a_reset_frees_the_slots_of_all_and_what_was_used_before_frees_and_renews_nothing() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 10);
        endLeases();
        request("carol", RequestKind.RESET, 0);
        exchange();
        request("bob", 10);
        exchange();
        assertThat(reasons()).containsExactly(Reason.WITHIN_LIMITS, Reason.USAGE_RESET, Reason.WITHIN_LIMITS);
        reservation(RequestKind.RENEW, "a", 1);
        reservation(RequestKind.RELEASE, "a", 1);
        endLeases();
        request("carol", 1);
        exchange();
        assertThat(reasons()).containsExactly(Reason.RENEWED, Reason.RELEASED, Reason.LIMIT_EXCEEDED);
    }

    @Test
    void a_lower_limit_evicts_nobody() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 4);
        reservation(RequestKind.CONSUME, "b", 4);
        endLeases();
        apply(SLOTS.replace("limit: 10", "limit: 5"), 2);
        reservation(RequestKind.RENEW, "a", 1);
        request("bob", 1);
        exchange();
        reservation(RequestKind.RELEASE, "b", 1);
        endLeases();
        request("bob", 1);
        exchange();
        assertThat(reasons())
                .containsExactly(
                        Reason.WITHIN_LIMITS,
                        Reason.WITHIN_LIMITS,
                        Reason.RENEWED,
                        Reason.LIMIT_EXCEEDED,
                        Reason.RELEASED,
                        Reason.WITHIN_LIMITS);
    }

    @Test
    void a_settlement_without_a_reservation_takes_and_frees_no_slots() throws Exception {
        apply(SLOTS, 1);
        reservation(RequestKind.CONSUME, "a", 5);
        request("bob", RequestKind.SETTLE, 5);
        request("bob", RequestKind.SETTLE, -5);
        exchange();
        endLeases();
        request("bob", 6);
        request("bob", 5);
        exchange();
        assertThat(reasons())
                .containsExactly(
                        Reason.WITHIN_LIMITS,
                        Reason.SETTLED,
                        Reason.SETTLED,
                        Reason.LIMIT_EXCEEDED,
                        Reason.WITHIN_LIMITS);
    }

    @Test
    void an_observing_limit_of_slots_counts_them_and_delays_no_renewal() throws Exception {
        apply(SLOTS.replace("key: []", "key: [], on-exceed: observe"), 1);
        for (int i = 0; i < 40; i++) {
            reservation(RequestKind.CONSUME, "a" + i, 1);
            pass(50);
            exchange();
        }
        for (int i = 0; i < 40; i++) {
            reservationWithoutExchange(RequestKind.RENEW, "a" + i, 1);
        }
        List<Decision> all = decided();
        assertThat(all).hasSize(80).extracting(Decision::outcome).containsOnly(Outcome.ALLOWED);
        List<Boolean> exceeds =
                all.stream().limit(40).map(each -> !each.observedBy().isEmpty()).toList();
        assertThat(exceeds).containsSequence(false, false, false);
        assertThat(Collections.frequency(exceeds, false)).isLessThanOrEqualTo(10);
        assertThat(exceeds.subList(30, 40)).containsOnly(true);
        endLeases();
        pass(60_000);
        exchange();
        for (int i = 0; i < 3; i++) {
            request("bob", 1);
            exchange();
        }
        assertThat(decided()).as("all have ended").anySatisfy(each -> assertThat(each.observedBy())
                .isEmpty());
    }
}
