package dev.weir.client;

import dev.weir.client.decision.NoDecisionReason;
import java.time.Duration;
import java.util.Map;

/**
 * The counts of a {@link WeirClient} since it was started. Every request ends as exactly one of
 * {@link Decided#overTopic}, {@link Decided#here}, one of {@code undecided}, and {@code rejected}, or is in flight.
 *
 * @param sent requests passed to the producer
 * @param decided requests with a decision
 * @param undecided the number of requests without a decision by reason
 * @param rejected requests that were invalid, or too large for the topic
 * @param fallbacks what the fallback did with undecided requests
 * @param now what the client has now
 * @param reservations the reservations of {@link WeirClient#reserve}
 */
public record ClientStats(
        long sent,
        Decided decided,
        Map<NoDecisionReason, Long> undecided,
        long rejected,
        Fallbacks fallbacks,
        Now now,
        Reservations reservations) {

    /**
     * Copies the map.
     *
     * @param sent requests passed to the producer
     * @param decided requests with a decision
     * @param undecided the number of requests without a decision by reason
     * @param rejected requests that were invalid, or too large for the topic
     * @param fallbacks what the fallback did with undecided requests
     * @param now what the client has now
     * @param reservations the reservations of {@link WeirClient#reserve}
     */
    public ClientStats {
        undecided = Map.copyOf(undecided);
    }

    /**
     * Returns the number of requests that ended without a decision for a reason.
     *
     * @param reason the reason
     * @return the number of requests
     */
    public long undecided(NoDecisionReason reason) {
        return undecided.getOrDefault(reason, 0L);
    }

    /**
     * Requests with a decision.
     *
     * @param overTopic requests that an enforcer decided in time
     * @param here requests that were decided in this process, by leases
     * @param waitedHere requests among {@code here} that had to wait for a lease
     * @param late decisions that arrived after their request had ended
     * @param latency the time from request to decision of those {@code overTopic}
     */
    public record Decided(long overTopic, long here, long waitedHere, long late, Latency latency) {}

    /**
     * Requests that the fallback decided.
     *
     * @param open requests that it allowed
     * @param closed requests that it did not allow
     * @param shed requests that were refused because of overload, instead of being allowed by the fallback
     */
    public record Fallbacks(long open, long closed, long shed) {}

    /**
     * What the client has now.
     *
     * @param inFlight requests that wait for their decisions
     * @param queued requests among {@code inFlight} that wait to be sent
     * @param keysHeld keys of which the client holds quota or did recently
     * @param circuit the state of the circuit
     * @param leaseCircuit the state of the circuit for leases: open while a ledger does not answer, otherwise closed
     */
    public record Now(
            int inFlight,
            int queued,
            int keysHeld,
            CircuitSettings.State circuit,
            CircuitSettings.State leaseCircuit) {}

    /**
     * Times from request to decision, within 1 %.
     *
     * @param p50 the median
     * @param p99 the 99th percentile
     * @param max the maximum
     */
    public record Latency(Duration p50, Duration p99, Duration max) {}

    /**
     * Reservations.
     *
     * @param open reservations that are open, or whose end is not confirmed yet
     * @param lost reservations that Weir did not renew in time, or that were open when the client was closed
     * @param unconfirmedEnds ends that Weir has not confirmed within the time-out. These reservations end by their time
     */
    public record Reservations(int open, long lost, long unconfirmedEnds) {}
}
