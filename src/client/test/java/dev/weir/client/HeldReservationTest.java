package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.client.decision.NoDecisionException;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests reservations of a client by a clock of the test: what is sent when, and what callers see. */
class HeldReservationTest {

    private static final Duration TTL = Duration.ofSeconds(60);
    private static final long SECOND_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** The time of decisions, by a clock that has nothing in common with that of the client. */
    private static final long WEIR_MS = 5_000_000_000_000L;

    /** Near the overflow of {@link System#nanoTime}, which may happen at any time. */
    private long nowNanos = Long.MAX_VALUE - 30 * SECOND_NANOS;

    private final long startNanos = nowNanos;
    private final ManualTimer timer = new ManualTimer();
    private final ClientMetrics metrics = new ClientMetrics();
    private final List<Request> sent = new ArrayList<>();
    private final List<Duration> within = new ArrayList<>();
    private final Deque<Function<Request, CompletableFuture<Decision>>> answers = new ArrayDeque<>();
    private final AtomicInteger losses = new AtomicInteger();
    private final ClientReservations reservations = new ClientReservations(
            WeirClient.builder(Map.of()).timeout(Duration.ofSeconds(5)),
            (request, time) -> {
                sent.add(request);
                within.add(time);
                return answers.isEmpty()
                        ? done(confirmed(request))
                        : answers.remove().apply(request);
            },
            timer,
            Runnable::run,
            () -> nowNanos,
            metrics);

    private final class ManualTimer implements ClientReservations.Timer {
        private final PriorityQueue<Task> tasks =
                new PriorityQueue<>(Comparator.comparing(task -> task.atNanos - startNanos));
        private boolean isClosed;

        private final class Task extends FutureTask<Void> {
            private final long atNanos;

            Task(Runnable task, long atNanos) {
                super(task, null);
                this.atNanos = atNanos;
            }
        }

        @Override
        public Optional<Future<?>> schedule(Runnable task, long afterNanos) {
            if (isClosed) {
                return Optional.empty();
            }
            Task added = new Task(task, nowNanos + afterNanos);
            tasks.add(added);
            return Optional.of(added);
        }

        /** Advances the clock, and runs each task at its time. */
        void advanceTo(Duration sinceStart) {
            long untilNanos = startNanos + sinceStart.toNanos();
            while (!tasks.isEmpty() && tasks.peek().atNanos - untilNanos <= 0) {
                Task next = tasks.remove();
                nowNanos = next.atNanos - nowNanos > 0 ? next.atNanos : nowNanos;
                next.run();
            }
            nowNanos = untilNanos;
        }
    }

    private static Decision confirmed(Request request) {
        return switch (request.kind()) {
            case SETTLE -> Decision.allowed(request, Reason.SETTLED, 0);
            case RELEASE -> Decision.allowed(request, Reason.RELEASED, 0);
            case CANCEL -> Decision.allowed(request, Reason.CANCELLED, 0);
            case RENEW -> until(Decision.allowed(request, Reason.RENEWED, WEIR_MS), WEIR_MS + 60_000);
            case CONSUME -> until(Decision.allowed(request, Reason.WITHIN_LIMITS, WEIR_MS), WEIR_MS + 60_000);
            case PEEK, RESET, COMPLETE, EXTEND -> throw new AssertionError(request.kind());
        };
    }

    private static Decision until(Decision decision, long endMs) {
        return decision.withReservedUntilMs(endMs);
    }

    private static CompletableFuture<Decision> done(Decision decision) {
        return CompletableFuture.completedFuture(decision);
    }

    private static CompletableFuture<Decision> none(NoDecisionReason reason) {
        return CompletableFuture.failedFuture(new NoDecisionException(reason, "no decision", null));
    }

    private static Request request() {
        return RequestBuilder.of("alice")
                .requestId("r")
                .tier("free")
                .attribute("model", "large")
                .cost(7)
                .build();
    }

    private Reservation reserve() {
        Reservation reservation =
                reservations.reserve(request(), TTL, Fallback.FAIL).join();
        reservation.onLost(losses::incrementAndGet);
        return reservation;
    }

    private List<RequestKind> sentKinds() {
        return sent.stream().map(Request::kind).toList();
    }

