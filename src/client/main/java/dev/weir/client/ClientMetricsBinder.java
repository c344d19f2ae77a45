package dev.weir.client;

import dev.weir.client.decision.NoDecisionReason;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/**
 * Publishes the counts of a {@link WeirClient} as <a href="https://micrometer.io">Micrometer</a> meters. Only this class needs {@code micrometer-core}; the application
 * adds it to its dependencies. The meters are listed in topology-docs/reference/metrics.md.
 *
 * <pre>{@code
 * ClientMetricsBinder.of(weir).bindTo(registry);
 * }</pre>
 */
public final class ClientMetricsBinder {

    private static final double NANOS_PER_SECOND = 1e9;

    /**
     * The meters of one source. A counter references its source weakly; the gauges registered with it keep the
     * source alive.
     */
    private record Figures<S>(MeterRegistry registry, Supplier<S> stats) {

        void counter(String name, Tags tags, ToDoubleFunction<S> of) {
            FunctionCounter.builder(name, stats, source -> of.applyAsDouble(source.get()))
                    .tags(tags)
                    .register(registry);
        }

        void gauge(String name, Tags tags, ToDoubleFunction<S> of) {
            Gauge.builder(name, () -> of.applyAsDouble(stats.get())).tags(tags).register(registry);
        }
    }

    private ClientMetricsBinder() {}

    /**
     * Returns a binder that registers the values of {@link ClientStats}.
     *
     * @param weir the client, which the meters reference until they are removed
     * @return a binder, to be bound once per registry
     */
    public static MeterBinder of(WeirClient weir) {
        return registry -> {
            Figures<ClientStats> figures = new Figures<>(registry, weir::stats);
            figures.counter("weir.client.sent", Tags.empty(), ClientStats::sent);
            ended(figures, "ANSWERED", stats -> stats.decided().overTopic());
            ended(figures, "DECIDED_HERE", stats -> stats.decided().here());
            figures.counter("weir.client.waited.here", Tags.empty(), stats -> stats.decided()
                    .waitedHere());
            ended(figures, "REJECTED", ClientStats::rejected);
            for (NoDecisionReason reason : NoDecisionReason.values()) {
                ended(figures, reason.name(), stats -> stats.undecided(reason));
            }
            figures.counter(
                    "weir.client.late", Tags.empty(), stats -> stats.decided().late());
            figures.counter("weir.client.fallback", Tags.of("as", Fallback.FAIL_OPEN.name()), stats -> stats.fallbacks()
                    .open());
            figures.counter(
                    "weir.client.fallback", Tags.of("as", Fallback.FAIL_CLOSED.name()), stats -> stats.fallbacks()
                            .closed());
            figures.counter(
                    "weir.client.shed", Tags.empty(), stats -> stats.fallbacks().shed());
            figures.gauge(
                    "weir.client.in.flight", Tags.empty(), stats -> stats.now().inFlight());
            figures.gauge(
                    "weir.client.queued", Tags.empty(), stats -> stats.now().queued());
            figures.gauge(
                    "weir.client.keys.held", Tags.empty(), stats -> stats.now().keysHeld());
            for (CircuitSettings.State state : CircuitSettings.State.values()) {
                figures.gauge(
                        "weir.client.circuit",
                        Tags.of("state", state.name()),
                        stats -> stats.now().circuit() == state ? 1 : 0);
            }
            for (CircuitSettings.State state : List.of(CircuitSettings.State.CLOSED, CircuitSettings.State.OPEN)) {
                figures.gauge(
                        "weir.client.lease.circuit",
                        Tags.of("state", state.name()),
                        stats -> stats.now().leaseCircuit() == state ? 1 : 0);
            }
            figures.gauge("weir.client.reservations", Tags.empty(), stats -> stats.reservations()
                    .open());
            figures.counter("weir.client.reservations.lost", Tags.empty(), stats -> stats.reservations()
                    .lost());
            figures.counter("weir.client.reservations.unconfirmed", Tags.empty(), stats -> stats.reservations()
                    .unconfirmedEnds());
            latency(figures, "0.5", stats -> seconds(stats.decided().latency().p50()));
            latency(figures, "0.99", stats -> seconds(stats.decided().latency().p99()));
            latency(figures, "1", stats -> seconds(stats.decided().latency().max()));
        };
    }

    private static void ended(Figures<ClientStats> figures, String how, ToDoubleFunction<ClientStats> of) {
        figures.counter("weir.client.requests", Tags.of("result", how), of);
    }

    private static void latency(Figures<ClientStats> figures, String quantile, ToDoubleFunction<ClientStats> of) {
        figures.gauge("weir.client.latency.seconds", Tags.of("quantile", quantile), of);
    }

    private static double seconds(Duration latency) {
        return latency.toNanos() / NANOS_PER_SECOND;
    }
}
