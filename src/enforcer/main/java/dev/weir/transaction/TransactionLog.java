package dev.weir.transaction;

import dev.weir.policy.DurationsAndSizes;
import dev.weir.transaction.LoggedTransaction.Status;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.Utils;

/**
 * Reads the decisions of transaction coordinators from their log, the topic {@code __transaction_state}. It is
 * compacted, but the broker does not compact the newest segment, so recent decisions are there.
 */
final class TransactionLog {

    static final String TOPIC = "__transaction_state";

    /** The maximum number of records that are read, from the end. */
    static final int MAX_RECORDS = 500_000;

    private static final Duration MAX_TIME = Duration.ofSeconds(60);
    private static final Duration POLL = Duration.ofMillis(200);

    private static final byte ONGOING = 1;
    private static final byte PREPARE_COMMIT = 2;
    private static final byte PREPARE_ABORT = 3;

    /** The first version of the values with tagged fields. */
    private static final short FLEXIBLE = 1;

    private static final int VERSION_TAG = 2;

    private final Properties settings;

    /** @param settings the properties of a consumer */
    TransactionLog(Properties settings) {
        this.settings = new Properties();
        this.settings.putAll(settings);
        this.settings.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
        this.settings.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
        this.settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
        this.settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        this.settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
        this.settings.remove(ConsumerConfig.GROUP_ID_CONFIG);
        this.settings.remove(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG);
    }

    /**
     * Reads the newest {@value #MAX_RECORDS} records of the log.
     *
     * @param histories receive what is logged about the transactional id
     * @throws KafkaException if the log cannot be read, for example because this user lacks READ on it
     */
    void read(String transactionalId, Collection<TransactionHistory> histories) {
        try (Consumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
            int count = consumer.partitionsFor(TOPIC).size();
            TopicPartition partition = new TopicPartition(TOPIC, Utils.abs(transactionalId.hashCode()) % count);
            List<TopicPartition> assigned = List.of(partition);
            consumer.assign(assigned);
            long end = consumer.endOffsets(assigned).get(partition);
            long begin = consumer.beginningOffsets(assigned).get(partition);
            consumer.seek(partition, Math.max(begin, end - MAX_RECORDS));
            long deadlineNanos = System.nanoTime() + MAX_TIME.toNanos();
            while (consumer.position(partition) < end) {
                if (System.nanoTime() - deadlineNanos > 0) {
                    throw new TimeoutException(
                            TOPIC + " was not read within " + DurationsAndSizes.duration(MAX_TIME.toMillis()));
                }
                for (ConsumerRecord<byte[], byte[]> one : consumer.poll(POLL)) {
                    if (one.key() != null && one.value() != null && transactionalId.equals(id(one.key()))) {
                        read(one.value(), histories);
                    }
                }
            }
        }
    }

    /** Returns the transactional id of a key of version 0. */
    private static String id(byte[] key) {
        ByteBuffer bytes = ByteBuffer.wrap(key);
        return bytes.getShort() == 0 ? string(bytes, bytes.getShort()) : "";
    }

    /** Reads a value of version 0 or 1 ({@code TransactionLogValue} of Kafka). */
    static void read(byte[] value, Collection<TransactionHistory> histories) {
        ByteBufferAccessor bytes = new ByteBufferAccessor(ByteBuffer.wrap(value));
        short format = bytes.readShort();
        if (format < 0 || format > FLEXIBLE) {
            return;
        }
        boolean isFlexible = format == FLEXIBLE;
        long producerId = bytes.readLong();
        short epoch = bytes.readShort();
        bytes.readInt(); // the timeout
        Optional<Status> status = status(bytes.readByte());
        if (status.isEmpty() || histories.stream().noneMatch(one -> one.concerns(producerId, epoch))) {
            return;
        }
        Set<TopicPartition> partitions = new HashSet<>();
        int topics = length(bytes, isFlexible);
        for (int i = 0; i < topics; i++) {
            String topic = bytes.readString(isFlexible ? bytes.readUnsignedVarint() - 1 : bytes.readShort());
            int count = length(bytes, isFlexible);
            for (int j = 0; j < count; j++) {
                partitions.add(new TopicPartition(topic, bytes.readInt()));
            }
            skipTags(bytes, isFlexible);
        }
        bytes.readLong(); // the time of the update
        bytes.readLong(); // the time of the start
        LoggedTransaction logged =
                new LoggedTransaction(producerId, epoch, isFlexible ? version(bytes) : 0, status.get(), partitions);
        histories.forEach(one -> one.add(logged));
    }

    private static Optional<Status> status(byte code) {
        return switch (code) {
            case ONGOING -> Optional.of(Status.ONGOING);
            case PREPARE_COMMIT -> Optional.of(Status.COMMITTED);
            case PREPARE_ABORT -> Optional.of(Status.ABORTED);
            default -> Optional.empty();
        };
    }

    private static int length(ByteBufferAccessor bytes, boolean isFlexible) {
        return isFlexible ? bytes.readUnsignedVarint() - 1 : bytes.readInt(); // -1 is null
    }

    private static void skipTags(ByteBufferAccessor bytes, boolean isFlexible) {
        if (isFlexible) {
            int tags = bytes.readUnsignedVarint();
            for (int i = 0; i < tags; i++) {
                bytes.readUnsignedVarint();
                bytes.readByteBuffer(bytes.readUnsignedVarint());
            }
        }
    }

    /** Returns the tagged {@code ClientTransactionVersion}; 0 if it is absent. */
    private static short version(ByteBufferAccessor bytes) {
        int tags = bytes.readUnsignedVarint();
        for (int i = 0; i < tags; i++) {
            int tag = bytes.readUnsignedVarint();
            ByteBuffer field = bytes.readByteBuffer(bytes.readUnsignedVarint());
            if (tag == VERSION_TAG) {
                return field.getShort();
            }
        }
        return 0;
    }

    private static String string(ByteBuffer bytes, int length) {
        byte[] text = new byte[length];
        bytes.get(text);
        return new String(text, StandardCharsets.UTF_8);
    }
}
