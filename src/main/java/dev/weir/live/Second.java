package dev.weir.live;

import dev.weir.processor.Spread;
import java.util.List;
import java.util.Map;

/**
 * What one instance did in one second.
 *
 * @param at when the second began, ms since the epoch
 * @param decisions by outcome
 * @param latenciesMs of what was decided
 * @param lag how many requests are not read yet; null: not known of all of its partitions
 * @param queues those where most wait, at most {@value Sampler#MOST_QUEUES}
 */
public record Second(
        long at,
        Map<String, Long> decisions,
        long deadLetters,
        Spread.Reading latenciesMs,
        Long lag,
        List<OfQueue> queues) {

    /**
     * A queue at the end of the second.
     *
     * @param oldestWaitMs null if nobody waits
     * @param in how many came in that second
     * @param out how many were released in it
     */
    public record OfQueue(String id, long waiting, Long oldestWaitMs, long in, long out, List<OfTier> tiers) {}

    /** @param tier null: of those that have none */
    public record OfTier(String tier, long waiting) {}
}
