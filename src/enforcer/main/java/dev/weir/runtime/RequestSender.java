package dev.weir.runtime;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.SchemaRegistries;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** A producer of requests. */
public final class RequestSender implements AutoCloseable {

    private final TopicProducer<String> producer;
    private final String topic;
    private final RequestCodec avro;

    /** @throws dev.weir.wire.RegistryException if a schema registry is configured and does not respond */
    public RequestSender(WeirConfig config) {
        Properties settings = KafkaSettings.producer(config);
        settings.putIfAbsent(ProducerConfig.ACKS_CONFIG, "all");
        settings.putIfAbsent(ProducerConfig.LINGER_MS_CONFIG, 2);
        settings.putIfAbsent(ProducerConfig.MAX_BLOCK_MS_CONFIG, 30_000);
        topic = Topics.of(config).requests();
        avro = new RequestCodec(SchemaRegistries.of(config), topic);
        producer = new TopicProducer<>(settings, new StringSerializer(), topic);
    }

    /**
     * Sends a request without waiting for the acknowledgement.
     *
     * @throws UnreachableException if an earlier request could not be written
     */
    public void send(Request request) {
        send(request, Map.of());
    }

    /**
     * Sends a request without waiting for the acknowledgement.
     *
     * @param headers the headers of the record, which are copied to the decision
     * @throws UnreachableException if an earlier request could not be written
     */
    public void send(Request request, Map<String, String> headers) {
        ProducerRecord<String, byte[]> record =
                new ProducerRecord<>(topic, null, request.timestampMs(), request.client(), avro.encode(request));
        headers.forEach((name, value) -> record.headers().add(name, value.getBytes(StandardCharsets.UTF_8)));
        producer.send(record);
    }

    /**
     * Waits until all requests are acknowledged.
     *
     * @throws UnreachableException if a request could not be written
     */
    public void flush() {
        producer.flush();
    }

    @Override
    public void close() {
        producer.close();
    }
}
