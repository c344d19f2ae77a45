package dev.weir.decision;

import static dev.weir.decision.Samples.gcra;
import static dev.weir.decision.Samples.idempotent;
import static dev.weir.decision.Samples.inLayer;
import static dev.weir.decision.Samples.onExceed;
import static dev.weir.decision.Samples.policy;
import static dev.weir.decision.Samples.table;
import static dev.weir.decision.Samples.tokens;
import static dev.weir.decision.Samples.window;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.decision.state.BoundedReservations;
import dev.weir.decision.state.IdempotencyCache;
import dev.weir.decision.state.KeyValueTable;
import dev.weir.decision.state.PolicyStates;
import dev.weir.decision.state.ReservationSummary;
import dev.weir.decision.state.ReservedUse;
import dev.weir.decision.state.lease.QuotaSource;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionResult;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.limit.Concurrency;
import dev.weir.limit.ContinuousBucket;
import dev.weir.limit.OpenCharges;
import dev.weir.policy.OnExceed;
import dev.weir.policy.Policy;
import dev.weir.policy.PolicyTable;
import dev.weir.testing.Effort;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The kinds of requests about reservations, each alone. */
class ReservationTest {

    private static final Policy SLOTS = policy("slots", new Concurrency(2, 60_000));
    private static final Policy RATE = inLayer("rate", policy("rate", window(1_000, 60_000)));

    private MapStates states = new MapStates();
    private Decider decider = Decider.local(states);
    private PolicyTable policies = table(SLOTS, RATE);

    private Decision decide(Request request) {
        return (Decision) decider.decide(request, policies);
    }

    private static Request.Builder of(RequestKind kind, String id, long atMs) {
        return Request.builder(id, "c").kind(kind).timestampMs(atMs).source(0, atMs);
    }

    private static Request consume(String id, long cost, Long reserveMs, long atMs) {
        return of(RequestKind.CONSUME, id, atMs).cost(cost).reserveMs(reserveMs).build();
    }

    private Reason reserve(String id, long cost, Long reserveMs, long atMs) {
        return decide(consume(id, cost, reserveMs, atMs)).reason();
    }

    private static Request end(RequestKind kind, String id, long cost, long atMs) {
        return kind == RequestKind.SETTLE
                ? of(kind, "s" + atMs, atMs).settles(id).cost(cost).build()
                : of(kind, id, atMs).cost(cost).build();
    }

    private Reason ended(RequestKind kind, String id, long cost, long atMs) {
        return decide(end(kind, id, cost, atMs)).reason();
    }

    private long remaining(String policyId, long atMs) {
        return decide(of(RequestKind.PEEK, "peek", atMs).build()).explanation().limits().stream()
                .filter(limit -> limit.policyId().equals(policyId))
                .findFirst()
                .orElseThrow()
                .remaining();
    }

    @ParameterizedTest
    @CsvSource({
        "SETTLE,  100, SETTLED,   900, 2",
        "SETTLE,  0,   SETTLED,   1000, 2",
        "SETTLE,  990, SETTLED,   10,  2",
        "SETTLE,  1100, SETTLED,  0,   2",
        "RELEASE, 7,   RELEASED,  998, 2",
        "CANCEL,  7,   CANCELLED, 1000, 2",
        "RENEW,   7,   RENEWED,   998, 0",
    })
    void each_kind_has_its_effect(RequestKind kind, long cost, Reason reason, long rate, long slots) {
        assertThat(reserve("r", 2, null, 0)).isEqualTo(Reason.WITHIN_LIMITS);
        assertThat(remaining("slots", 10)).isZero();
        assertThat(remaining("rate", 10)).isEqualTo(998);
        Decision decision = decide(end(kind, "r", cost, 10));
        assertThat(decision.reason()).isEqualTo(reason);
        assertThat(decision.outcome()).isEqualTo(Outcome.ALLOWED);
        assertThat(decision.httpStatus()).isEqualTo(200);
        assertThat(decision.requestId()).isEqualTo(kind == RequestKind.SETTLE ? "s10" : "r");
        assertThat(remaining("rate", 20)).isEqualTo(rate);
        assertThat(remaining("slots", 20)).isEqualTo(slots);
    }