    @Test
    void the_request_says_how_long_it_reserves() {
        Reservation reservation = reserve();
        assertThat(reservation.isAllowed()).isTrue();
        assertThat(reservation.decision().decision().orElseThrow().reason()).isEqualTo(Reason.WITHIN_LIMITS);
        assertThat(sent.get(0).reserveMs()).isEqualTo(60_000);
        assertThat(sent.get(0).cost()).isEqualTo(7);
        assertThat(reservations.size()).isEqualTo(1);
    }

    @Test
    void each_end_names_client_and_id_and_is_sent_once() throws Exception {
        Reservation settled = reserve();
        assertThat(settled.settle(3).get()).isEqualTo(Reason.SETTLED);
        assertThat(settled.settle(3).get()).isEqualTo(Reason.SETTLED);
        assertThat(settled.settle(4).get()).isEqualTo(Reason.ALREADY_ENDED);
        assertThat(settled.release().get()).isEqualTo(Reason.ALREADY_ENDED);
        settled.close();
        assertThat(sentKinds()).containsExactly(RequestKind.CONSUME, RequestKind.SETTLE);
        Request end = sent.get(1);
        assertThat(end.isForReservation()).isTrue();
        assertThat(end.client()).isEqualTo("alice");
        assertThat(end.reservationId()).isEqualTo("r");
        assertThat(end.cost()).isEqualTo(3);
        assertThat(end.tier()).isNull();
        assertThat(end.attributes()).isEmpty();
        assertThat(reservations.size()).isZero();

        Reservation released = reserve();
        assertThat(released.release().get()).isEqualTo(Reason.RELEASED);
        Reservation cancelled = reserve();
        assertThat(cancelled.cancel().get()).isEqualTo(Reason.CANCELLED);
        assertThat(sent.subList(2, 6))
                .extracting(Request::kind)
                .containsExactly(RequestKind.CONSUME, RequestKind.RELEASE, RequestKind.CONSUME, RequestKind.CANCEL);
        assertThat(sent.get(3).reservationId()).isEqualTo("r");
        assertThat(sent.get(5).queue()).isNull();
        timer.advanceTo(Duration.ofHours(1));
        assertThat(sent).hasSize(6);
        assertThat(losses).hasValue(0);
    }

    @Test
    void close_cancels_if_nothing_was_said() {
        Reservation reservation = reserve();
        reservation.close();
        reservation.close();
        assertThat(sentKinds()).containsExactly(RequestKind.CONSUME, RequestKind.CANCEL);
    }

    @Test
    void a_denied_request_reserves_nothing() throws Exception {
        answers.add(request -> done(Decision.denied(request, Reason.LIMIT_EXCEEDED, 429, 0)));
        Reservation denied = reserve();
        assertThat(denied.isAllowed()).isFalse();
        assertThat(denied.settle(3).get()).isEqualTo(Reason.NOTHING_RESERVED);
        assertThat(denied.release().get()).isEqualTo(Reason.NOTHING_RESERVED);
        denied.close();
        timer.advanceTo(Duration.ofHours(1));
        assertThat(sent).hasSize(1);
        assertThat(losses).hasValue(0);
        assertThat(reservations.size()).isZero();
    }

    @Test
    void a_queued_request_is_left_to_the_worker_of_its_release() {
        answers.add(request -> done(Decision.queued(request, new Decision.Queueing("q", 1L, 10L), 0)));
        Reservation queued = reserve();
        assertThat(queued.isAllowed()).isFalse();
        assertThat(queued.decision().decision().orElseThrow().outcome()).isEqualTo(Outcome.QUEUED);
        queued.close();
        assertThat(sent).hasSize(1);
    }

    @Test
    void it_is_renewed_each_third_of_its_time_until_it_is_ended() {
        Reservation reservation = reserve();
        timer.advanceTo(Duration.ofSeconds(19));
        assertThat(sent).hasSize(1);
        timer.advanceTo(Duration.ofSeconds(20));
        assertThat(sentKinds()).containsExactly(RequestKind.CONSUME, RequestKind.RENEW);
        assertThat(sent.get(1).reservationId()).isEqualTo("r");
        assertThat(sent.get(1).reserveMs()).isNull();
        timer.advanceTo(Duration.ofSeconds(3_600));
        assertThat(sent).hasSize(1 + 180);
        reservation.close();
        timer.advanceTo(Duration.ofSeconds(7_200));
        assertThat(sent).hasSize(1 + 180 + 1);
        assertThat(losses).hasValue(0);
    }

