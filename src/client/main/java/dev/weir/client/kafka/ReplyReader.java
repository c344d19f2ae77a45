package dev.weir.client.kafka;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;

/**
 * Reads one partition of the topic of replies from its end, outside of any group. Other clients may read the same
 * partition. A client keeps its partition until it is closed.
 */
public final class ReplyReader implements AutoCloseable {

    private final String topic;
    private final UUID client;
    private final TopicFollower follower;
    private TopicPartition followed; // null until connected

    /**
     * Creates a reader. It passes records to {@code records} on a thread of its own.
     *
     * @param kafka the settings of the consumer
     * @param topic the name of the topic of replies
     * @param client selects the partition
     * @param records processes the records
     * @throws KafkaException if the settings are invalid
     */
    public ReplyReader(
            Map<String, Object> kafka, String topic, UUID client, Consumer<ConsumerRecord<byte[], byte[]>> records) {
        this.topic = topic;
        this.client = client;
        follower = new TopicFollower(
                TopicFollower.settings(kafka), "weir-client-replies", polled -> polled.forEach(records));
    }

    /**
     * Determines the end of the partition. Records that are written from now on are passed on once {@link #start} is
     * called. Can be repeated.
     *
     * @param others other topics that must exist
     * @throws KafkaException if a topic does not exist, or the brokers reject the call or do not respond
     */
    public void connect(List<String> others) {
        List<TopicPartition> partitions = follower.partitions(topic);
        others.forEach(follower::partitions);
        followed = new TopicPartition(topic, Math.floorMod(client.hashCode(), partitions.size()));
        follower.reset();
        follower.addFromEnd(List.of(followed));
    }

    /**
     * Returns the number of the partition. Must be called after {@link #connect}.
     *
     * @return the number
     */
    public int partition() {
        return followed.partition();
    }

    /** Starts to read. */
    public void start() {
        follower.start();
    }

    /**
     * Returns the last failure.
     *
     * @return the failure; empty if reading has succeeded since
     */
    public Optional<RuntimeException> failure() {
        return follower.failure();
    }

    /**
     * Returns whether an error has ended the thread.
     *
     * @return whether it has; {@link #failure} is then the reason
     */
    public boolean hasStopped() {
        return follower.hasStopped();
    }

    @Override
    public void close() {
        follower.close();
    }
}
