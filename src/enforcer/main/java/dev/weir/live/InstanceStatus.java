package dev.weir.live;

import java.lang.management.ManagementFactory;
import java.util.List;

/**
 * The present state of one instance.
 *
 * @param address the address at which other instances reach it
 * @param health the name of a {@link dev.weir.runtime.Health}
 * @param process null if the instance does not report it
 * @param recentClients the clients of the last decisions, the latest first, at most {@value Sampler#MAX_RECENT}
 */
public record InstanceStatus(
        String address,
        String health,
        ProcessInfo process,
        List<RecentClient> recentClients,
        InstanceQueues queues,
        List<AssignedPartition> partitions) {

    /** @param lastAt the second of its last decision, ms since the epoch */
    public record RecentClient(String client, long lastAt) {}

    /**
     * The process of an instance.
     *
     * @param version the version of Weir; null if it does not run from a jar
     * @param startedAt the time at which the process started, ms since the epoch
     */
    public record ProcessInfo(String version, long startedAt) {

        static ProcessInfo ofThis() {
            return new ProcessInfo(
                    ProcessInfo.class.getPackage().getImplementationVersion(),
                    ManagementFactory.getRuntimeMXBean().getStartTime());
        }
    }

    /**
     * The queues of an instance.
     *
     * @param count the number of all its queues
     * @param keyed the ids of those with key fields, of which other instances may have parts; at most
     *     {@value Sampler#MAX_IDS}
     * @param waiting the number of requests waiting in all its queues
     * @param fullest the {@value Sampler#MAX_QUEUES} queues with the most waiting requests, and up to
     *     {@value Sampler#MAX_FURTHER_QUEUES} further ones with key fields
     */
    public record InstanceQueues(int count, List<String> keyed, long waiting, List<QueueStatus> fullest) {

        static final InstanceQueues NONE = new InstanceQueues(0, List.of(), 0, List.of());
    }

    /**
     * A partition that is assigned to an instance.
     *
     * @param application deciding, shaping or policies
     * @param role active or standby
     * @param lag the number of records that have not been read yet; null if unknown
     */
    public record AssignedPartition(String application, int partition, String role, Long lag) {}
}
