package dev.weir.topics;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** Checks the committed offsets of the enforcer. Kafka Streams itself skips records that no longer exist silently. */
public final class ReadPositions {

    private static final int TIMEOUT_SECONDS = 30;

    private ReadPositions() {}

    /**
     * Returns a message for each partition whose committed offset no longer exists.
     *
     * @throws UnreachableException if no broker responds, or it rejects a request
     */
    public static List<String> gaps(Admin admin, WeirConfig config) {
        Topics topics = Topics.of(config);
        String shapingId = KafkaSettings.shapingId(config);
        try {
            return Stream.of(
                            gaps(admin, config.applicationId(), topics.requests()),
                            gaps(admin, config.applicationId(), topics.routedRequests()),
                            gaps(admin, shapingId, topics.admissions()),
                            gaps(admin, shapingId, topics.leaseRequests()))
                    .flatMap(List::stream)
                    .toList();
        } catch (ExecutionException e) {
            throw new UnreachableException(
                    "cannot read the committed offsets: " + UnreachableException.causeMessage(e.getCause()), e);
        } catch (TimeoutException e) {
            throw new UnreachableException("the brokers did not return the committed offsets in time", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted while reading the committed offsets", e);
        }
    }

    private static List<String> gaps(Admin admin, String group, String topic)
            throws ExecutionException, InterruptedException, TimeoutException {
        Map<TopicPartition, OffsetAndMetadata> all =
                await(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata());
        Map<TopicPartition, Long> committed = new TreeMap<>(Comparator.comparing(TopicPartition::partition));
        all.forEach((partition, offset) -> {
            if (partition.topic().equals(topic) && offset != null) {
                committed.put(partition, offset.offset());
            }
        });
        return committed.isEmpty() ? List.of() : gaps(admin, topic, committed);
    }

    /** @param committed the next offset of each partition of the topic */
    static List<String> gaps(Admin admin, String topic, Map<TopicPartition, Long> committed)
            throws ExecutionException, InterruptedException, TimeoutException {
        int partitions = partitions(admin, topic);
        List<TopicPartition> there = committed.keySet().stream()
                .filter(partition -> partition.partition() < partitions)
                .toList();
        Map<TopicPartition, Long> first = offsets(admin, there, OffsetSpec.earliest());
        Map<TopicPartition, Long> end = offsets(admin, there, OffsetSpec.latest());
        return committed.entrySet().stream()
                .map(next -> gap(next.getKey(), next.getValue(), first.get(next.getKey()), end.get(next.getKey())))
                .flatMap(Optional::stream)
                .toList();
    }

    /**
     * Returns the number of partitions of a topic. It is requested first, because a client that requests the offsets of
     * a missing partition waits until the partition exists.
     */
    private static int partitions(Admin admin, String topic)
            throws ExecutionException, InterruptedException, TimeoutException {
        try {
            return await(admin.describeTopics(List.of(topic)).allTopicNames())
                    .get(topic)
                    .partitions()
                    .size();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException) {
                throw new UnreachableException(
                        "the topic " + topic + " has just been deleted; start Weir again, which creates it", e);
            }
            throw e;
        }
    }

    private static Map<TopicPartition, Long> offsets(Admin admin, List<TopicPartition> of, OffsetSpec which)
            throws ExecutionException, InterruptedException, TimeoutException {
        Map<TopicPartition, OffsetSpec> specs = new HashMap<>();
        of.forEach(partition -> specs.put(partition, which));
        Map<TopicPartition, Long> offsets = new HashMap<>();
        for (Map.Entry<TopicPartition, ListOffsetsResultInfo> answer :
                await(admin.listOffsets(specs).all()).entrySet()) {
            offsets.put(answer.getKey(), answer.getValue().offset());
        }
        return offsets;
    }

    /** @param first null, like {@code end}, if the partition does not exist */
    private static Optional<String> gap(TopicPartition partition, long next, Long first, Long end) {
        if (first == null || end == null) {
            return Optional.of(partition + ": no longer exists; its records from offset " + next + " on are lost");
        }
        if (next < first) {
            return Optional.of(partition + ": offsets " + next + " to " + (first - 1)
                    + " were deleted before they were read; their records are lost, and reading continues after them");
        }
        if (next > end) {
            return Optional.of(partition + ": ends at offset " + end + ", but the next offset to read is " + next
                    + "; the topic was deleted and created again, and is read from its beginning");
        }
        return Optional.empty();
    }

    private static <T> T await(KafkaFuture<T> answer)
            throws ExecutionException, InterruptedException, TimeoutException {
        return answer.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    }
}
