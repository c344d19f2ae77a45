package dev.weir.processor;

/** What {@link Decide} receives. */
public sealed interface DecideInput permits RequestToDecide, LedgerResponse, CancelledReservation {}
