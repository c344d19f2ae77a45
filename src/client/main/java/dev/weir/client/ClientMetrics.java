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
    final LongAdder lostReservations = new LongAdder();
    final LongAdder unconfirmedEnds = new LongAdder();
    private final LongAdder failedOpen = new LongAdder();
    private final LongAdder failedClosed = new LongAdder();
    private final LongAdder shedClosed = new LongAdder();
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

    /** Counts a decision if the fallback made it. */
    void decided(ClientDecision decision, Fallback fallback) {
        if (decision.noDecisionReason().isPresent()) {
            LongAdder count =
                    decision.allowed() ? failedOpen : fallback == Fallback.FAIL_OPEN ? shedClosed : failedClosed;
            count.increment();
        }
    }

    /** @param openReservations reservations that are open or being ended */
    ClientStats stats(ClientStats.Now now, int openReservations) {
        return new ClientStats(
                sent.sum(),
                new ClientStats.Decided(answered.sum(), decidedHere.sum(), waitedHere.sum(), late.sum()),
                unanswered(),
                rejected.sum(),
                new ClientStats.Fallbacks(failedOpen.sum(), failedClosed.sum(), shedClosed.sum()),
                now,
                new ClientStats.Latency(latency(50), latency(99), latency(100)),
                new ClientStats.Reservations(openReservations, lostReservations.sum(), unconfirmedEnds.sum()));
    }

    private Duration latency(double percentile) {
        return Duration.of(micros.getValueAtPercentile(percentile), ChronoUnit.MICROS);
    }
}
