package dev.weir.live;

import dev.weir.metrics.Histogram;
import dev.weir.server.LatencyBuckets;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The figures of one instance for one second, or their sum over one minute.
 *
 * @param at the beginning of the second or minute, ms since the epoch
 * @param decisions the number of decisions by outcome
 * @param latenciesMs the latencies of the decisions
 * @param lag the number of requests that have not been read yet; null if it is unknown for one of its partitions. In a
 *     minute, the maximum
 * @param queues the {@value Sampler#MAX_QUEUES} queues with the most waiting requests, and up to
 *     {@value Sampler#MAX_FURTHER_QUEUES} further ones with key fields
 */
public record InstanceSecond(
        long at,
        Map<String, Long> decisions,
        long deadLetters,
        Histogram.Reading latenciesMs,
        Long lag,
        List<QueueSecond> queues) {

    private static final int MAX_QUEUES_A_MINUTE = 8;

    /** Returns a minute without figures. */
    static InstanceSecond empty(long at) {
        return new InstanceSecond(
                at,
                Map.of(),
                0,
                new Histogram.Reading(LatencyBuckets.MS, Collections.nCopies(LatencyBuckets.MS.size() + 1, 0L), 0),
                null,
                List.of());
    }

    /**
     * Adds a later second. Keeps the time of this one, and at most {@value #MAX_QUEUES_A_MINUTE} queues, without tiers.
     */
    InstanceSecond plus(InstanceSecond later) {
        Map<String, Long> sums = new TreeMap<>(decisions);
        later.decisions.forEach((outcome, count) -> sums.merge(outcome, count, Long::sum));
        Map<String, QueueSecond> byId = new LinkedHashMap<>();
        queues.forEach(queue -> byId.put(queue.id(), queue));
        for (QueueSecond queue : later.queues) {
            QueueSecond before = byId.get(queue.id());
            if (before != null || byId.size() < MAX_QUEUES_A_MINUTE) {
                byId.put(queue.id(), before == null ? queue.withoutTiers() : before.then(queue));
            }
        }
        return new InstanceSecond(
                at,
                sums,
                deadLetters + later.deadLetters,
                latenciesMs.plus(later.latenciesMs),
                maximum(lag, later.lag),
                List.copyOf(byId.values()));
    }

    /** @return null if both are null */
    static Long maximum(Long one, Long other) {
        return Stream.of(Optional.ofNullable(one), Optional.ofNullable(other))
                .flatMap(Optional::stream)
                .max(Comparator.naturalOrder())
                .orElse(null);
    }

    /**
     * A queue at the end of the second.
     *
     * @param oldestWaitMs null if no request is waiting
     * @param in the number of requests that entered in the second
     * @param out the number of requests that were released in the second
     */
    public record QueueSecond(String id, long waiting, Long oldestWaitMs, long in, long out, List<TierSecond> tiers) {

        QueueSecond withoutTiers() {
            return new QueueSecond(id, waiting, oldestWaitMs, in, out, List.of());
        }

        /** Adds a later second of the same queue. What waits is that of the later one. */
        QueueSecond then(QueueSecond later) {
            return new QueueSecond(
                    id,
                    later.waiting,
                    maximum(oldestWaitMs, later.oldestWaitMs),
                    in + later.in,
                    out + later.out,
                    List.of());
        }

        /** Adds another instance's part of the same queue. */
        QueueSecond plus(QueueSecond other) {
            Map<String, Long> byTier = new TreeMap<>(Comparator.nullsFirst(Comparator.naturalOrder()));
            Stream.concat(tiers.stream(), other.tiers.stream())
                    .forEach(tier -> byTier.merge(tier.tier, tier.waiting, Long::sum));
            return new QueueSecond(
                    id,
                    waiting + other.waiting,
                    maximum(oldestWaitMs, other.oldestWaitMs),
                    in + other.in,
                    out + other.out,
                    byTier.entrySet().stream()
                            .map(entry -> new TierSecond(entry.getKey(), entry.getValue()))
                            .toList());
        }
    }

    /** @param tier null for requests without a tier */
    public record TierSecond(String tier, long waiting) {}
}
