package dev.weir.app;

import dev.weir.codec.DecisionAvro;
import dev.weir.codec.UnreadableException;
import dev.weir.config.WeirConfig;
import dev.weir.policy.Decision;
import dev.weir.topology.Topics;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads the decision topic from its beginning or its end, outside of any consumer group. */
public final class DecisionReader implements AutoCloseable {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final String topic;
    private final DecisionAvro avro = new DecisionAvro();

    /** Where to begin. */
    public enum From {
        BEGINNING,
        END
    }

    /**
     * Opens the topic; what is written from here on is read, with {@link From#BEGINNING} also what was before.
     *
     * @param committed whether decisions show only once they are committed
     * @throws UnreachableException if there is no such topic
     */
    public DecisionReader(WeirConfig config, From from, boolean committed) {
        Properties settings = KafkaSettings.consumer(config);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, committed ? "read_committed" : "read_uncommitted");
        settings.put(ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, (int) TIMEOUT.toMillis());
        settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
        topic = Topics.of(config.topics().prefix()).decisions();
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        try {
            List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                    .map(info -> new TopicPartition(topic, info.partition()))
                    .toList();
            if (partitions.isEmpty()) {
                throw UnreachableException.noTopic(topic);
            }
            consumer.assign(partitions);
            if (from == From.BEGINNING) {
                consumer.seekToBeginning(partitions);
            } else {
                consumer.seekToEnd(partitions);
            }
            partitions.forEach(consumer::position);
        } catch (KafkaException e) {
            consumer.close();
            throw UnreachableException.reading(topic, e);
        } catch (UnreachableException e) {
            consumer.close();
            throw e;
        }
    }

    /**
     * Hands over the decisions that are there, or come within the time.
     *
     * @throws UnreachableException if a record is no decision, or the broker is lost
     */
    public void poll(Duration timeout, Consumer<Decision> decisions) {
        try {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(timeout)) {
                decisions.accept(avro.decode(record.value()));
            }
        } catch (UnreadableException e) {
            throw new UnreachableException("the topic " + topic + " has a record that is no decision", e);
        } catch (KafkaException e) {
            throw UnreachableException.reading(topic, e);
        }
    }

    @Override
    public void close() {
        consumer.close();
    }
}
