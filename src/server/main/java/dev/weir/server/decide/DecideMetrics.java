package dev.weir.server.decide;

import dev.weir.client.Fallback;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.server.LatencyBuckets;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.List;

/** Counts what becomes of the calls of {@code /v1/decide} and of the requests in them. Thread-safe. */
public final class DecideMetrics {

    /** The result of a request that Weir decided. */
    static final String ANSWERED = "ANSWERED";

    /** The result of a request that the client found invalid and did not send. */
    static final String INVALID = "INVALID";

    /** Why a call was refused. None of its requests was sent. */
    enum Refusal {
        /** A parameter, a header or the body is invalid. */
        INVALID,
        /** The requests that wait for decisions use all memory that is reserved for them. */
        OVERLOADED
    }

    private final Counter requests = Counter.builder()
            .name("weir_decide_requests")
            .help("Requests over HTTP, by result: ANSWERED, or why there is no decision")
            .labelNames("result")
            .build();
    private final Counter fallbacks = Counter.builder()
            .name("weir_decide_fallback")
            .help("Requests over HTTP that the fallback of their call answered")
            .labelNames("as")
            .build();
    private final Counter refused = Counter.builder()
            .name("weir_decide_refused")
            .help("Refused calls of /v1/decide, by reason")
            .labelNames("reason")
            .build();
    private final Gauge inFlight = Gauge.builder()
            .name("weir_decide_in_flight")
            .help("Requests over HTTP that wait for their decision")
            .build();
    private final Histogram duration = Histogram.builder()
            .name("weir_decide_duration_seconds")
            .help("Time from the body of a call of /v1/decide to all its decisions")
            .classicOnly()
            .classicUpperBounds(LatencyBuckets.seconds())
            .build();

    /** Creates metrics with all their labels, so that counters start at 0. */
    public DecideMetrics(PrometheusRegistry registry) {
        List.of(requests, fallbacks, refused, inFlight, duration).forEach(registry::register);
        requests.initLabelValues(ANSWERED);
        requests.initLabelValues(INVALID);
        for (NoDecisionReason reason : NoDecisionReason.values()) {
            requests.initLabelValues(reason.name());
        }
        fallbacks.initLabelValues(Fallback.FAIL_OPEN.name());
        fallbacks.initLabelValues(Fallback.FAIL_CLOSED.name());
        for (Refusal reason : Refusal.values()) {
            refused.initLabelValues(reason.name());
        }
    }

    void refused(Refusal reason) {
        refused.labelValues(reason.name()).inc();
    }

    void began(int count) {
        inFlight.inc(count);
    }

    /** @param result {@link #ANSWERED}, {@link #INVALID} or the name of a {@link NoDecisionReason} */
    void ended(String result) {
        inFlight.dec();
        requests.labelValues(result).inc();
    }

    void answeredByFallback(boolean allowed) {
        fallbacks
                .labelValues((allowed ? Fallback.FAIL_OPEN : Fallback.FAIL_CLOSED).name())
                .inc();
    }

    void took(long nanos) {
        duration.observe(nanos / 1e9);
    }
}
