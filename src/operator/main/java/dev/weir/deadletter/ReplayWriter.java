package dev.weir.deadletter;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes requests and the {@linkplain ReplayMarker markers} of their dead letters in transactions, so that both are
 * written or neither. A new writer ends the transaction of one before it, so markers that are read afterwards are
 * complete, and two replays at the same time do not send the same dead letter.
 */
final class ReplayWriter implements AutoCloseable {

    /** The most requests of a transaction. Readers of the request topic wait for its end. */
    static final int MAX_REQUESTS = 100;

    private static final int MAX_BYTES = 1 << 20;
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    /** How long an interrupted replay can hold up the readers of the request topic. */
    private static final Duration TRANSACTION_TIMEOUT = Duration.ofSeconds(10);

    private final Topics topics;
    private final KafkaProducer<byte[], byte[]> producer;
    private final List<ProducerRecord<byte[], byte[]>> pending = new ArrayList<>();
    private int requests; // that are pending
    private long bytes;
    private long committed;

    ReplayWriter(WeirConfig config) {
        topics = Topics.of(config);
        Properties settings = KafkaSettings.producer(config);
        settings.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, topics.deadLetters() + "-replay");
        settings.put(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, (int) TRANSACTION_TIMEOUT.toMillis());
        settings.put(ProducerConfig.ACKS_CONFIG, "all");
        settings.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
        settings.putIfAbsent(ProducerConfig.MAX_BLOCK_MS_CONFIG, TIMEOUT.toMillis());
        producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    /**
     * Ends the transactions of other writers, which cannot write any more.
     *
     * @throws UnreachableException if the brokers cannot be reached
     */
    void begin() {
        write(producer::initTransactions);
    }

    /**
     * Writes a request and the marker of its dead letter, possibly later: no transaction is open between two calls,
     * since readers of the request topic wait for its end.
     *
     * @throws UnreachableException if writing failed; what is not committed is not written
     */
    void write(DeadLetterPosition letter, byte[] key, byte[] value, Headers headers) {
        pending.add(new ProducerRecord<>(topics.requests(), null, key, value, headers));
        pending.add(ReplayMarker.of(topics.deadLetters(), letter));
        requests++;
        bytes += value == null ? 0 : value.length;
        if (requests >= MAX_REQUESTS || bytes >= MAX_BYTES) {
            commit();
        }
    }

    /**
     * Writes what is not written yet.
     *
     * @throws UnreachableException if writing failed; what is not committed is not written
     */
    void commit() {
        if (requests > 0) {
            write(() -> {
                producer.beginTransaction();
                pending.forEach(this::send);
                producer.commitTransaction();
            });
            committed += requests;
            pending.clear();
            requests = 0;
            bytes = 0;
        }
    }

    private void send(ProducerRecord<byte[], byte[]> record) {
        var unused = producer.send(record); // the commit fails if a send failed
    }

    private void write(Runnable action) {
        try {
            action.run();
        } catch (KafkaException e) {
            throw new UnreachableException(
                    ("cannot write to the topics %s and %s: %s; %d dead letters were replayed before. Replay again: what"
                                    + " was replayed is not sent twice")
                            .formatted(
                                    topics.requests(),
                                    topics.deadLetters(),
                                    UnreachableException.causeMessage(e),
                                    committed),
                    e);
        }
    }

    /** Closes the connections. An open transaction is aborted. */
    @Override
    public void close() {
        producer.close(TIMEOUT);
    }
}
