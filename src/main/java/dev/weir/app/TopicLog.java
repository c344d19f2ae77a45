package dev.weir.app;

import dev.weir.config.WeirConfig;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/** What is committed on a topic of one partition, read on and on from its beginning. */
final class TopicLog implements AutoCloseable {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final Duration POLL = Duration.ofMillis(100);

    private final TopicPartition partition;
    private final KafkaConsumer<String, byte[]> consumer;
    private final Admin admin;

    /** @throws UnreachableException if there is no such topic */
    TopicLog(WeirConfig config, String topic) {
        partition = new TopicPartition(topic, 0);
        Properties settings = KafkaSettings.consumer(config);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        settings.put(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, (int) TIMEOUT.toMillis());
        settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
        consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new ByteArrayDeserializer());
        admin = Admin.create(KafkaSettings.admin(config));
        try {
            if (consumer.partitionsFor(topic).isEmpty()) {
                throw UnreachableException.noTopic(topic);
            }
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
        } catch (KafkaException e) {
            close();
            throw UnreachableException.reading(topic, e);
        } catch (UnreachableException e) {
            close();
            throw e;
        }
    }

    /**
     * Hands over what is seen as committed by now and has not been read yet; waits for nobody.
     *
     * @throws UnreachableException if it cannot be read
     */
    void readSeen(Consumer<ConsumerRecord<String, byte[]>> records) {
        try {
            read(consumer.endOffsets(List.of(partition)).get(partition), records);
        } catch (KafkaException e) {
            throw UnreachableException.reading(partition.topic(), e);
        }
    }

    /**
     * Hands over all that was committed before this was called and has not been read yet: also what was committed just
     * now, whose marker is still on its way. Waits for transactions that are open.
     *
     * @throws UnreachableException if the end is not reached in time
     */
    void readAll(Consumer<ConsumerRecord<String, byte[]>> records) {
        try {
            read(end(), records);
        } catch (KafkaException e) {
            throw UnreachableException.reading(partition.topic(), e);
        }
    }

    private void read(long end, Consumer<ConsumerRecord<String, byte[]>> records) {
        long deadlineNanos = System.nanoTime() + TIMEOUT.toNanos();
        while (consumer.position(partition) < end) {
            if (System.nanoTime() - deadlineNanos > 0) {
                throw new UnreachableException("cannot read the topic " + partition.topic() + " to its end", null);
            }
            consumer.poll(POLL).forEach(records);
        }
    }

    /** The end of the log, and not of what is committed: a transaction that was committed may not be marked so yet. */
    private long end() {
        try {
            return admin.listOffsets(Map.of(partition, OffsetSpec.latest()))
                    .partitionResult(partition)
                    .get(TIMEOUT.toSeconds(), TimeUnit.SECONDS)
                    .offset();
        } catch (ExecutionException | TimeoutException e) {
            throw new UnreachableException(
                    "cannot read the topic " + partition.topic() + ": " + UnreachableException.why(e), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted while reading the topic " + partition.topic(), e);
        }
    }

    @Override
    public void close() {
        consumer.close();
        admin.close();
    }
}
