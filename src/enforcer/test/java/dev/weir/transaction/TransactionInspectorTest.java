package dev.weir.transaction;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.kafka.KafkaSettings;
import dev.weir.testing.HangingTransaction;
import dev.weir.testing.HangingTransaction.End;
import dev.weir.testing.TestBroker;
import dev.weir.transaction.TransactionVerdict.MarkerMissing;
import dev.weir.transaction.TransactionVerdict.NeverJoined;
import dev.weir.transaction.TransactionVerdict.Running;
import dev.weir.transaction.TransactionVerdict.Undecided;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** On a broker that accepts records of transactions that have ended. */
@Tag("full")
class TransactionInspectorTest {

    private static EmbeddedBroker broker;
    private static Admin admin;
    private static WeirConfig config;
    private static TransactionInspector inspector;
    private static BrokerConnection connection;

    @BeforeAll
    static void start() {
        broker = HangingTransaction.startBroker();
        config = WeirConfig.builder()
                .kafka(TestBroker.clientSettings(broker.bootstrapServers()))
                .build();
        admin = Admin.create(KafkaSettings.admin(config));
        inspector = new TransactionInspector(admin, config);
        connection = new BrokerConnection(KafkaSettings.admin(config));
    }

    @AfterAll
    static void stop() {
        admin.close();
        broker.close();
    }

    @Test
    void a_transaction_that_was_committed_is_committed_in_its_partition() throws Exception {
        TopicPartition partition = hang("committed", "weir-a", End.COMMITTED);
        OpenTransaction open = open(partition);
        assertThat(inspector.judge(open)).isEqualTo(new MarkerMissing("weir-a", true));
        assertThat(inspector.repair(open, inspector.judge(open))).isEqualTo("committed");
        assertThat(stableOffset(partition)).isEqualTo(2);
        assertThat(committedRecords(partition)).isEqualTo(1);
        assertThat(inspector.open(List.of(partition), new HashSet<>())).isEmpty();
    }

    @Test
    void a_transaction_that_was_aborted_is_aborted_in_its_partition() throws Exception {
        TopicPartition partition = hang("aborted", "weir-b", End.ABORTED);
        OpenTransaction open = open(partition);
        assertThat(inspector.judge(open)).isEqualTo(new MarkerMissing("weir-b", false));
        assertThat(inspector.repair(open, inspector.judge(open))).isEqualTo("aborted");
        assertThat(stableOffset(partition)).isEqualTo(2);
        assertThat(committedRecords(partition)).isZero();
    }

    @Test
    void records_that_were_not_part_of_their_transaction_are_aborted() throws Exception {
        TopicPartition partition = hang("joined", "weir-c", End.WITHOUT_PARTITION);
        OpenTransaction open = open(partition);
        assertThat(inspector.judge(open)).isEqualTo(new NeverJoined("weir-c"));
        assertThat(inspector.repair(open, inspector.judge(open))).isEqualTo("aborted");
        assertThat(committedRecords(partition)).isZero();
    }

    @Test
    void records_of_a_later_transaction_do_not_tell_how_the_first_one_ended() throws Exception {
        TopicPartition partition = hang("continued", "weir-e", End.COMMITTED_AND_CONTINUED);
        assertThat(inspector.judge(open(partition)))
                .isEqualTo(new Undecided("its first record has another epoch than the producer's last one"));
    }

    @Test
    void a_running_transaction_is_left_alone_and_a_late_marker_ends_no_other_transaction() throws Exception {
        TopicPartition partition = topic("running");
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
                Map.of("bootstrap.servers", broker.bootstrapServers(), "transactional.id", "weir-d"),
                new ByteArraySerializer(),
                new ByteArraySerializer())) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(partition.topic(), 0, null, new byte[] {1}))
                    .get();
            OpenTransaction first = open(partition);
            assertThat(inspector.judge(first)).isEqualTo(new Running("weir-d"));
            assertThatThrownBy(() -> inspector.repair(first, inspector.judge(first)))
                    .isInstanceOf(IllegalArgumentException.class);
            producer.commitTransaction();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(partition.topic(), 0, null, new byte[] {2}))
                    .get();
            assertThatThrownBy(() -> inspector.abort(first)).isInstanceOf(InvalidProducerEpochException.class);
            producer.commitTransaction();
        }
        assertThat(committedRecords(partition)).isEqualTo(2);
    }

    @Test
    void only_transactions_of_the_application_are_its_own() {
        String ofThread = "-c4e5a7a0-96f3-4b5e-8a3c-0d2f4a1b6c7d-2";
        assertThat(List.of("weir" + ofThread, "weir-shaping" + ofThread, "weir-repartition"))
                .allMatch(inspector::isOwn);
        assertThat(List.of("weirs-1", "weir-1", "weir-prod" + ofThread, "weir-prod-shaping" + ofThread))
                .noneMatch(inspector::isOwn);
    }

    private static TopicPartition hang(String topic, String transactionalId, End end) throws Exception {
        TopicPartition partition = topic(topic);
        HangingTransaction.create(broker.bootstrapServers(), connection::send, partition, transactionalId, end);
        return partition;
    }

    private static TopicPartition topic(String name) throws Exception {
        admin.createTopics(List.of(new NewTopic(name, 1, (short) 1))).all().get();
        return new TopicPartition(name, 0);
    }

    private static OpenTransaction open(TopicPartition partition) {
        List<OpenTransaction> open = inspector.open(List.of(partition), new HashSet<>());
        assertThat(open).hasSize(1);
        return open.get(0);
    }

    private static long stableOffset(TopicPartition partition) throws Exception {
        return admin.listOffsets(
                        Map.of(partition, OffsetSpec.latest()), new ListOffsetsOptions(IsolationLevel.READ_COMMITTED))
                .partitionResult(partition)
                .get()
                .offset();
    }

    private static int committedRecords(TopicPartition partition) {
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                Map.of("bootstrap.servers", broker.bootstrapServers(), "isolation.level", "read_committed"),
                new ByteArrayDeserializer(),
                new ByteArrayDeserializer())) {
            consumer.assign(Set.of(partition));
            consumer.seekToBeginning(Set.of(partition));
            long end = consumer.endOffsets(Set.of(partition)).get(partition);
            int count = 0;
            while (consumer.position(partition) < end) {
                count += consumer.poll(Duration.ofMillis(100)).count();
            }
            return count;
        }
    }
}
