package dev.weir.client.kafka;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A consumer that reads partitions outside of any group, on a thread of its own. After an exception it tries again
 * each second. After an {@link Error} it stops.
 *
 * <p>Before {@link #start}, one thread may call its methods; after it, only {@link Handler}s may, except for
 * {@link #failure}, {@link #hasStopped} and {@link #close}.
 */
public final class TopicFollower implements AutoCloseable {

    private static final Duration POLL = Duration.ofSeconds(1);
    private static final Duration CATCH_UP_POLL = Duration.ofMillis(100);
    private static final Duration CLOSE = Duration.ofSeconds(5);

    /** How long the consumer waits for brokers when it closes. Nothing is lost if they do not respond. */
    private static final CloseOptions LEAVE = CloseOptions.timeout(Duration.ofSeconds(1));

    private static final long PAUSE_MS = 1_000;

    /** How soon Kafka's client detects new partitions. */
    private static final int METADATA_MS = 5_000;

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final Handler handler;
    private final CountDownLatch closing = new CountDownLatch(1);
    private final Thread thread;
    private volatile RuntimeException failure;
    private volatile boolean stopped;

    /**
     * What the follower's thread does besides reading. If it throws an exception, the failure is reported and the
     * follower goes on.
     */
    public interface Handler {

        /** Called before each poll. */
        default void beforePoll() {}

        /**
         * Processes the records of a poll.
         *
         * @param records the records, of which there may be none
         */
        void polled(ConsumerRecords<byte[], byte[]> records);
    }

    /**
     * Creates a follower.
     *
     * @param settings as {@link #settings} returns them
     * @param threadName the name of its thread
     * @param handler processes the records
     * @throws KafkaException if the settings are invalid
     */
    public TopicFollower(Map<String, Object> settings, String threadName, Handler handler) {
        this.handler = handler;
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        thread = new Thread(this::run, threadName);
        thread.setDaemon(true);
    }

    /**
     * Returns the settings of a consumer without a group.
     *
     * @param kafka the settings of a consumer
     * @return a modifiable copy
     */
    public static Map<String, Object> settings(Map<String, Object> kafka) {
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

    private static KafkaException missing(String topic) {
        return new UnknownTopicOrPartitionException(
                "topic " + topic + " does not exist, or this user has no permission to describe it");
    }

    /**
     * Returns the partitions of a topic.
     *
     * @param topic the name of the topic
     * @return its partitions, at least one
     * @throws KafkaException if the topic does not exist, or the brokers reject the call or do not respond
     */
    public List<TopicPartition> partitions(String topic) {
        List<TopicPartition> partitions = knownPartitions(topic);
        if (partitions.isEmpty()) {
            throw missing(topic);
        }
        return partitions;
    }

    /**
     * Returns the partitions of a topic from the metadata of Kafka's client. Sends no request if the topic is followed.
     *
     * @param topic the name of the topic
     * @return its partitions; empty if it does not exist
     */
    public List<TopicPartition> knownPartitions(String topic) {
        return consumer.partitionsFor(topic).stream()
                .map(info -> new TopicPartition(topic, info.partition()))
                .toList();
    }

    /** Follows no partition any more. Must be called before {@link #start}. */
    public void reset() {
        consumer.assign(List.of());
    }

    /**
     * Follows further partitions from their beginnings.
     *
     * @param partitions the partitions
     */
    public void addFromBeginning(List<TopicPartition> partitions) {
        if (!partitions.isEmpty()) { // Kafka's consumer takes an empty list for all partitions
            add(partitions);
            consumer.seekToBeginning(partitions);
        }
    }

    /**
     * Follows further partitions from their current ends.
     *
     * @param partitions the partitions
     */
    public void addFromEnd(List<TopicPartition> partitions) {
        if (!partitions.isEmpty()) {
            add(partitions);
            consumer.seekToEnd(partitions);
            partitions.forEach(consumer::position); // determines the ends now instead of at the first poll
        }
    }

    private void add(List<TopicPartition> partitions) {
        List<TopicPartition> all = new ArrayList<>(consumer.assignment());
        all.addAll(partitions);
        consumer.assign(all);
    }

    /**
     * Reads followed partitions up to their current ends, on the calling thread.
     *
     * @param partitions the partitions
     * @param timeout the longest time that this takes
     * @param records processes the records of each poll, including those of other partitions
     * @throws TimeoutException if the ends are not reached in time
     */
    public void readToEnd(
            List<TopicPartition> partitions, Duration timeout, Consumer<ConsumerRecords<byte[], byte[]>> records) {
        Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
        long startNanos = System.nanoTime();
        while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
            if (System.nanoTime() - startNanos > timeout.toNanos()) {
                throw new TimeoutException(
                        "topic " + partitions.get(0).topic() + " could not be read to its end within " + timeout);
            }
            records.accept(consumer.poll(CATCH_UP_POLL));
        }
    }

    /** Starts the thread. The caller must not use the partitions any more. */
    public void start() {
        thread.start();
    }

    /**
     * Returns the last failure.
     *
     * @return the failure; empty if reading has succeeded since
     */
    public Optional<RuntimeException> failure() {
        return Optional.ofNullable(failure);
    }

    /**
     * Returns whether an error has ended the thread.
     *
     * @return whether it has; {@link #failure} is then the reason
     */
    public boolean hasStopped() {
        return stopped;
    }

    private void run() {
        try {
            while (closing.getCount() > 0) {
                try {
                    handler.beforePoll();
                    handler.polled(consumer.poll(POLL));
                    failure = null;
                } catch (WakeupException e) {
                    // close() was called
                } catch (RuntimeException e) { // can be temporary, such as a missing permission
                    failure = e;
                    pause();
                }
            }
        } catch (Throwable e) {
            failure = ThreadEnd.report(thread, e);
            stopped = true;
        } finally {
            consumer.close(LEAVE);
        }
    }

    private void pause() {
        try {
            var unused = closing.await(PAUSE_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Stops the thread, which closes the consumer. Waits for it for up to 5 s, unless this is the thread itself. */
    @Override
    public void close() {
        closing.countDown();
        if (thread.getState() == Thread.State.NEW) {
            consumer.close(CloseOptions.timeout(Duration.ZERO));
            return;
        }
        consumer.wakeup();
        if (Thread.currentThread() == thread) {
            return; // a handler called close()
        }
        try {
            thread.join(CLOSE.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
