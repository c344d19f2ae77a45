package dev.weir.live;

import dev.weir.processor.Histogram;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The figures of one instance for one second.
 *
 * @param at the beginning of the second, ms since the epoch
 * @param decisions the number of decisions by outcome
 * @param latenciesMs the latencies of the decisions
 * @param lag the number of requests that have not been read yet; null if it is unknown for one of its partitions
 * @param queues the queues with the most waiting requests, at most {@value Sampler#MAX_QUEUES}
 */
public record InstanceSecond(
        long at,
        Map<String, Long> decisions,
        long deadLetters,
        Histogram.Reading latenciesMs,
        Long lag,
        List<QueueSecond> queues) {

    /**
     * A queue at the end of the second.
     *
     * @param oldestWaitMs null if no request is waiting
     * @param in the number of requests that entered in the second
     * @param out the number of requests that were released in the second
     */
    public record QueueSecond(String id, long waiting, Long oldestWaitMs, long in, long out, List<TierSecond> tiers) {

        /** Adds another instance's part of the same queue. */
        QueueSecond plus(QueueSecond other) {
            Map<String, Long> byTier = new TreeMap<>(Comparator.nullsFirst(Comparator.naturalOrder()));
            Stream.concat(tiers.stream(), other.tiers.stream())
                    .forEach(tier -> byTier.merge(tier.tier, tier.waiting, Long::sum));
            Long oldestMs = Stream.of(this, other)
                    .map(QueueSecond::oldestWaitMs)
                    .filter(Objects::nonNull)
                    .max(Comparator.naturalOrder())
                    .orElse(null);
            return new QueueSecond(
                    id,
                    waiting + other.waiting,
                    oldestMs,
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
