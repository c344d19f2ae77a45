package dev.weir.topics;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.UnreachableException;
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
 * A reader of the committed records of a topic with one partition. Each read continues where the previous one ended;
 * the first read starts at the beginning.
 */
public final class TopicLog implements AutoCloseable {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final RecordReader.Options OPTIONS = RecordReader.Options.of(IsolationLevel.READ_COMMITTED, TIMEOUT);

    private final TopicPartition partition;
    private final RecordReader reader;
    private final Admin admin;
    private Map<TopicPartition, Long> position;

    /** A callback that accepts records. */
    public interface Records {

        /**
         * @param key null if the record has none
         * @param value null if the record has none
         */
        void add(String key, byte[] value);
    }

    /** @throws UnreachableException if the topic does not exist */
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
     * Passes the new records up to the first open transaction to a callback. Does not wait for open transactions.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    public void readSeen(Records records) {
        read(reader.end(List.of(partition)), records);
    }

    /**
     * Passes all new records that were committed before this call to a callback, including those of a transaction whose
     * commit marker is not written yet. Waits for open transactions to end.
     *
     * @throws UnreachableException if the end of the topic is not reached in time
     */
    public void readAll(Records records) {
        read(Map.of(partition, logEnd()), records);
    }

    /**
     * Returns whether the topic ends before the position of the next read, because it was deleted and created again.
     *
     * @throws UnreachableException if the topic cannot be read
     */
    public boolean isShorter() {
        return logEnd() < position.get(partition);
    }

    private void read(Map<TopicPartition, Long> to, Records records) {
        reader.read(position, to, record -> {
            byte[] key = record.key();
            records.add(key == null ? null : new String(key, StandardCharsets.UTF_8), record.value());
        });
        position = to;
    }

    /**
     * Returns the end of the log instead of the last stable offset, because the marker of a committed transaction may
     * not be written yet.
     */
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
