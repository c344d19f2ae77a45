package dev.weir.gateway.envoy;

import dev.weir.server.LatencyBuckets;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.function.LongConsumer;
import java.util.function.Supplier;

/** The metrics of a rate limit service. Thread-safe. */
public final class EnvoyMetrics implements LongConsumer {

    private static final double NANOS_PER_SECOND = 1e9;

    private final Histogram duration = Histogram.builder()
            .name("weir_envoy_duration_seconds")
            .help("Time from a call of the rate limit service to its response")
            .classicOnly()
            .classicUpperBounds(LatencyBuckets.seconds())
            .build();

    /**
     * Registers the metrics.
     *
     * @param registry the registry
     * @param stats returns the counts of calls
     * @param connections returns the counts of connections
     */
    public EnvoyMetrics(
            PrometheusRegistry registry, Supplier<EnvoyStats> stats, Supplier<ConnectionStats> connections) {
        registry.register(duration);
        CounterWithCallback.builder()
                .name("weir_envoy_calls")
                .help("Calls of the rate limit service, by result")
                .labelNames("result")
                .callback(value -> {
                    EnvoyStats now = stats.get();
                    value.call(now.ok(), "OK");
                    value.call(now.overLimit(), "OVER_LIMIT");
                    value.call(now.errors().invalid(), "INVALID");
                    value.call(now.errors().exhausted(), "EXHAUSTED");
                    value.call(now.errors().incomplete(), "INCOMPLETE");
                    value.call(now.errors().failed(), "FAILED");
                    value.call(now.errors().cancelled(), "CANCELLED");
                })
                .register(registry);
        CounterWithCallback.builder()
                .name("weir_envoy_fallbacks")
                .help("Requests of the rate limit service that the fallback decided")
                .callback(value -> value.call(stats.get().undecided().fallbacks()))
                .register(registry);
        CounterWithCallback.builder()
                .name("weir_envoy_shed")
                .help("Requests of the rate limit service that were denied because there were too many")
                .callback(value -> value.call(stats.get().undecided().shed()))
                .register(registry);
        GaugeWithCallback.builder()
                .name("weir_envoy_in_flight")
                .help("Calls of the rate limit service in progress")
                .callback(value -> value.call(stats.get().inProgress()))
                .register(registry);
        GaugeWithCallback.builder()
                .name("weir_envoy_connections")
                .help("Open connections to the rate limit service")
                .callback(value -> value.call(connections.get().open()))
                .register(registry);
        CounterWithCallback.builder()
                .name("weir_envoy_connections_refused")
                .help("Connections to the rate limit service that were closed or not accepted, by reason")
                .labelNames("reason")
                .callback(value -> {
                    ConnectionStats now = connections.get();
                    value.call(now.untrusted(), "UNTRUSTED");
                    value.call(now.tooMany(), "TOO_MANY");
                    value.call(now.tooSlow(), "TOO_SLOW");
                    value.call(now.resets(), "RESETS");
                    value.call(now.noDescriptors(), "NO_DESCRIPTORS");
                })
                .register(registry);
    }

    /** Observes the time from a call to its response. */
    @Override
    public void accept(long nanos) {
        duration.observe(nanos / NANOS_PER_SECOND);
    }
}
