package dev.weir.topics;

import dev.weir.config.WeirConfig;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.SchemaRegistries;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.ReleaseCodec;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;

/** A reader of an output topic of Weir, from its beginning or its end, that uses no consumer group. */
public final class TopicReader<T> implements AutoCloseable {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final RecordReader reader;
    private final String topic;
    private final Decoder<T> decoder;

    /** The position to start at. */
    public enum From {
        BEGINNING,
        END
    }

    private interface Decoder<T> {
        T decode(byte[] value) throws UnreadableException;
    }

    /**
     * Opens a reader of the decision topic.
     *
     * @param from whether to read existing decisions too, or only new ones
     * @param committed whether to read committed decisions only
     * @throws UnreachableException if the topic does not exist
     */
    public static TopicReader<Decision> decisions(WeirConfig config, From from, boolean committed) {
        String topic = Topics.of(config).decisions();
        return new TopicReader<>(
                config, topic, new DecisionCodec(SchemaRegistries.of(config))::decode, from, committed);
    }

    /**
     * Opens a reader of the release topic. It returns a release as soon as it is written, even if its
     * {@code releaseAt} is in the future.
     *
     * @param from whether to read existing releases too, or only new ones
     * @param committed whether to read committed releases only
     * @throws UnreachableException if the topic does not exist
     */
    public static TopicReader<Release> releases(WeirConfig config, From from, boolean committed) {
        String topic = Topics.of(config).releases();
        return new TopicReader<>(config, topic, new ReleaseCodec(SchemaRegistries.of(config))::decode, from, committed);
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
     * Passes the next records to a callback. Waits up to the timeout if there are none.
     *
     * @throws UnreachableException if a record cannot be decoded or the topic cannot be read
     * @throws dev.weir.wire.RegistryException if the schema registry does not respond
     */
    public void poll(Duration timeout, Consumer<? super T> records) {
        for (ConsumerRecord<byte[], byte[]> record : reader.poll(timeout)) {
            records.accept(decode(record));
        }
    }

    /** Returns the number of responses to fetch requests so far. Brokers respond even if there are no records. */
    public long fetches() {
        return reader.fetches();
    }

    private T decode(ConsumerRecord<byte[], byte[]> record) {
        try {
            return decoder.decode(record.value());
        } catch (UnreadableException e) {
            throw new UnreachableException(
                    "the topic %s has a record that cannot be decoded, in partition %d at offset %d"
                            .formatted(topic, record.partition(), record.offset()),
                    e);
        }
    }

    @Override
    public void close() {
        reader.close();
    }
}
