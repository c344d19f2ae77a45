package dev.weir.testing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Acknowledgement;
import dev.weir.event.Acknowledgement.Result;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Receipt;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.shape.rules.InFlightCaps;
import dev.weir.shape.rules.InFlightRules;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.QueueTotal;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A queue of two slots, whose attempts last 100 ms, or 250 ms if they are extended. Each test breaks one guarantee in a
 * history that is otherwise sound, and checks that the audit finds it.
 */
class AttemptAuditTest extends AuditedHistory {

    private static final InFlightRules SLOTS = new InFlightRules(2, 100, 250, 2, 50);
    private static final QueueRules RULES =
            QueueRules.builder("q", SLOTS).capacity(100).lookAheadMs(0).build();

    AttemptAuditTest() {
        super(RULES);
    }

    /**
     * a is retried and done. b, of two slots, is lost while nobody had claimed it, and then done. c fails twice: it is
     * extended and then lost, and at last its worker reports a retry. d fails for good.
     */
    @BeforeEach
    void sound() {
        for (String id : List.of("a", "b", "c", "d")) {
            consume(id, id.equals("b") ? 2 : 1);
        }
        release("a", 1, 0);
        acknowledge("a", 1, RequestKind.COMPLETE, Result.RETRY, 20);
        release("b", 1, 20);
        release("a", 2, 120); // the chosen b is waited for
        acknowledge("a", 2, RequestKind.COMPLETE, Result.DONE, 130);
        release("b", 2, 130);
        acknowledge("b", 2, RequestKind.COMPLETE, Result.DONE, 150);
        release("c", 1, 150);
        acknowledge("c", 1, RequestKind.EXTEND, null, 200);
        release("d", 1, 150);
        acknowledge("d", 1, RequestKind.COMPLETE, Result.FAILED, 160);
        end("d", Outcome.DENIED, Reason.FAILED, 160);
        release("c", 2, 350);
        acknowledge("c", 2, RequestKind.COMPLETE, Result.RETRY, 360);
        end("c", Outcome.DENIED, Reason.ATTEMPTS_EXHAUSTED, 360);
    }

    @Test
    void a_sound_history_has_no_faults() {
        assertThat(faults()).isEmpty();
        assertThat(audit().waiting()).isZero();
        assertThat(audit().released()).isEqualTo(7);
    }

    @Test
    void what_is_in_flight_has_not_ended() {
        consume("e", 1);
        release("e", 1, 400);
        assertThat(audit().waiting()).isEqualTo(1);
        assertThat(faults()).containsExactly("e got QUEUED SHAPED and ended with []");
    }

    @Test
    void a_request_that_is_done_twice_is_found() {
        acknowledge("a", 1, RequestKind.COMPLETE, Result.DONE, 20);
        assertThat(faults())
                .contains("a got QUEUED SHAPED and ended with [done, done]", "q#1 (a) was completed 2 times");
    }

    @Test
    void an_attempt_that_is_released_twice_is_found() {
        release("a", 2, 400);
        assertThat(faults())
                .containsExactly("a got QUEUED SHAPED and ended with [done, done]", "q#8 (a) should be attempt 3");
    }

    @Test
    void an_attempt_after_the_end_is_found() {
        release("a", 3, 400);
        release("d", 2, 400);
        assertThat(faults())
                .containsExactlyInAnyOrder(
                        "q#8 (a) is released after it was DONE",
                        "q#9 (d) is released after it was FAILED",
                        "q#9 (d) is released after it was FAILED");
    }

    @Test
    void an_attempt_after_the_last_one_is_found() {
        decisions.removeIf(decision -> decision.reason() == Reason.ATTEMPTS_EXHAUSTED);
        release("c", 3, 500);
        acknowledge("c", 3, RequestKind.COMPLETE, Result.DONE, 510);
        assertThat(faults()).containsExactly("q#8 (c) is released after 2 failed attempts");
    }

    @Test
    void an_attempt_before_the_end_of_its_predecessor_or_of_the_backoff_is_found() {
        move(6, 349);
        assertThat(faults()).containsExactly("q#7 (c) is released before 350 ms");
        move(6, 350);
        move(2, 69);
        assertThat(audit().attempts(RULES))
                .containsExactly("q#3 (a) is released before 70 ms", "q#3 (a) is in flight with 3 of 2 slots used");
    }

    @Test
    void a_request_given_up_too_early_or_without_a_reason_is_found() {
        requests.removeIf(request -> request.kind() == RequestKind.EXTEND);
        decisions.removeIf(decision -> decision.reason() == Reason.EXTENDED);
        assertThat(audit().attempts(RULES)).containsExactly("c was given up after 1 failed attempts");
        end("a", Outcome.DENIED, Reason.FAILED, 130);
        assertThat(audit().attempts(RULES)).contains("a was given up, but no worker reported that it failed");
    }

