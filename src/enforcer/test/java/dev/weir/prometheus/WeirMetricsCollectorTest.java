package dev.weir.prometheus;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Rejection;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.requests.RequestPartitions;
import dev.weir.shape.command.OrdersView;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.rules.TierShare;
import dev.weir.shape.view.QueueView;
import dev.weir.storage.CacheBudget;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class WeirMetricsCollectorTest {

    private static final int MANY = EnforcerMetrics.MOST + 500;

    private enum Health {
        WELL
    }

    @Test
    void tiers_that_the_queue_does_not_name_are_reported_together() {
        List<QueueView.TierView> tiers = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            tiers.add(new QueueView.TierView("tier " + i, new TierShare(0, 1), 1));
        }
        TierShare named = new TierShare(-1, 1);
        tiers.add(new QueueView.TierView("gold", named, 7));
        tiers.add(new QueueView.TierView(null, TierShare.DEFAULT, 3));
        QueueRules rules = QueueRules.builder("q", 1, 1)
                .capacity(QueueRules.MAX_CAPACITY)
                .lookAheadMs(0)
                .tiers(Map.of("gold", named))
                .build();
        QueueView queue = new QueueView(
                rules,
                false,
                new QueueView.BacklogView(tiers.size(), tiers.size(), tiers, 0L, 0),
                new QueueView.OneBucket(0, 0L));
        MetricSource source = new MetricSource(
                new MetricSource.Applications(Map.of(), Map::of),
                new EnforcerMetrics(),
                new PolicyRegistry(),
                new CacheBudget(0),
                () -> List.of(queue),
                () -> Health.WELL,
                new RequestPartitions(1, 1));

        GaugeSnapshot waiting = (GaugeSnapshot) new WeirMetricsCollector(source)
                .collect().stream()
                        .filter(snapshot -> snapshot.getMetadata().getName().equals("weir_queue_waiting"))
                        .findFirst()
                        .orElseThrow();
        assertThat(waiting.getDataPoints().stream()
                        .collect(Collectors.toMap(
                                point -> point.getLabels().get("tier"), GaugeDataPointSnapshot::getValue)))
                .isEqualTo(Map.of("gold", 7.0, EnforcerMetrics.NONE, 3.0, EnforcerMetrics.OTHER, MANY + 0.0));
    }

    @Test
    void the_commands_in_effect_are_gauges() {
        QueueCommand.Origin origin = new QueueCommand.Origin(Optional.empty(), "because", 0);
        QueueRules rules = QueueRules.builder("q", 1, 1).key(List.of("tenant")).build();
        QueueView queue = QueueView.ofNoBuckets(rules)
                .withOrders(new OrdersView(Optional.of(origin), Optional.empty(), false, 3, List.of()));
        MetricSource source = new MetricSource(
                new MetricSource.Applications(Map.of(), Map::of),
                new EnforcerMetrics(),
                new PolicyRegistry(),
                new CacheBudget(0),
                () -> List.of(queue),
                () -> Health.WELL,
                new RequestPartitions(1, 1));
        Map<String, Double> values = new HashMap<>();
        new WeirMetricsCollector(source).collect().forEach(snapshot -> {
            if (snapshot instanceof GaugeSnapshot gauge) {
                gauge.getDataPoints()
                        .forEach(point -> values.put(gauge.getMetadata().getName(), point.getValue()));
            }
        });
        assertThat(values)
                .containsEntry("weir_queue_paused", 1.0)
                .containsEntry("weir_queue_draining", 0.0)
                .containsEntry("weir_queue_commanded_keys", 3.0);
    }

    /** Prometheus sees no increase of a series that begins with its first dead letter. */
    @Test
    void every_reason_of_dead_letters_is_there_from_the_start() {
        MetricSource source = new MetricSource(
                new MetricSource.Applications(Map.of(), Map::of),
                new EnforcerMetrics(),
                new PolicyRegistry(),
                new CacheBudget(0),
                List::of,
                () -> Health.WELL,
                new RequestPartitions(1, 1));
        CounterSnapshot letters = (CounterSnapshot) new WeirMetricsCollector(source)
                .collect().stream()
                        .filter(snapshot -> snapshot.getMetadata().getName().equals("weir_dead_letters"))
                        .findFirst()
                        .orElseThrow();
        assertThat(letters.getDataPoints())
                .hasSize(Rejection.values().length)
                .allSatisfy(point -> assertThat(point.getValue()).isZero());
    }
}
