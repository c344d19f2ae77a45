package dev.weir.metrics;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;

/**
 * The Prometheus metrics of an instance: Weir's own, selected ones of Kafka Streams and RocksDB, and those of the JVM.
 * No label contains a client. {@code topology-docs/reference/metrics.md} lists all metrics.
 */
public final class PrometheusMetrics implements AutoCloseable {

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final ProcessMetrics process = new ProcessMetrics(registry);

    /** @param restores the restore listener of the applications */
    public PrometheusMetrics(MetricSource source, RestoreProgress restores) {
        registry.getPrometheusRegistry().register(new WeirMetricsCollector(source));
        registry.getPrometheusRegistry().register(new StreamsMetricsCollector(source.applications()));
        registry.getPrometheusRegistry().register(restores);
    }

    /** Returns all metrics in Prometheus' text format 0.0.4. */
    public String scrape() {
        return registry.scrape();
    }

    @Override
    public void close() {
        process.close();
        registry.close();
    }
}
