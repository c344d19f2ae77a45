package dev.weir.grpc;

import dev.weir.client.Reservation;
import dev.weir.client.decision.ClientDecision;
import dev.weir.event.Request;
import dev.weir.testing.RecordedReservation;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/** Decides requests by a function, and records the reservations. */
final class StubCallDecider implements WeirServerInterceptor.CallDecider {

    /** The reservations of allowed requests. */
    final List<RecordedReservation> reservations = new CopyOnWriteArrayList<>();

    private final Function<Request, CompletableFuture<ClientDecision>> answers;

    StubCallDecider(Function<Request, CompletableFuture<ClientDecision>> answers) {
        this.answers = answers;
    }

    @Override
    public CompletableFuture<ClientDecision> decide(Request request) {
        return answers.apply(request);
    }

    @Override
    public CompletableFuture<Reservation> reserve(Request request, Duration ttl) {
        return answers.apply(request).thenApply(answer -> {
            if (!answer.allowed()) {
                return Reservation.none(answer);
            }
            RecordedReservation reservation = new RecordedReservation(answer);
            reservations.add(reservation);
            return reservation;
        });
    }
}
