package dev.weir.server;

import dev.weir.server.http.ConnectionGuard;
import dev.weir.server.http.ConnectionGuard.Refusal;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.function.LongSupplier;

/** The metrics of the HTTP service itself. They exist even before the enforcer does. */
public final class ServiceMetrics {

    /** The format of {@link #scrape}, which Prometheus assumes if the response names none. */
    public static final String FORMAT = "text/plain; version=0.0.4; charset=utf-8";

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

    /**
     * @param guard bounds the connections
     * @param wrongTokens the number of requests with a wrong token
     * @param certificateExpiry the expiry of the certificate in seconds since 1970; 0 without TLS
     */
    public ServiceMetrics(ConnectionGuard guard, LongSupplier wrongTokens, LongSupplier certificateExpiry) {
        PrometheusRegistry collectors = registry.getPrometheusRegistry();
        GaugeWithCallback.builder()
                .name("weir_service_connections")
                .help("Open connections of the service, without those of the health port")
                .callback(value -> value.call(guard.size()))
                .register(collectors);
        CounterWithCallback.builder()
                .name("weir_service_connections_refused")
                .help("Connections of the service that were closed or not accepted, by reason")
                .labelNames("reason")
                .callback(value -> {
                    for (Refusal reason : Refusal.values()) {
                        value.call(guard.refused(reason), reason.name());
                    }
                })
                .register(collectors);
        CounterWithCallback.builder()
                .name("weir_service_wrong_tokens")
                .help("Requests to the service with a wrong token")
                .callback(value -> value.call(wrongTokens.getAsLong()))
                .register(collectors);
        GaugeWithCallback.builder()
                .name("weir_service_certificate_expiry_seconds")
                .help("Expiry of the service's certificate, in seconds since 1970; 0 without TLS")
                .callback(value -> value.call(certificateExpiry.getAsLong()))
                .register(collectors);
    }

    /** Returns the registry, to which further metrics can be added. */
    public PrometheusMeterRegistry registry() {
        return registry;
    }

    /** Returns all metrics in Prometheus' text format 0.0.4. */
    public String scrape() {
        return registry.scrape();
    }
}
