package dev.weir.live;

import dev.weir.processor.Histogram;
import dev.weir.shape.QueueView;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * How one instance is now.
 *
 * @param address what the others know it by
 * @param health a word of {@link dev.weir.runtime.Health}
 * @param clients those that were denied most in the last minute
 * @param policies those that denied most in the last minute
 * @param queuesInAll how many queues it has
 * @param waitingInAll how many wait in all of them
 * @param queues those where most wait
 */
public record InstanceStatus(
        String address,
        String health,
        List<Denied> clients,
        List<OfPolicy> policies,
        int queuesInAll,
        long waitingInAll,
        List<OfQueue> queues,
        List<Partition> partitions) {

    /** @param denied about how often */
    public record Denied(String client, long denied) {}

    /** What a policy did in the last minute. */
    public record OfPolicy(String policy, long allowed, long denied, long queued) {

        long decided() {
            return allowed + denied + queued;
        }

        OfPolicy plus(OfPolicy other) {
            return new OfPolicy(policy, allowed + other.allowed, denied + other.denied, queued + other.queued);
        }
    }

    /**
     * The rules of a queue, and how it follows them.
     *
     * @param keys how many of its keys are in use, null if it has no key fields; then the rules are those of each key
     * @param maxWaitMs null: there is no bound
     * @param waitsMs of what was released in the last minute
     * @param drainMs how long it takes until what waits has left; of several keys, the slowest of {@code longest}
     * @param longest the keys with the most waiting requests, empty if it has no key fields
     */
    public record OfQueue(
            String id,
            Long keys,
            long limit,
            long perMs,
            long burst,
            long capacity,
            Long maxWaitMs,
            Histogram.Reading waitsMs,
            long drainMs,
            List<QueueView.OfKey> longest,
            List<OfTier> tiers) {

        private static final Comparator<QueueView.OfKey> MOST_WAITING = Comparator.comparingLong(
                        QueueView.OfKey::waiting)
                .thenComparingLong(QueueView.OfKey::oldestWaitMs)
                .reversed()
                .thenComparing(of -> new TreeMap<>(of.key()).toString());

        long waiting() {
            return tiers.stream().mapToLong(OfTier::waiting).sum();
        }

        /** With what another instance has of the same queue. */
        OfQueue plus(OfQueue other) {
            Map<String, OfTier> byName = new TreeMap<>(Comparator.nullsFirst(Comparator.naturalOrder()));
            Stream.concat(tiers.stream(), other.tiers.stream())
                    .forEach(tier -> byName.merge(tier.tier, tier, OfTier::plus));
            return new OfQueue(
                    id,
                    keys == null ? other.keys : other.keys == null ? keys : (Long) (keys + other.keys),
                    limit,
                    perMs,
                    burst,
                    capacity,
                    maxWaitMs,
                    waitsMs == null ? other.waitsMs : other.waitsMs == null ? waitsMs : waitsMs.plus(other.waitsMs),
                    Math.max(drainMs, other.drainMs),
                    Stream.concat(longest.stream(), other.longest.stream())
                            .sorted(MOST_WAITING)
                            .limit(Sampler.MOST_KEYS)
                            .toList(),
                    List.copyOf(byName.values()));
        }
    }

    /** @param tier null: of those that have none */
    public record OfTier(String tier, int priority, int weight, long waiting) {

        OfTier plus(OfTier other) {
            return new OfTier(tier, priority, weight, waiting + other.waiting);
        }
    }

    /**
     * A partition that an instance has.
     *
     * @param application deciding, shaping or policies
     * @param role active or standby
     * @param lag how many of its records are not read yet; null: not known
     */
    public record Partition(String application, int partition, String role, Long lag) {}
}
