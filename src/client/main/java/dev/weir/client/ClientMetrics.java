package dev.weir.client;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.HdrHistogram.ConcurrentHistogram;

/** The counters of a client. Thread-safe. */
final class ClientMetrics {

    private static final long MAX_MICROS = TimeUnit.HOURS.toMicros(1);

    final LongAdder sent = new LongAdder();
    final LongAdder rejected = new LongAdder();
    final LongAdder late = new LongAdder();
    final LongAdder decidedHere = new LongAdder();
    final LongAdder waitedHere = new LongAdder();
    final LongAdder failedOpen = new LongAdder();
    final LongAdder failedClosed = new LongAdder();
    final LongAdder shedClosed = new LongAdder();
    private final LongAdder answered = new LongAdder();
    private final Map<NoDecisionReason, LongAdder> unanswered = new EnumMap<>(NoDecisionReason.class);
    private final ConcurrentHistogram micros = new ConcurrentHistogram(MAX_MICROS, 2);

    ClientMetrics() {
        Arrays.stream(NoDecisionReason.values()).forEach(why -> unanswered.put(why, new LongAdder()));
    }

    void answered(long nanos) {
        answered.increment();
        micros.recordValue(Math.min(MAX_MICROS, TimeUnit.NANOSECONDS.toMicros(nanos)));
    }

    void unanswered(NoDecisionReason why) {
        unanswered.get(why).increment();
    }

    /** Returns the numbers of requests that ended without a decision. */
    Map<NoDecisionReason, Long> unanswered() {
        Map<NoDecisionReason, Long> counts = new EnumMap<>(NoDecisionReason.class);
        unanswered.forEach((why, count) -> counts.put(why, count.sum()));
        return counts;
    }

    /**
     * What a client has now.
     *
     * @param inFlight requests that wait
     * @param queued requests that wait to be sent
     * @param keysHeld keys with leases
     */
    record Present(
            int inFlight,
            int queued,
            int keysHeld,
            CircuitSettings.State circuit,
            CircuitSettings.State leaseCircuit) {}

    ClientStats stats(Present now) {
        return new ClientStats(
                sent.sum(),
                answered.sum(),
                decidedHere.sum(),
                waitedHere.sum(),
                unanswered.get(NoDecisionReason.NOT_READY).sum(),
                unanswered.get(NoDecisionReason.TIMED_OUT).sum(),
                unanswered.get(NoDecisionReason.NOT_WRITTEN).sum(),
                unanswered.get(NoDecisionReason.TOO_MANY_WAITING).sum(),
                unanswered.get(NoDecisionReason.OVERLOADED).sum(),
                unanswered.get(NoDecisionReason.CIRCUIT_OPEN).sum(),
                unanswered.get(NoDecisionReason.NO_LEASE).sum(),
                unanswered.get(NoDecisionReason.NO_LEDGER).sum(),
                unanswered.get(NoDecisionReason.UNREADABLE).sum(),
                unanswered.get(NoDecisionReason.CLOSED).sum(),
                rejected.sum(),
                late.sum(),
                failedOpen.sum(),
                failedClosed.sum(),
                shedClosed.sum(),
                now.inFlight,
                now.queued,
                now.keysHeld,
                now.circuit,
                now.leaseCircuit,
                latency(50),
                latency(99),
                latency(100));
    }

    private Duration latency(double percentile) {
        return Duration.of(micros.getValueAtPercentile(percentile), ChronoUnit.MICROS);
    }
}
