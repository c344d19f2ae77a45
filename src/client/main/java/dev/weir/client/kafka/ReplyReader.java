package dev.weir.client.kafka;

import dev.weir.event.Decision;
import dev.weir.fault.UnreadableException;
import dev.weir.wire.DecisionCodec;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;

/**
 * Reads the decisions on a client's requests, from the end of one partition of the topic of replies, outside of any
 * group. Other clients may read the same partition. A client keeps its partition until it is closed.
 */
// The client reads one partition of the topic of replies, which it selects at random, and each of its requests names
// that partition in a header. Enforcers write a copy of the decision there. So a client receives the decisions on its
// own requests and on those of the clients that share its partition, and not those on all requests.
//
// Decisions keep the headers of their request. The client therefore adds another header to each request, its
// RequestCorrelation. By this header the client skips decisions of other clients without decoding them. It also finds
// the right one of two requests with the same id, such as a CONSUME and its SETTLE, whose decisions are alike.
//
// A decision that ends a wait in a queue (EXPIRED, evicted, cancelled) carries the header of the request that waited.
// It is ignored, because that request was answered when it began to wait.
public final class ReplyReader implements AutoCloseable {

    private final String topic;
    private final RequestCorrelation correlation;
    private final DecisionCodec codec;
    private final Replies replies;
    private final TopicFollower follower;
    private TopicPartition followed; // null until connected

    /** Receives the replies to requests, by their numbers, on the thread of the reader. */
    public interface Replies {

        /**
         * Processes a decision.
         *
         * @param number the number of the request
         * @param decision the decision
         */
        void decided(long number, Decision decision);

        /**
         * Processes a decision that cannot be decoded.
         *
         * @param number the number of the request
         * @param failure why it cannot
         */
        void unreadable(long number, Exception failure);
    }

    /**
     * Creates a reader.
     *
     * @param kafka the settings of the consumer
     * @param topic the name of the topic of replies
     * @param correlation identifies the requests of the client
     * @param codec decodes decisions
     * @param replies receives them
     * @throws KafkaException if the settings are invalid
     */
    public ReplyReader(
            Map<String, Object> kafka,
            String topic,
            RequestCorrelation correlation,
            DecisionCodec codec,
            Replies replies) {
        this.topic = topic;
        this.correlation = correlation;
        this.codec = codec;
        this.replies = replies;
        follower = new TopicFollower(
                TopicFollower.settings(kafka), "weir-client-replies", polled -> polled.forEach(this::read));
    }

    /**
     * Determines the end of the partition. Records that are written from now on are read once {@link #start} is called.
     * Can be repeated.
     *
     * @param others other topics that must exist
     * @throws KafkaException if a topic does not exist, or the brokers reject the call or do not respond
     */
    public void connect(List<String> others) {
        List<TopicPartition> partitions = follower.partitions(topic);
        others.forEach(follower::partitions);
        followed = new TopicPartition(topic, correlation.replyPartition(partitions.size()));
        follower.reset();
        follower.addFromEnd(List.of(followed));
    }

    private void read(ConsumerRecord<byte[], byte[]> record) {
        OptionalLong number = correlation.number(record.headers());
        if (number.isEmpty()) {
            return;
        }
        try {
            Decision decision = codec.decode(record.value());
            if (!decision.endsWait()) {
                replies.decided(number.getAsLong(), decision);
            }
        } catch (UnreadableException | RuntimeException e) {
            replies.unreadable(number.getAsLong(), e);
        }
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
