package dev.weir.live;

import dev.weir.metrics.EnforcerMetrics;
import dev.weir.metrics.Histogram;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BinaryOperator;

/** The values of counters at a time, or their increase between two times. */
record CounterSnapshot(
        Map<EnforcerMetrics.Kind, Long> decisions,
        Map<EnforcerMetrics.Evaluation, Long> evaluations,
        long deadLetters,
        Histogram.Reading latenciesMs,
        Map<String, Long> queued,
        Map<String, Long> released,
        Map<EnforcerMetrics.Line, Histogram.Reading> waitsMs) {

    static CounterSnapshot of(EnforcerMetrics metrics) {
        return new CounterSnapshot(
                metrics.decisions(),
                metrics.evaluations(),
                metrics.deadLetters().values().stream()
                        .mapToLong(Long::longValue)
                        .sum(),
                metrics.latenciesMs(),
                metrics.queued(),
                metrics.released(),
                metrics.waitsMs());
    }

    CounterSnapshot minus(CounterSnapshot earlier) {
        return new CounterSnapshot(
                minus(decisions, earlier.decisions, (now, then) -> now - then),
                minus(evaluations, earlier.evaluations, (now, then) -> now - then),
                deadLetters - earlier.deadLetters,
                latenciesMs.minus(earlier.latenciesMs),
                minus(queued, earlier.queued, (now, then) -> now - then),
                minus(released, earlier.released, (now, then) -> now - then),
                minus(waitsMs, earlier.waitsMs, Histogram.Reading::minus));
    }

    private static <K, V> Map<K, V> minus(Map<K, V> now, Map<K, V> earlier, BinaryOperator<V> difference) {
        Map<K, V> since = new HashMap<>(now);
        earlier.forEach((key, then) -> since.computeIfPresent(key, (k, value) -> difference.apply(value, then)));
        return since;
    }
}
