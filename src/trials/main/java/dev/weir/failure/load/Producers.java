package dev.weir.failure.load;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.runtime.TopicProducer;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import java.util.Random;
import java.util.zip.CRC32;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A mix of producers: most write requests with the client as the key, by Kafka's default partitioner; a share is
 * misplaced, with CRC32, another key, or no key. The choices depend only on the seed.
 */
public final class Producers implements AutoCloseable {

    private static final int PERCENT = 100;
    private static final int PATIENCE_MS = 240_000;

    private final TopicProducer<byte[]> producer;
    private final RequestCodec avro = new RequestCodec();
    private final Random random;
    private final String topic;
    private final int partitions;
    private final int misplacedPercent;

    /** @param misplacedPercent the percentage of requests that are not written to the partition of their client */
    public Producers(WeirConfig config, long seed, int misplacedPercent) {
        Properties settings = KafkaSettings.producer(config);
        settings.put(ProducerConfig.ACKS_CONFIG, "all");
        settings.put(ProducerConfig.LINGER_MS_CONFIG, 2);
        settings.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, PATIENCE_MS);
        settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, PATIENCE_MS);
        random = new Random(seed);
        topic = Topics.of(config).requests();
        producer = new TopicProducer<>(settings, new ByteArraySerializer(), topic);
        partitions = config.topics().partitions();
        this.misplacedPercent = misplacedPercent;
    }

    /** Sends a request without waiting until it is written. */
    void send(Request request) {
        byte[] client = request.client().getBytes(StandardCharsets.UTF_8);
        int right = BuiltInPartitioner.partitionForKey(client, partitions);
        if (partitions == 1 || random.nextInt(PERCENT) >= misplacedPercent) {
            write(right, client, request);
            return;
        }
        byte[] otherKey = request.requestId().getBytes(StandardCharsets.UTF_8);
        int kind = random.nextInt(3);
        int byCrc = crc32(client);
        int byOtherKey = BuiltInPartitioner.partitionForKey(otherKey, partitions);
        if (kind == 0 && byCrc != right) {
            write(byCrc, client, request);
        } else if (kind == 1 && byOtherKey != right) {
            write(byOtherKey, otherKey, request);
        } else {
            write((right + 1 + random.nextInt(partitions - 1)) % partitions, null, request);
        }
    }

    private void write(int partition, byte[] key, Request request) {
        producer.send(new ProducerRecord<>(topic, partition, request.timestampMs(), key, avro.encode(request)));
    }

    private int crc32(byte[] key) {
        CRC32 crc = new CRC32();
        crc.update(key);
        return (int) (crc.getValue() % partitions);
    }

    /**
     * Waits until all requests are written.
     *
     * @throws UnreachableException if a request could not be written
     */
    void flush() {
        producer.flush();
    }

    @Override
    public void close() {
        producer.close();
    }
}
