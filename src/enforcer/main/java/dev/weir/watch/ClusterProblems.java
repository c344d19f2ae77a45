package dev.weir.watch;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The present problems of a cluster. Each is logged once when it appears, and once when it has ended. */
final class ClusterProblems {

    private static final Logger LOG = LoggerFactory.getLogger(ClusterProblems.class);

    private final Map<ClusterProblem.Kind, List<ClusterProblem>> present = new HashMap<>();

    /** Replaces the problems of a kind. */
    synchronized void set(ClusterProblem.Kind kind, List<ClusterProblem> now) {
        List<ClusterProblem> before = present.getOrDefault(kind, List.of());
        Set<ClusterProblem> ended = new HashSet<>(before);
        now.forEach(ended::remove);
        now.stream().filter(one -> !before.contains(one)).forEach(one -> LOG.error(one.toString()));
        ended.forEach(one -> LOG.info("No longer: {}", one.what()));
        present.put(kind, List.copyOf(now));
    }

    /** Returns the problems, those of missing topics first. */
    synchronized List<ClusterProblem> all() {
        return present.values().stream()
                .flatMap(List::stream)
                .sorted((one, other) -> one.kind().compareTo(other.kind()))
                .toList();
    }
}
