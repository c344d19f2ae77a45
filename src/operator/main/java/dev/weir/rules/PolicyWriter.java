package dev.weir.rules;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.wire.PolicyAvro;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.InvalidTxnStateException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TransactionAbortableException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Writes definitions and their history in one transaction. Only the writer that called {@link #begin} last can write,
 * so the definitions that it read after {@code begin} are those that it changes.
 */
final class PolicyWriter implements AutoCloseable {

    /** The number of versions of a policy or queue that are kept in the history. */
    static final int MAX_HISTORY = 100;

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final PolicyAvro avro = new PolicyAvro();
    private final Topics topics;
    private final KafkaProducer<String, byte[]> producer;

    PolicyWriter(WeirConfig config, Topics topics) {
        this.topics = topics;
        Properties settings = KafkaSettings.producer(config);
        settings.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, topics.policies() + "-writer");
        settings.put(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, (int) KafkaSettings.POLICY_TRANSACTION.toMillis());
        settings.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
        settings.put(ProducerConfig.ACKS_CONFIG, "all");
        settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, TIMEOUT.toMillis());
        settings.put(ProducerConfig.RETRY_BACKOFF_MS_CONFIG, 20);
        producer = new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer());
    }

    /** Fences all other writers. Returns false if another writer has fenced this one. */
    boolean begin() {
        return unlessFenced(producer::initTransactions);
    }

    /**
     * Writes all records. Returns false if another writer has fenced this one, in which case nothing is written, or if
     * the broker does not report the outcome, which the next writer can read from the topic.
     */
    boolean write(List<PolicyAvro.Applied> records) {
        return unlessFenced(() -> {
            producer.beginTransaction();
            records.forEach(this::send);
            producer.commitTransaction();
        });
    }

    /**
     * Writes other records in the same way.
     *
     * @return the offset of each record; empty if another writer has fenced this one, or if the broker does not report
     *     the outcome
     */
    Optional<List<RecordMetadata>> writeRecords(List<ProducerRecord<String, byte[]>> records) {
        List<Future<RecordMetadata>> written = new ArrayList<>();
        boolean isWritten = unlessFenced(() -> {
            producer.beginTransaction();
            records.forEach(record -> written.add(producer.send(record)));
            producer.commitTransaction();
        });
        return isWritten
                ? Optional.of(written.stream().map(PolicyWriter::committed).toList())
                : Optional.empty();
    }

    private static RecordMetadata committed(Future<RecordMetadata> written) {
        try {
            return written.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("a transaction was committed without one of its records", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted while writing", e);
        }
    }

    private void send(PolicyAvro.Applied record) {
        send(topics.policies(), record.key(), avro.encode(record));
        String history = topics.policyHistory();
        send(history, record.key() + "/" + record.version(), avro.encode(record.withBefore(List.of())));
        if (record.version() > MAX_HISTORY) {
            send(history, record.key() + "/" + (record.version() - MAX_HISTORY), null);
        }
    }

    private void send(String topic, String key, byte[] value) {
        var unused = producer.send(new ProducerRecord<>(topic, 0, key, value)); // the commit fails if a send failed
    }

    private boolean unlessFenced(Runnable action) {
        try {
            action.run();
            return true;
        } catch (KafkaException e) {
            if (isFenced(e)) {
                return false;
            }
            throw new UnreachableException(
                    "cannot write to the topic " + topics.policies() + ": " + UnreachableException.causeMessage(e), e);
        }
    }

    private static boolean isFenced(Throwable failure) {
        Throwable root = failure;
        for (Throwable e = failure; e != null; e = e.getCause()) {
            if (e instanceof ProducerFencedException
                    || e instanceof InvalidProducerEpochException
                    || e instanceof InvalidTxnStateException
                    || e instanceof TransactionAbortableException) {
                return true;
            }
            root = e;
        }
        // If the broker fences a writer during its commit, the commit fails with a plain KafkaException.
        return root.getClass() == KafkaException.class;
    }

    /** Leaves no transaction open. */
    @Override
    public void close() {
        producer.close(TIMEOUT);
    }
}