    @Test
    void slots_are_free_when_the_reservation_ends_and_the_estimate_stays() {
        reserve("r", 2, 30_000L, 0);
        assertThat(remaining("slots", 29_999)).isZero();
        assertThat(remaining("slots", 30_000)).isEqualTo(2);
        assertThat(remaining("rate", 30_000)).isEqualTo(998);
    }

    @Test
    void a_denial_says_when_enough_slots_end() {
        reserve("a", 1, null, 0);
        reserve("b", 1, 20_000L, 5_000);
        Decision denied = decide(consume("c", 1, null, 6_000));
        assertThat(denied.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(denied.limitedBy()).isEqualTo("slots/0");
        assertThat(denied.windowMs()).isNull();
        assertThat(denied.retryAfterMs()).isEqualTo(19_000);
        assertThat(denied.resetAfterMs()).isEqualTo(54_000);
        assertThat(decide(consume("d", 2, null, 6_000)).retryAfterMs()).isEqualTo(54_000);
        assertThat(ended(RequestKind.RELEASE, "c", 0, 6_001)).isEqualTo(Reason.NOTHING_RESERVED);
        assertThat(remaining("rate", 6_001)).as("nothing is charged").isEqualTo(998);
    }

    @ParameterizedTest
    @CsvSource({
        "30000,   , 30000",
        "90000,   , 60000",
        ",        , 60000",
        "30000, 100, 30100",
    })
    void it_ends_after_the_shorter_of_its_own_time_and_the_ttl_and_a_renewal_restarts_that(
            Long reserveMs, Long renewedAtMs, long endMs) {
        Decision last = decide(consume("r", 1, reserveMs, 0));
        if (renewedAtMs != null) {
            last = decide(end(RequestKind.RENEW, "r", 0, renewedAtMs));
        }
        assertThat(last.reservedUntilMs()).isEqualTo(endMs);
        assertThat(remaining("slots", endMs - 1)).isEqualTo(1);
        assertThat(remaining("slots", endMs)).isEqualTo(2);
        assertThat(ended(RequestKind.RENEW, "r", 0, endMs)).isEqualTo(Reason.RESERVATION_ENDED);
    }

    @Test
    void it_can_be_renewed_until_just_before_its_end() {
        decide(consume("r", 2, 1_000L, 0));
        for (long i = 1; i <= 5; i++) {
            Decision renewed = decide(end(RequestKind.RENEW, "r", 0, i * 999));
            assertThat(renewed.decidedAtMs()).isEqualTo(i * 999);
            assertThat(renewed.reservedUntilMs()).isEqualTo(i * 999 + 1_000);
        }
        assertThat(remaining("slots", 5_994)).isZero();
        assertThat(remaining("slots", 5_995)).isEqualTo(2);
    }

    @Test
    void a_repeated_answer_says_when_the_reservation_ends_now() {
        for (Policy slots : List.of(SLOTS, idempotent(3_600_000, SLOTS))) {
            policies = table(slots, RATE);
            states = new MapStates();
            decider = Decider.local(states);
            assertThat(decide(consume("r", 1, 10_000L, 0)).reservedUntilMs()).isEqualTo(10_000);
            assertThat(decide(consume("r", 1, 10_000L, 5)).reservedUntilMs()).isEqualTo(10_000);
            decide(end(RequestKind.RENEW, "r", 0, 100));
            assertThat(decide(consume("r", 1, 10_000L, 10_001)).reservedUntilMs())
                    .isEqualTo(10_100);
            assertThat(decide(end(RequestKind.RELEASE, "r", 0, 10_002)).reservedUntilMs())
                    .isNull();
            Decision ended = decide(consume("r", 1, 10_000L, 10_003));
            assertThat(ended.repeated()).isTrue();
            assertThat(ended.reservedUntilMs()).isNull();
        }
    }

    @Test
    void what_reserves_nothing_has_no_end() {
        assertThat(decide(of(RequestKind.PEEK, "peek", 0).reserveMs(500L).build())
                        .reservedUntilMs())
                .isNull();
        decide(consume("r", 2, null, 0));
        assertThat(decide(consume("full", 1, null, 0)).reservedUntilMs()).isNull();
        policies = table(RATE);
        assertThat(decide(consume("rate", 1, null, 0)).reservedUntilMs()).isNull();
        assertThat(decide(consume("rated", 1, 500L, 0)).reservedUntilMs()).isEqualTo(500);
    }

    @ParameterizedTest
    @CsvSource({
        // first, its cost, second, its cost, reason of the second, repeated
        "SETTLE,  1, SETTLE,  1, SETTLED,           true",
        "SETTLE,  1, SETTLE,  2, ALREADY_ENDED,     false",
        "SETTLE,  0, CANCEL,  0, ALREADY_ENDED,     false",
        "SETTLE,  1, RELEASE, 0, ALREADY_ENDED,     false",
        "SETTLE,  1, RENEW,   0, RESERVATION_ENDED, false",
        "RELEASE, 0, RELEASE, 9, RELEASED,          true",
        "RELEASE, 0, SETTLE,  0, ALREADY_ENDED,     false",
        "RELEASE, 0, CANCEL,  0, ALREADY_ENDED,     false",
        "RELEASE, 0, RENEW,   0, RESERVATION_ENDED, false",
        "CANCEL,  0, CANCEL,  5, CANCELLED,         true",
        "CANCEL,  0, SETTLE,  0, ALREADY_ENDED,     false",
        "CANCEL,  0, RELEASE, 0, ALREADY_ENDED,     false",
        "CANCEL,  0, RENEW,   0, RESERVATION_ENDED, false",
    })
    void it_ends_once(RequestKind first, long cost, RequestKind second, long other, Reason reason, boolean repeated) {
        reserve("r", 2, null, 0);
        ended(first, "r", cost, 10);
        long slots = remaining("slots", 15);
        long rate = remaining("rate", 15);
        Decision answer = decide(end(second, "r", other, 20));
        assertThat(answer.reason()).isEqualTo(reason);
        assertThat(answer.repeated()).isEqualTo(repeated);
        assertThat(answer.decidedAtMs()).isEqualTo(repeated ? 10 : 20);
        assertThat(answer.source().offset()).isEqualTo(20);
        assertThat(answer.httpStatus()).isEqualTo(second == RequestKind.RENEW ? 410 : 200);
        assertThat(answer.outcome()).isEqualTo(second == RequestKind.RENEW ? Outcome.DENIED : Outcome.ALLOWED);
        assertThat(remaining("slots", 25)).isEqualTo(slots);
        assertThat(remaining("rate", 25)).isEqualTo(rate);
    }

    @Test
    void an_unknown_or_late_reservation_or_that_of_another_client_changes_nothing() {
        reserve("r", 2, null, 0);
        for (RequestKind kind : List.of(RequestKind.SETTLE, RequestKind.RELEASE, RequestKind.CANCEL)) {
            assertThat(ended(kind, "x", 0, 10)).isEqualTo(Reason.NOTHING_RESERVED);
            Request others = end(kind, "r", 0, 10);
            Request ofOther = Request.builder(others.requestId(), "d")
                    .kind(kind)
                    .settles(others.settles())
                    .cost(0)
                    .timestampMs(10)
                    .build();
            assertThat(decide(ofOther).reason()).isEqualTo(Reason.NOTHING_RESERVED);
            assertThat(ended(kind, "r", 0, 60_000)).isEqualTo(Reason.NOTHING_RESERVED);
        }
        Decision renew = decide(end(RequestKind.RENEW, "x", 0, 10));
        assertThat(renew.reason()).isEqualTo(Reason.RESERVATION_ENDED);
        assertThat(renew.httpStatus()).isEqualTo(410);
        assertThat(renew.retryAfterMs()).isNull();
        assertThat(remaining("slots", 59_999)).isZero();
        assertThat(remaining("rate", 59_999)).isEqualTo(998);
    }

    @Test
    void a_request_with_the_id_of_a_reservation_gets_the_first_answer_also_after_it_was_ended() {
        Decision first = decide(consume("r", 2, null, 0));
        Decision again = decide(consume("r", 2, null, 10));
        assertThat(again).isEqualTo(first.asRepeated(new Request.Source(0, 10)));
        Decision other = decide(consume("r", 1, null, 10));
        assertThat(other.reason()).isEqualTo(Reason.IDEMPOTENCY_MISMATCH);
        assertThat(other.httpStatus()).isEqualTo(422);
        assertThat(reserve("r", 2, 5L, 10)).isEqualTo(Reason.IDEMPOTENCY_MISMATCH);
        ended(RequestKind.RELEASE, "r", 0, 20);
        assertThat(decide(consume("r", 2, null, 59_999)).repeated()).isTrue();
        assertThat(remaining("slots", 59_999)).isEqualTo(2);
        assertThat(decide(consume("r", 2, null, 60_000)).repeated()).isFalse();
        assertThat(remaining("slots", 60_000)).isZero();
    }

    @Test
    void idempotency_repeats_the_first_answer_after_the_end_too() {
        policies = table(idempotent(3_600_000, SLOTS), RATE);
        Decision first = decide(consume("r", 2, 1_000L, 0));
        assertThat(decide(consume("r", 2, 1_000L, 2_000)))
                .isEqualTo(first.asRepeated(new Request.Source(0, 2_000)).withReservedUntilMs(null));
        assertThat(reserve("r", 1, 1_000L, 2_000)).isEqualTo(Reason.IDEMPOTENCY_MISMATCH);
        assertThat(remaining("slots", 2_000)).isEqualTo(2);
        decide(consume("full", 2, null, 3_000));
        assertThat(reserve("x", 1, null, 3_000)).isEqualTo(Reason.LIMIT_EXCEEDED);
        decide(end(RequestKind.RELEASE, "full", 0, 3_001));
        assertThat(decide(consume("x", 1, null, 3_002)).repeated())
                .as("a denial")
                .isTrue();
    }

    @Test
    void a_request_without_policies_can_be_reserved_too() {
        policies = table();
        assertThat(reserve("r", 2, 1_000L, 0)).isEqualTo(Reason.NO_POLICY);
        assertThat(decide(consume("r", 2, 1_000L, 5)).repeated()).isTrue();
        assertThat(ended(RequestKind.RELEASE, "r", 0, 10)).isEqualTo(Reason.RELEASED);
        assertThat(reserve("q", 2, null, 0)).isEqualTo(Reason.NO_POLICY);
        assertThat(ended(RequestKind.RELEASE, "q", 0, 10)).isEqualTo(Reason.NOTHING_RESERVED);
    }

    @Test
    void a_plain_settle_corrects_rates_and_changes_no_slots() {
        reserve("r", 2, null, 0);
        assertThat(decide(of(RequestKind.SETTLE, "r", 10).cost(-2).build()).reason())
                .isEqualTo(Reason.SETTLED);
        assertThat(remaining("slots", 20)).isZero();
        assertThat(remaining("rate", 20)).isEqualTo(1_000);
    }

    @Test
    void a_peek_takes_no_slot() {
        assertThat(decide(of(RequestKind.PEEK, "r", 0).cost(2).reserveMs(5L).build())
                        .reason())
                .isEqualTo(Reason.WITHIN_LIMITS);
        assertThat(states.reservations().size()).isZero();
        reserve("r", 2, null, 0);
        Decision peek = decide(of(RequestKind.PEEK, "r", 10).build());
        assertThat(peek.reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(peek.retryAfterMs()).isEqualTo(59_990);
    }

    @Test
    void a_reset_frees_slots_and_the_ends_of_earlier_reservations_then_free_none() {
        reserve("r", 2, null, 0);
        decide(of(RequestKind.RESET, "reset", 10).build());
        assertThat(remaining("slots", 10)).isEqualTo(2);
        reserve("s", 2, null, 20);
        assertThat(ended(RequestKind.RENEW, "r", 0, 25)).isEqualTo(Reason.RENEWED);
        assertThat(ended(RequestKind.SETTLE, "r", 0, 30)).isEqualTo(Reason.SETTLED);
        assertThat(remaining("slots", 30)).isZero();
        assertThat(remaining("rate", 30)).isEqualTo(998);
        assertThat(ended(RequestKind.SETTLE, "s", 0, 40)).isEqualTo(Reason.SETTLED);
        assertThat(remaining("slots", 40)).isEqualTo(2);
        assertThat(remaining("rate", 40)).isEqualTo(1_000);
    }

    @Test
    void changed_numbers_do_not_matter_but_another_algorithm_ends_the_correction() {
        reserve("r", 2, null, 0);
        policies = table(policy("slots", new Concurrency(1, 5)), inLayer("rate", policy("rate", window(500, 60_000))));
        assertThat(remaining("slots", 10)).isZero();
        assertThat(reserve("x", 1, null, 10)).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(remaining("rate", 10)).isEqualTo(498);
        assertThat(ended(RequestKind.CANCEL, "r", 0, 20)).isEqualTo(Reason.CANCELLED);
        assertThat(remaining("slots", 20)).isEqualTo(1);
        assertThat(remaining("rate", 20)).isEqualTo(500);

        reserve("s", 1, 1_000L, 30);
        policies =
                table(policy("slots", new Concurrency(1, 5)), inLayer("rate", policy("rate", gcra(500, 60_000, 500))));
        long converted = remaining("rate", 31);
        assertThat(converted).isEqualTo(499);
        assertThat(ended(RequestKind.CANCEL, "s", 0, 31)).isEqualTo(Reason.CANCELLED);
        assertThat(remaining("rate", 31)).isEqualTo(499);
    }

    @Test
    void a_policy_that_no_longer_exists_frees_what_is_left() {
        reserve("r", 2, null, 0);
        policies = table(RATE);
        assertThat(ended(RequestKind.CANCEL, "r", 0, 20)).isEqualTo(Reason.CANCELLED);
        policies = table(SLOTS, RATE);
        assertThat(remaining("slots", 30)).isEqualTo(2);
    }

    @Test
    void all_or_nothing_over_layers() {
        policies = table(
                SLOTS,
                inLayer("rate", policy("rate", window(2, 60_000))),
                inLayer("more", policy("more", new Concurrency(5, 30_000), window(3, 60_000))));
        assertThat(reserve("a", 2, null, 0)).isEqualTo(Reason.WITHIN_LIMITS);
        assertThat(ended(RequestKind.RELEASE, "a", 0, 1)).isEqualTo(Reason.RELEASED);
        assertThat(reserve("b", 1, null, 2)).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(remaining("slots", 3)).isEqualTo(2);
        assertThat(remaining("more", 3)).isEqualTo(5);
        assertThat(reserve("c", 1, null, 60_000)).isEqualTo(Reason.WITHIN_LIMITS);
        assertThat(remaining("slots", 89_999))
                .as("the smallest ttl counts for all")
                .isEqualTo(1);
        assertThat(remaining("slots", 90_000)).isEqualTo(2);
    }

    @Test
    void slots_count_from_the_decision_on_and_end_after_the_delay() {
        Policy throttle = inLayer("pace", onExceed(new OnExceed.Throttle(10_000), policy("pace", tokens(1, 1_000, 1))));
        policies = table(policy("slots", new Concurrency(3, 60_000), window(10, 60_000)), throttle);
        decide(consume("a", 1, 5_000L, 0));
        Decision delayed = decide(consume("b", 1, 5_000L, 0));
        assertThat(delayed.delayMs()).isEqualTo(1_000);
        assertThat(delayed.reservedUntilMs()).isEqualTo(6_000);
        assertThat(decide(end(RequestKind.RENEW, "b", 0, 0)).reservedUntilMs())
                .as("before its start")
                .isEqualTo(6_000);
        assertThat(decide(consume("c", 1, 5_000L, 0)).delayMs()).isEqualTo(2_000);
        Decision denied = decide(consume("d", 1, 5_000L, 0));
        assertThat(denied.outcome()).isEqualTo(Outcome.DENIED);
        assertThat(denied.retryAfterMs()).isEqualTo(5_000);
        assertThat(denied.limitedBy()).isEqualTo("slots/0");
        assertThat(ended(RequestKind.CANCEL, "c", 0, 10)).as("before its start").isEqualTo(Reason.CANCELLED);
        assertThat(states.of("c", "slots").delayed()).hasSize(1);
        assertThat(ended(RequestKind.SETTLE, "b", 4, 20)).as("before its start").isEqualTo(Reason.SETTLED);
        assertThat(states.of("c", "slots").delayed().get(0).cost()).isEqualTo(4);
        Decision then = decide(consume("e", 1, 5_000L, 2_500));
        assertThat(then.delayMs()).as("by the debt of b").isEqualTo(1_500);
        assertThat(states.of("c", "slots").accounts().get(1).used(2_500)).isEqualTo(5);
        assertThat(states.of("c", "slots").accounts().get(0).used(5_000)).isEqualTo(1);
    }

    @Test
    void observing_limits_count_slots_but_no_answer_depends_on_them() {
        policies = table(onExceed(OnExceed.OBSERVE, SLOTS), RATE);
        PolicyTable without = table(RATE);
        MapStates others = new MapStates();
        Decider reference = Decider.local(others);
        List<Request> requests = List.of(
                consume("a", 2, null, 0),
                consume("b", 1, null, 1),
                end(RequestKind.RELEASE, "a", 0, 2),
                consume("c", 1, null, 3),
                end(RequestKind.RENEW, "a", 0, 4),
                end(RequestKind.SETTLE, "c", 0, 5),
                consume("c", 2, null, 6),
                end(RequestKind.CANCEL, "nobody", 0, 7));
        boolean[] observed = {false, true, false, false, false, false, false, false};
        for (int i = 0; i < observed.length; i++) {
            Decision answer = decide(requests.get(i));
            assertThat(answer.observedBy()).as("request " + i).hasSize(observed[i] ? 1 : 0);
            assertThat(answer.withObservedBy(List.of())).isEqualTo(reference.decide(requests.get(i), without));
        }
        assertThat(states.of("c", "slots").accounts().get(0).used(7)).isEqualTo(2);
        assertThat(others.reservations().size()).isZero();
    }

    @Test
    void a_queued_request_holds_its_slots_and_repeats_its_admission() {
        Policy queue = inLayer("queue", onExceed(new OnExceed.Shape("q"), policy("queue", window(1, 60_000))));
        policies = table(SLOTS, queue);
        decide(consume("a", 1, null, 0));
        DecisionResult sent = decider.decide(consume("b", 1, null, 1), policies);
        assertThat(sent).isInstanceOf(Admission.class);
        assertThat(((Admission) sent).idempotentUntilMs()).isEqualTo(60_001);
        assertThat(((Admission) sent).reservedUntilMs()).isEqualTo(60_001);
        decide(end(RequestKind.RENEW, "b", 0, 2));
        Admission repeat = (Admission) decider.decide(consume("b", 1, null, 2), policies);
        assertThat(repeat.repeated()).isTrue();
        assertThat(repeat.reservedUntilMs()).isEqualTo(60_002);
        assertThat(reserve("c", 1, null, 3)).isEqualTo(Reason.LIMIT_EXCEEDED);
        Request withdrawn = of(RequestKind.CANCEL, "b", 4).queue("q").build();
        assertThat(decider.decide(withdrawn, policies)).as("of the queue").isInstanceOf(Admission.class);
        assertThat(ended(RequestKind.CANCEL, "b", 0, 5)).isEqualTo(Reason.CANCELLED);
        assertThat(decider.decide(consume("c", 1, null, 6), policies)).isInstanceOf(Admission.class);
    }

    @Test
    void beyond_the_most_reservations_requests_are_denied_and_charged_nothing() {
        states = MapStates.withReservations(2, 0);
        decider = Decider.local(states);
        policies = table(RATE);
        reserve("a", 1, 1_000L, 0);
        reserve("b", 1, 1_000L, 0);
        Decision denied = decide(consume("c", 5, 1_000L, 10));
        assertThat(denied.reason()).isEqualTo(Reason.TOO_MANY_RESERVATIONS);
        assertThat(denied.httpStatus()).isEqualTo(503);
        assertThat(denied.retryAfterMs()).isEqualTo(990);
        assertThat(remaining("rate", 10)).isEqualTo(998);
        assertThat(reserve("d", 5, null, 10)).as("without a reservation").isEqualTo(Reason.WITHIN_LIMITS);
        reserve("c", 1, 1_000L, 1_000);
        assertThat(reserve("c", 1, 1_000L, 1_001)).isEqualTo(Reason.WITHIN_LIMITS);
    }

    private Decision peek(Long reserveMs, long atMs) {
        return decide(of(RequestKind.PEEK, "peek", atMs).reserveMs(reserveMs).build());
    }

    @Test
    void a_retry_time_of_a_full_table_is_true_and_a_peek_says_the_same() {
        for (int seed = 0; seed < Effort.times(300); seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            int most = 1 + random.nextInt(40);
            states = MapStates.withReservations(most, 1_000);
            decider = Decider.local(states);
            policies = table(RATE, policy("slots", new Concurrency(random.nextInt(2) == 0 ? 1_000 : most, 30_000)));
            int denials = 0;
            long nowMs = 0;
            for (int i = 0; denials < 20; i++) {
                nowMs += random.nextInt(4) == 0 ? random.nextLong(2_000) : 0;
                Decision peeked = peek(1_000L, nowMs);
                Decision decided = decide(consume("r" + i, 1, 1L << random.nextInt(1, 16), nowMs));
                assertThat(peeked.reason()).isEqualTo(decided.reason());
                assertThat(peeked.retryAfterMs()).isEqualTo(decided.retryAfterMs());
                if (decided.outcome() == Outcome.DENIED) {
                    denials++;
                    long atMs = nowMs + decided.retryAfterMs();
                    assertThat(peek(1_000L, atMs - 1).outcome()).isEqualTo(Outcome.DENIED);
                    assertThat(peek(1_000L, atMs).reason())
                            .as("seed %d at %d, denied %s", seed, nowMs, decided)
                            .isEqualTo(Reason.WITHIN_LIMITS);
                    if (random.nextBoolean()) {
                        nowMs = atMs;
                        assertThat(reserve("again" + i, 1, 1_000L, nowMs)).isEqualTo(Reason.WITHIN_LIMITS);
                    }
                } else if (random.nextInt(3) == 0) {
                    String id = "r" + random.nextInt(i + 1);
                    ended(random.nextBoolean() ? RequestKind.RENEW : RequestKind.RELEASE, id, 0, nowMs);
                }
                assertThat(states.reservations().size()).isLessThanOrEqualTo(most);
            }
        }
    }

    @Test
    void a_peek_that_would_reserve_nothing_needs_no_place() {
        states = MapStates.withReservations(1, 0);
        decider = Decider.local(states);
        policies = table(RATE);
        reserve("a", 1, 1_000L, 0);
        assertThat(peek(null, 10).reason()).isEqualTo(Reason.WITHIN_LIMITS);
        Decision denied = peek(5L, 10);
        assertThat(denied.reason()).isEqualTo(Reason.TOO_MANY_RESERVATIONS);
        assertThat(denied.httpStatus()).isEqualTo(503);
        assertThat(denied.retryAfterMs()).isEqualTo(990);
        policies = table(SLOTS);
        assertThat(peek(null, 10).reason()).isEqualTo(Reason.TOO_MANY_RESERVATIONS);
        policies = table(onExceed(OnExceed.OBSERVE, SLOTS));
        assertThat(peek(null, 10).reason()).as("hidden").isEqualTo(Reason.NO_POLICY);
    }

    @Test
    void a_denial_by_a_limit_waits_for_a_place_too() {
        states = MapStates.withReservations(1, 0);
        decider = Decider.local(states);
        policies = table(policy("bucket", tokens(1, 1_000, 1)));
        reserve("a", 1, 5_000L, 0);
        Decision denied = decide(consume("b", 1, 9_000L, 0));
        assertThat(denied.reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(denied.retryAfterMs()).isEqualTo(5_000);
        assertThat(decide(consume("c", 1, null, 0)).retryAfterMs()).isEqualTo(1_000);
        assertThat(reserve("b", 1, 9_000L, 5_000)).isEqualTo(Reason.WITHIN_LIMITS);
    }

    @Test
    void a_request_is_not_charged_again_if_its_policy_no_longer_limits_concurrency() {
        Decision first = decide(consume("r", 2, null, 0));
        policies = table(policy("slots", window(5, 60_000)), RATE);
        assertThat(decide(consume("r", 2, null, 10))).isEqualTo(first.asRepeated(new Request.Source(0, 10)));
        assertThat(reserve("r", 1, null, 10)).isEqualTo(Reason.IDEMPOTENCY_MISMATCH);
        assertThat(remaining("rate", 10)).isEqualTo(998);
        policies = table();
        assertThat(decide(consume("r", 2, null, 20)).repeated()).isTrue();
        assertThat(reserve("r", 2, null, 60_000)).as("its time is over").isEqualTo(Reason.NO_POLICY);
    }

    @Test
    void a_reservation_that_nobody_ends_is_forgotten_when_it_is_swept() {
        states = MapStates.withReservations(20, 0);
        decider = Decider.local(states);
        policies = table(policy("bucket", tokens(100, 1_000, 100)));
        for (int i = 0; i < 150; i++) {
            reserve("r" + i, 1, 1L + i % 50, 100 * i);
            ContinuousBucket.Level level = (ContinuousBucket.Level)
                    states.of("c", "bucket").accounts().get(0).state();
            long open = level.open().groups().stream()
                    .mapToLong(OpenCharges.Group::size)
                    .sum();
            assertThat(states.reservations().size()).isEqualTo(open).isLessThanOrEqualTo(20);
        }
        assertThat(ended(RequestKind.SETTLE, "r1", 0, 15_000)).isEqualTo(Reason.NOTHING_RESERVED);
    }

    private static <K, V> KeyValueTable<K, V> unused() {
        return new KeyValueTable<>() {
            @Override
            public V get(K key) {
                throw new AssertionError("reads " + key);
            }

            @Override
            public void put(K key, V value) {
                throw new AssertionError("writes " + key);
            }

            @Override
            public void delete(K key) {
                throw new AssertionError("deletes " + key);
            }
        };
    }

    @Test
    void policies_without_reservations_read_no_table_and_keep_their_states() {
        MapStates plain = new MapStates(
                IdempotencyCache.inMemory(1, 0),
                new BoundedReservations(
                        new BoundedReservations.Storage(unused(), unused(), ReservationSummary.EMPTY), 10, 0));
        policies = table(RATE, policy("other", tokens(5, 1_000, 5)));
        for (RequestKind kind : List.of(
                RequestKind.CONSUME, RequestKind.PEEK, RequestKind.SETTLE, RequestKind.RESET, RequestKind.CONSUME)) {
            Decider.local(plain).decide(of(kind, "r", 5).build(), policies);
        }
        assertThat(plain.of("c", "rate").reserved()).isSameAs(ReservedUse.NONE);
    }

    @Test
    void read_only_decisions_reserve_nothing() {
        Decider dry = Decider.readOnly(states, QuotaSource.local());
        assertThat(((Decision) dry.decide(consume("r", 2, null, 0), policies)).reason())
                .isEqualTo(Reason.WITHIN_LIMITS);
        assertThat(states.reservations().size()).isZero();
        reserve("r", 2, null, 0);
        assertThat(((Decision) dry.decide(end(RequestKind.RELEASE, "r", 0, 5), policies)).reason())
                .isEqualTo(Reason.RELEASED);
        assertThat(remaining("slots", 5)).isZero();
        assertThat(PolicyStates.NONE.reservation(ReservationOpening.key(consume("r", 1, null, 0))))
                .isNull();
    }

    @Test
    void a_late_request_is_compared_with_the_time_of_its_keys() {
        reserve("r", 2, 1_000L, 0);
        assertThat(reserve("late", 1, null, 1_000)).isEqualTo(Reason.WITHIN_LIMITS);
        assertThat(ended(RequestKind.RELEASE, "r", 0, 500)).isEqualTo(Reason.NOTHING_RESERVED);
        assertThat(remaining("slots", 500)).isEqualTo(1);
    }

    @Test
    void the_state_is_kept_until_the_reservation_ends() {
        policies = table(policy("bucket", tokens(10, 1_000, 10)));
        reserve("r", 1, 60_000L, 0);
        assertThat(states.of("c", "bucket").expiresAtMs()).isEqualTo(60_000);
        ended(RequestKind.RENEW, "r", 0, 1_000);
        assertThat(states.of("c", "bucket").expiresAtMs()).isEqualTo(61_000);
        ended(RequestKind.SETTLE, "r", 20, 1_000);
        assertThat(decide(of(RequestKind.PEEK, "p", 1_000).build()).reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
    }
}
