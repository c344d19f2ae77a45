package dev.weir.live;

import dev.weir.prometheus.MetricSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.TaskMetadata;
import org.apache.kafka.streams.ThreadMetadata;

/**
 * The partitions that are assigned to this instance, and their lag.
 *
 * @param applications the applications
 * @param policiesTopic the topic whose partition is listed as application {@code policies}
 */
record PartitionStatus(MetricSource.Applications applications, String policiesTopic) {

    static final String ACTIVE = "active";

    private static final Comparator<InstanceStatus.AssignedPartition> ORDER = Comparator.comparing(
                    InstanceStatus.AssignedPartition::application)
            .thenComparingInt(InstanceStatus.AssignedPartition::partition)
            .thenComparing(InstanceStatus.AssignedPartition::role);

    /** Returns no partitions of an application that is not running. */
    List<InstanceStatus.AssignedPartition> partitions() {
        List<InstanceStatus.AssignedPartition> partitions = new ArrayList<>();
        Map<TopicPartition, Long> read = applications.lags().get();
        applications.streams().forEach((name, streams) -> {
            if (streams.state().isRunningOrRebalancing()) {
                for (ThreadMetadata thread : streams.metadataForLocalThreads()) {
                    thread.activeTasks().forEach(task -> partitions.add(of(name, task, ACTIVE, read)));
                    thread.standbyTasks().forEach(task -> partitions.add(of(name, task, "standby", Map.of())));
                }
            }
        });
        partitions.sort(ORDER);
        return partitions;
    }

    private InstanceStatus.AssignedPartition of(
            String name, TaskMetadata task, String role, Map<TopicPartition, Long> lags) {
        Set<TopicPartition> read = task.topicPartitions();
        boolean isOfPolicies =
                read.stream().anyMatch(partition -> partition.topic().equals(policiesTopic));
        List<Long> known =
                read.stream().filter(lags::containsKey).map(lags::get).toList();
        return new InstanceStatus.AssignedPartition(
                isOfPolicies ? "policies" : name,
                task.taskId().partition(),
                role,
                known.isEmpty()
                        ? null
                        : known.stream().mapToLong(Long::longValue).sum());
    }
}
