package dev.weir.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.rules.PolicyTopic;
import dev.weir.shape.rules.QueueRules;
import dev.weir.testing.QueueAudit;
import dev.weir.testing.QueueTraffic;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.PolicyAvro;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests queues with a real broker. */
@Tag("full")
class LiveShapingTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);

    /**
     * Three queues: the slots of sms are not a whole number of nanoseconds; mail has not enough capacity for all
     * requests; hooks is keyed, so it is on all partitions.
     */
    private static final String THREE_QUEUES = """
            policies:
              - {id: sms, match: {endpoint: /sms}, queue: sms}
              - {id: mail, match: {endpoint: /mail}, queue: mail}
              - {id: hooks, match: {endpoint: /hooks}, queue: hooks}
            queues:
              - id: hooks
                key: client
                limit: 90
                per: 1s
                burst: 3
                total: {limit: 450, per: 1s}
                tiers: {platinum: {priority: 1}}
              - id: sms
                limit: 600
                per: 1s
                burst: 3
                max-wait: 30s
                tiers: {platinum: {priority: 1, weight: 2}, gold: {weight: 4}, free: {weight: 1}}
              - id: mail
                limit: 60
                per: 1s
                capacity: 30
                max-wait: 2s
                tiers: {platinum: {priority: 1}, gold: {priority: 1}, free: {priority: -1}}
            """;

    private static EmbeddedBroker broker;

    @TempDir
    Path directory;

    @BeforeAll
    static void start() {
        broker = TestBroker.shared();
    }

    @Test
    void each_request_leaves_once_in_order_and_on_pace_across_a_restart_and_lost_state() throws Exception {
        WeirConfig config = config("restart.");
        List<QueueRules> rules = apply(config, THREE_QUEUES);
        QueueTraffic traffic = new QueueTraffic(1);
        try (QueueHistory history = new QueueHistory(config);
                RequestSender sender = new RequestSender(config)) {
            for (int life = 0; life < 3; life++) {
                send(sender, traffic.next(300)); // while no instance is running
                int before = history.poll().released();
                try (Enforcer enforcer = Enforcer.start(config)) {
                    enforcer.awaitRunning(PATIENCE);
                    send(sender, traffic.next(1_000));
                    if (life == 2) {
                        history.awaitEnds(PATIENCE);
                    } else {
                        history.await("some are released", PATIENCE, audit -> audit.released() >= before + 200);
                    }
                }
                if (life < 2) {
                    assertThat(history.readToEnd(PATIENCE).waiting())
                            .as("requests wait while no instance is running")
                            .isPositive();
                }
                if (life == 1) {
                    delete(config.state().directory());
                }
            }
        }
        QueueAudit audit = QueueHistory.read(config, PATIENCE);
        assertThat(audit.faults(rules)).isEmpty();
        assertThat(audit.released()).isGreaterThan(1_000);
        assertThat(List.of(
                        Reason.QUEUE_FULL,
                        Reason.TOO_LATE,
                        Reason.EVICTED,
                        Reason.WAITED_TOO_LONG,
                        Reason.CANCELLED,
                        Reason.NOT_WAITING))
                .allMatch(reason -> audit.decided(reason) > 0);
    }

    @Test
    void each_request_leaves_once_on_pace_while_instances_join_and_leave() throws Exception {
        WeirConfig config = config("rebalance.");
        List<QueueRules> rules = apply(config, THREE_QUEUES);
        QueueTraffic traffic = new QueueTraffic(2);
        try (QueueHistory history = new QueueHistory(config);
                RequestSender sender = new RequestSender(config)) {
            Enforcer working = Enforcer.start(config);
            try {
                working.awaitRunning(PATIENCE);
                for (int n = 0; n < 2; n++) {
                    send(sender, traffic.next(1_200));
                    awaitMoreReleases(history, 100);
                    Enforcer other = Enforcer.start(config.withStateDirectory(directory.resolve("weir-other-" + n)));
                    Enforcer leaving = working;
                    working = other;
                    try (leaving) {
                        other.awaitRunning(PATIENCE);
                        send(sender, traffic.next(300)); // two instances share the partitions now
                        awaitMoreReleases(history, 100);
                        assertThat(history.poll().waiting()).isPositive();
                    }
                }
                history.awaitEnds(PATIENCE);
            } finally {
                working.close();
            }
        }
        QueueAudit audit = QueueHistory.read(config, PATIENCE);
        assertThat(audit.faults(rules)).isEmpty();
        assertThat(audit.released()).isGreaterThan(800);
    }

    private static void awaitMoreReleases(QueueHistory history, int more) {
        int before = history.poll().released();
        history.await("some are released", PATIENCE, audit -> audit.released() >= before + more);
    }

    @Test
    void a_deleted_queue_drains_across_a_restart_and_admits_nothing() throws Exception {
        WeirConfig config = config("deleted.");
        List<QueueRules> rules = apply(config, """
                policies:
                  - {id: sms, match: {endpoint: /sms}, queue: sms}
                  - {id: mail, match: {endpoint: /mail}, queue: mail}
                queues: [{id: sms, limit: 12, per: 1s}, {id: mail, limit: 12, per: 1s}]
                """);
        try (QueueHistory history = new QueueHistory(config);
                RequestSender sender = new RequestSender(config)) {
            for (int i = 0; i < 100; i++) {
                sender.send(request("sms" + i, "/sms"));
                sender.send(request("mail" + i, "/mail"));
            }
            try (Enforcer enforcer = Enforcer.start(config)) {
                enforcer.awaitRunning(PATIENCE);
                history.await("all are queued", PATIENCE, audit -> audit.decided(Reason.SHAPED) == 200);
                PolicyTopic topic = new PolicyTopic(config);
                topic.delete(PolicyAvro.Kind.POLICY, List.of("sms"), PolicyTopic.Options.DEFAULTS, 0);
                topic.delete(PolicyAvro.Kind.QUEUE, List.of("sms"), PolicyTopic.Options.DEFAULTS, 0);
                deleteUnderItsPolicy(config, "mail");
                awaitRefusal(history, sender, "before", "/mail", Reason.NO_QUEUE);
                awaitRefusal(history, sender, "before", "/sms", Reason.NO_POLICY);
            }
            assertThat(history.readToEnd(PATIENCE).waiting()).isPositive();
            try (Enforcer enforcer = Enforcer.start(config)) {
                enforcer.awaitRunning(PATIENCE);
                awaitRefusal(history, sender, "after", "/mail", Reason.NO_QUEUE);
                history.awaitEnds(PATIENCE);
            }
        }
        QueueAudit audit = QueueHistory.read(config, PATIENCE);
        assertThat(audit.faults(rules)).isEmpty();
        assertThat((long) audit.released()).isEqualTo(audit.decided(Reason.SHAPED));
    }

    @Test
    void a_changed_rate_applies_to_waiting_requests() throws Exception {
        WeirConfig config = config("changed.");
        String slow = "policies: [{id: all, queue: sms}]\nqueues: [{id: sms, limit: 1, per: 1h}]\n";
        apply(config, slow);
        try (QueueHistory history = new QueueHistory(config);
                RequestSender sender = new RequestSender(config);
                Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            for (int i = 0; i < 50; i++) {
                sender.send(request("r" + i, "/sms"));
            }
            history.await("one is released", PATIENCE, audit -> audit.waiting() == 49 && audit.released() == 1);
            List<QueueRules> fast = apply(config, slow.replace("limit: 1, per: 1h", "limit: 1000, per: 1s"));
            QueueAudit audit = history.await("all are released", PATIENCE, seen -> seen.waiting() == 0);
            assertThat(audit.released()).isEqualTo(50);
            assertThat(audit.faults(fast)).isEmpty();
        }
    }

    private WeirConfig config(String prefix) {
        return WeirConfig.builder()
                .applicationId("weir-" + prefix + "test")
                .threads(1)
                .topics(prefix, 4)
                .shaping(new WeirConfig.Shaping(2, 50_000))
                .commits(new WeirConfig.Commits(Duration.ofMillis(100), Duration.ofMillis(100)))
                .kafka("bootstrap.servers", broker.bootstrapServers())
                .stateDirectory(directory.resolve("weir-state"))
                .build();
    }

    /** Creates the topics, applies the definitions, and returns the rules of the queues. */
    private static List<QueueRules> apply(WeirConfig config, String yaml) throws Exception {
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        PolicyFile.Contents contents = PolicyFile.read("policies.yaml", yaml);
        new PolicyTopic(config).apply(contents, PolicyTopic.Options.DEFAULTS, 0);
        return contents.queues().stream()
                .map(PolicyFile.Definition.QueueDefinition::queue)
                .toList();
    }

    /**
     * Deletes a queue while its policy is in force, as if the shaping application had learnt of the deletion of both
     * before the deciding one.
     */
    private static void deleteUnderItsPolicy(WeirConfig config, String queue) throws Exception {
        PolicyAvro.Applied deletion = new PolicyAvro.Applied(PolicyAvro.Kind.QUEUE, queue, 2, null, 0);
        String topic = Topics.of(config).policies();
        try (KafkaProducer<String, byte[]> producer = new KafkaProducer<>(
                KafkaSettings.producer(config), new StringSerializer(), new ByteArraySerializer())) {
            producer.send(new ProducerRecord<>(topic, 0, deletion.key(), new PolicyAvro().encode(deletion)))
                    .get();
        }
    }

    /** Sends requests until one is decided with this reason. The requests before it are queued. */
    private static void awaitRefusal(
            QueueHistory history, RequestSender sender, String when, String endpoint, Reason reason) {
        long before = history.poll().decided(reason);
        int[] requested = {0};
        history.await("a decision with reason " + reason, PATIENCE, audit -> {
            boolean answered = audit.decided(reason) > before;
            if (!answered && audit.unanswered() == 0) {
                sender.send(request(when + endpoint + requested[0]++, endpoint));
                sender.flush();
            }
            return answered;
        });
    }

    private static Request request(String id, String endpoint) {
        return Request.builder(id, "c" + Math.floorMod(id.hashCode(), 5))
                .attributes(Map.of("endpoint", endpoint))
                .source(0, 0)
                .build();
    }

    private static void send(RequestSender sender, List<Request> requests) {
        requests.forEach(sender::send);
        sender.flush();
    }

    private static void delete(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
