package dev.weir.live;

import dev.weir.shape.QueueView;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * How all instances are now.
 *
 * @param clients those that were denied most in the last minute
 * @param policies those that denied most in the last minute
 * @param queues those where most wait, by id
 * @param unreachable the addresses of those whose figures are missing
 */
public record ClusterOverview(
        long at,
        List<InstanceStatus.Denied> clients,
        List<InstanceStatus.OfPolicy> policies,
        int queuesInAll,
        long waitingInAll,
        List<OfQueue> queues,
        List<Instance> instances,
        Set<String> unreachable) {

    /** The health of one that did not answer. */
    static final String UNREACHABLE = "UNREACHABLE";

    private static final Comparator<InstanceStatus.OfQueue> MOST_WAITING = Comparator.comparingLong(
                    InstanceStatus.OfQueue::waiting)
            .reversed()
            .thenComparing(InstanceStatus.OfQueue::id);

    private static final Comparator<OfQueue> BY_ID = Comparator.comparing(OfQueue::id);

    /**
     * @param self the address of the one that tells this
     * @param perSecond by address, what each has decided in the last second
     */
    static ClusterOverview of(
            long nowMs,
            String self,
            Collection<InstanceStatus> told,
            Map<String, Long> perSecond,
            Set<String> unreachable) {
        Map<String, Long> clients = new LinkedHashMap<>();
        Map<String, InstanceStatus.OfPolicy> policies = new LinkedHashMap<>();
        Map<String, InstanceStatus.OfQueue> queues = new TreeMap<>();
        Map<String, Instance> instances = new TreeMap<>();
        for (InstanceStatus glance : told) {
            glance.clients().forEach(client -> clients.merge(client.client(), client.denied(), Long::sum));
            // Several instances have parts of a queue that has key fields.
            glance.queues().forEach(queue -> queues.merge(queue.id(), queue, InstanceStatus.OfQueue::plus));
            glance.policies().forEach(policy -> policies.merge(policy.policy(), policy, InstanceStatus.OfPolicy::plus));
            instances.put(
                    glance.address(),
                    new Instance(
                            glance.address(),
                            glance.address().equals(self),
                            glance.health(),
                            perSecond.getOrDefault(glance.address(), 0L),
                            glance.partitions()));
        }
        unreachable.forEach(address -> instances.put(address, new Instance(address, false, UNREACHABLE, 0, List.of())));
        return new ClusterOverview(
                nowMs,
                clients.entrySet().stream()
                        .map(entry -> new InstanceStatus.Denied(entry.getKey(), entry.getValue()))
                        .sorted(RecentCounts.Rank.CLIENTS)
                        .limit(Sampler.MOST_NAMED)
                        .toList(),
                policies.values().stream()
                        .sorted(RecentCounts.Rank.POLICIES)
                        .limit(Sampler.MOST_NAMED)
                        .toList(),
                told.stream().mapToInt(InstanceStatus::queuesInAll).sum(),
                told.stream().mapToLong(InstanceStatus::waitingInAll).sum(),
                queues.values().stream()
                        .sorted(MOST_WAITING)
                        .limit(Sampler.MOST_QUEUES)
                        .map(OfQueue::of)
                        .sorted(BY_ID)
                        .toList(),
                List.copyOf(instances.values()),
                unreachable);
    }

    /** As {@link InstanceStatus.OfQueue}; waitsMs null: nothing was released. */
    public record OfQueue(
            String id,
            Long keys,
            long limit,
            long perMs,
            long burst,
            long capacity,
            Long maxWaitMs,
            Quantiles waitsMs,
            long drainMs,
            List<QueueView.OfKey> longest,
            List<InstanceStatus.OfTier> tiers) {

        static OfQueue of(InstanceStatus.OfQueue queue) {
            return new OfQueue(
                    queue.id(),
                    queue.keys(),
                    queue.limit(),
                    queue.perMs(),
                    queue.burst(),
                    queue.capacity(),
                    queue.maxWaitMs(),
                    Quantiles.of(queue.waitsMs()),
                    queue.drainMs(),
                    queue.longest(),
                    queue.tiers());
        }
    }

    /** @param self whether it is the one that tells this */
    public record Instance(
            String address,
            boolean self,
            String health,
            long decisionsPerSecond,
            List<InstanceStatus.Partition> partitions) {}
}
