package dev.weir.client;

import java.time.Duration;

/**
 * The counts of a {@link WeirClient} since it was started. Every request ends as exactly one of answered, decidedHere,
 * notReady, timedOut, notWritten, refused, overloaded, circuitOpen, noLease, noLedger, unreadable, closed and rejected,
 * or is in flight.
 *
 * @param sent requests passed to the producer
 * @param answered requests that Weir decided in time
 * @param decidedHere requests that were decided in this process, by leases
 * @param waitedHere requests among decidedHere that had to wait for a lease
 * @param notReady requests that ended with {@link NoDecisionReason#NOT_READY}
 * @param timedOut requests that ended with {@link NoDecisionReason#TIMED_OUT}
 * @param notWritten requests that ended with {@link NoDecisionReason#NOT_WRITTEN}
 * @param refused requests that ended with {@link NoDecisionReason#TOO_MANY_WAITING}
 * @param overloaded requests that ended with {@link NoDecisionReason#OVERLOADED}
 * @param circuitOpen requests that ended with {@link NoDecisionReason#CIRCUIT_OPEN}
 * @param noLease requests that ended with {@link NoDecisionReason#NO_LEASE}
 * @param noLedger requests that ended with {@link NoDecisionReason#NO_LEDGER}
 * @param unreadable requests that ended with {@link NoDecisionReason#UNREADABLE}
 * @param closed requests that ended with {@link NoDecisionReason#CLOSED}
 * @param rejected requests that were invalid, or too large for the topic
 * @param late decisions that arrived after their request had ended
 * @param failedOpen requests that the fallback allowed
 * @param failedClosed requests that the fallback did not allow
 * @param shedClosed requests that were refused because of overload, instead of being allowed by the fallback
 * @param inFlight requests that wait for their decisions now
 * @param queued requests among inFlight that wait to be sent
 * @param keysHeld keys of which the client holds quota now or did recently
 * @param circuit the state of the circuit
 * @param leaseCircuit the state of the circuit for leases: open while a ledger does not answer, otherwise closed
 * @param p50 median time from request to decision of the answered requests, within 1 %
 * @param p99 99th percentile of that time, within 1 %
 * @param max maximum of that time, within 1 %
 */
public record ClientStats(
        long sent,
        long answered,
        long decidedHere,
        long waitedHere,
        long notReady,
        long timedOut,
        long notWritten,
        long refused,
        long overloaded,
        long circuitOpen,
        long noLease,
        long noLedger,
        long unreadable,
        long closed,
        long rejected,
        long late,
        long failedOpen,
        long failedClosed,
        long shedClosed,
        int inFlight,
        int queued,
        int keysHeld,
        CircuitSettings.State circuit,
        CircuitSettings.State leaseCircuit,
        Duration p50,
        Duration p99,
        Duration max) {}
