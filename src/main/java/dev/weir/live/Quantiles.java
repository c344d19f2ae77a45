package dev.weir.live;

import dev.weir.processor.Spread;

/** What half, and what 99 of 100 are at most, ms. */
public record Quantiles(long p50, long p99) {

    /** @return null if there is nothing */
    static Quantiles of(Spread.Reading values) {
        return values == null || values.count() == 0
                ? null
                : new Quantiles(
                        values.quantile(0.5).orElseThrow(),
                        values.quantile(0.99).orElseThrow());
    }
}
