package dev.weir.live;

import dev.weir.metrics.Histogram;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The figures of all instances for one second.
 *
 * @param at the beginning of the second, ms since the epoch
 * @param instances the number of instances that reported it
 * @param latencyMs null if nothing was decided
 * @param lag null if it is unknown for a partition
 */
public record ClusterSecond(
        long at,
        int instances,
        Map<String, Long> decisions,
        long deadLetters,
        Quantiles latencyMs,
        Long lag,
        List<InstanceSecond.QueueSecond> queues) {

    private static final Comparator<InstanceSecond.QueueSecond> MOST_WAITING = Comparator.comparingLong(
                    InstanceSecond.QueueSecond::waiting)
            .reversed()
            .thenComparing(InstanceSecond.QueueSecond::id);

    private static Long lag(Collection<InstanceSecond> seconds) {
        return seconds.stream().anyMatch(second -> second.lag() == null)
                ? null
                : (Long) seconds.stream().mapToLong(InstanceSecond::lag).sum();
    }

    /** Adds up the queues by id. Several instances may have parts of a queue with key fields. */
    private static Map<String, InstanceSecond.QueueSecond> queues(Collection<InstanceSecond> seconds) {
        Map<String, InstanceSecond.QueueSecond> queues = new TreeMap<>();
        seconds.forEach(second ->
                second.queues().forEach(queue -> queues.merge(queue.id(), queue, InstanceSecond.QueueSecond::plus)));
        return queues;
    }

    /** @param seconds the reports of the same second; at least one */
    static ClusterSecond of(Collection<InstanceSecond> seconds) {
        Map<String, Long> decisions = new TreeMap<>();
        seconds.forEach(
                second -> second.decisions().forEach((outcome, count) -> decisions.merge(outcome, count, Long::sum)));
        return new ClusterSecond(
                seconds.iterator().next().at(),
                seconds.size(),
                decisions,
                seconds.stream().mapToLong(InstanceSecond::deadLetters).sum(),
                Quantiles.of(seconds.stream()
                        .map(InstanceSecond::latenciesMs)
                        .reduce(Histogram.Reading::plus)
                        .orElseThrow()),
                lag(seconds),
                queues(seconds).values().stream()
                        .sorted(MOST_WAITING)
                        .limit(Sampler.MAX_QUEUES)
                        .toList());
    }
}
