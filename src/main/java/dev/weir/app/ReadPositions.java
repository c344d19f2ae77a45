package dev.weir.app;

import dev.weir.config.WeirConfig;
import dev.weir.topology.Topics;
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

/** Where the enforcer goes on reading: Streams itself passes over what is not there any more without a word. */
public final class ReadPositions {

    private static final int TIMEOUT_SECONDS = 30;

    private ReadPositions() {}

    /**
     * A sentence for each partition on which it cannot go on where it was.
     *
     * @throws UnreachableException if there is no broker, or it refuses
     */
    public static List<String> gaps(Admin admin, WeirConfig config) {
        Topics topics = Topics.of(config.topics().prefix());
        try {
            return Stream.concat(
                            gaps(admin, config.applicationId(), topics.requests()).stream(),
                            gaps(admin, KafkaSettings.shapingId(config), topics.admissions()).stream())
                    .toList();
        } catch (ExecutionException e) {
            throw new UnreachableException("cannot look where to go on: " + UnreachableException.why(e.getCause()), e);
        } catch (TimeoutException e) {
            throw new UnreachableException("the brokers do not tell where to go on", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted while looking where to go on", e);
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
        Map<TopicPartition, Long> first = offsets(admin, committed, OffsetSpec.earliest());
        Map<TopicPartition, Long> end = offsets(admin, committed, OffsetSpec.latest());
        return committed.entrySet().stream()
                .map(next -> gap(next.getKey(), next.getValue(), first.get(next.getKey()), end.get(next.getKey())))
                .flatMap(Optional::stream)
                .toList();
    }

    private static Map<TopicPartition, Long> offsets(Admin admin, Map<TopicPartition, Long> of, OffsetSpec which)
            throws ExecutionException, InterruptedException, TimeoutException {
        Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
        of.keySet().forEach(partition -> asked.put(partition, which));
        Map<TopicPartition, Long> offsets = new HashMap<>();
        for (Map.Entry<TopicPartition, ListOffsetsResultInfo> answer :
                await(admin.listOffsets(asked).all()).entrySet()) {
            offsets.put(answer.getKey(), answer.getValue().offset());
        }
        return offsets;
    }

    private static Optional<String> gap(TopicPartition partition, long next, long first, long end) {
        if (next < first) {
            return Optional.of(partition + ": offsets " + next + " to " + (first - 1)
                    + " were deleted before they were read; what was there is lost, and reading goes on after it");
        }
        if (next > end) {
            return Optional.of(partition + ": ends at offset " + end + ", before " + next
                    + " which is next; it was created anew, and is read from its beginning");
        }
        return Optional.empty();
    }

    private static <T> T await(KafkaFuture<T> answer)
            throws ExecutionException, InterruptedException, TimeoutException {
        return answer.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    }
}
