package dev.weir.live;

import dev.weir.metrics.Histogram;
import java.util.OptionalLong;

/** Upper bounds of the median and the 99th percentile, in ms; null if above the highest bound of the histogram. */
public record Quantiles(Long p50, Long p99) {

    /** @return null if there are no values */
    static Quantiles of(Histogram.Reading values) {
        return values == null || values.count() == 0
                ? null
                : new Quantiles(orNull(values.quantile(0.5)), orNull(values.quantile(0.99)));
    }

    private static Long orNull(OptionalLong bound) {
        return bound.isPresent() ? (Long) bound.getAsLong() : null;
    }
}
