package dev.weir.runtime;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.topics.KafkaSettings;
import dev.weir.topics.SchemaRegistries;
import dev.weir.topics.UnreachableException;
import dev.weir.topology.Topics;
import dev.weir.wire.RequestAvro;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Writes requests to the request topic. */
public final class RequestSender implements AutoCloseable {

    private final KafkaProducer<String, byte[]> producer;
    private final String topic;
    private final RequestAvro avro;
    private final AtomicReference<Exception> failure = new AtomicReference<>();

    /** @throws dev.weir.wire.RegistryException if there is a schema registry, and it does not answer */
    public RequestSender(WeirConfig config) {
        Properties settings = KafkaSettings.producer(config);
        settings.putIfAbsent(ProducerConfig.ACKS_CONFIG, "all");
        settings.putIfAbsent(ProducerConfig.LINGER_MS_CONFIG, 2);
        settings.putIfAbsent(ProducerConfig.MAX_BLOCK_MS_CONFIG, 30_000);
        topic = Topics.of(config).requests();
        avro = new RequestAvro(SchemaRegistries.of(config), topic);
        producer = new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer());
    }

    /** Writes one, without waiting until it is written. */
    public void send(Request request) {
        var unused = producer.send( // the callback tells
                new ProducerRecord<>(topic, null, request.timestampMs(), request.client(), avro.encode(request)),
                (metadata, exception) -> {
                    if (exception != null) {
                        failure.compareAndSet(null, exception);
                    }
                });
        throwFailure();
    }

    /**
     * Waits until all are written.
     *
     * @throws UnreachableException if one could not be written
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
        if (failure.get() != null) {
            throw new UnreachableException(
                    "cannot write to the topic " + topic + ": " + UnreachableException.causeMessage(failure.get()),
                    failure.get());
        }
    }
}
