package dev.weir.client.pipeline;

import dev.weir.client.decision.NoDecisionReason;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.HdrHistogram.ConcurrentHistogram;

/** Counts how requests end, and measures how long their decisions take. Thread-safe. */
public final class RequestMetrics {

    private static final long MAX_MICROS = TimeUnit.HOURS.toMicros(1);

    private final LongAdder sent = new LongAdder();
    private final LongAdder rejected = new LongAdder();
    private final LongAdder late = new LongAdder();
    private final LongAdder decidedHere = new LongAdder();
    private final LongAdder waitedHere = new LongAdder();
    private final LongAdder decidedOverTopic = new LongAdder();
    private final Map<NoDecisionReason, LongAdder> undecided = new EnumMap<>(NoDecisionReason.class);
    private final ConcurrentHistogram micros = new ConcurrentHistogram(MAX_MICROS, 2);

    RequestMetrics() {
        Arrays.stream(NoDecisionReason.values()).forEach(reason -> undecided.put(reason, new LongAdder()));
    }

    /** Records that a request is passed to the producer. */
    void recordSent() {
        sent.increment();
    }

    /** Records a decision that arrived after its request had ended. */
    void recordLate() {
        late.increment();
    }

    /** Records the decision of an enforcer, and how long it took. */
    void recordDecidedOverTopic(long nanos) {
        decidedOverTopic.increment();
        micros.recordValue(Math.min(MAX_MICROS, TimeUnit.NANOSECONDS.toMicros(nanos)));
    }

    /** Records a decision by leases. */
    void recordDecidedHere() {
        decidedHere.increment();
    }

    /** Records a decision by leases on a request that had to wait for a lease. */
    void recordDecidedHereAfterWait() {
        decidedHere.increment();
        waitedHere.increment();
    }

    /** Records that a request ended without a decision. */
    void recordUndecided(NoDecisionReason reason) {
        undecided.get(reason).increment();
    }

    /** Records a request that is invalid, or too large for its topic. */
    public void recordRejected() {
        rejected.increment();
    }

    /**
     * Returns the requests passed to the producer.
     *
     * @return their number
     */
    public long sent() {
        return sent.sum();
    }

    /**
     * Returns the requests that were invalid, or too large for the topic.
     *
     * @return their number
     */
    public long rejected() {
        return rejected.sum();
    }

    /**
     * Returns the requests that an enforcer decided in time.
     *
     * @return their number
     */
    public long decidedOverTopic() {
        return decidedOverTopic.sum();
    }

    /**
     * Returns the requests that leases decided.
     *
     * @return their number
     */
    public long decidedHere() {
        return decidedHere.sum();
    }

    /**
     * Returns the requests that leases decided, and that had to wait for a lease.
     *
     * @return their number
     */
    public long waitedHere() {
        return waitedHere.sum();
    }

    /**
     * Returns the decisions that arrived after their request had ended.
     *
     * @return their number
     */
    public long late() {
        return late.sum();
    }

    /**
     * Returns the numbers of requests that ended without a decision.
     *
     * @return the numbers by reason
     */
    public Map<NoDecisionReason, Long> undecided() {
        Map<NoDecisionReason, Long> counts = new EnumMap<>(NoDecisionReason.class);
        undecided.forEach((reason, count) -> counts.put(reason, count.sum()));
        return counts;
    }

    /**
     * Returns a percentile of the times from request to decision, of the requests that an enforcer decided in time.
     *
     * @param percentile the percentile, 0 to 100
     * @return the time, within 1 %
     */
    public Duration latency(double percentile) {
        return Duration.of(micros.getValueAtPercentile(percentile), ChronoUnit.MICROS);
    }
}
