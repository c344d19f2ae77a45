package dev.weir.audit;

import dev.weir.config.WeirConfig;
import dev.weir.topics.RecordReader;
import java.time.Duration;
import java.util.Iterator;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;

/** The committed records of a partition in a range of offsets. Waits for open transactions. */
final class CommittedRecords implements Iterator<ConsumerRecord<byte[], byte[]>>, AutoCloseable {

    private static final RecordReader.Options OPTIONS = RecordReader.Options.of(
                    IsolationLevel.READ_COMMITTED, Duration.ofSeconds(30))
            .withMaxPollRecords(5_000)
            .withoutGaps();

    private final RecordReader reader;
    private final Iterator<ConsumerRecord<byte[], byte[]>> records;

    CommittedRecords(WeirConfig config, TopicPartition partition, long begin, long end) {
        reader = new RecordReader(config, partition.topic(), OPTIONS);
        records = reader.iterator(Map.of(partition, begin), Map.of(partition, end));
    }

    /** @throws dev.weir.kafka.UnreachableException if the topic cannot be read, or the next record has been deleted */
    @Override
    public boolean hasNext() {
        return records.hasNext();
    }

    @Override
    public ConsumerRecord<byte[], byte[]> next() {
        return records.next();
    }

    @Override
    public void close() {
        reader.close();
    }
}
