package dev.weir.client.release;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/**
 * Publishes the counts of a {@link ReleaseWorker} as <a href="https://micrometer.io">Micrometer</a> meters. Only this
 * class needs {@code micrometer-core}. The meters are listed in topology-docs/reference/metrics.md.
 */
public final class WorkerMetricsBinder {

    private WorkerMetricsBinder() {}

    /**
     * Returns a binder that registers the values of {@link WorkerStats}.
     *
     * @param worker the worker, which the meters reference until they are removed
     * @return a binder, to be bound once per registry
     */
    public static MeterBinder of(ReleaseWorker worker) {
        return registry -> {
            Supplier<WorkerStats> stats = worker::stats;
            counter(registry, "weir.worker.handled", stats, current -> current.attempts()
                    .handled());
            counter(registry, "weir.worker.failed", stats, current -> current.attempts()
                    .failed());
            counter(registry, "weir.worker.retried", stats, current -> current.attempts()
                    .retried());
            counter(registry, "weir.worker.refused", stats, current -> current.attempts()
                    .refused());
            counter(registry, "weir.worker.given.up", stats, WorkerStats::givenUp);
            counter(registry, "weir.worker.duplicates", stats, WorkerStats::duplicates);
            counter(registry, "weir.worker.stale", stats, current -> current.attempts()
                    .stale());
            // The counters reference the supplier weakly; the gauge keeps it alive.
            Gauge.builder("weir.worker.in.progress", () -> stats.get().inProgress())
                    .register(registry);
        };
    }

    private static void counter(
            MeterRegistry registry, String name, Supplier<WorkerStats> stats, ToDoubleFunction<WorkerStats> value) {
        FunctionCounter.builder(name, stats, source -> value.applyAsDouble(source.get()))
                .register(registry);
    }
}
