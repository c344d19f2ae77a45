package dev.weir.runtime;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import dev.weir.audit.Audit;
import dev.weir.audit.finding.AuditRange;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.Mismatch;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.event.StateKey;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.repartition.Repartition;
import dev.weir.requests.RequestPlacement;
import dev.weir.rules.PolicyTopic;
import dev.weir.storage.codec.WaiterCodec;
import dev.weir.testing.TestBroker;
import dev.weir.topics.StatePartitions;
import dev.weir.topics.TopicCheck;
import dev.weir.topics.TopicSetup;
import dev.weir.topics.WrongTopicsException;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.KeyCodec;
import dev.weir.wire.RequestCodec;
import dev.weir.wire.json.RequestJson;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests, with a real broker, what happens when partitions are added to the request topic. */
@Tag("full")
class AddedPartitionsTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final int CLIENTS = 20;
    private static final int LIMIT = 5;
    private static int cases;

    private static final String POLICIES = """
            policies:
              - id: daily
                match: {client: client*}
                idempotency: 1h
                limits:
                  - {algorithm: fixed-window, limit: 5, per: 1 day}
              - id: log
                match: {client: log*}
                limits: [{algorithm: sliding-window-log, limit: 60, per: 1 day}]
              - id: slots
                match: {client: worker*}
                limits: [{algorithm: concurrency, limit: 3, ttl: 1h}]
              - id: shared
                layer: shared
                match: {client: nobody}
                key: [tier]
                limits: [{algorithm: token-bucket, limit: 9, per: 1 day}]
            """;

    private WeirConfig config;
    private Admin admin;
    private int sent;
    private int repeats;

    @TempDir
    Path directory;

    @BeforeEach
    void create() throws Exception {
        String name = "added" + cases++;
        Map<String, String> kafka = new HashMap<>(TestBroker.clientSettings());
        kafka.put("metadata.max.age.ms", "500");
        config = WeirConfig.builder()
                .applicationId(name)
                .threads(2)
                .topics(name + ".", 2)
                .kafka(kafka)
                .stateDirectory(directory.resolve("state"))
                .build();
        admin = Admin.create(KafkaSettings.admin(config));
        TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        new PolicyTopic(config).apply(PolicyFile.read("p", POLICIES), PolicyTopic.Options.DEFAULTS, 0);
    }

    @AfterEach
    void close() {
        admin.close();
    }

    @ParameterizedTest
    @ValueSource(ints = {4, 5})
    void requests_on_added_partitions_are_decided_by_the_running_instance_and_by_others(int partitions)
            throws Exception {
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            sendToEachClient(2);
            awaitDecisions();
            grow(partitions);
            String reported = "requests has " + partitions + " partitions, the state of clients has 2";
            await("the partitions are reported", PATIENCE, () -> enforcer.missing().stream()
                    .anyMatch(missing -> missing.contains(reported)));
            assertThat(enforcer.missing())
                    .filteredOn(missing -> missing.contains(reported)) // the tasks may be rebalanced meanwhile
                    .singleElement(STRING)
                    .endsWith("weir repartition");
            sendToEachClient(1);
            awaitDecisions();
            assertThat(enforcer.health()).isEqualTo(Health.RUNNING);
            TopicCheck.require(admin, config);
            try (Enforcer other = Enforcer.start(config.withStateDirectory(directory.resolve("other")))) {
                other.awaitRunning(PATIENCE); // takes tasks with their added partitions
                sendToEachClient(1);
                awaitDecisions();
                enforcer.close();
                sendToEachClient(2);
                assertLimitsHold(awaitDecisions());
            }
        }
        assertThat(awaitDecisions())
                .extracting(decision -> decision.source().partition())
                .contains(2, 3, partitions - 1);
        List<Mismatch> mismatches = new ArrayList<>();
        AuditSummary audited = Audit.run(config, new AuditRange(null, null, Duration.ofSeconds(30)), mismatches::add);
        assertThat(mismatches).isEmpty();
        assertThat(audited.equal()).isEqualTo(sent);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void a_repartitioning_keeps_usage_and_idempotent_answers(boolean isInterrupted) throws Exception {
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            sendToEachClient(3);
            awaitDecisions();
            grow(5);
            assertThatThrownBy(() -> repartition(line -> {}))
                    .isInstanceOf(UnreachableException.class)
                    .hasMessage("instances are running: the group " + config.applicationId()
                            + " has members; stop all instances first");
            await("the partitions are reported", PATIENCE, () -> !enforcer.missing()
                    .isEmpty());
            sendToEachClient(1);
            awaitDecisions();
        }
        sendToEachClient(1); // is not read by an instance before
        if (isInterrupted) {
            assertThatThrownBy(() -> repartition(line -> {
                        if (line.startsWith("adding partitions to " + StatePartitions.changelog(config))) {
                            throw new IllegalStateException("interrupted");
                        }
                    }))
                    .hasMessage("interrupted");
            assertThatThrownBy(() -> TopicCheck.require(admin, config))
                    .isInstanceOf(WrongTopicsException.class)
                    .hasMessageContaining("a repartitioning is unfinished")
                    .hasMessageContaining("weir repartition");
        }
        Repartition.Result first = repartition(line -> {});
        assertThat(first.states()).isPositive();
        assertThat(first.answers()).isPositive();
        assertThat(StatePartitions.of(config)).isEqualTo(5);
        TopicCheck.require(admin, config);
        try (Enforcer next = Enforcer.start(config)) {
            next.awaitRunning(PATIENCE);
            sendToEachClient(1);
            assertLimitsHold(awaitDecisions());
            assertThat(next.missing()).isEmpty();
            assertRepeatsAreFound();
        }
        grow(7);
        repartition(line -> {});
        try (Enforcer elsewhere = Enforcer.start(config.withStateDirectory(directory.resolve("elsewhere")))) {
            elsewhere.awaitRunning(PATIENCE);
            sendToEachClient(2);
            assertLimitsHold(awaitDecisions());
            assertRepeatsAreFound();
            assertThat(elsewhere.metrics().scrape())
                    .contains("weir_state_partitions 7.0")
                    .contains("weir_request_partitions 7.0");
        }
        try (Repartition done = new Repartition(config)) {
            assertThat(done.plan().isDone()).isTrue();
        }
    }

    @Test
    void a_repartitioning_moves_the_segments_of_logs() throws Exception {
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            sendToLog(50);
            awaitDecisions();
        }
        grow(5);
        repartition(line -> {});
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            sendToLog(20);
            assertThat(awaitDecisions().stream()
                            .filter(decision -> decision.outcome() == Outcome.ALLOWED)
                            .collect(Collectors.groupingBy(Decision::client, Collectors.counting()))
                            .values())
                    .hasSize(4)
                    .containsOnly(60L);
        }
    }

    @Test
    void a_repartitioning_moves_reservations() throws Exception {
        int workers = 12;
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            sendToWorkers(workers, 2, "\"kind\":\"CONSUME\"");
            awaitDecisions();
        }
        grow(5);
        repartition(line -> {});
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            sent = 0;
            sendToWorkers(workers, 1, "\"kind\":\"SETTLE\",\"cost\":1,\"settles\":\"r%d\"");
            sent = 3 * workers;
            sendToWorkers(workers, 3, "\"kind\":\"CONSUME\"");
            List<Decision> decisions = awaitDecisions();
            assertThat(decisions.stream().filter(decision -> decision.reason() == Reason.SETTLED))
                    .as("each finds its reservation")
                    .hasSize(workers);
            assertThat(decisions.stream()
                            .filter(decision -> decision.outcome() == Outcome.DENIED)
                            .collect(Collectors.groupingBy(Decision::client, Collectors.counting()))
                            .values())
                    .as("two slots of three are free")
                    .hasSize(workers)
                    .containsOnly(1L);
        }
    }

    /** Sends requests. In {@code fields}, the number of the request stands for %d. */
    private void sendToWorkers(int workers, int each, String fields) throws UnreadableException {
        try (RequestSender sender = new RequestSender(config)) {
            for (int i = 0; i < workers * each; i++) {
                String id = (fields.contains("settles") ? "s" : "r") + sent;
                sender.send(RequestJson.read(
                        "{\"requestId\":\"%s\",\"client\":\"worker%d\",%s}"
                                .formatted(id, i % workers, fields.formatted(sent++)),
                        System.currentTimeMillis(),
                        Request.Source.NONE));
            }
            sender.flush();
        }
    }

    private void sendToLog(int each) throws UnreadableException {
        try (RequestSender sender = new RequestSender(config)) {
            for (int i = 0; i < 4 * each; i++) {
                sender.send(RequestJson.read(
                        "{\"requestId\":\"r%d\",\"client\":\"log%d\"}".formatted(sent++, i % 4),
                        System.currentTimeMillis(),
                        Request.Source.NONE));
            }
            sender.flush();
        }
    }

    @Test
    void undecided_requests_are_decided_once_after_a_repartitioning() throws Exception {
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            sendToEachClient(1);
            awaitDecisions();
        }
        RequestPlacement before = new RequestPlacement(2, WeirConfig.MisplacedAction.ROUTE);
        String waiting = config.applicationId() + "-waiting-requests-changelog";
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
                KafkaSettings.producer(config), new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < CLIENTS; i++) {
                byte[] client = ("client" + i).getBytes(StandardCharsets.UTF_8);
                int partition = before.partitionOf(client);
                Request routed = request("r" + sent++, "client" + i);
                var record = new ProducerRecord<>(
                        Topics.of(config).routedRequests(), partition, client, new RequestCodec().encode(routed));
                record.headers().add("weir.origin", ("4:" + i + ":1000").getBytes(StandardCharsets.UTF_8));
                producer.send(record).get();
                StateKey lease = new StateKey(StateKey.NO_CLIENT, "shared", List.of("tier", ""));
                Request waits = request("r" + sent++, "client" + i);
                producer.send(new ProducerRecord<>(
                                waiting,
                                partition,
                                KeyCodec.encodeNumber(i),
                                new WaiterCodec().encode(new WaiterCodec.Waiter(lease, 1, waits, List.of()))))
                        .get();
            }
        }
        grow(5);
        Repartition.Result moved = repartition(line -> {});
        assertThat(moved.routed()).isEqualTo(CLIENTS);
        assertThat(moved.waiting()).isPositive();
        try (Enforcer enforcer = Enforcer.start(config)) {
            enforcer.awaitRunning(PATIENCE);
            sendToEachClient(4);
            assertLimitsHold(awaitDecisions());
        }
    }

    private Repartition.Result repartition(Consumer<String> progress) {
        try (Repartition repartition = new Repartition(config)) {
            return repartition.run(progress);
        }
    }

    /** Sends the first request of each client again. */
    private void assertRepeatsAreFound() throws Exception {
        try (RequestSender sender = new RequestSender(config)) {
            for (int i = 0; i < CLIENTS; i++) {
                sender.send(request("r" + i, "client" + i));
            }
            sender.flush();
        }
        repeats += CLIENTS;
        assertThat(awaitDecisions().stream().filter(Decision::repeated)).hasSize(repeats);
    }

    private void assertLimitsHold(List<Decision> decisions) {
        assertThat(decisions.stream()
                        .filter(decision -> decision.outcome() == Outcome.ALLOWED && !decision.repeated())
                        .collect(Collectors.groupingBy(Decision::client, Collectors.counting())))
                .hasSize(CLIENTS)
                .allSatisfy((client, allowed) -> assertThat(allowed).as(client).isEqualTo(LIMIT));
    }

    private void grow(int partitions) throws Exception {
        grow(Topics.of(config).requests(), partitions);
    }

    private void grow(String topic, int partitions) throws Exception {
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(partitions)))
                .all()
                .get();
        await(
                "the partitions are known",
                PATIENCE,
                () -> admin.describeTopics(List.of(topic))
                                .allTopicNames()
                                .get()
                                .get(topic)
                                .partitions()
                                .size()
                        == partitions);
    }

    /** Sends requests with a new producer, which knows all partitions. */
    private void sendToEachClient(int each) throws UnreadableException {
        try (RequestSender sender = new RequestSender(config)) {
            for (int i = 0; i < each * CLIENTS; i++) {
                sender.send(request("r" + sent++, "client" + i % CLIENTS));
            }
            sender.flush();
        }
    }

    private static Request request(String id, String client) throws UnreadableException {
        return RequestJson.read(
                "{\"requestId\":\"%s\",\"client\":\"%s\"}".formatted(id, client),
                System.currentTimeMillis(),
                Request.Source.NONE);
    }

    /** Returns the decisions. Each request has one. */
    private List<Decision> awaitDecisions() throws UnreadableException {
        DecisionCodec codec = new DecisionCodec();
        List<Decision> decisions = new ArrayList<>();
        for (var record : LiveTest.read(config, Topics.of(config).decisions(), sent + repeats)) {
            decisions.add(codec.decode(record.value()));
        }
        assertThat(decisions.stream().filter(decision -> !decision.repeated()))
                .extracting(Decision::requestId)
                .doesNotHaveDuplicates();
        return decisions;
    }
}