    @Test
    void a_throttled_reservation_counts_from_its_start() {
        answers.add(request -> done(throttled(request, 100_000)));
        reserve();
        timer.advanceTo(Duration.ofSeconds(119));
        assertThat(sent).hasSize(1);
        timer.advanceTo(Duration.ofSeconds(120));
        assertThat(sentKinds()).containsExactly(RequestKind.CONSUME, RequestKind.RENEW);
    }

    private static Decision throttled(Request request, long delayMs) {
        return new Decision(
                Decision.Identity.of(request),
                Decision.Status.allowed(Reason.THROTTLED),
                new Decision.Timing(WEIR_MS, 0L, delayMs, WEIR_MS + delayMs + 60_000));
    }

    /** Limits with a {@code ttl} of 6 s end a reservation sooner than the client asked for. */
    @Test
    void it_is_renewed_in_time_if_it_ends_sooner_than_was_asked_for() {
        answers.add(request -> done(until(Decision.allowed(request, Reason.WITHIN_LIMITS, WEIR_MS), WEIR_MS + 6_000)));
        for (int i = 0; i < 3; i++) {
            answers.add(request -> done(until(Decision.allowed(request, Reason.RENEWED, WEIR_MS), WEIR_MS + 3_000)));
        }
        for (int i = 0; i < 100; i++) {
            answers.add(request -> none(NoDecisionReason.TIMED_OUT));
        }
        reserve();
        timer.advanceTo(Duration.ofMillis(1_999));
        assertThat(sent).hasSize(1);
        timer.advanceTo(Duration.ofMillis(2_000));
        assertThat(sent).hasSize(2);
        timer.advanceTo(Duration.ofMillis(3_999));
        assertThat(sent).hasSize(3);
        timer.advanceTo(Duration.ofMillis(4_000));
        assertThat(sent).hasSize(4);
        timer.advanceTo(Duration.ofMillis(6_999));
        assertThat(losses).hasValue(0);
        timer.advanceTo(Duration.ofMillis(7_000));
        assertThat(losses).hasValue(1);
    }

    /** Some of its time has passed since the first decision, and the client cannot know how much. */
    @Test
    void a_reservation_that_was_made_before_is_renewed_at_once() {
        answers.add(request -> done(until(Decision.allowed(request, Reason.WITHIN_LIMITS, WEIR_MS), WEIR_MS + 60_000)
                .asRepeated(request.source())));
        reserve();
        timer.advanceTo(Duration.ZERO);
        assertThat(sentKinds()).containsExactly(RequestKind.CONSUME, RequestKind.RENEW);
        timer.advanceTo(Duration.ofSeconds(19));
        assertThat(sent).hasSize(2);
        timer.advanceTo(Duration.ofSeconds(20));
        assertThat(sent).hasSize(3);
        assertThat(losses).hasValue(0);
    }

    @Test
    void a_reservation_that_was_made_and_ended_before_is_lost_at_once() {
        answers.add(request ->
                done(Decision.allowed(request, Reason.WITHIN_LIMITS, WEIR_MS).asRepeated(request.source())));
        answers.add(request -> done(Decision.denied(request, Reason.RESERVATION_ENDED, 410, WEIR_MS)));
        reserve();
        timer.advanceTo(Duration.ZERO);
        assertThat(losses).hasValue(1);
    }

    @Test
    void it_is_lost_once_if_a_renewal_is_denied() throws Exception {
        Reservation reservation = reserve();
        answers.add(request -> done(Decision.denied(request, Reason.RESERVATION_ENDED, 410, 0)));
        timer.advanceTo(Duration.ofSeconds(20));
        assertThat(losses).hasValue(1);
        timer.advanceTo(Duration.ofHours(1));
        assertThat(losses).hasValue(1);
        assertThat(sent).hasSize(2);
        assertThat(reservations.size()).isZero();
        reservation.onLost(losses::incrementAndGet);
        assertThat(losses).hasValue(2);
        answers.add(request -> done(Decision.allowed(request, Reason.NOTHING_RESERVED, 0)));
        assertThat(reservation.settle(1).get()).isEqualTo(Reason.NOTHING_RESERVED);
        assertThat(metrics.lostReservations.sum()).isEqualTo(1);
    }

