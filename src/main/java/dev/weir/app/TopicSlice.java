package dev.weir.app;

import dev.weir.config.WeirConfig;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads what is committed of a part of a topic, outside of any consumer group. */
final class TopicSlice implements AutoCloseable {

    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final Duration POLL = Duration.ofMillis(100);

    /** What is fetched at a time; one batch comes in any case. */
    private static final int MAX_FETCH_BYTES = 4 << 20;

    private static final int MAX_PARTITION_FETCH_BYTES = 1 << 19;

    private final String topic;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final List<TopicPartition> partitions;

    /** @throws UnreachableException if there is no such topic, or no broker */
    TopicSlice(WeirConfig config, String topic) {
        this.topic = topic;
        Properties settings = KafkaSettings.consumer(config);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        settings.put(ConsumerConfig.FETCH_MAX_BYTES_CONFIG, MAX_FETCH_BYTES);
        settings.put(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG, MAX_PARTITION_FETCH_BYTES);
        settings.put(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, (int) TIMEOUT.toMillis());
        settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        try {
            partitions = reading(() -> consumer.partitionsFor(topic).stream()
                    .map(info -> new TopicPartition(topic, info.partition()))
                    .toList());
            if (partitions.isEmpty()) {
                throw UnreachableException.noTopic(topic);
            }
        } catch (RuntimeException e) {
            consumer.close();
            throw e;
        }
    }

    List<TopicPartition> partitions() {
        return partitions;
    }

    /** The first offsets that are there. */
    Map<TopicPartition, Long> beginning(List<TopicPartition> of) {
        return reading(() -> consumer.beginningOffsets(of));
    }

    /** The offsets behind what is committed. */
    Map<TopicPartition, Long> end(List<TopicPartition> of) {
        return reading(() -> consumer.endOffsets(of));
    }

    /**
     * The offsets of the first records of a time or later.
     *
     * @param end what it is where there are none
     */
    Map<TopicPartition, Long> at(long timeMs, Map<TopicPartition, Long> end) {
        Map<TopicPartition, Long> times = new HashMap<>();
        end.keySet().forEach(partition -> times.put(partition, timeMs));
        Map<TopicPartition, Long> offsets = new HashMap<>(end);
        reading(() -> consumer.offsetsForTimes(times)).forEach((partition, found) -> {
            if (found != null) {
                offsets.merge(partition, found.offset(), Math::min);
            }
        });
        return offsets;
    }

    /**
     * Hands over what is there, of each partition in its order.
     *
     * @param to the offsets behind the last ones
     * @throws UnreachableException if it takes too long
     */
    void read(
            Map<TopicPartition, Long> from,
            Map<TopicPartition, Long> to,
            Consumer<ConsumerRecord<byte[], byte[]>> records) {
        long deadlineNanos = System.nanoTime() + TIMEOUT.toNanos();
        List<TopicPartition> left = from.keySet().stream()
                .filter(one -> from.get(one) < to.get(one))
                .toList();
        consumer.assign(left);
        left.forEach(partition -> consumer.seek(partition, from.get(partition)));
        while (!left.isEmpty()) {
            if (System.nanoTime() - deadlineNanos > 0) {
                throw new UnreachableException("reading the topic " + topic + " takes too long", null);
            }
            for (ConsumerRecord<byte[], byte[]> record : reading(() -> consumer.poll(POLL))) {
                if (record.offset() < to.get(new TopicPartition(topic, record.partition()))) {
                    records.accept(record);
                }
            }
            left = left.stream()
                    .filter(one -> reading(() -> consumer.position(one)) < to.get(one))
                    .toList();
            consumer.assign(left);
        }
    }

    private <T> T reading(Supplier<T> question) {
        try {
            return question.get();
        } catch (KafkaException e) {
            throw UnreachableException.reading(topic, e);
        }
    }

    @Override
    public void close() {
        consumer.close();
    }
}
