package dev.weir.topics;

import dev.weir.config.WeirConfig;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;

/**
 * What is committed on a topic of one partition. Each read continues where the last one ended, the first one begins at
 * the beginning.
 */
public final class TopicLog implements AutoCloseable {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final RecordReader.Options OPTIONS = RecordReader.Options.of(IsolationLevel.READ_COMMITTED, TIMEOUT);

    private final TopicPartition partition;
    private final RecordReader reader;
    private final Admin admin;
    private Map<TopicPartition, Long> position;

    /** Takes a record. */
    public interface Records {

        /**
         * @param key null if the record has none
         * @param value null if the record has none
         */
        void add(String key, byte[] value);
    }

    /** @throws UnreachableException if there is no such topic */
    public TopicLog(WeirConfig config, String topic) {
        partition = new TopicPartition(topic, 0);
        reader = new RecordReader(config, topic, OPTIONS);
        admin = Admin.create(KafkaSettings.admin(config));
        try {
            var unused = reader.partitions();
            position = reader.beginning(List.of(partition));
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    /**
     * Hands over the new records that are known to be committed now, without waiting for open transactions.
     *
     * @throws UnreachableException if they cannot be read
     */
    public void readSeen(Records records) {
        read(reader.end(List.of(partition)), records);
    }

    /**
     * Hands over all new records that were committed before this call, also by a transaction whose end is not marked
     * yet. Waits for open transactions.
     *
     * @throws UnreachableException if the end is not reached in time
     */
    public void readAll(Records records) {
        read(Map.of(partition, logEnd()), records);
    }

    private void read(Map<TopicPartition, Long> to, Records records) {
        reader.read(position, to, record -> {
            byte[] key = record.key();
            records.add(key == null ? null : new String(key, StandardCharsets.UTF_8), record.value());
        });
        position = to;
    }

    /** The end of the log, and not of what is committed: a transaction that was committed may not be marked so yet. */
    private long logEnd() {
        try {
            return admin.listOffsets(Map.of(partition, OffsetSpec.latest()))
                    .partitionResult(partition)
                    .get(TIMEOUT.toSeconds(), TimeUnit.SECONDS)
                    .offset();
        } catch (ExecutionException | TimeoutException e) {
            throw new UnreachableException(
                    "cannot read the topic " + partition.topic() + ": " + UnreachableException.causeMessage(e), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UnreachableException("interrupted while reading the topic " + partition.topic(), e);
        }
    }

    @Override
    public void close() {
        reader.close();
        admin.close();
    }
}
