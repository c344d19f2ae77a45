package dev.weir.spring;

import static dev.weir.testing.Await.await;

import dev.weir.client.Fallback;
import dev.weir.client.Reservation;
import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.event.Decision;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.testing.RecordedReservation;
import dev.weir.testing.SampleDecisions;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/** A decider for tests without Kafka, which records the requests. */
public final class StubDecider implements WeirDecider {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    public final List<Request> requests = new CopyOnWriteArrayList<>();

    /** The reservations of allowed requests. */
    public final List<RecordedReservation> reservations = new CopyOnWriteArrayList<>();

    /** The times of all reservations that were requested. */
    public final List<Duration> ttls = new CopyOnWriteArrayList<>();

    private volatile Function<Request, CompletableFuture<ClientDecision>> answers = allowed(null);

    @Override
    public CompletableFuture<ClientDecision> decide(Request request, Fallback fallback) {
        requests.add(request);
        return answers.apply(request);
    }

    @Override
    public CompletableFuture<Reservation> reserve(Request request, Duration ttl, Fallback fallback) {
        ttls.add(ttl);
        return decide(request, fallback).thenApply(answer -> {
            if (!answer.allowed()) {
                return Reservation.none(answer);
            }
            RecordedReservation reservation = new RecordedReservation(answer);
            reservations.add(reservation);
            return reservation;
        });
    }

    /** Returns the only reservation since the last answer was set. */
    public RecordedReservation onlyReservation() {
        await("there is a reservation", PATIENCE, () -> !reservations.isEmpty());
        if (reservations.size() != 1) {
            throw new AssertionError("not one reservation: " + reservations.size());
        }
        return reservations.get(0);
    }

    /**
     * Waits until the only reservation has been released, and checks that it was not ended in another way. Calls after the
     * first one have no effect; Tomcat can report the completion of a request that times out twice.
     */
    public void awaitRelease() {
        await("the reservation is released", PATIENCE, () -> onlyReservation().isReleased());
        if (!Set.copyOf(onlyReservation().ends()).equals(Set.of(Reason.RELEASED))) {
            throw new AssertionError(
                    "ended in several ways: " + onlyReservation().ends());
        }
    }

    /** Sets how later requests are decided, and forgets earlier ones. */
    public void answer(Function<Request, CompletableFuture<ClientDecision>> function) {
        requests.clear();
        reservations.clear();
        ttls.clear();
        answers = function;
    }

    public Request onlyRequest() {
        if (requests.size() != 1) {
            throw new AssertionError("not one request: " + requests);
        }
        return requests.get(0);
    }

    /** @param delayMs how long a policy throttles requests; null if none does */
    public static Function<Request, CompletableFuture<ClientDecision>> allowed(Long delayMs) {
        return request ->
                done(delayMs == null ? SampleDecisions.allowed(request) : SampleDecisions.throttled(request, delayMs));
    }

    public static Function<Request, CompletableFuture<ClientDecision>> denied() {
        return request -> done(SampleDecisions.denied(request));
    }

    public static Function<Request, CompletableFuture<ClientDecision>> shadowBanned() {
        return request -> done(SampleDecisions.shadowBanned(request));
    }

    public static Function<Request, CompletableFuture<ClientDecision>> fallback(boolean allowed) {
        return request ->
                CompletableFuture.completedFuture(SampleDecisions.fallback(allowed, NoDecisionReason.TIMED_OUT));
    }

    public static Function<Request, CompletableFuture<ClientDecision>> failed(RuntimeException failure) {
        return request -> CompletableFuture.failedFuture(failure);
    }

    private static CompletableFuture<ClientDecision> done(Decision decision) {
        return CompletableFuture.completedFuture(SampleDecisions.of(decision));
    }
}
