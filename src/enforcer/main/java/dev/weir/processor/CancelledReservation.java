package dev.weir.processor;

import dev.weir.requests.ReservationCancellation;

/** A reservation of a client of this task that ends because a queue does not release its request. */
public record CancelledReservation(ReservationCancellation cancellation) implements DecideInput {}
