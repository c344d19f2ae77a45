package dev.weir.bench.measure;

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

/** A consumer of one isolation level that records the time from when a request was due until its result was read. */
public final class LatencyReader implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static final int DIGITS = 3;

    private final String topic;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final ToLongFunction<byte[]> dueNanos;

    /**
     * Creates a consumer that starts at the end of the topic.
     *
     * @param dueNanos returns when the request of a result was due, by {@link System#nanoTime}
     */
    public LatencyReader(Properties kafka, IsolationLevel level, String topic, ToLongFunction<byte[]> dueNanos) {
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
        partitions.forEach(consumer::position); // fetches the end offsets now, not in the first poll
    }

    /**
     * Reads the results of {@code count} requests that were due at {@code fromNanos} or later. Returns the latencies in
     * nanoseconds. Results of earlier requests do not count.
     */
    public Histogram read(long fromNanos, long count) {
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
                        "timed out: %d of %d results are on %s".formatted(histogram.getTotalCount(), count, topic));
            }
        }
        return histogram;
    }

    @Override
    public void close() {
        consumer.close();
    }
}
