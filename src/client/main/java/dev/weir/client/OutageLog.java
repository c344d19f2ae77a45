package dev.weir.client;

import dev.weir.client.decision.NoDecisionReason;
import dev.weir.policy.DurationsAndSizes;
import java.time.Duration;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.slf4j.Logger;

/**
 * Logs when a client connects to the brokers, when requests end before that, when one of its circuits opens or closes,
 * and when it sheds requests. It compares what it is given with what it was given before, so it logs a few lines for an
 * outage, however many requests there are. Not thread-safe.
 */
// The end of a state about which there was a warning is logged as a warning too, so that both are in the same log.
final class OutageLog {

    /** How often {@link #update} should be called. */
    static final Duration INTERVAL = Duration.ofMillis(500);

    /** How often a state that lasts is logged again. */
    private static final long AGAIN_NANOS = TimeUnit.MINUTES.toNanos(1);

    private static final Set<NoDecisionReason> OUTAGE =
            EnumSet.of(NoDecisionReason.NOT_READY, NoDecisionReason.TIMED_OUT, NoDecisionReason.NOT_WRITTEN);

    private static final long NANOS_PER_MS = 1_000_000;

    private final Logger log;
    private final long startNanos;
    private boolean isReady;
    private OptionalLong notReadyNanos = OptionalLong.empty();
    private OptionalLong openedNanos = OptionalLong.empty();
    private OptionalLong silentNanos = OptionalLong.empty();
    private OptionalLong shedNanos = OptionalLong.empty();
    private long shedBefore;
    private Map<NoDecisionReason, Long> unanswered = new EnumMap<>(NoDecisionReason.class);
    private Map<NoDecisionReason, Long> unansweredBefore = unanswered;

    /**
     * What a client knows of the brokers.
     *
     * @param isReady whether it has reached the brokers since its start
     * @param circuit the state of the circuit for requests over the topics
     * @param leaseCircuit the state of the circuit for leases
     * @param unanswered the numbers of requests without a decision since the start
     * @param failure why there is no connection or no decision; empty if unknown
     */
    record Snapshot(
            boolean isReady,
            CircuitSettings.State circuit,
            CircuitSettings.State leaseCircuit,
            Map<NoDecisionReason, Long> unanswered,
            Optional<String> failure) {}

    /** @param startNanos when the client was started, by {@link System#nanoTime} */
    OutageLog(Logger log, long startNanos) {
        this.log = log;
        this.startNanos = startNanos;
    }

    /** Logs what has changed. */
    void update(Snapshot now, long nowNanos) {
        if (now.isReady && !isReady) {
            isReady = true;
            ready(nowNanos);
            openedNanos = OptionalLong.empty(); // the connection closes the circuit
        } else if (hasMore(now, NoDecisionReason.NOT_READY)
                && (notReadyNanos.isEmpty() || nowNanos - notReadyNanos.getAsLong() >= AGAIN_NANOS)) {
            notReadyNanos = OptionalLong.of(nowNanos);
            log.warn("Requests cannot be decided: {}", now.failure.orElse("no broker has responded yet"));
        }
        if (openedNanos.isEmpty() && now.circuit == CircuitSettings.State.OPEN) {
            openedNanos = OptionalLong.of(nowNanos);
            log.warn(
                    "Too many requests over the topics got no decision ({}), so the fallback decides without a wait{}",
                    recent(now),
                    now.failure.map(why -> ": " + why).orElse("; check the brokers and the enforcers"));
        } else if (openedNanos.isPresent() && now.circuit == CircuitSettings.State.CLOSED) {
            log.warn(
                    "Requests over the topics are decided again; the fallback decided for {}",
                    duration(openedNanos.getAsLong(), nowNanos));
            openedNanos = OptionalLong.empty();
        }
        updateLeases(now, nowNanos);
        updateShed(now, nowNanos);
        unansweredBefore = unanswered;
        unanswered = now.unanswered;
    }

    private void updateLeases(Snapshot now, long nowNanos) {
        boolean isSilent = now.leaseCircuit == CircuitSettings.State.OPEN;
        if (silentNanos.isEmpty() && isSilent) {
            silentNanos = OptionalLong.of(nowNanos);
            log.warn(
                    "Lease requests get no answer, so the fallback decides without a wait for keys without a lease{}",
                    now.failure.map(why -> ": " + why).orElse("; check the brokers and the enforcers"));
        } else if (silentNanos.isPresent() && !isSilent) {
            log.warn("Lease requests are answered again, after {}", duration(silentNanos.getAsLong(), nowNanos));
            silentNanos = OptionalLong.empty();
        }
    }

    /** Logs that requests are shed, at most once a minute. */
    private void updateShed(Snapshot now, long nowNanos) {
        long shed = 0;
        for (NoDecisionReason reason : NoDecisionReason.values()) {
            shed += reason.isOverload() ? now.unanswered.getOrDefault(reason, 0L) : 0;
        }
        if (shed > shedBefore && (shedNanos.isEmpty() || nowNanos - shedNanos.getAsLong() >= AGAIN_NANOS)) {
            log.warn(
                    "Requests arrive faster than they are decided: {} were shed{}",
                    shed - shedBefore,
                    shedNanos.isPresent() ? " since the last such line" : "");
            shedNanos = OptionalLong.of(nowNanos);
            shedBefore = shed;
        }
    }

    private void ready(long nowNanos) {
        String message = "The client has connected to the brokers after {}";
        if (notReadyNanos.isPresent()) {
            log.warn(message, duration(startNanos, nowNanos));
        } else {
            log.info(message, duration(startNanos, nowNanos));
        }
    }

    private static String duration(long fromNanos, long toNanos) {
        long ms = (toNanos - fromNanos) / NANOS_PER_MS;
        return DurationsAndSizes.rounded(ms);
    }

    /**
     * Returns the reasons of the requests that ended since the call of {@link #update} before the last one: the circuit
     * can open just after the last one.
     */
    private String recent(Snapshot now) {
        return OUTAGE.stream()
                .filter(reason -> now.unanswered.getOrDefault(reason, 0L) > unansweredBefore.getOrDefault(reason, 0L))
                .map(NoDecisionReason::name)
                .collect(Collectors.joining(", "));
    }

    private boolean hasMore(Snapshot now, NoDecisionReason reason) {
        return now.unanswered.getOrDefault(reason, 0L) > unanswered.getOrDefault(reason, 0L);
    }
}
