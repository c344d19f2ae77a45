package dev.weir.failure;

import static dev.weir.testing.Await.await;
import static dev.weir.testing.Await.awaitValue;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.failure.check.TopicRecords;
import dev.weir.testing.BrokerCluster;
import dev.weir.transaction.OpenTransaction;
import dev.weir.transaction.TransactionInspector;
import dev.weir.transaction.TransactionVerdict.MarkerMissing;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A marker that is lost as in production: the partition has no leader when the coordinator writes it (KAFKA-20734). */
@Tag("full")
class LostMarkerTest {

    private static final Duration PATIENCE = Duration.ofMinutes(3);
    private static final TopicPartition PARTITION = new TopicPartition("on-one-broker", 0);

    @TempDir
    Path directory;

    @Test
    void a_commit_whose_marker_is_lost_while_a_partition_has_no_leader_is_completed() throws Exception {
        try (BrokerCluster cluster = BrokerCluster.start(directory, BrokerCluster.FAULT_TOLERANT_SIZE)) {
            Admin admin = cluster.admin();
            int holder = 3;
            admin.createTopics(List.of(new NewTopic(PARTITION.topic(), Map.of(0, List.of(holder)))
                            .configs(Map.of("min.insync.replicas", "1"))))
                    .all()
                    .get();
            await("it has a leader", PATIENCE, () -> !leader(admin).isEmpty());
            String id = "weir-" + idOfOtherCoordinator(admin, cluster, holder);
            try (KafkaProducer<byte[], byte[]> producer = producer(cluster, id)) {
                producer.initTransactions();
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(PARTITION.topic(), 0, null, new byte[] {1}))
                        .get();
                cluster.brokers().get(holder - 1).kill();
                await("it has no leader", PATIENCE, () -> leader(admin).isEmpty());
                producer.commitTransaction();
            }
            TransactionDescription ended = awaitValue("the coordinator has decided", PATIENCE, () -> {
                TransactionDescription now = describe(admin, id);
                return now.state() == TransactionState.ONGOING ? null : now;
            });
            Assumptions.assumeTrue(
                    isCompleteSoon(admin, id), "this Kafka keeps the marker until there is a leader: " + ended);
            cluster.brokers().get(holder - 1).start();
            await("it has a leader again", PATIENCE, () -> !leader(admin).isEmpty());
            WeirConfig config = WeirConfig.builder()
                    .kafka(Map.of("bootstrap.servers", cluster.bootstrapServers()))
                    .build();
            TransactionInspector inspector = new TransactionInspector(admin, config);
            List<OpenTransaction> open = inspector.open(List.of(PARTITION), new HashSet<>());
            assertThat(open).hasSize(1);
            assertThat(inspector.judge(open.get(0))).isEqualTo(new MarkerMissing(id, true));
            assertThat(inspector.repair(open.get(0), inspector.judge(open.get(0))))
                    .isEqualTo("committed");
            List<Integer> committed = TopicRecords.read(
                            config, PARTITION.topic(), record -> (int) record.value()[0], PATIENCE)
                    .committed();
            assertThat(committed).containsExactly(1);
        }
    }

    /** Returns whether the coordinator completes the transaction although the partition has no leader. */
    private static boolean isCompleteSoon(Admin admin, String id) throws Exception {
        long deadlineNanos = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (System.nanoTime() - deadlineNanos < 0) {
            if (describe(admin, id).state() == TransactionState.COMPLETE_COMMIT) {
                return true;
            }
            Thread.sleep(100);
        }
        return false;
    }

    /** Returns the end of a transactional id whose coordinator is not on a broker. */
    private static String idOfOtherCoordinator(Admin admin, BrokerCluster cluster, int not) throws Exception {
        for (int i = 0; ; i++) {
            String end = String.valueOf(i);
            try (KafkaProducer<byte[], byte[]> producer = producer(cluster, "weir-" + end)) {
                producer.initTransactions();
            }
            if (describe(admin, "weir-" + end).coordinatorId() != not) {
                return end;
            }
        }
    }

    private static TransactionDescription describe(Admin admin, String id)
            throws ExecutionException, InterruptedException {
        return admin.describeTransactions(List.of(id)).description(id).get();
    }

    private static Node leader(Admin admin) throws ExecutionException, InterruptedException {
        Node leader = admin.describeTopics(List.of(PARTITION.topic()))
                .topicNameValues()
                .get(PARTITION.topic())
                .get()
                .partitions()
                .get(0)
                .leader();
        return leader == null ? Node.noNode() : leader;
    }

    private static KafkaProducer<byte[], byte[]> producer(BrokerCluster cluster, String id) {
        return new KafkaProducer<>(
                Map.of("bootstrap.servers", cluster.bootstrapServers(), "transactional.id", id),
                new ByteArraySerializer(),
                new ByteArraySerializer());
    }
}
