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
 * Follows all partitions of a topic from their ends, outside of any group; a partition that is new, from its beginning.
 */
final class DecisionReader implements AutoCloseable {

    private final String topic;
    private final TopicFollower follower;
    private List<TopicPartition> followed;

    /**
     * Finds the ends; what is written from here on is handed over, by a thread of its own.
     *
     * @throws KafkaException if the topic is missing, or the brokers refuse or do not answer
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
        try {
            followed = follower.partitions(topic);
            follower.addFromEnd(followed);
        } catch (KafkaException e) {
            follower.close();
            throw e;
        }
        follower.start();
    }

    /** What last went wrong, none if reading has gone well since. */
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