    @Test
    void it_is_lost_at_its_end_if_no_renewal_is_confirmed() {
        reserve();
        for (int i = 0; i < 100; i++) {
            answers.add(request -> none(NoDecisionReason.NOT_WRITTEN));
        }
        timer.advanceTo(Duration.ofSeconds(59));
        assertThat(losses).hasValue(0);
        int renewals = sent.size() - 1;
        assertThat(renewals).isBetween(5, 9);
        timer.advanceTo(Duration.ofSeconds(60));
        assertThat(losses).hasValue(1);
    }

    @Test
    void a_renewal_without_an_answer_is_not_waited_for_after_the_end() {
        reserve();
        answers.add(request -> new CompletableFuture<>());
        timer.advanceTo(Duration.ofSeconds(59));
        assertThat(sent).hasSize(2);
        assertThat(within.get(1)).isEqualTo(Duration.ofSeconds(40));
        assertThat(losses).hasValue(0);
        timer.advanceTo(Duration.ofSeconds(60));
        assertThat(losses).hasValue(1);
    }

    @Test
    void its_time_counts_from_before_a_renewal_was_sent() {
        reserve();
        CompletableFuture<Decision> slow = new CompletableFuture<>();
        answers.add(request -> slow);
        timer.advanceTo(Duration.ofSeconds(50));
        slow.complete(confirmed(sent.get(1)));
        for (int i = 0; i < 100; i++) {
            answers.add(request -> none(NoDecisionReason.TIMED_OUT));
        }
        timer.advanceTo(Duration.ofSeconds(79));
        assertThat(losses).hasValue(0);
        timer.advanceTo(Duration.ofSeconds(80));
        assertThat(losses).hasValue(1);
    }

    @ParameterizedTest
    @EnumSource(
            value = NoDecisionReason.class,
            names = {"NOT_READY", "NOT_WRITTEN", "TOO_MANY_WAITING", "OVERLOADED", "CIRCUIT_OPEN"})
    void an_end_that_cannot_be_sent_is_tried_again(NoDecisionReason reason) throws Exception {
        Reservation reservation = reserve();
        for (int i = 0; i < 3; i++) {
            answers.add(request -> none(reason));
        }
        CompletableFuture<Reason> end = reservation.settle(3);
        assertThat(end).isNotDone();
        timer.advanceTo(Duration.ofSeconds(4));
        assertThat(end.get()).isEqualTo(Reason.SETTLED);
        assertThat(sent).hasSize(5);
        assertThat(within.get(4)).isLessThan(Duration.ofSeconds(5));
        assertThat(metrics.unconfirmedEnds.sum()).isZero();
    }

    @Test
    void an_end_that_cannot_be_sent_within_the_timeout_is_reported() {
        Reservation reservation = reserve();
        for (int i = 0; i < 1_000; i++) {
            answers.add(request -> none(NoDecisionReason.CIRCUIT_OPEN));
        }
        CompletableFuture<Reason> end = reservation.release();
        timer.advanceTo(Duration.ofSeconds(5));
        assertThatThrownBy(end::get)
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(NoDecisionException.class);
        assertThat(sent).hasSizeBetween(5, 20);
        assertThat(metrics.unconfirmedEnds.sum()).isEqualTo(1);
        assertThat(reservations.size()).isZero();
        assertThat(losses).hasValue(0);
    }

    @ParameterizedTest
    @EnumSource(Fallback.class)
    void a_request_that_was_not_sent_reserves_nothing(Fallback fallback) throws Exception {
        answers.add(request -> none(NoDecisionReason.CIRCUIT_OPEN));
        CompletableFuture<Reservation> result = reservations.reserve(request(), TTL, fallback);
        if (fallback == Fallback.FAIL) {
            assertThatThrownBy(result::get).hasCauseInstanceOf(NoDecisionException.class);
        } else {
            assertThat(result.get().isAllowed()).isEqualTo(fallback == Fallback.FAIL_OPEN);
            assertThat(result.get().decision().noDecisionReason()).contains(NoDecisionReason.CIRCUIT_OPEN);
            assertThat(result.get().settle(3).get()).isEqualTo(Reason.NOTHING_RESERVED);
        }
        timer.advanceTo(Duration.ofHours(1));
        assertThat(sent).hasSize(1);
    }

