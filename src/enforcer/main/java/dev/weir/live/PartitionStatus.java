package dev.weir.live;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.TaskMetadata;
import org.apache.kafka.streams.ThreadMetadata;

/**
 * The partitions that are assigned to this instance, and their lag.
 *
 * @param applications the applications by name
 * @param policiesTopic the topic whose partition is listed as application {@code policies}
 */
record PartitionStatus(Map<String, KafkaStreams> applications, String policiesTopic) {

    static final String ACTIVE = "active";

    private static final Comparator<InstanceStatus.AssignedPartition> ORDER = Comparator.comparing(
                    InstanceStatus.AssignedPartition::application)
            .thenComparingInt(InstanceStatus.AssignedPartition::partition)
            .thenComparing(InstanceStatus.AssignedPartition::role);

    /** Returns no partitions of an application that is not running. */
    List<InstanceStatus.AssignedPartition> partitions() {
        List<InstanceStatus.AssignedPartition> partitions = new ArrayList<>();
        applications.forEach((name, streams) -> {
            if (streams.state().isRunningOrRebalancing()) {
                Map<TopicPartition, Long> lags = lags(streams.metrics().values());
                for (ThreadMetadata thread : streams.metadataForLocalThreads()) {
                    thread.activeTasks().forEach(task -> partitions.add(of(name, task, ACTIVE, lags)));
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

    /** Returns the lags from the metrics of the consumers, as of their last fetch. */
    private static Map<TopicPartition, Long> lags(Collection<? extends Metric> metrics) {
        Map<TopicPartition, Long> lags = new HashMap<>();
        for (Metric metric : metrics) {
            Map<String, String> tags = metric.metricName().tags();
            boolean isLag = metric.metricName().name().equals("records-lag")
                    && !tags.getOrDefault("client-id", "").endsWith("-global-consumer")
                    && tags.containsKey("partition");
            if (isLag && metric.metricValue() instanceof Number lag && !Double.isNaN(lag.doubleValue())) {
                lags.merge(
                        new TopicPartition(tags.get("topic"), Integer.parseInt(tags.get("partition"))),
                        lag.longValue(),
                        Math::max);
            }
        }
        return lags;
    }
}
