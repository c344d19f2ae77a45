package dev.weir.client.release;

import dev.weir.client.kafka.KafkaClients;
import dev.weir.fault.SafeText;
import dev.weir.wire.DeadLetterHeaders;
import dev.weir.wire.ReleaseCodec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes releases that a worker gives up to the topic of dead letters, with their headers, and headers for the reason.
 */
final class DeadLetterWriter implements AutoCloseable {

    /** The largest request of the producer, which has room for any release and its headers. */
    static final int MAX_BYTES = 4 << 20;

    private static final Duration CLOSE = Duration.ofSeconds(5);

    private final Map<String, Object> kafka;
    private final String topic;
    private KafkaProducer<byte[], byte[]> producer; // null before the first record
    private final ReleaseCodec avro = new ReleaseCodec();

    /**
     * Creates a writer, which creates its producer with the first record.
     *
     * @throws org.apache.kafka.common.KafkaException if the settings are invalid
     */
    DeadLetterWriter(Map<String, Object> kafka, String topic) {
        KafkaClients.check(kafka);
        this.kafka = kafka;
        this.topic = topic;
    }

    /** Writes a record and waits until the broker has confirmed it. */
    void write(HeldReleases.Held held, Throwable cause) throws ExecutionException, InterruptedException {
        HeldReleases.Unreadable unreadable = held.unreadable();
        ProducerRecord<byte[], byte[]> letter = unreadable == null
                ? new ProducerRecord<>(topic, utf8(held.release().client()), avro.encode(held.release()))
                : new ProducerRecord<>(topic, unreadable.key(), unreadable.value());
        held.headers().forEach(letter.headers()::add);
        String reason = unreadable == null
                ? DeadLetterHeaders.ATTEMPTS_FAILED
                : unreadable.fault().rejection().name();
        add(letter, DeadLetterHeaders.REASON, reason);
        add(letter, DeadLetterHeaders.DETAIL, SafeText.of(String.valueOf(cause), DeadLetterHeaders.MAX_DETAIL));
        add(letter, DeadLetterHeaders.TOPIC, held.partition().topic());
        add(letter, DeadLetterHeaders.PARTITION, String.valueOf(held.partition().partition()));
        add(letter, DeadLetterHeaders.OFFSET, String.valueOf(held.offset()));
        producer().send(letter).get();
    }

    private synchronized KafkaProducer<byte[], byte[]> producer() {
        if (producer == null) {
            producer = new KafkaProducer<>(kafka, new ByteArraySerializer(), new ByteArraySerializer());
        }
        return producer;
    }

    /** Closes the producer, within 5 s. Records that are not confirmed by then can be lost. */
    @Override
    public synchronized void close() {
        if (producer != null) {
            producer.close(CLOSE);
        }
    }

    private static void add(ProducerRecord<byte[], byte[]> letter, String name, String value) {
        letter.headers().add(name, utf8(value));
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
