package dev.weir.query;

import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.SchemaRegistries;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.topics.RecordReader;
import dev.weir.wire.DecisionCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.TopicPartition;

/**
 * The recent decisions for a client, read from the end of the decision topic.
 *
 * @param newestFirst the last decisions for the client among the records read that pass the filter, newest first
 * @param read the number of records of the client's partition that were read
 * @param sinceMs the timestamp of the first record read, in milliseconds; null if there was none
 */
public record RecentDecisions(List<Decision> newestFirst, long read, Long sinceMs) {

    /** The maximum number of records of the client's partition that are read. */
    public static final int MOST_READ = 20_000;

    /**
     * Reads the end of the client's partition.
     *
     * @param most the maximum number of decisions to return
     * @param filter selects the decisions to return
     * @throws UnreachableException if the topic cannot be read or a decision cannot be decoded
     */
    public static RecentDecisions of(WeirConfig config, String client, int most, DecisionFilter filter) {
        DecisionCodec avro = new DecisionCodec(SchemaRegistries.of(config));
        byte[] key = client.getBytes(StandardCharsets.UTF_8);
        Deque<Decision> last = new ArrayDeque<>();
        long[] read = new long[1];
        Long[] since = new Long[1];
        String topic = Topics.of(config).decisions();
        try (RecordReader reader = new RecordReader(config, topic, RecordReader.Options.ofQuery())) {
            List<TopicPartition> partitions = reader.partitions();
            int number = BuiltInPartitioner.partitionForKey(key, partitions.size());
            List<TopicPartition> one = partitions.stream()
                    .filter(partition -> partition.partition() == number)
                    .toList();
            Map<TopicPartition, Long> from = reader.beginning(one);
            Map<TopicPartition, Long> end = reader.end(one);
            from.replaceAll((partition, beginning) -> Math.max(beginning, end.get(partition) - MOST_READ));
            reader.read(from, end, record -> {
                read[0]++;
                since[0] = since[0] == null ? Long.valueOf(record.timestamp()) : since[0];
                if (Arrays.equals(key, record.key())) {
                    Decision decision = decode(avro, record);
                    if (filter.passes(decision)) {
                        last.addLast(decision);
                    }
                    if (last.size() > most) {
                        last.removeFirst();
                    }
                }
            });
        }
        List<Decision> newestFirst = new ArrayList<>(last);
        Collections.reverse(newestFirst);
        return new RecentDecisions(newestFirst, read[0], since[0]);
    }

    private static Decision decode(DecisionCodec codec, ConsumerRecord<byte[], byte[]> record) {
        try {
            return codec.decode(record.value());
        } catch (UnreadableException e) {
            throw new UnreachableException(
                    "the decision in partition %d at offset %d cannot be decoded"
                            .formatted(record.partition(), record.offset()),
                    e);
        }
    }
}
