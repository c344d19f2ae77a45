package dev.weir.live;

import dev.weir.processor.Histogram;
import java.util.OptionalLong;

/** What half, and what 99 of 100 are at most, ms; null: above all bounds that are told apart. */
public record Quantiles(Long p50, Long p99) {

    /** @return null if there is nothing */
    static Quantiles of(Histogram.Reading values) {
        return values == null || values.count() == 0
                ? null
                : new Quantiles(orNull(values.quantile(0.5)), orNull(values.quantile(0.99)));
    }

    private static Long orNull(OptionalLong bound) {
        return bound.isPresent() ? (Long) bound.getAsLong() : null;
    }
}
