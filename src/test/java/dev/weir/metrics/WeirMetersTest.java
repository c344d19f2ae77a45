package dev.weir.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.processor.HotMemory;
import dev.weir.processor.LiveCounts;
import dev.weir.processor.LivePolicies;
import dev.weir.shape.QueueRules;
import dev.weir.shape.QueueView;
import dev.weir.shape.Share;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class WeirMetersTest {

    private enum Health {
        WELL
    }

    @Test
    void tiers_that_producers_make_up_are_told_together_once_there_are_too_many() {
        List<QueueView.OfTier> tiers = new ArrayList<>();
        for (int i = 0; i < LiveCounts.MOST + 500; i++) {
            tiers.add(new QueueView.OfTier("tier " + i, new Share(0, 1), 1));
        }
        QueueRules rules =
                new QueueRules("q", 1, 1, 1, 1, QueueRules.MAX_CAPACITY, QueueRules.NO_MAX_WAIT, 0, Map.of());
        QueueView queue = new QueueView(rules, false, tiers.size(), tiers.size(), tiers, 0L, 0L, 0L, 0);
        Source source = new Source(
                Map.of(),
                new LiveCounts(),
                new LivePolicies(),
                new HotMemory(0),
                () -> List.of(queue),
                () -> Health.WELL);

        GaugeSnapshot waiting = (GaugeSnapshot) new WeirMeters(source)
                .collect().stream()
                        .filter(snapshot -> snapshot.getMetadata().getName().equals("weir_queue_waiting"))
                        .findFirst()
                        .orElseThrow();
        assertThat(waiting.getDataPoints()).hasSize(LiveCounts.MOST + 1);
        assertThat(waiting.getDataPoints().stream().mapToDouble(GaugeDataPointSnapshot::getValue))
                .contains(500.0);
    }
}
