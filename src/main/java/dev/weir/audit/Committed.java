package dev.weir.audit;

import dev.weir.app.KafkaSettings;
import dev.weir.app.UnreachableException;
import dev.weir.config.WeirConfig;
import java.time.Duration;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** What is committed on a partition, from one offset up to another one. Waits for transactions that are open. */
final class Committed implements Iterator<ConsumerRecord<byte[], byte[]>>, AutoCloseable {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final Duration POLL = Duration.ofMillis(200);

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final TopicPartition partition;
    private final long end;
    private Iterator<ConsumerRecord<byte[], byte[]>> polled = Collections.emptyIterator();
    private ConsumerRecord<byte[], byte[]> next;

    Committed(WeirConfig config, TopicPartition partition, long begin, long end) {
        Properties settings = KafkaSettings.consumer(config);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "none"); // what is deleted meanwhile would be missed
        settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 5_000);
        settings.put(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, (int) TIMEOUT.toMillis());
        settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
        this.partition = partition;
        this.end = end;
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.assign(List.of(partition));
        consumer.seek(partition, begin);
    }

    /** @throws UnreachableException if it cannot be read, or what comes next has been deleted */
    @Override
    public boolean hasNext() {
        try {
            long startNanos = System.nanoTime();
            while (next == null) {
                if (polled.hasNext()) {
                    ConsumerRecord<byte[], byte[]> record = polled.next();
                    next = record.offset() < end ? record : null;
                } else if (consumer.position(partition) >= end) {
                    return false;
                } else if (System.nanoTime() - startNanos > TIMEOUT.toNanos()) {
                    throw new UnreachableException("cannot read the topic " + partition.topic() + " to its end", null);
                } else {
                    polled = consumer.poll(POLL).iterator();
                }
            }
            return true;
        } catch (OffsetOutOfRangeException e) {
            throw new UnreachableException(
                    "the beginning of the topic " + partition.topic() + " was deleted while it was read; try again", e);
        } catch (KafkaException e) {
            throw UnreachableException.reading(partition.topic(), e);
        }
    }

    @Override
    public ConsumerRecord<byte[], byte[]> next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        ConsumerRecord<byte[], byte[]> record = next;
        next = null;
        return record;
    }

    @Override
    public void close() {
        consumer.close();
    }
}