    @ParameterizedTest
    @EnumSource(
            value = Fallback.class,
            names = {"FAIL", "FAIL_CLOSED"})
    void a_refused_request_that_may_yet_be_decided_is_cancelled(Fallback fallback) {
        answers.add(request -> none(NoDecisionReason.TIMED_OUT));
        CompletableFuture<Reservation> result = reservations.reserve(request(), TTL, fallback);
        assertThat(result.isCompletedExceptionally()).isEqualTo(fallback == Fallback.FAIL);
        assertThat(sentKinds()).containsExactly(RequestKind.CONSUME, RequestKind.CANCEL);
        assertThat(reservations.size()).isZero();
    }

    @Test
    void an_allowed_request_that_may_yet_be_decided_can_be_ended_and_is_not_renewed() throws Exception {
        answers.add(request -> none(NoDecisionReason.TIMED_OUT));
        Reservation unsure =
                reservations.reserve(request(), TTL, Fallback.FAIL_OPEN).join();
        unsure.onLost(losses::incrementAndGet);
        assertThat(unsure.isAllowed()).isTrue();
        timer.advanceTo(Duration.ofHours(1));
        assertThat(sent).hasSize(1);
        assertThat(losses).hasValue(0);
        assertThat(unsure.release().get()).isEqualTo(Reason.RELEASED);
        assertThat(sentKinds()).containsExactly(RequestKind.CONSUME, RequestKind.RELEASE);
    }

    @Test
    void a_reservation_that_nobody_waits_for_is_cancelled() {
        CompletableFuture<Decision> late = new CompletableFuture<>();
        answers.add(request -> late);
        CompletableFuture<Reservation> result = reservations.reserve(request(), TTL, Fallback.FAIL);
        assertThat(result.cancel(false)).isTrue();
        late.complete(confirmed(sent.get(0)));
        assertThat(sentKinds()).containsExactly(RequestKind.CONSUME, RequestKind.CANCEL);
    }

    @Test
    void closing_the_client_loses_open_reservations_and_leaves_no_future_open() {
        reserve();
        Reservation ending = reserve();
        for (int i = 0; i < 10; i++) {
            answers.add(request -> none(NoDecisionReason.CIRCUIT_OPEN));
        }
        CompletableFuture<Reason> end = ending.settle(3);
        assertThat(end).isNotDone();
        timer.isClosed = true;
        reservations.close();
        assertThat(losses).hasValue(1);
        assertThatThrownBy(end::get)
                .hasCauseInstanceOf(NoDecisionException.class)
                .hasRootCauseMessage("the client is closed");
        assertThat(reservations.size()).isZero();
    }

    @Test
    void a_reservation_that_is_granted_while_the_client_closes_is_lost() {
        CompletableFuture<Decision> late = new CompletableFuture<>();
        answers.add(request -> late);
        CompletableFuture<Reservation> result = reservations.reserve(request(), TTL, Fallback.FAIL);
        timer.isClosed = true;
        reservations.close();
        late.complete(confirmed(sent.get(0)));
        result.join().onLost(losses::incrementAndGet);
        assertThat(losses).hasValue(1);
        assertThat(reservations.size()).isZero();
    }

    @Test
    void what_cannot_reserve_fails_and_is_not_sent() {
        assertFails(
                request().withKind(RequestKind.PEEK),
                TTL,
                "only a request of the kind CONSUME can reserve, this is a PEEK");
        assertFails(request(), Duration.ofMillis(999), "ttl must be 1 s to 30 days, is PT0.999S");
        assertFails(request(), Duration.ofDays(31), "ttl must be 1 s to 30 days, is PT744H");
        Reservation reservation = reserve();
        assertThatThrownBy(() -> reservation.settle(-1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> reservation.settle(Long.MAX_VALUE)).isInstanceOf(IllegalArgumentException.class);
        assertThat(sent).hasSize(1);
        reservation.close();
        assertThat(sent).hasSize(2);
    }

    private void assertFails(Request request, Duration ttl, String message) {
        assertThatThrownBy(() ->
                        reservations.reserve(request, ttl, Fallback.FAIL_OPEN).get())
                .hasCauseInstanceOf(IllegalArgumentException.class)
                .hasRootCauseMessage(message);
        assertThat(sent).isEmpty();
    }
}
