package dev.weir.runtime;

import dev.weir.kafka.UnreachableException;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serializer;

/** A producer of one topic. A record that cannot be written fails the next call. */
public final class TopicProducer<K> implements AutoCloseable {

    private final KafkaProducer<K, byte[]> producer;
    private final String topic;
    private final AtomicReference<Exception> failure = new AtomicReference<>();

    /**
     * Creates a producer.
     *
     * @param settings the settings of Kafka's producer
     * @param topic the topic of all records, which errors name
     */
    public TopicProducer(Properties settings, Serializer<K> keys, String topic) {
        producer = new KafkaProducer<>(settings, keys, new ByteArraySerializer());
        this.topic = topic;
    }

    /**
     * Sends a record without waiting for the acknowledgement.
     *
     * @throws UnreachableException if an earlier record could not be written
     */
    public void send(ProducerRecord<K, byte[]> record) {
        var unused = producer.send(record, (metadata, exception) -> { // the callback handles the result
            if (exception != null) {
                failure.compareAndSet(null, exception);
            }
        });
        throwFailure();
    }

    /**
     * Waits until all records are acknowledged.
     *
     * @throws UnreachableException if a record could not be written
     */
    public void flush() {
        producer.flush();
        throwFailure();
    }

    @Override
    public void close() {
        producer.close();
    }

    private void throwFailure() {
        Exception first = failure.get();
        if (first != null) {
            throw new UnreachableException(
                    "cannot write to the topic " + topic + ": " + UnreachableException.causeMessage(first), first);
        }
    }
}
