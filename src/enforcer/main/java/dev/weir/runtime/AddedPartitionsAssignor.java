package dev.weir.runtime;

import dev.weir.requests.ProducerTimestamps;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor;
import org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo;

/**
 * The assignor of Kafka Streams, for an application whose input topics may get more partitions than its state has.
 *
 * <p>Kafka Streams has one task for each partition of the input, and fails if a changelog has another number of
 * partitions. This assignor shows it only the partitions that have state, so the tasks stay as they are. Each partition
 * that was added to the request topic is read by one of these tasks: partition {@code p} by task {@code p} modulo the
 * number of tasks. If the number of partitions was multiplied, that is the task of the same clients. Otherwise the task
 * routes most of the requests, like any that are not in the partition of their client.
 *
 * <pre>
 *   4 tasks, weir.requests has 4 + 2 partitions
 *   task 0: partitions 0, 4    task 1: 1, 5    task 2: 2    task 3: 3
 * </pre>
 */
public final class AddedPartitionsAssignor extends StreamsPartitionAssignor {

    /** The consumer property with the number of partitions of the state. */
    static final String STATE_PARTITIONS = "weir.state.partitions";

    private static final int UNKNOWN_GENERATION = -1;

    private String topic;
    private int statePartitions;

    /** A partition and the task that reads it. */
    private record Reading(TopicPartition partition, TaskId task) {}

    @Override
    public void configure(Map<String, ?> settings) {
        super.configure(settings);
        topic = String.valueOf(settings.get(ProducerTimestamps.TOPIC));
        statePartitions = Integer.parseInt(String.valueOf(settings.get(STATE_PARTITIONS)));
    }

    @Override
    public GroupAssignment assign(Cluster metadata, GroupSubscription members) {
        int partitions = metadata.partitionsForTopic(topic).size();
        Map<String, Assignment> assignments =
                super.assign(withoutAdded(metadata), withoutAdded(members)).groupAssignment();
        Map<String, Assignment> all = new HashMap<>();
        assignments.forEach((member, assignment) -> all.put(member, withAdded(assignment, partitions)));
        return new GroupAssignment(all);
    }

    /** Returns the cluster without the partitions that have no state. */
    private Cluster withoutAdded(Cluster metadata) {
        List<PartitionInfo> partitions = new ArrayList<>();
        for (String name : metadata.topics()) {
            for (PartitionInfo partition : metadata.partitionsForTopic(name)) {
                if (hasState(partition.partition())) {
                    partitions.add(partition);
                }
            }
        }
        return new Cluster(
                metadata.clusterResource().clusterId(),
                metadata.nodes(),
                partitions,
                metadata.unauthorizedTopics(),
                metadata.invalidTopics(),
                metadata.internalTopics(),
                metadata.controller());
    }

    /** Returns the members without the added partitions that they own. These follow the others of their task. */
    private GroupSubscription withoutAdded(GroupSubscription members) {
        Map<String, Subscription> all = new HashMap<>();
        members.groupSubscription().forEach((member, subscription) -> {
            Subscription copy = new Subscription(
                    subscription.topics(),
                    subscription.userData(),
                    subscription.ownedPartitions().stream()
                            .filter(partition -> hasState(partition.partition()))
                            .toList(),
                    subscription.generationId().orElse(UNKNOWN_GENERATION),
                    subscription.rackId());
            copy.setGroupInstanceId(subscription.groupInstanceId());
            all.put(member, copy);
        });
        return new GroupSubscription(all);
    }

    private boolean hasState(int partition) {
        return partition < statePartitions;
    }

    /** Returns an assignment that also has the added partitions of its active tasks. */
    private Assignment withAdded(Assignment assigned, int partitions) {
        AssignmentInfo info = AssignmentInfo.decode(assigned.userData().duplicate());
        List<Reading> readings = new ArrayList<>();
        for (int i = 0; i < info.activeTasks().size(); i++) { // one task for each partition, in the same order
            TopicPartition first = assigned.partitions().get(i);
            TaskId task = info.activeTasks().get(i);
            readings.add(new Reading(first, task));
            for (int added = first.partition() + statePartitions;
                    first.topic().equals(topic) && added < partitions;
                    added += statePartitions) {
                readings.add(new Reading(new TopicPartition(topic, added), task));
            }
        }
        if (readings.size() == assigned.partitions().size()) {
            return assigned;
        }
        readings.sort(Comparator.comparing(Reading::partition, PARTITION_COMPARATOR));
        AssignmentInfo all = new AssignmentInfo(
                info.version(),
                info.commonlySupportedVersion(),
                readings.stream().map(Reading::task).toList(),
                info.standbyTasks(),
                info.partitionsByHost(),
                info.standbyPartitionByHost(),
                info.errCode());
        all.setNextRebalanceTime(info.nextRebalanceMs());
        return new Assignment(readings.stream().map(Reading::partition).toList(), all.encode());
    }
}