    @Test
    void too_many_in_flight_of_a_tier_or_of_a_client_are_found() {
        for (InFlightCaps caps : List.of(
                new InFlightCaps(Map.of("", 1L), OptionalLong.empty()),
                new InFlightCaps(Map.of(), OptionalLong.of(1)))) {
            QueueRules capped = RULES.toBuilder().inFlight(SLOTS.withCaps(caps)).build();
            assertThat(audit().attempts(capped)).containsExactly("q#6 (d) is in flight with 2 of 1 slots used");
        }
    }

    @Test
    void too_many_in_flight_are_found_by_their_cost() {
        move(5, 149); // while b has both slots
        assertThat(faults()).contains("q#6 (d) is in flight with 3 of 2 slots used");
    }

    @Test
    void an_acknowledgement_after_its_time_is_found() {
        acknowledge("b", 1, RequestKind.COMPLETE, Result.RETRY, 120);
        assertThat(faults()).containsExactly("q#2 (b) was acknowledged at 120 ms, but ended at 120");
    }

    /** A task that takes over continues from the time of the last release, not from that of the last answer. */
    @Test
    void acknowledgements_are_accepted_in_the_order_of_their_decisions_even_if_their_times_go_back() {
        consume("e", 1);
        release("e", 1, 400);
        acknowledge("e", 1, RequestKind.EXTEND, null, 480);
        acknowledge("e", 1, RequestKind.COMPLETE, Result.DONE, 470);
        assertThat(faults()).isEmpty();
    }

    @Test
    void an_acknowledgement_after_the_end_is_found_even_if_its_time_goes_back() {
        acknowledge("d", 1, RequestKind.EXTEND, null, 155);
        assertThat(faults()).containsExactly("q#6 (d) was acknowledged at 155 ms, but ended at 160");
    }

    @Test
    void an_acknowledgement_of_no_attempt_or_by_another_client_is_found() {
        acknowledge("c", 9, RequestKind.EXTEND, null, 370);
        assertThat(faults()).containsExactly("no attempt of alice for the acknowledgement ack 10");
    }

    private void consume(String id, long cost) {
        Request request = send(Request.builder(id, "alice").cost(cost));
        decide(request, Outcome.QUEUED, Reason.SHAPED, 0);
    }

    private void release(String id, int attempt, long atMs) {
        long cost = id.equals("b") ? 2 : 1;
        releases.add(Release.builder(id, "alice", "q")
                .cost(cost)
                .sequence(releases.size() + 1)
                .releaseAtNanos(atMs * 1_000_000)
                .attempt(new Release.Attempt(attempt, receipt(id, attempt), SLOTS.ackTimeoutMs()))
                .build());
    }

    private static String receipt(String id, int attempt) {
        return new Receipt("q", Map.of(), new Receipt.FlowName("", ""), id.charAt(0), Request.Source.NONE, attempt)
                .text();
    }

    private void move(int index, long atMs) {
        releases.set(
                index,
                releases.get(index).toBuilder().releaseAtNanos(atMs * 1_000_000).build());
    }

    private void acknowledge(String id, int attempt, RequestKind kind, Result result, long atMs) {
        Request request = send(Request.builder("ack " + requests.size(), "alice")
                .kind(kind)
                .acknowledgement(new Acknowledgement(receipt(id, attempt), result, null, null)));
        decide(request, Outcome.ALLOWED, kind == RequestKind.EXTEND ? Reason.EXTENDED : Reason.COMPLETED, atMs);
    }

    private void end(String id, Outcome outcome, Reason reason, long atMs) {
        Request of = requests.stream()
                .filter(request -> request.requestId().equals(id))
                .findFirst()
                .orElseThrow();
        decide(of, outcome, reason, atMs);
    }

    private void decide(Request request, Outcome outcome, Reason reason, long atMs) {
        decisions.add(decision(request.requestId(), request.source(), outcome, reason, atMs));
    }

    @Test
    void more_in_flight_in_all_keys_than_the_total_has_slots_is_found() {
        List<Release> ofKeys = releases.stream()
                .map(release -> release.toBuilder()
                        .key(Map.of("k", release.requestId()))
                        .build())
                .toList();
        QueueAudit audit = new QueueAudit(requests, decisions, ofKeys);
        assertThat(audit.attempts(withTotal(2))).isEmpty();
        assertThat(audit.attempts(withTotal(1)))
                .anySatisfy(fault -> assertThat(fault).endsWith("is in flight with 2 of 1 slots used"));
        assertThat(audit.attempts(withTotal(1), 9))
                .as("c and d overlap by 10 ms")
                .isNotEmpty();
        assertThat(audit.attempts(withTotal(1), 10)).isEmpty();
    }

    private static QueueRules withTotal(long slots) {
        return RULES.toBuilder()
                .key(List.of("k"))
                .total(QueueTotal.ofInFlight(slots, 100))
                .build();
    }
}
