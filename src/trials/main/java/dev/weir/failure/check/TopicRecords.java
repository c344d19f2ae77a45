package dev.weir.failure.check;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * The records of a topic up to its current end.
 *
 * @param committed the records that a {@code read_committed} reader sees, each partition in order
 * @param aborted the records that only a {@code read_uncommitted} reader sees
 */
public record TopicRecords<T>(List<T> committed, List<T> aborted) {

    private static final Duration POLL = Duration.ofMillis(200);
    private static final String FETCH_BYTES = String.valueOf(4 << 20);

    /**
     * Reads the topic. Waits for open transactions.
     *
     * @param keep returns what is kept of a record, null for nothing
     * @throws IllegalStateException if the end is not reached within {@code timeout}
     */
    public static <T> TopicRecords<T> read(
            WeirConfig config, String topic, Function<ConsumerRecord<byte[], byte[]>, T> keep, Duration timeout) {
        List<T> committed = new ArrayList<>();
        List<T> aborted = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> all = consumer(config, "read_uncommitted");
                KafkaConsumer<byte[], byte[]> certain = consumer(config, "read_committed")) {
            List<TopicPartition> partitions = all.partitionsFor(topic).stream()
                    .map(info -> new TopicPartition(topic, info.partition()))
                    .toList();
            Map<TopicPartition, Long> ends = all.endOffsets(partitions);
            Map<Integer, BitSet> seen = new HashMap<>();
            partitions.forEach(partition -> seen.put(partition.partition(), new BitSet()));
            read(certain, ends, timeout, record -> {
                seen.get(record.partition()).set(Math.toIntExact(record.offset()));
                add(committed, keep.apply(record));
            });
            read(all, ends, timeout, record -> {
                if (!seen.get(record.partition()).get(Math.toIntExact(record.offset()))) {
                    add(aborted, keep.apply(record));
                }
            });
        }
        return new TopicRecords<>(committed, aborted);
    }

    private static void read(
            KafkaConsumer<byte[], byte[]> consumer,
            Map<TopicPartition, Long> ends,
            Duration timeout,
            Consumer<ConsumerRecord<byte[], byte[]>> records) {
        consumer.assign(ends.keySet());
        consumer.seekToBeginning(ends.keySet());
        long startNanos = System.nanoTime();
        while (!ends.entrySet().stream().allMatch(end -> consumer.position(end.getKey()) >= end.getValue())) {
            if (System.nanoTime() - startNanos > timeout.toNanos()) {
                throw new IllegalStateException("not read to the end within " + timeout + ": " + ends);
            }
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
                if (record.offset() < ends.get(new TopicPartition(record.topic(), record.partition()))) {
                    records.accept(record);
                }
            }
        }
    }

    private static KafkaConsumer<byte[], byte[]> consumer(WeirConfig config, String isolation) {
        Properties settings = KafkaSettings.consumer(config);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, isolation);
        settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 5_000);
        settings.put(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG, FETCH_BYTES);
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static <T> void add(List<T> list, T item) {
        if (item != null) {
            list.add(item);
        }
    }
}
