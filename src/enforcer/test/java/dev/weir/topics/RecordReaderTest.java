package dev.weir.topics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.UnreachableException;
import dev.weir.testing.TestBroker;
import dev.weir.topics.RecordReader.Options;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
class RecordReaderTest {

    private static final Options COMMITTED = Options.of(IsolationLevel.READ_COMMITTED, Duration.ofSeconds(20));

    private static EmbeddedBroker broker;
    private static WeirConfig config;
    private static Admin admin;

    @BeforeAll
    static void start() {
        broker = TestBroker.shared();
        config = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", broker.bootstrapServers());
        admin = Admin.create(KafkaSettings.admin(config));
    }

    @AfterAll
    static void stop() {
        admin.close();
    }

    /** Creates a topic whose record at each offset has the offset as its value. */
    private static List<TopicPartition> create(String topic, int partitions, int records) throws Exception {
        admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1)))
                .all()
                .get();
        try (KafkaProducer<byte[], byte[]> producer = producer(Map.of())) {
            for (int partition = 0; partition < partitions; partition++) {
                for (int i = 0; i < records; i++) {
                    producer.send(new ProducerRecord<>(topic, partition, 1_000L + i, null, bytes(i)))
                            .get();
                }
            }
        }
        List<TopicPartition> all = new ArrayList<>();
        for (int partition = 0; partition < partitions; partition++) {
            all.add(new TopicPartition(topic, partition));
        }
        return all;
    }

    private static KafkaProducer<byte[], byte[]> producer(Map<String, Object> more) {
        Map<String, Object> settings = new HashMap<>(more);
        settings.put("bootstrap.servers", broker.bootstrapServers());
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static byte[] bytes(int number) {
        return String.valueOf(number).getBytes(StandardCharsets.UTF_8);
    }

    private static List<String> values(Iterator<ConsumerRecord<byte[], byte[]>> records) {
        List<String> values = new ArrayList<>();
        records.forEachRemaining(record -> values.add(value(record)));
        return values;
    }

    private static String value(ConsumerRecord<byte[], byte[]> record) {
        return record.partition() + ":" + new String(record.value(), StandardCharsets.UTF_8);
    }

    @Test
    void the_records_between_the_offsets_are_read_and_no_others() throws Exception {
        List<TopicPartition> both = create("between", 2, 5);
        Map<TopicPartition, Long> from = Map.of(both.get(0), 1L, both.get(1), 3L);
        Map<TopicPartition, Long> to = Map.of(both.get(0), 4L, both.get(1), 3L);
        try (RecordReader reader = new RecordReader(config, "between", COMMITTED)) {
            assertThat(reader.partitions()).containsExactlyInAnyOrderElementsOf(both);
            List<String> read = new ArrayList<>();
            reader.read(from, to, record -> read.add(value(record)));
            assertThat(read).containsExactly("0:1", "0:2", "0:3");
            assertThat(values(reader.iterator(from, to))).isEqualTo(read);
            assertThat(values(reader.iterator(reader.at(1_003, reader.end(both)), reader.end(both))))
                    .containsExactlyInAnyOrder("0:3", "0:4", "1:3", "1:4");
            assertThat(values(reader.iterator(to, from))).isEmpty();
        }
    }

    @Test
    void a_read_is_cancelled_by_its_callback() throws Exception {
        TopicPartition one = create("cancelled", 1, 3).get(0);
        try (RecordReader reader = new RecordReader(config, "cancelled", COMMITTED)) {
            List<String> read = new ArrayList<>();
            assertThatThrownBy(() -> reader.read(Map.of(one, 0L), Map.of(one, 3L), record -> {
                        read.add(value(record));
                        throw new CancellationException();
                    }))
                    .isInstanceOf(CancellationException.class);
            assertThat(read).containsExactly("0:0");
        }
    }

    @Test
    void deleted_records_are_skipped_and_fail_a_reader_without_gaps() throws Exception {
        TopicPartition one = create("deleted", 1, 5).get(0);
        admin.deleteRecords(Map.of(one, RecordsToDelete.beforeOffset(2))).all().get();
        try (RecordReader reader = new RecordReader(config, "deleted", COMMITTED);
                RecordReader withoutGaps = new RecordReader(config, "deleted", COMMITTED.withoutGaps())) {
            assertThat(reader.beginning(List.of(one))).containsEntry(one, 2L);
            assertThat(values(reader.iterator(Map.of(one, 0L), Map.of(one, 5L))))
                    .as("the records that were not deleted")
                    .containsExactly("0:2", "0:3", "0:4");
            assertThatThrownBy(() -> withoutGaps.read(Map.of(one, 0L), Map.of(one, 5L), record -> {}))
                    .isInstanceOf(UnreachableException.class)
                    .hasMessage("the beginning of the topic deleted was deleted while it was read; try again");
        }
    }

    @Test
    void records_of_an_open_transaction_are_waited_for_until_the_timeout() throws Exception {
        TopicPartition one = create("open", 1, 1).get(0);
        Options brief = Options.of(IsolationLevel.READ_COMMITTED, Duration.ofSeconds(1));
        try (KafkaProducer<byte[], byte[]> producer = producer(Map.of("transactional.id", "open"));
                RecordReader committed = new RecordReader(config, "open", brief);
                RecordReader all = new RecordReader(
                        config, "open", Options.of(IsolationLevel.READ_UNCOMMITTED, Duration.ofSeconds(20)))) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("open", 0, null, bytes(1))).get();

            assertThat(committed.end(List.of(one))).containsEntry(one, 1L);
            assertThat(values(all.iterator(Map.of(one, 0L), all.end(List.of(one)))))
                    .containsExactly("0:0", "0:1");
            List<String> read = new ArrayList<>();
            assertThatThrownBy(
                            () -> committed.read(Map.of(one, 0L), Map.of(one, 2L), record -> read.add(value(record))))
                    .isInstanceOf(UnreachableException.class)
                    .hasMessage("cannot read the topic open to its end within 1s");
            assertThat(read).containsExactly("0:0");

            producer.commitTransaction();
            assertThat(values(committed.iterator(Map.of(one, 1L), Map.of(one, 2L))))
                    .containsExactly("0:1");
        }
    }

    @Test
    void a_missing_topic_is_named() {
        try (RecordReader reader = new RecordReader(config, "nowhere", COMMITTED)) {
            assertThatThrownBy(reader::partitions)
                    .isInstanceOf(UnreachableException.class)
                    .hasMessage("topic nowhere does not exist; `weir run` creates it");
        }
    }
}
