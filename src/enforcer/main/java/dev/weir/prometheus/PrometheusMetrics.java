package dev.weir.prometheus;

import dev.weir.server.ProcessMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.prometheus.metrics.model.registry.MultiCollector;
import java.util.List;

/**
 * The Prometheus metrics of an instance: Weir's own, selected ones of Kafka Streams and RocksDB, and those of the JVM.
 * No label contains a client. {@code topology-docs/reference/metrics.md} lists all metrics.
 */
public final class PrometheusMetrics implements AutoCloseable {

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final ProcessMetrics process = new ProcessMetrics(registry);

    /** @param others further collectors */
    public PrometheusMetrics(MetricSource source, List<MultiCollector> others) {
        registry.getPrometheusRegistry().register(new WeirMetricsCollector(source));
        registry.getPrometheusRegistry()
                .register(new StreamsMetricsCollector(source.applications().streams()));
        others.forEach(registry.getPrometheusRegistry()::register);
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
