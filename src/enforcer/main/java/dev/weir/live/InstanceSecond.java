package dev.weir.live;

import dev.weir.processor.Histogram;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * What one instance did in one second.
 *
 * @param at when the second began, ms since the epoch
 * @param decisions by outcome
 * @param latenciesMs of what was decided
 * @param lag how many requests are not read yet; null: not known of all of its partitions
 * @param queues those where most wait, at most {@value Sampler#MAX_QUEUES}
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
     * @param oldestWaitMs null if nobody waits
     * @param in how many came in that second
     * @param out how many were released in it
     */
    public record QueueSecond(String id, long waiting, Long oldestWaitMs, long in, long out, List<TierSecond> tiers) {

        /** With what another instance has of the same queue. */
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

    /** @param tier null: of those that have none */
    public record TierSecond(String tier, long waiting) {}
}
