package dev.weir.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Follows all partitions of a topic from their ends, outside of any group; a partition that is new, from its beginning. */
final class DecisionReader implements AutoCloseable {

    private static final Duration POLL = Duration.ofSeconds(1);
    private static final Duration CLOSE = Duration.ofSeconds(5);
    private static final long PAUSE_MS = 1_000;

    /** How soon Kafka's client asks for new partitions. */
    private static final int METADATA_MS = 5_000;

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final String topic;
    private final Consumer<ConsumerRecord<byte[], byte[]>> records;
    private final CountDownLatch closing = new CountDownLatch(1);
    private final Thread thread = new Thread(this::run, "weir-client-decisions");
    private List<TopicPartition> assigned = List.of();
    private volatile RuntimeException failure;

    /**
     * Finds the ends; what is written from here on is handed over, by a thread of its own.
     *
     * @throws KafkaException if the topic is missing, or the brokers refuse or do not answer
     */
    DecisionReader(Map<String, Object> kafka, String topic, Consumer<ConsumerRecord<byte[], byte[]>> records) {
        this.topic = topic;
        this.records = records;
        consumer = new KafkaConsumer<>(settings(kafka), new ByteArrayDeserializer(), new ByteArrayDeserializer());
        try {
            assign();
            consumer.seekToEnd(assigned);
            assigned.forEach(consumer::position); // the ends are those of now, not of the first poll
        } catch (KafkaException e) {
            consumer.close();
            throw e;
        }
        thread.setDaemon(true);
        thread.start();
    }

    static Map<String, Object> settings(Map<String, Object> kafka) {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ConsumerConfig.METADATA_MAX_AGE_CONFIG, METADATA_MS);
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
        settings.putAll(kafka);
        settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
        settings.remove(ConsumerConfig.GROUP_ID_CONFIG);
        settings.remove(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG);
        return settings;
    }

    /** What last went wrong, none if reading has gone well since. */
    Optional<RuntimeException> failure() {
        return Optional.ofNullable(failure);
    }

    private void run() {
        try (consumer) {
            while (closing.getCount() > 0) {
                try {
                    addNewPartitions();
                    consumer.poll(POLL).forEach(records);
                    failure = null;
                } catch (WakeupException e) {
                    // it is closing
                } catch (RuntimeException e) { // may pass, as when a permission is given
                    failure = e;
                    pause();
                }
            }
        }
    }

    private void pause() {
        try {
            var unused = closing.await(PAUSE_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void addNewPartitions() {
        List<TopicPartition> before = assigned;
        if (consumer.partitionsFor(topic).size() > before.size()) { // from what the client knows, without asking
            assign();
            List<TopicPartition> added = new ArrayList<>(assigned);
            added.removeAll(before);
            consumer.seekToBeginning(added);
        }
    }

    private void assign() {
        List<PartitionInfo> partitions = consumer.partitionsFor(topic);
        if (partitions.isEmpty()) {
            throw new UnknownTopicOrPartitionException("there is no topic " + topic + ", or this user does not see it");
        }
        assigned = partitions.stream()
                .map(info -> new TopicPartition(topic, info.partition()))
                .toList();
        consumer.assign(assigned);
    }

    @Override
    public void close() {
        closing.countDown();
        consumer.wakeup();
        if (Thread.currentThread() == thread) {
            return; // a callback's
        }
        try {
            thread.join(CLOSE.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
