package dev.weir.pacing;

import java.time.Duration;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** The main consumer of a stream thread, which polls between commits. With at-least-once, it also commits. */
final class PacedConsumer extends KafkaConsumer<byte[], byte[]> {

    private final CommitPacing pacing;
    private final int maxRecords;

    PacedConsumer(Map<String, Object> config, CommitPacing pacing) {
        super(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        this.pacing = pacing;
        String key = ConsumerConfig.MAX_POLL_RECORDS_CONFIG;
        Object most = config.getOrDefault(key, ConsumerConfig.DEFAULT_MAX_POLL_RECORDS);
        maxRecords = (int) ConfigDef.parseType(key, most, ConfigDef.Type.INT);
    }

    @Override
    public ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
        ThreadPace pace = pacing.ofThread();
        ConsumerRecords<byte[], byte[]> records = super.poll(pace.startPoll(timeout));
        pace.endPoll(records.count() >= maxRecords);
        return records;
    }

    @Override
    public void commitSync(Map<TopicPartition, OffsetAndMetadata> offsets) {
        super.commitSync(offsets);
        pacing.ofThread().endCommit();
    }
}
