package dev.weir.bench.measure;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.dev.EmbeddedBroker;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import org.HdrHistogram.Histogram;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
class LatencyReaderTest {

    private static final String TOPIC = "answers";
    private static final long DAY_NANOS = Duration.ofDays(1).toNanos();

    @Test
    void only_readers_of_committed_records_wait_for_the_commit() throws Exception {
        try (EmbeddedBroker broker = EmbeddedBroker.start()) {
            Properties kafka = new Properties();
            kafka.put("bootstrap.servers", broker.bootstrapServers());
            try (Admin admin = Admin.create(kafka)) {
                admin.createTopics(List.of(new NewTopic(TOPIC, 2, (short) 1)))
                        .all()
                        .get();
            }
            try (KafkaProducer<byte[], byte[]> producer = producer(broker)) {
                producer.beginTransaction();
                send(producer, 0, Long.MAX_VALUE / 2); // before the readers start
                producer.commitTransaction();
                try (LatencyReader uncommitted = reader(kafka, IsolationLevel.READ_UNCOMMITTED);
                        LatencyReader committed = reader(kafka, IsolationLevel.READ_COMMITTED)) {
                    long fromNanos = System.nanoTime();
                    CompletableFuture<Histogram> early = BackgroundThread.run(() -> uncommitted.read(fromNanos, 2));
                    CompletableFuture<Histogram> late = BackgroundThread.run(() -> committed.read(fromNanos, 2));
                    producer.beginTransaction();
                    send(producer, 0, fromNanos - DAY_NANOS); // does not count
                    send(producer, 0, fromNanos);
                    send(producer, 1, fromNanos + 1);
                    producer.flush();
                    assertThat(early.get().getTotalCount()).isEqualTo(2);
                    assertThat(late).isNotDone();
                    long committedNanos = System.nanoTime();
                    producer.commitTransaction();
                    assertThat(late.get().getTotalCount()).isEqualTo(2);
                    assertThat(late.get().getMaxValue()).isBetween(committedNanos - fromNanos, DAY_NANOS);
                    assertThat(early.get().getMaxValue()).isLessThan(DAY_NANOS);
                }
            }
        }
    }

    private static KafkaProducer<byte[], byte[]> producer(EmbeddedBroker broker) {
        Map<String, Object> settings =
                Map.of("bootstrap.servers", broker.bootstrapServers(), "transactional.id", "answers");
        KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        producer.initTransactions();
        return producer;
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, int partition, long dueNanos) {
        byte[] answer = ByteBuffer.allocate(Long.BYTES).putLong(dueNanos).array();
        var unused = producer.send(new ProducerRecord<>(TOPIC, partition, null, answer));
    }

    private static LatencyReader reader(Properties kafka, IsolationLevel level) {
        return new LatencyReader(
                kafka, level, TOPIC, answer -> ByteBuffer.wrap(answer).getLong());
    }
}
