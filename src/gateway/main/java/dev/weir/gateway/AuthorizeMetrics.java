package dev.weir.gateway;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.event.Reason;
import dev.weir.server.LatencyBuckets;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** Counts the calls of {@code /v1/authorize}. Thread-safe. */
final class AuthorizeMetrics {

    private static final double NANOS_PER_SECOND = 1e9;

    /** What became of a call. */
    enum Result {
        /** Weir allowed the request. */
        ALLOWED,
        /** Weir allowed the request, because no policy matches it. */
        NO_POLICY,
        /** Weir did not allow the request. */
        DENIED,
        /** There was no decision in time, and the route allows the request then. */
        FALLBACK_ALLOWED,
        /** There was no decision in time, and the route denies the request then. */
        FALLBACK_DENIED,
        /** There were too many requests, so Weir did not decide, and the request is denied. */
        OVERLOADED,
        /** The request has no client, or a value that is not valid. */
        INVALID;

        static Result of(ClientDecision decision) {
            return decision.decision()
                    .map(one -> one.reason() == Reason.NO_POLICY ? NO_POLICY : decision.allowed() ? ALLOWED : DENIED)
                    .orElseGet(() -> withoutDecision(decision));
        }

        private static Result withoutDecision(ClientDecision decision) {
            if (decision.allowed()) {
                return FALLBACK_ALLOWED;
            }
            boolean isShed = decision.noDecisionReason()
                    .filter(NoDecisionReason::isOverload)
                    .isPresent();
            return isShed ? OVERLOADED : FALLBACK_DENIED;
        }
    }

    private final Counter requests = Counter.builder()
            .name("weir_authorize_requests")
            .help("Calls of /v1/authorize, by route and result")
            .labelNames("route", "result")
            .build();
    private final Counter untrusted = Counter.builder()
            .name("weir_authorize_untrusted")
            .help("Calls of /v1/authorize from addresses that are not trusted proxies")
            .build();
    private final Histogram duration = Histogram.builder()
            .name("weir_authorize_duration_seconds")
            .help("Time from a call of /v1/authorize to its decision")
            .classicOnly()
            .classicUpperBounds(LatencyBuckets.seconds())
            .build();

    private final LongAdder inFlight = new LongAdder();
    private final Map<String, Map<Result, CounterDataPoint>> requestsByRoute = new HashMap<>();

    /**
     * Creates metrics with all their labels, so that counters start at 0.
     *
     * @param routes the ids of the routes
     */
    AuthorizeMetrics(PrometheusRegistry registry, List<String> routes) {
        List.of(requests, untrusted, duration).forEach(registry::register);
        GaugeWithCallback.builder()
                .name("weir_authorize_in_flight")
                .help("Calls of /v1/authorize that wait for their decision")
                .callback(value -> value.call(inFlight.sum()))
                .register(registry);
        for (String route : routes) {
            Map<Result, CounterDataPoint> byResult = new EnumMap<>(Result.class);
            for (Result result : Result.values()) {
                byResult.put(result, requests.labelValues(route, result.name()));
            }
            requestsByRoute.put(route, byResult);
        }
    }

    void untrusted() {
        untrusted.inc();
    }

    void invalid(String route) {
        count(route, Result.INVALID);
    }

    void began() {
        inFlight.increment();
    }

    /** Counts a call that {@link #began} counted. */
    void ended(String route, Result result, long nanos) {
        inFlight.decrement();
        count(route, result);
        duration.observe(nanos / NANOS_PER_SECOND);
    }

    private void count(String route, Result result) {
        requestsByRoute.get(route).get(result).inc();
    }
}
