package dev.weir.repartition;

import dev.weir.config.WeirConfig;
import dev.weir.topics.RecordReader;
import java.time.Duration;
import java.util.Iterator;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;

/**
 * A changelog, as it was before the repartitioning wrote to it.
 *
 * @param ends the offsets after the last records
 */
record StoreScan(WeirConfig config, String topic, Map<TopicPartition, Long> ends) {

    private static final RecordReader.Options OPTIONS =
            RecordReader.Options.of(IsolationLevel.READ_COMMITTED, Duration.ofSeconds(60));

    /** Returns the number of partitions. */
    int partitions() {
        return ends.size();
    }

    /** Passes the records of a partition, except those that deleted what was moved, to a callback in their order. */
    void read(int number, Consumer<ConsumerRecord<byte[], byte[]>> records) {
        read(number, 0, record -> {
            if (!MoveWriter.isMarked(record)) {
                records.accept(record);
            }
        });
    }

    /** Passes all records of a partition from an offset on to a callback. */
    void read(int number, long from, Consumer<ConsumerRecord<byte[], byte[]>> records) {
        TopicPartition partition = new TopicPartition(topic, number);
        try (RecordReader reader = new RecordReader(config, topic, OPTIONS)) {
            Iterator<ConsumerRecord<byte[], byte[]>> all =
                    reader.iterator(Map.of(partition, from), Map.of(partition, ends.get(partition)));
            while (all.hasNext()) {
                records.accept(all.next());
            }
        }
    }
}
