package dev.weir.live;

import dev.weir.processor.LiveCounts;
import dev.weir.processor.Spread;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BinaryOperator;

/** What was counted up to a time, or between two. */
record Totals(
        Map<LiveCounts.Kind, Long> decisions,
        long deadLetters,
        Spread.Reading latenciesMs,
        Map<String, Long> queued,
        Map<String, Long> released,
        Map<LiveCounts.Line, Spread.Reading> waitsMs) {

    static Totals of(LiveCounts counts) {
        return new Totals(
                counts.decisions(),
                counts.deadLetters().values().stream()
                        .mapToLong(Long::longValue)
                        .sum(),
                counts.latenciesMs(),
                counts.queued(),
                counts.released(),
                counts.waitsMs());
    }

    Totals minus(Totals earlier) {
        return new Totals(
                minus(decisions, earlier.decisions, (now, then) -> now - then),
                deadLetters - earlier.deadLetters,
                latenciesMs.minus(earlier.latenciesMs),
                minus(queued, earlier.queued, (now, then) -> now - then),
                minus(released, earlier.released, (now, then) -> now - then),
                minus(waitsMs, earlier.waitsMs, Spread.Reading::minus));
    }

    private static <K, V> Map<K, V> minus(Map<K, V> now, Map<K, V> earlier, BinaryOperator<V> difference) {
        Map<K, V> since = new HashMap<>(now);
        earlier.forEach((key, then) -> since.computeIfPresent(key, (k, value) -> difference.apply(value, then)));
        return since;
    }
}
