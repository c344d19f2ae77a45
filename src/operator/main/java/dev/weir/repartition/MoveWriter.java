package dev.weir.repartition;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.UnreachableException;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes records to other partitions in transactions. A second writer fences the first one.
 *
 * <p>Every write may be repeated after a crash, so a transaction ends after {@value #BATCH} records or some seconds.
 * What must be written together is written between {@link #begin} and {@link #commit}.
 */
final class MoveWriter implements AutoCloseable {

    private static final int BATCH = 5_000;

    /** The longest time between writes in a transaction, far below the timeout of Kafka's producer. */
    private static final long LATE_NANOS = 5_000_000_000L;

    private static final byte[] NO_VALUE = {};

    /** The header of records that delete what was moved. It distinguishes them from those that Weir wrote. */
    private static final String MARK = "weir.repartitioned";

    private final KafkaProducer<byte[], byte[]> producer;
    private final Map<TopicPartition, OffsetAndMetadata> read = new HashMap<>();
    private final ConsumerGroupMetadata group;
    private int records;
    private long openedNanos;
    private boolean isOpen;
    private boolean isAtomic;

    /** @param group the group whose offsets are committed */
    MoveWriter(WeirConfig config, ConsumerGroupMetadata group) {
        this.group = group;
        Properties settings = KafkaSettings.producer(config);
        settings.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, KafkaSettings.repartitionId(config));
        settings.put(ProducerConfig.ACKS_CONFIG, "all");
        settings.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
        settings.put(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, KafkaSettings.MAX_REQUEST_BYTES);
        settings.remove(ProducerConfig.PARTITIONER_CLASS_CONFIG);
        producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        attempt(() -> {
            producer.initTransactions();
            return null;
        });
    }

    static boolean isMarked(ConsumerRecord<byte[], byte[]> record) {
        return record.headers().lastHeader(MARK) != null;
    }

    /** Copies a record to another partition of its topic, with another key and value. */
    void copy(ConsumerRecord<byte[], byte[]> record, int partition, byte[] key, byte[] value) {
        send(new ProducerRecord<>(
                record.topic(), partition, Math.max(0, record.timestamp()), key, value, record.headers()));
    }

    /** Deletes what was moved from the partition of a record. */
    void delete(ConsumerRecord<byte[], byte[]> record) {
        RecordHeaders mark = new RecordHeaders();
        mark.add(MARK, NO_VALUE);
        send(new ProducerRecord<>(
                record.topic(), record.partition(), Math.max(0, record.timestamp()), record.key(), null, mark));
    }

    /** Moves the position of the group in the transaction that is open. Requires {@link #begin}. */
    void readTo(TopicPartition partition, long offset) {
        read.put(partition, new OffsetAndMetadata(offset));
    }

    /** Begins a transaction that ends with {@link #commit}, whatever the number of its records. */
    void begin() {
        commit();
        isAtomic = true;
    }

    /** Commits if the transaction is open for some seconds. Must be called while records are read that do not move. */
    void commitIfLate() {
        if (isOpen && !isAtomic && System.nanoTime() - openedNanos > LATE_NANOS) {
            commit();
        }
    }

    /** Returns whether a whole batch was written since the last commit. */
    boolean isFull() {
        return records >= BATCH;
    }

    /** Commits everything that was written. */
    void commit() {
        if (isOpen) {
            attempt(() -> {
                if (!read.isEmpty()) {
                    producer.sendOffsetsToTransaction(read, group);
                }
                producer.commitTransaction();
                return null;
            });
        }
        read.clear();
        records = 0;
        isOpen = false;
        isAtomic = false;
    }

    private void send(ProducerRecord<byte[], byte[]> record) {
        attempt(() -> {
            if (!isOpen) {
                producer.beginTransaction();
                isOpen = true;
                openedNanos = System.nanoTime();
            }
            return producer.send(record); // a failure aborts the transaction
        });
        records++;
        if (!isAtomic && isFull()) {
            commit();
        }
    }

    private static <T> void attempt(Supplier<T> call) {
        try {
            var unused = call.get();
        } catch (KafkaException e) {
            throw new UnreachableException(
                    "cannot write: " + UnreachableException.causeMessage(e) + "; run `weir repartition` again", e);
        }
    }

    @Override
    public void close() {
        producer.close(); // aborts an open transaction
    }
}
