package dev.weir.gateway;

import dev.weir.client.CircuitSettings;
import dev.weir.client.ClientStats;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs when a gateway connects to the brokers, when its circuit opens, and when it closes. It compares what it is given
 * with what it was given before, so it logs two lines for an outage, however many requests arrive.
 */
// The end of a state about which there was a warning is logged as a warning too, so that both are in the same log.
final class BrokerLog {

    private static final Logger LOG = LoggerFactory.getLogger(BrokerLog.class);
    private static final long NANOS_PER_MS = 1_000_000;
    private static final long MS_PER_SECOND = 1_000;

    private final long startNanos;
    private boolean isConnected;
    private OptionalLong openedNanos = OptionalLong.empty();
    private Map<String, Long> failures = Map.of();

    /**
     * What a gateway knows of the brokers.
     *
     * @param isConnected whether its client has reached the brokers since its start
     * @param stats the counts of its client
     * @param failure why there is no connection or no decision; empty if unknown
     */
    record Look(boolean isConnected, ClientStats stats, Optional<String> failure) {}

    BrokerLog(long startNanos) {
        this.startNanos = startNanos;
    }

    /** Logs what has changed. Not thread-safe. */
    void update(Look now, long nowNanos) {
        Map<String, Long> counts = failures(now.stats);
        CircuitSettings.State circuit = now.stats.circuit();
        if (now.isConnected && !isConnected) {
            isConnected = true;
            connected(now.stats.notReady() > 0, nowNanos);
            openedNanos = OptionalLong.empty(); // the connection closes the circuit
        }
        if (openedNanos.isEmpty() && circuit == CircuitSettings.State.OPEN) {
            openedNanos = OptionalLong.of(nowNanos);
            LOG.warn(
                    "Too many requests over the topics got no decision ({}), so the fallbacks decide without a wait{}",
                    recent(counts),
                    now.failure.map(why -> ": " + why).orElse("; check the brokers and the enforcers"));
        } else if (openedNanos.isPresent() && circuit == CircuitSettings.State.CLOSED) {
            LOG.warn(
                    "Requests over the topics are decided again; the fallbacks decided for {}",
                    duration(openedNanos.getAsLong(), nowNanos));
            openedNanos = OptionalLong.empty();
        }
        failures = counts;
    }

    private void connected(boolean hasWarned, long nowNanos) {
        String message = "The gateway has connected to the brokers after {}";
        if (hasWarned) {
            LOG.warn(message, duration(startNanos, nowNanos));
        } else {
            LOG.info(message, duration(startNanos, nowNanos));
        }
    }

    private static String duration(long fromNanos, long toNanos) {
        long ms = (toNanos - fromNanos) / NANOS_PER_MS;
        return ms < MS_PER_SECOND ? ms + " ms" : ms / MS_PER_SECOND + " s";
    }

    /** Returns the counts of the failures that open the circuit. */
    private static Map<String, Long> failures(ClientStats stats) {
        Map<String, Long> counts = new LinkedHashMap<>();
        counts.put("TIMED_OUT", stats.timedOut());
        counts.put("NOT_WRITTEN", stats.notWritten());
        counts.put("NOT_READY", stats.notReady());
        return counts;
    }

    /** Returns the failures since the last call of {@link #update}. */
    private String recent(Map<String, Long> counts) {
        return counts.entrySet().stream()
                .filter(count -> count.getValue() > failures.getOrDefault(count.getKey(), 0L))
                .map(count -> count.getKey() + ": " + (count.getValue() - failures.getOrDefault(count.getKey(), 0L)))
                .collect(Collectors.joining(", "));
    }
}
