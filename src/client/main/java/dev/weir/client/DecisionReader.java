package dev.weir.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;

/**
 * Follows all partitions of a topic from their ends, outside of any group. A partition that is added later is read from
 * its beginning.
 */
final class DecisionReader implements AutoCloseable {

    private final String topic;
    private final TopicFollower follower;
    private List<TopicPartition> followed = List.of();

    /**
     * Creates a reader. It passes records to {@code records} on a thread of its own.
     *
     * @throws KafkaException if the settings are invalid
     */
    DecisionReader(Map<String, Object> kafka, String topic, Consumer<ConsumerRecord<byte[], byte[]>> records) {
        this.topic = topic;
        TopicFollower.Handler handler = new TopicFollower.Handler() {
            @Override
            public void beforePoll() {
                addNewPartitions();
            }

            @Override
            public void polled(ConsumerRecords<byte[], byte[]> polled) {
                polled.forEach(records);
            }
        };
        follower = new TopicFollower(TopicFollower.settings(kafka), "weir-client-decisions", handler);
    }

    /**
     * Determines the ends of the topic. Records that are written from now on are passed on once {@link #start} is
     * called. Can be repeated.
     *
     * @param others other topics that must exist
     * @throws KafkaException if a topic does not exist, or the brokers reject the call or do not respond
     */
    void connect(List<String> others) {
        List<TopicPartition> partitions = follower.partitions(topic);
        others.forEach(follower::partitions);
        follower.reset();
        follower.addFromEnd(partitions);
        followed = partitions;
    }

    /** Starts to read. */
    void start() {
        follower.start();
    }

    /** Returns the last failure; empty if reading has succeeded since. */
    Optional<RuntimeException> failure() {
        return follower.failure();
    }

    private void addNewPartitions() {
        List<TopicPartition> known = follower.knownPartitions(topic);
        if (known.size() > followed.size()) {
            List<TopicPartition> added = new ArrayList<>(known);
            added.removeAll(followed);
            follower.addFromBeginning(added);
            followed = known;
        }
    }

    @Override
    public void close() {
        follower.close();
    }
}
