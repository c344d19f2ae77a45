package dev.weir.watch;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.kafka.KafkaSettings;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.CapturedLog;
import dev.weir.testing.HangingTransaction;
import dev.weir.testing.HangingTransaction.End;
import dev.weir.topics.TopicSetup;
import dev.weir.transaction.BrokerConnection;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** On a broker that accepts records of transactions that have ended. */
@Tag("full")
class TransactionWatchTest {

    private static final Duration PATIENCE = Duration.ofMinutes(3);

    /** The end of the transactional id of a stream thread. */
    private static final String OF_THREAD = "-c4e5a7a0-96f3-4b5e-8a3c-0d2f4a1b6c7d-1";

    private static EmbeddedBroker broker;
    private static Admin admin;

    @TempDir
    Path directory;

    @BeforeAll
    static void start() {
        broker = HangingTransaction.startBroker();
        admin = Admin.create(Map.of("bootstrap.servers", broker.bootstrapServers()));
    }

    @AfterAll
    static void stop() {
        admin.close();
        broker.close();
    }

    private WeirConfig config(String name) {
        Map<String, String> kafka = new HashMap<>();
        kafka.put("bootstrap.servers", broker.bootstrapServers());
        kafka.put("producer.transaction.timeout.ms", "2000");
        return WeirConfig.builder()
                .kafka(kafka)
                .applicationId(name)
                .topics(name + ".", 2)
                .stateDirectory(directory)
                .build();
    }

    @Test
    void an_instance_that_cannot_restore_because_of_a_lost_marker_writes_it_and_runs() throws Exception {
        WeirConfig config = config("lost");
        TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        String changelog = "lost-shaping-ledgers-changelog";
        admin.createTopics(List.of(new NewTopic(changelog, 2, (short) 1).configs(Map.of("cleanup.policy", "compact"))))
                .all()
                .get();
        HangingTransaction.create(
                broker.bootstrapServers(),
                new BrokerConnection(KafkaSettings.admin(config))::send,
                new TopicPartition(changelog, 1),
                "lost-shaping" + OF_THREAD,
                End.COMMITTED);
        HangingTransaction.create( // only clients read decisions
                broker.bootstrapServers(),
                new BrokerConnection(KafkaSettings.admin(config))::send,
                new TopicPartition("lost.decisions", 0),
                "lost" + OF_THREAD,
                End.ABORTED);
        try (CapturedLog log = new CapturedLog(TransactionWatch.class);
                Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            await("both markers are written", PATIENCE, () -> log.lines().size() == 2);
            assertThat(enforcer.problems()).isEmpty();
            assertThat(log.lines()).anySatisfy(line -> assertThat(line.text())
                    .matches("A transaction did not end: .* in lost\\.decisions-0 .* It was aborted there"));
            assertThat(log.lines()).anySatisfy(line -> {
                assertThat(line.level()).isEqualTo("WARN");
                assertThat(line.text())
                        .matches("A transaction did not end: producer \\d+ epoch \\d+ in " + changelog
                                + "-1 since offset 0; its coordinator has committed the transaction of"
                                + " lost-shaping" + OF_THREAD
                                + ", but the marker is missing here\\. It was committed there");
            });
        }
    }

    @Test
    void transactions_of_others_and_running_ones_are_reported_and_left_alone() throws Exception {
        WeirConfig config = config("others");
        AtomicLong nanos = new AtomicLong();
        TransactionWatch watch = new TransactionWatch(admin, config, nanos::get);
        TopicPartition hanging = topic("others.hanging");
        TopicPartition running = topic("others.running");
        HangingTransaction.create(
                broker.bootstrapServers(),
                new BrokerConnection(KafkaSettings.admin(config))::send,
                hanging,
                "another-application-1",
                End.ABORTED);
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
                Map.of(
                        "bootstrap.servers",
                        broker.bootstrapServers(),
                        "transactional.id",
                        "others-1",
                        "transaction.timeout.ms",
                        "600000"),
                new ByteArraySerializer(),
                new ByteArraySerializer())) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(running.topic(), 0, null, new byte[] {1}))
                    .get();
            Set<TopicPartition> read = Set.of(hanging, running);
            assertThat(watch.look(read)).as("not before the timeout").isEmpty();
            nanos.addAndGet(Duration.ofSeconds(3).toNanos());
            assertThat(watch.look(read)).singleElement().satisfies(problem -> {
                assertThat(problem.topic()).isEqualTo(hanging.topic());
                assertThat(problem.what())
                        .contains("its coordinator has aborted the transaction of another-application-1");
                assertThat(problem.fix()).isEqualTo("Run: weir doctor --fix hanging-transactions");
            });
            nanos.addAndGet(Duration.ofMinutes(2).toNanos());
            assertThat(watch.look(read))
                    .extracting(ClusterProblem::topic)
                    .containsExactly(hanging.topic(), running.topic());
            producer.commitTransaction();
            await("the running one has ended", PATIENCE, () -> watch.look(read).size() == 1);
        }
    }

    @Test
    void a_transaction_that_cannot_be_judged_is_reported_after_a_minute_and_hides_no_other() throws Exception {
        WeirConfig config = config("unjudged")
                .withKafka("consumer.request.timeout.ms", "1")
                .withKafka("consumer.default.api.timeout.ms", "1");
        AtomicLong nanos = new AtomicLong();
        TransactionWatch watch = new TransactionWatch(admin, config, nanos::get);
        TopicPartition ended = topic("unjudged.ended");
        TopicPartition hidden = topic("unjudged.hidden");
        HangingTransaction.create(
                broker.bootstrapServers(),
                new BrokerConnection(KafkaSettings.admin(config))::send,
                ended,
                "unjudged" + OF_THREAD,
                End.ABORTED);
        HangingTransaction.create(
                broker.bootstrapServers(),
                new BrokerConnection(KafkaSettings.admin(config))::send,
                hidden,
                "unjudged-2",
                End.NOT_REPORTED);
        Set<TopicPartition> read = Set.of(ended, hidden);
        assertThat(watch.look(read)).isEmpty();
        nanos.addAndGet(Duration.ofSeconds(3).toNanos());
        assertThat(watch.look(read)).as("they may be running").isEmpty();
        nanos.addAndGet(Duration.ofMinutes(1).toNanos());
        assertThat(watch.look(read))
                .extracting(ClusterProblem::what)
                .satisfiesExactly(
                        what -> assertThat(what)
                                .contains(
                                        "it may still be running: its coordinator or the coordinator's log cannot be read"),
                        what -> assertThat(what).contains("it may still be running: no coordinator reports its"));
    }

    private static TopicPartition topic(String name) throws Exception {
        admin.createTopics(List.of(new NewTopic(name, 1, (short) 1))).all().get();
        return new TopicPartition(name, 0);
    }
}
