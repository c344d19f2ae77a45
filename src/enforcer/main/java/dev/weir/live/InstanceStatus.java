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
        List<DeniedClient> clients,
        List<PolicyCounts> policies,
        int queuesInAll,
        long waitingInAll,
        List<QueueStatus> queues,
        List<AssignedPartition> partitions) {

    /** @param denied about how often */
    public record DeniedClient(String client, long denied) {}

    /** What a policy did in the last minute. */
    public record PolicyCounts(String policy, long allowed, long denied, long queued) {

        long decided() {
            return allowed + denied + queued;
        }

        PolicyCounts plus(PolicyCounts other) {
            return new PolicyCounts(policy, allowed + other.allowed, denied + other.denied, queued + other.queued);
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
    public record QueueStatus(
            String id,
            Long keys,
            long limit,
            long perMs,
            long burst,
            long capacity,
            Long maxWaitMs,
            Histogram.Reading waitsMs,
            long drainMs,
            List<QueueView.KeyView> longest,
            List<TierStatus> tiers) {

        private static final Comparator<QueueView.KeyView> MOST_WAITING = Comparator.comparingLong(
                        QueueView.KeyView::waiting)
                .thenComparingLong(QueueView.KeyView::oldestWaitMs)
                .reversed()
                .thenComparing(of -> new TreeMap<>(of.key()).toString());

        long waiting() {
            return tiers.stream().mapToLong(TierStatus::waiting).sum();
        }

        /** With what another instance has of the same queue. */
        QueueStatus plus(QueueStatus other) {
            Map<String, TierStatus> byName = new TreeMap<>(Comparator.nullsFirst(Comparator.naturalOrder()));
            Stream.concat(tiers.stream(), other.tiers.stream())
                    .forEach(tier -> byName.merge(tier.tier, tier, TierStatus::plus));
            return new QueueStatus(
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
                            .limit(Sampler.MAX_KEYS)
                            .toList(),
                    List.copyOf(byName.values()));
        }
    }

    /** @param tier null: of those that have none */
    public record TierStatus(String tier, int priority, int weight, long waiting) {

        TierStatus plus(TierStatus other) {
            return new TierStatus(tier, priority, weight, waiting + other.waiting);
        }
    }

    /**
     * A partition that an instance has.
     *
     * @param application deciding, shaping or policies
     * @param role active or standby
     * @param lag how many of its records are not read yet; null: not known
     */
    public record AssignedPartition(String application, int partition, String role, Long lag) {}
}
