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
        List<InstanceStatus.DeniedClient> clients,
        List<InstanceStatus.PolicyCounts> policies,
        int queuesInAll,
        long waitingInAll,
        List<QueueOverview> queues,
        List<InstanceOverview> instances,
        Set<String> unreachable) {

    /** The health of one that did not answer. */
    static final String UNREACHABLE = "UNREACHABLE";

    private static final Comparator<InstanceStatus.QueueStatus> MOST_WAITING = Comparator.comparingLong(
                    InstanceStatus.QueueStatus::waiting)
            .reversed()
            .thenComparing(InstanceStatus.QueueStatus::id);

    private static final Comparator<QueueOverview> BY_ID = Comparator.comparing(QueueOverview::id);

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
        Map<String, InstanceStatus.PolicyCounts> policies = new LinkedHashMap<>();
        Map<String, InstanceStatus.QueueStatus> queues = new TreeMap<>();
        Map<String, InstanceOverview> instances = new TreeMap<>();
        for (InstanceStatus glance : told) {
            glance.clients().forEach(client -> clients.merge(client.client(), client.denied(), Long::sum));
            // Several instances have parts of a queue that has key fields.
            glance.queues().forEach(queue -> queues.merge(queue.id(), queue, InstanceStatus.QueueStatus::plus));
            glance.policies()
                    .forEach(policy -> policies.merge(policy.policy(), policy, InstanceStatus.PolicyCounts::plus));
            instances.put(
                    glance.address(),
                    new InstanceOverview(
                            glance.address(),
                            glance.address().equals(self),
                            glance.health(),
                            perSecond.getOrDefault(glance.address(), 0L),
                            glance.partitions()));
        }
        unreachable.forEach(
                address -> instances.put(address, new InstanceOverview(address, false, UNREACHABLE, 0, List.of())));
        return new ClusterOverview(
                nowMs,
                clients.entrySet().stream()
                        .map(entry -> new InstanceStatus.DeniedClient(entry.getKey(), entry.getValue()))
                        .sorted(RecentCounts.Rankings.CLIENTS)
                        .limit(Sampler.MAX_NAMES)
                        .toList(),
                policies.values().stream()
                        .sorted(RecentCounts.Rankings.POLICIES)
                        .limit(Sampler.MAX_NAMES)
                        .toList(),
                told.stream().mapToInt(InstanceStatus::queuesInAll).sum(),
                told.stream().mapToLong(InstanceStatus::waitingInAll).sum(),
                queues.values().stream()
                        .sorted(MOST_WAITING)
                        .limit(Sampler.MAX_QUEUES)
                        .map(QueueOverview::of)
                        .sorted(BY_ID)
                        .toList(),
                List.copyOf(instances.values()),
                unreachable);
    }

    /** As {@link InstanceStatus.QueueStatus}; waitsMs null: nothing was released. */
    public record QueueOverview(
            String id,
            Long keys,
            long limit,
            long perMs,
            long burst,
            long capacity,
            Long maxWaitMs,
            Quantiles waitsMs,
            long drainMs,
            List<QueueView.KeyView> longest,
            List<InstanceStatus.TierStatus> tiers) {

        static QueueOverview of(InstanceStatus.QueueStatus queue) {
            return new QueueOverview(
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
    public record InstanceOverview(
            String address,
            boolean self,
            String health,
            long decisionsPerSecond,
            List<InstanceStatus.AssignedPartition> partitions) {}
}
