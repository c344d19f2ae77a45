package dev.weir.topics;

import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.topology.Topics;
import dev.weir.wire.DecisionAvro;
import dev.weir.wire.ReleaseAvro;
import dev.weir.wire.UnreadableException;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;

/** Reads a topic that Weir writes, from its beginning or its end, outside of any consumer group. */
public final class TopicReader<T> implements AutoCloseable {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final RecordReader reader;
    private final String topic;
    private final Decoder<T> decoder;

    /** Where to begin. */
    public enum From {
        BEGINNING,
        END
    }

    private interface Decoder<T> {
        T decode(byte[] value) throws UnreadableException;
    }

    /**
     * Opens the decision topic; what is written from here on is read, with {@link From#BEGINNING} also what was before.
     *
     * @param committed whether decisions show only once they are committed
     * @throws UnreachableException if there is no such topic
     */
    public static TopicReader<Decision> decisions(WeirConfig config, From from, boolean committed) {
        String topic = Topics.of(config).decisions();
        return new TopicReader<>(config, topic, new DecisionAvro(SchemaRegistries.of(config))::decode, from, committed);
    }

    /**
     * Opens the release topic; what is written from here on is read, with {@link From#BEGINNING} also what was before.
     * A release shows as soon as it is there, even if its {@code releaseAt} lies ahead.
     *
     * @param committed whether releases show only once they are committed
     * @throws UnreachableException if there is no such topic
     */
    public static TopicReader<Release> releases(WeirConfig config, From from, boolean committed) {
        String topic = Topics.of(config).releases();
        return new TopicReader<>(config, topic, new ReleaseAvro(SchemaRegistries.of(config))::decode, from, committed);
    }

    private TopicReader(WeirConfig config, String topic, Decoder<T> decoder, From from, boolean committed) {
        this.topic = topic;
        this.decoder = decoder;
        IsolationLevel isolation = committed ? IsolationLevel.READ_COMMITTED : IsolationLevel.READ_UNCOMMITTED;
        reader = new RecordReader(config, topic, RecordReader.Options.of(isolation, TIMEOUT));
        try {
            List<TopicPartition> partitions = reader.partitions();
            reader.follow(from == From.BEGINNING ? reader.beginning(partitions) : reader.end(partitions));
        } catch (RuntimeException e) {
            reader.close();
            throw e;
        }
    }

    /**
     * Hands over the records that are there, or come within the time.
     *
     * @throws UnreachableException if a record cannot be decoded, or the broker is lost
     * @throws dev.weir.wire.RegistryException if the registry that has the schema of one does not answer
     */
    public void poll(Duration timeout, Consumer<? super T> records) {
        for (ConsumerRecord<byte[], byte[]> record : reader.poll(timeout)) {
            records.accept(decode(record));
        }
    }

    private T decode(ConsumerRecord<byte[], byte[]> record) {
        try {
            return decoder.decode(record.value());
        } catch (UnreadableException e) {
            throw new UnreachableException(
                    "the topic %s has a record that cannot be read, in partition %d at offset %d"
                            .formatted(topic, record.partition(), record.offset()),
                    e);
        }
    }

    @Override
    public void close() {
        reader.close();
    }
}
