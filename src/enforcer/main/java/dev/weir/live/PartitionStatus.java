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
 * The partitions that this instance has, and how far it is with them.
 *
 * @param applications by what they do
 * @param policiesTopic the topic whose partition is called so, and not by the application
 */
record PartitionStatus(Map<String, KafkaStreams> applications, String policiesTopic) {

    static final String ACTIVE = "active";

    private static final Comparator<InstanceStatus.AssignedPartition> ORDER = Comparator.comparing(
                    InstanceStatus.AssignedPartition::application)
            .thenComparingInt(InstanceStatus.AssignedPartition::partition)
            .thenComparing(InstanceStatus.AssignedPartition::role);

    /** None while it is not running. */
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

    /** As the consumers of the threads tell, of what they have fetched. */
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
