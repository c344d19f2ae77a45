package dev.weir.bench;

import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.function.ToLongFunction;
import org.HdrHistogram.Histogram;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Notes how long after it was due each request's answer is here, for who reads at one isolation level. */
final class LatencyReader implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static final int DIGITS = 3;

    private final String topic;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final ToLongFunction<byte[]> dueNanos;

    /**
     * Begins behind what is on the topic.
     *
     * @param dueNanos when the request of an answer was due, by {@link System#nanoTime}
     */
    LatencyReader(Properties kafka, IsolationLevel level, String topic, ToLongFunction<byte[]> dueNanos) {
        this.topic = topic;
        this.dueNanos = dueNanos;
        Properties settings = new Properties();
        settings.putAll(kafka);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, level.toString());
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                .map(info -> new TopicPartition(topic, info.partition()))
                .toList();
        consumer.assign(partitions);
        consumer.seekToEnd(partitions);
        partitions.forEach(consumer::position); // or the end is looked for when the first have come
    }

    /** Reads the answers to as many requests that were due from then on; those of earlier ones do not count. */
    Histogram read(long fromNanos, long count) {
        Histogram histogram = new Histogram(DIGITS);
        long lastNanos = System.nanoTime();
        while (histogram.getTotalCount() < count) {
            ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
            long nowNanos = System.nanoTime();
            for (ConsumerRecord<byte[], byte[]> record : records) {
                long due = dueNanos.applyAsLong(record.value());
                if (due - fromNanos >= 0) {
                    histogram.recordValue(nowNanos - due);
                }
            }
            if (!records.isEmpty()) {
                lastNanos = nowNanos;
            } else if (nowNanos - lastNanos > PATIENCE.toNanos()) {
                throw new IllegalStateException(
                        "%d of %d answers are on %s".formatted(histogram.getTotalCount(), count, topic));
            }
        }
        return histogram;
    }

    @Override
    public void close() {
        consumer.close();
    }
}
