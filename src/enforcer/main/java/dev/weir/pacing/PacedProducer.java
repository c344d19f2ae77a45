package dev.weir.pacing;

import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The producer of a stream thread. Kafka Streams flushes it at the start of each commit. */
final class PacedProducer extends KafkaProducer<byte[], byte[]> {

    private final CommitPacing pacing;

    PacedProducer(Map<String, Object> config, CommitPacing pacing) {
        super(config, new ByteArraySerializer(), new ByteArraySerializer());
        this.pacing = pacing;
    }

    @Override
    public void flush() {
        pacing.ofThread().startCommit();
        super.flush();
    }

    @Override
    public void commitTransaction() {
        super.commitTransaction();
        pacing.ofThread().endCommit();
    }
}
