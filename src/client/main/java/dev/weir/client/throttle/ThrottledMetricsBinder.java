package dev.weir.client.throttle;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/**
 * Publishes the counts of a {@link ThrottledConsumer} as <a href="https://micrometer.io">Micrometer</a> meters. Only
 * this class needs {@code micrometer-core}. The meters are listed in topology-docs/reference/metrics.md.
 */
public final class ThrottledMetricsBinder {

    private ThrottledMetricsBinder() {}

    /**
     * Returns a binder that registers the values of {@link ThrottledStats}.
     *
     * @param consumer the consumer, which the meters reference until they are removed
     * @return a binder, to be bound once per registry
     */
    public static MeterBinder of(ThrottledConsumer<?, ?> consumer) {
        return registry -> {
            Supplier<ThrottledStats> stats = consumer::stats;
            counter(registry, "weir.consumer.delivered", stats, ThrottledStats::delivered);
            counter(registry, "weir.consumer.skipped", stats, ThrottledStats::skipped);
            counter(registry, "weir.consumer.denied", stats, ThrottledStats::denied);
            counter(registry, "weir.consumer.undecided", stats, ThrottledStats::undecided);
            // The counters reference the supplier weakly; the gauge keeps it alive.
            Gauge.builder("weir.consumer.held", () -> stats.get().held()).register(registry);
        };
    }

    private static void counter(
            MeterRegistry registry,
            String name,
            Supplier<ThrottledStats> stats,
            ToDoubleFunction<ThrottledStats> value) {
        FunctionCounter.builder(name, stats, source -> value.applyAsDouble(source.get()))
                .register(registry);
    }
}
