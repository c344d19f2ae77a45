package dev.weir.failure;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A detector of transactions that are about to be committed: their offsets are written, their commit markers are not.
 */
final class CommitSpy {

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private CommitSpy() {}

    /**
     * Waits until the next transaction is about to be committed.
     *
     * @throws IllegalStateException if there is none within {@link #PATIENCE}
     */
    static void await(WeirConfig config) {
        Properties settings = KafkaSettings.consumer(config);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_uncommitted");
        settings.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, 5);
        settings.put(ConsumerConfig.EXCLUDE_INTERNAL_TOPICS_CONFIG, false);
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = consumer.partitionsFor(Topic.GROUP_METADATA_TOPIC_NAME).stream()
                    .map(info -> new TopicPartition(info.topic(), info.partition()))
                    .toList();
            consumer.assign(partitions);
            consumer.seekToEnd(partitions);
            partitions.forEach(consumer::position);
            long deadline = System.nanoTime() + PATIENCE.toNanos();
            while (consumer.poll(Duration.ofMillis(5)).isEmpty()) {
                if (System.nanoTime() - deadline > 0) {
                    throw new IllegalStateException("no commit within " + PATIENCE.toSeconds() + " s");
                }
            }
        }
    }
}
