package dev.weir.client;

import java.time.Duration;

/**
 * What a {@link WeirClient} has done since it was started. Every request ends as one of answered, timedOut, notWritten,
 * refused, circuitOpen, unreadable, closed and rejected, or is in flight.
 *
 * @param sent requests given to the producer
 * @param answered those that Weir decided in time
 * @param timedOut see {@link Unanswered#TIMED_OUT}
 * @param notWritten see {@link Unanswered#NOT_WRITTEN}
 * @param refused see {@link Unanswered#TOO_MANY_WAITING}
 * @param circuitOpen see {@link Unanswered#CIRCUIT_OPEN}
 * @param unreadable see {@link Unanswered#UNREADABLE}
 * @param closed see {@link Unanswered#CLOSED}
 * @param rejected what is no request, or too large for the topic
 * @param late decisions that came when nobody waited for them any more
 * @param failedOpen answers made up as allowed
 * @param failedClosed answers made up as not allowed
 * @param inFlight requests that wait for their decisions now
 * @param circuit where the circuit stands
 * @param p50 from request to decision, of the answered; within 1 %
 * @param p99 the same
 * @param max the same
 */
public record ClientStats(
        long sent,
        long answered,
        long timedOut,
        long notWritten,
        long refused,
        long circuitOpen,
        long unreadable,
        long closed,
        long rejected,
        long late,
        long failedOpen,
        long failedClosed,
        int inFlight,
        Circuit.State circuit,
        Duration p50,
        Duration p99,
        Duration max) {}
