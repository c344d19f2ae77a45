package dev.weir.prometheus;

import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;

/** Counts the present problems of the cluster by kind and topic. */
public final class ClusterProblemMetrics implements MultiCollector {

    /** @param kind the name of the kind of the problem */
    public record CountedProblem(String kind, String topic) {}

    private final List<String> kinds;
    private final Supplier<List<CountedProblem>> problems;

    /** @param kinds all kinds of problems; each is reported, also if there is none */
    public ClusterProblemMetrics(Enum<?>[] kinds, Supplier<List<CountedProblem>> problems) {
        this.kinds = Arrays.stream(kinds).map(Enum::name).toList();
        this.problems = problems;
    }

    @Override
    public MetricSnapshots collect() {
        MetricFamily family = new MetricFamily(
                "weir_cluster_problems", "Deleted topics, and transactions that do not end", "kind", "topic");
        kinds.forEach(kind -> family.add(0, kind, ""));
        problems.get().forEach(problem -> family.add(1, problem.kind(), problem.topic()));
        return MetricSnapshots.of(family.gauge());
    }
}
