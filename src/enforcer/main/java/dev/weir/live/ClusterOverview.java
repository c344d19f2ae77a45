package dev.weir.live;

import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The present state of all instances.
 *
 * @param at the current time, ms since the epoch
 * @param recentClients the clients of the last decisions, the latest first
 * @param queuesInAll the number of all queues. A queue with key fields counts once, whichever instances have parts of
 *     it; beyond {@value Sampler#MAX_IDS} such queues of an instance, once for each instance
 * @param queues the queues with the most waiting requests, by id
 * @param unreachable the addresses of instances whose figures are missing
 */
public record ClusterOverview(
        long at,
        List<InstanceStatus.RecentClient> recentClients,
        int queuesInAll,
        long waitingInAll,
        List<QueueOverview> queues,
        List<InstanceOverview> instances,
        Set<String> unreachable) {

    /** The health of an instance that did not respond. */
    static final String UNREACHABLE = "UNREACHABLE";

    private static final Comparator<QueueStatus> MOST_WAITING =
            Comparator.comparingLong(QueueStatus::waiting).reversed().thenComparing(QueueStatus::id);

    private static final Comparator<QueueOverview> BY_ID = Comparator.comparing(QueueOverview::id);

    /**
     * @param self the address of this instance
     * @param perSecond the decisions of each instance in the last second, by address
     */
    static ClusterOverview of(
            long nowMs,
            String self,
            Collection<InstanceStatus> statuses,
            Map<String, Long> perSecond,
            Set<String> unreachable) {
        Map<String, Long> recent = new LinkedHashMap<>();
        Map<String, QueueStatus> queues = new TreeMap<>();
        Map<String, InstanceOverview> instances = new TreeMap<>();
        for (InstanceStatus status : statuses) {
            status.recentClients().forEach(client -> recent.merge(client.client(), client.lastAt(), Math::max));
            // Several instances have parts of a queue that has key fields.
            status.queues().fullest().forEach(queue -> queues.merge(queue.id(), queue, QueueStatus::plus));
            instances.put(
                    status.address(),
                    new InstanceOverview(
                            status.address(),
                            status.address().equals(self),
                            status.health(),
                            status.process(),
                            perSecond.getOrDefault(status.address(), 0L),
                            status.partitions()));
        }
        unreachable.forEach(address ->
                instances.put(address, new InstanceOverview(address, false, UNREACHABLE, null, 0, List.of())));
        return new ClusterOverview(
                nowMs,
                recent.entrySet().stream()
                        .map(entry -> new InstanceStatus.RecentClient(entry.getKey(), entry.getValue()))
                        .sorted(RecentCounts.Rankings.RECENT)
                        .limit(Sampler.MAX_RECENT)
                        .toList(),
                queuesInAll(statuses),
                statuses.stream().mapToLong(status -> status.queues().waiting()).sum(),
                queues.values().stream()
                        .sorted(MOST_WAITING)
                        .limit(Sampler.MAX_QUEUES)
                        .map(QueueOverview::of)
                        .sorted(BY_ID)
                        .toList(),
                List.copyOf(instances.values()),
                unreachable);
    }

    private static int queuesInAll(Collection<InstanceStatus> statuses) {
        Set<String> keyed = new HashSet<>();
        int others = 0;
        for (InstanceStatus status : statuses) {
            InstanceStatus.InstanceQueues queues = status.queues();
            keyed.addAll(queues.keyed());
            others += queues.count() - queues.keyed().size();
        }
        return keyed.size() + others;
    }

    /** Like {@link QueueStatus}; {@code waitsMs} is null if nothing was released. */
    public record QueueOverview(
            String id,
            Long keys,
            QueueStatus.RulesStatus rules,
            Quantiles waitsMs,
            QueueStatus.BacklogStatus backlog,
            QueueStatus.InFlightStatus inFlight,
            QueueStatus.OrdersStatus orders) {

        static QueueOverview of(QueueStatus queue) {
            return new QueueOverview(
                    queue.id(),
                    queue.keys(),
                    queue.rules(),
                    Quantiles.of(queue.waitsMs()),
                    queue.backlog(),
                    queue.inFlight(),
                    queue.orders());
        }
    }

    /**
     * @param self whether it is the instance that returns this overview
     * @param process null if it is unknown
     */
    public record InstanceOverview(
            String address,
            boolean self,
            String health,
            InstanceStatus.ProcessInfo process,
            long decisionsPerSecond,
            List<InstanceStatus.AssignedPartition> partitions) {}
}
