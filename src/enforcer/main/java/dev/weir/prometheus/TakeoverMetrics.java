package dev.weir.prometheus;

import dev.weir.takeover.PeerGroups.Evidence;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.function.ToLongFunction;

/** Counts the instances that this one has taken over from before their sessions ended. */
public final class TakeoverMetrics implements MultiCollector {

    private final ToLongFunction<Evidence> takeovers;

    public TakeoverMetrics(ToLongFunction<Evidence> takeovers) {
        this.takeovers = takeovers;
    }

    @Override
    public MetricSnapshots collect() {
        MetricFamily family = new MetricFamily(
                "weir_takeovers", "Instances whose partitions others took over before their session ended", "reason");
        for (Evidence evidence : Evidence.values()) {
            family.add(takeovers.applyAsLong(evidence), evidence.name());
        }
        return MetricSnapshots.of(family.counter());
    }
}
