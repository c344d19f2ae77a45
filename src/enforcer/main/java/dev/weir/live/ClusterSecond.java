package dev.weir.live;

import dev.weir.processor.Histogram;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What all instances did in one second.
 *
 * @param at when it began, ms since the epoch
 * @param instances how many told of it
 * @param latencyMs null: nothing was decided
 * @param lag null: not known of all partitions
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

    private static Long lag(Collection<InstanceSecond> told) {
        return told.stream().anyMatch(second -> second.lag() == null)
                ? null
                : (Long) told.stream().mapToLong(InstanceSecond::lag).sum();
    }

    /** By id; several instances have parts of a queue that has key fields. */
    private static Map<String, InstanceSecond.QueueSecond> queues(Collection<InstanceSecond> told) {
        Map<String, InstanceSecond.QueueSecond> queues = new TreeMap<>();
        told.forEach(second ->
                second.queues().forEach(queue -> queues.merge(queue.id(), queue, InstanceSecond.QueueSecond::plus)));
        return queues;
    }

    /** @param told what each of them told of the same second; one at least */
    static ClusterSecond of(Collection<InstanceSecond> told) {
        Map<String, Long> decisions = new TreeMap<>();
        told.forEach(
                second -> second.decisions().forEach((outcome, count) -> decisions.merge(outcome, count, Long::sum)));
        return new ClusterSecond(
                told.iterator().next().at(),
                told.size(),
                decisions,
                told.stream().mapToLong(InstanceSecond::deadLetters).sum(),
                Quantiles.of(told.stream()
                        .map(InstanceSecond::latenciesMs)
                        .reduce(Histogram.Reading::plus)
                        .orElseThrow()),
                lag(told),
                queues(told).values().stream()
                        .sorted(MOST_WAITING)
                        .limit(Sampler.MAX_QUEUES)
                        .toList());
    }
}
