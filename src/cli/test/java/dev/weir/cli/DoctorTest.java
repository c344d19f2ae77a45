package dev.weir.cli;

import static dev.weir.cli.DoctorRun.findings;
import static dev.weir.cli.DoctorRun.of;
import static dev.weir.cli.DoctorRun.only;
import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import dev.weir.api.WeirService;
import dev.weir.cli.DoctorRun.Found;
import dev.weir.config.WeirConfig;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.doctor.HangingTransactionFix;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.HangingTransaction;
import dev.weir.testing.HangingTransaction.End;
import dev.weir.topics.TopicSetup;
import dev.weir.transaction.BrokerConnection;
import dev.weir.wire.RequestCodec;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.tools.ConfigCommand;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code weir doctor} on a real broker, with one problem after the other. */
@Tag("full")
@Timeout(240)
class DoctorTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final Pattern SET = Pattern.compile(
            "kafka-configs\\.sh --bootstrap-server (\\S+) --alter --entity-type topics --entity-name (\\S+) --add-config ([^=]+)=(\\S+)");

    private static final String RULES = """
            policies:
              - {id: free, match: {tier: free}, limits: [{algorithm: gcra, limit: 5, per: 1m}]}
            """;

    private static EmbeddedBroker broker;
    private static Admin admin;
    private static int cases;

    @TempDir
    Path directory;

    private String name;
    private DoctorRun doctor;

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

    @BeforeEach
    void create() throws Exception {
        name = "d" + cases++;
        doctor = new DoctorRun(name, broker.bootstrapServers(), directory);
        TopicSetup.createMissing(admin, doctor.config(""), TopicSetup.RequestTime.LOG_APPEND);
    }

    @Test
    void all_checks_pass_while_weir_runs_and_lag_is_reported_after_it_stopped() throws Exception {
        String port = "service: {port: 0}\n";
        Path requests = Files.writeString(
                directory.resolve("requests.ndjson"), "{\"requestId\":\"r\",\"client\":\"a\",\"tier\":\"free\"}\n");
        Path rules = Files.writeString(directory.resolve("rules.yaml"), RULES);
        assertThat(Shell.run("policies", "apply", "-c", doctor.file(port), rules.toString())
                        .exit())
                .isZero();
        try (WeirService service = WeirService.open(doctor.config(port), Map.of())) {
            try (Enforcer enforcer = Enforcer.start(doctor.config(port))) {
                service.setHealth(enforcer::health);
                enforcer.awaitRunning(PATIENCE);
                service.attachEnforcer(enforcer.policies(), enforcer.queries());
                assertThat(Shell.run("send", "--await", "-c", doctor.file(port), requests.toString())
                                .exit())
                        .isZero();
                String[] options = {"--service", "http://" + service.address()};
                awaitWell(port, options);
                assertThat(doctor.found(0, port, options)).allSatisfy(one -> {
                    assertThat(one.verdict()).as(one.toString()).isEqualTo("OK");
                    assertThat(one.advice()).isEmpty();
                });
                CapturedRun text = Shell.run(doctor.args(port, options));
                assertThat(text.out())
                        .contains("topics\n  OK    existence         12 topics, 17 changelogs\n")
                        .contains("group " + name + ": 1 instance, 1 thread, 6 of 6 partitions, no standby instance")
                        .contains("1 policy, 0 queues")
                        .endsWith(" OK, 0 WARN, 0 FAIL, 0 SKIP\n");
                String[] yaml = {options[0], options[1], "-o", "yaml"};
                assertThat(new YAMLMapper()
                                .readTree(Shell.run(doctor.args(port, yaml)).out())
                                .at("/counts"))
                        .hasToString("{\"OK\":%d,\"WARN\":0,\"FAIL\":0,\"SKIP\":0}"
                                .formatted(doctor.found(0, port, options).size()));
                everyCheckIsOnThePage();
            }
        }
        assertThat(Shell.run("send", "-c", doctor.file(port), requests.toString())
                        .exit())
                .isZero();
        write(name + ".lease-responses." + name, 0, "a", "b", null);
        write(name + ".lease-requests." + name, 0, "a", "b", null);
        List<Found> stopped = doctor.found(1, port);
        assertThat(of(stopped, "application", "instances")).hasSize(2).allSatisfy(one -> {
            assertThat(one.verdict()).isEqualTo("WARN");
            assertThat(one.advice()).containsExactly("weir run");
        });
        List<Found> lag = of(stopped, "application", "lag");
        assertThat(lag.get(0)).satisfies(one -> {
            assertThat(one.verdict()).isEqualTo("FAIL");
            assertThat(one.found())
                    .startsWith("1 unread record on " + name + ".requests, in 1 partition")
                    .endsWith(", and no instance is running");
            assertThat(one.advice()).containsExactly("weir run");
        });
        assertThat(lag.get(1).verdict()).isEqualTo("OK");
        assertThat(lag.get(2)).satisfies(one -> {
            assertThat(one.verdict()).isEqualTo("WARN");
            assertThat(one.found())
                    .startsWith("1 unread record on " + name + ".lease-responses." + name + ", in 1 partition")
                    .endsWith(", and no instance is running: the leases are returned when they end");
        });
        assertThat(lag.get(3).verdict()).isEqualTo("OK");
        assertThat(lag.get(4)).satisfies(one -> {
            assertThat(one.verdict()).isEqualTo("FAIL");
            assertThat(one.found())
                    .startsWith("1 unread record on " + name + ".lease-requests." + name + ", in 1 partition");
        });
    }

    private void everyCheckIsOnThePage() throws Exception {
        String page = Files.readString(Path.of("topology-docs", "how-to", "operate.md"));
        String section = page.substring(page.indexOf("## Doctor"), page.indexOf("## ", page.indexOf("## Doctor") + 1));
        TreeSet<String> described = new TreeSet<>();
        Matcher row = Pattern.compile("(?m)^\\| ([a-z ]+) \\| ([a-z, ]+) \\|$").matcher(section);
        while (row.find()) {
            for (String check : row.group(2).split(", ", -1)) {
                described.add(row.group(1) + "/" + check);
            }
        }
        described.remove("group/checks");
        TreeSet<String> done = doctor.found(0, "service: {port: 0}\n").stream()
                .map(one -> one.group() + "/" + one.check())
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(described).isEqualTo(done);
    }

    @Test
    void the_printed_command_fixes_a_feature_that_is_not_finalized() throws Exception {
        setTransactionVersion(0, UpgradeType.SAFE_DOWNGRADE);
        try {
            Found wrong = only(doctor.found(0, ""), "brokers", "features");
            assertThat(wrong.verdict()).isEqualTo("WARN");
            assertThat(wrong.found()).startsWith("transaction.version is 0: a late request");
            assertThat(wrong.advice())
                    .containsExactly("kafka-features.sh --bootstrap-server " + broker.bootstrapServers()
                            + " upgrade --feature transaction.version=2");
        } finally {
            setTransactionVersion(2, UpgradeType.UPGRADE);
        }
        assertThat(only(doctor.found(0, ""), "brokers", "features").verdict()).isEqualTo("OK");
    }

    /** Sets the level of the feature, and waits until the broker has received it from the controller. */
    private static void setTransactionVersion(int level, UpgradeType type) throws Exception {
        admin.updateFeatures(
                        Map.of("transaction.version", new FeatureUpdate((short) level, type)),
                        new UpdateFeaturesOptions())
                .all()
                .get();
        await(
                "transaction.version is " + level,
                PATIENCE,
                () -> admin.describeFeatures()
                                .featureMetadata()
                                .get()
                                .finalizedFeatures()
                                .containsKey("transaction.version")
                        == level > 0);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            retention | WARN | requests     | retention.ms                   | 3600000    | (1h): records that are not read by then are lost
            retention | WARN | admissions.  | retention.bytes                | 1000000    | a flood deletes unread records
            retention | WARN | lease-requests. | retention.ms                   | 60000      | (1m): records that are not read by then are lost
            settings  | FAIL | decisions    | message.timestamp.type         | CreateTime | must be LogAppendTime
            settings  | WARN | requests     | message.timestamp.type         | CreateTime | the producers' clocks
            settings  | FAIL | admissions.  | cleanup.policy                 | compact    | must be delete
            settings  | FAIL | dead-letters | max.message.bytes              | 1000       | must be at least 3145728
            elections | WARN | policies     | unclean.leader.election.enable | true       | may be lost when a broker fails
            """)
    void the_printed_command_fixes_a_wrong_topic_setting(
            String check, String verdict, String topic, String setting, String value, String reported)
            throws Exception {
        String full = name + "." + topic + (topic.endsWith(".") ? name : ""); // the application id
        set(full, setting, value);
        Found wrong = only(doctor.found(verdict.equals("FAIL") ? 1 : 0, ""), "topics", check);
        assertThat(wrong.verdict()).isEqualTo(verdict);
        assertThat(wrong.found()).contains(full, reported);
        assertThat(wrong.advice()).hasSize(1);
        Matcher command = SET.matcher(wrong.advice().get(0));
        assertThat(command.matches()).as(wrong.advice().get(0)).isTrue();
        assertThat(command.group(1)).isEqualTo(broker.bootstrapServers());
        assertThat(command.group(2)).isEqualTo(full);
        assertThat(command.group(3)).isEqualTo(setting);
        type(wrong.advice().get(0));
        awaitSet(command.group(2), command.group(3), command.group(4));
        assertThat(only(doctor.found(0, ""), "topics", check).verdict()).isEqualTo("OK");
    }

    @Test
    void missing_topics_and_added_partitions_are_reported() throws Exception {
        admin.createPartitions(Map.of(name + ".policies", NewPartitions.increaseTo(2)))
                .all()
                .get();
        admin.deleteTopics(List.of(name + ".releases")).all().get();
        await(
                "the topics are changed",
                PATIENCE,
                () -> partitions(name + ".policies") == 2 && partitions(name + ".releases") == 0);
        List<Found> found = doctor.found(1, "");
        assertThat(only(found, "topics", "existence"))
                .isEqualTo(new Found(
                        "topics",
                        "existence",
                        "FAIL",
                        "missing: " + name + ".releases",
                        List.of("weir run, which creates them")));
        assertThat(only(found, "topics", "settings")).satisfies(one -> {
            assertThat(one.found()).startsWith(name + ".policies: has 2 partitions, must have 1");
            assertThat(one.advice())
                    .contains("kafka-topics.sh --bootstrap-server " + broker.bootstrapServers() + " --delete --topic "
                            + name + ".policies");
        });
    }

    @Test
    void hanging_transactions_are_reported_and_ended_as_their_coordinator_did() throws Exception {
        String requests = name + ".requests";
        set(requests, "message.timestamp.type", "CreateTime");
        String id = doctor.config("").applicationId() + "-1";
        hang(name + ".decisions", id, End.COMMITTED);
        hang(name + ".releases", id, End.ABORTED);
        long old = System.currentTimeMillis() - Duration.ofMinutes(20).toMillis();
        try (KafkaProducer<byte[], byte[]> slow = begin(requests, 0, old)) {
            List<Found> found = of(doctor.found(1, ""), "topics", "transactions");
            assertThat(found).hasSize(3);
            assertThat(ofTopic(found, name + ".decisions").verdict()).isEqualTo("FAIL");
            assertThat(ofTopic(found, name + ".decisions").found())
                    .contains("its coordinator has committed the transaction of " + id + ", but the marker is missing");
            assertThat(ofTopic(found, name + ".decisions").advice())
                    .containsExactly("weir doctor --fix hanging-transactions");
            assertThat(ofTopic(found, name + ".releases").found())
                    .contains("its coordinator has aborted the transaction of " + id);
            assertThat(ofTopic(found, requests).verdict()).isEqualTo("WARN");
            assertThat(ofTopic(found, requests).found())
                    .startsWith(requests + "-0: a transaction has been open since offset 0, and last wrote 20m");
            assertThat(ofTopic(found, requests).advice())
                    .containsExactly("kafka-transactions.sh --bootstrap-server " + broker.bootstrapServers()
                            + " describe-producers --topic " + requests + " --partition 0");

            CapturedRun refused = fix("n\nn\n");
            assertThat(refused.exit()).isEqualTo(1);
            assertThat(refused.out())
                    .contains("Commit it there? [y/N]", "Abort it there? [y/N]", "0 ended, 2 left")
                    .doesNotContain(requests);
            CapturedRun run = fix("y\ny\n");
            assertThat(run.exit()).as(run.out()).isZero();
            assertThat(run.out())
                    .containsPattern(name + "\\.decisions-0 since offset 0: committed")
                    .containsPattern(name + "\\.releases-0 since offset 0: aborted")
                    .contains("2 ended, 0 left");
            assertThat(fix("", "--yes").out()).isEqualToIgnoringNewLines("0 ended, 0 left");
            slow.abortTransaction();
            await("no transaction is open", PATIENCE, () -> Shell.run(doctor.args(""))
                    .out()
                    .contains("no transaction has been open for more than 1m"));
        }
    }

    @Test
    void a_transaction_that_may_be_running_is_left_alone() throws Exception {
        hang(name + ".decisions", doctor.config("").applicationId() + "-2", End.NOT_REPORTED);
        CapturedRun run = fix("y\n");
        assertThat(run.exit()).isEqualTo(1);
        assertThat(run.out())
                .contains(
                        "it may still be running: no coordinator reports its transactional id",
                        "left alone, since a transaction can run for 15m",
                        "0 ended, 1 left")
                .doesNotContain("[y/N]");
    }

    @Test
    void a_transaction_that_ends_before_the_answer_is_left_alone() throws Exception {
        hang(name + ".decisions", doctor.config("").applicationId() + "-1", End.COMMITTED);
        WeirConfig config = doctor.config("");
        List<String> lines = new ArrayList<>();
        Predicate<String> slow = question -> {
            HangingTransactionFix.run(config, other -> true, false, other -> {});
            return true;
        };
        assertThat(HangingTransactionFix.run(config, slow, false, lines::add))
                .isEqualTo(new HangingTransactionFix.Result(1, 0));
        assertThat(lines).singleElement().asString().endsWith("it has ended meanwhile");
    }

    private CapturedRun fix(String input, String... options) throws Exception {
        InputStream before = System.in;
        System.setIn(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)));
        try {
            return Shell.run(Stream.concat(
                            Stream.of("doctor", "-c", doctor.file(""), "--fix", "hanging-transactions"),
                            Stream.of(options))
                    .toArray(String[]::new));
        } finally {
            System.setIn(before);
        }
    }

    private static Found ofTopic(List<Found> found, String topic) {
        List<Found> some = found.stream()
                .filter(one -> one.found().startsWith(topic + "-"))
                .toList();
        assertThat(some).as(found.toString()).hasSize(1);
        return some.get(0);
    }

    private void hang(String topic, String transactionalId, End end) throws Exception {
        HangingTransaction.create(
                broker.bootstrapServers(),
                new BrokerConnection(KafkaSettings.admin(doctor.config("")))::send,
                new TopicPartition(topic, 0),
                transactionalId,
                end);
    }

    /** As an instance writes to its changelogs while it processes a backlog. */
    @Test
    void transactions_with_old_records_that_end_are_not_reported() throws Exception {
        String requests = name + ".requests";
        set(requests, "message.timestamp.type", "CreateTime");
        long old = System.currentTimeMillis() - Duration.ofMinutes(20).toMillis();
        AtomicBoolean isOver = new AtomicBoolean();
        KafkaProducer<byte[], byte[]> producer = begin(requests, 0, old);
        Thread writer = new Thread(() -> {
            while (!isOver.get()) {
                LockSupport.parkNanos(Duration.ofMillis(500).toNanos()); // open for most of the time
                producer.commitTransaction();
                producer.beginTransaction();
                var unused = producer.send(new ProducerRecord<>(requests, 0, old, null, new byte[] {1}));
                producer.flush();
            }
        });
        writer.start();
        try {
            List<String> verdicts = new ArrayList<>();
            while (verdicts.size() < 3 && !verdicts.contains("OK")) { // a machine that stalls keeps a transaction open
                verdicts.add(only(findings(Shell.run(doctor.args("", "-o", "json"))), "topics", "transactions")
                        .verdict());
            }
            assertThat(verdicts).contains("OK");
        } finally {
            isOver.set(true);
            writer.join();
            producer.close(Duration.ZERO);
        }
    }

    @Test
    void a_registry_that_does_not_answer_is_a_finding_and_other_checks_are_done() throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer(Map.of())) {
            producer.send(new ProducerRecord<>(name + ".requests", 0, bytes("a"), new byte[] {0, 0, 0, 0, 7, 2}))
                    .get();
        }
        List<Found> found = findings(
                Shell.run(doctor.args("registry: {url: 'http://127.0.0.1:1/apis/registry/v3'}\n", "-o", "json")));
        assertThat(only(found, "application", "placement").verdict()).isEqualTo("FAIL");
        assertThat(only(found, "clocks", "instances").verdict()).isEqualTo("SKIP");
    }

    @Test
    void a_named_service_that_does_not_respond_fails_and_one_of_the_configuration_is_skipped() throws Exception {
        assertThat(only(doctor.found(1, "", "--service", "http://127.0.0.1:1"), "application", "service"))
                .satisfies(one -> {
                    assertThat(one.verdict()).isEqualTo("FAIL");
                    assertThat(one.found()).isEqualTo("no response from http://127.0.0.1:1");
                });
        assertThat(only(doctor.found(0, "service: {port: 1}\n"), "application", "service")
                        .verdict())
                .isEqualTo("SKIP");
    }

    private static KafkaProducer<byte[], byte[]> begin(String topic, int partition, long timestamp) {
        KafkaProducer<byte[], byte[]> producer =
                producer(Map.of("transactional.id", topic + partition, "transaction.timeout.ms", "600000"));
        producer.initTransactions();
        producer.beginTransaction();
        var unused = producer.send(new ProducerRecord<>(topic, partition, timestamp, null, new byte[] {1}));
        producer.flush();
        return producer;
    }

    @Test
    void missing_and_invalid_policies_are_reported() throws Exception {
        assertThat(only(doctor.found(0, ""), "policies", "in force"))
                .isEqualTo(new Found(
                        "policies",
                        "in force",
                        "WARN",
                        "there are no policies: every request is allowed",
                        List.of("weir policies apply rules.yaml")));
        Path rules = Files.writeString(directory.resolve("rules.yaml"), RULES);
        assertThat(Shell.run("policies", "apply", "-c", doctor.file(""), rules.toString())
                        .exit())
                .isZero();
        write(name + ".policies", 0, "policy/free", "no policy", null);
        List<Found> broken = of(doctor.found(0, ""), "policies", "in force");
        assertThat(broken.get(0).verdict()).isEqualTo("WARN");
        assertThat(broken.get(0).found())
                .startsWith("policy/free: its last record is invalid (")
                .endsWith("; the definition before it stays in force");
        assertThat(broken.get(1).found()).isEqualTo("1 policy, 0 queues");
    }

    @Test
    void misplaced_requests_are_reported_with_the_fix() throws Exception {
        String requests = name + ".requests";
        int right = BuiltInPartitioner.partitionForKey(bytes("a"), 2);
        misplace(requests, right);
        misplace(requests, right);
        assertThat(placement("")).satisfies(one -> {
            assertThat(one.verdict()).isEqualTo("OK");
            assertThat(one.found()).isEqualTo("all of the last 2 requests are in the partition of their client");
        });
        misplace(requests, 1 - right);
        assertThat(placement("")).satisfies(one -> {
            assertThat(one.verdict()).isEqualTo("WARN");
            assertThat(one.found())
                    .isEqualTo(
                            "1 of the last 3 requests are not in the partition of their client: the one at offset 0 of "
                                    + requests + "-" + (1 - right) + " belongs in partition " + right
                                    + "; they are routed, which takes a second commit");
            assertThat(one.advice()).hasSize(2).first().asString().contains("partitioner=murmur2_random");
        });
        assertThat(placement("requests: {misplaced: dead-letter}\n")).satisfies(one -> {
            assertThat(one.verdict()).isEqualTo("FAIL");
            assertThat(one.found()).endsWith("; they are dead letters (requests.misplaced)");
        });
    }

    /** Returns the finding of the check {@code placement}; other checks may fail. */
    private Found placement(String yaml) throws IOException {
        List<String> all = new ArrayList<>(List.of(doctor.args(yaml)));
        all.addAll(List.of("-o", "json"));
        return only(findings(Shell.run(all.toArray(String[]::new))), "application", "placement");
    }

    /** Writes a request of client {@code a} without a key. */
    private static void misplace(String topic, int partition) throws Exception {
        Request request = Request.builder("r", "a").build();
        try (KafkaProducer<byte[], byte[]> producer = producer(Map.of())) {
            producer.send(new ProducerRecord<>(topic, partition, null, new RequestCodec().encode(request)))
                    .get();
        }
    }

    @Test
    void records_deleted_unread_and_clocks_ahead_are_reported() throws Exception {
        String requests = name + ".requests";
        write(requests, 1, "a", "one", null);
        write(requests, 1, "a", "two", null);
        TopicPartition partition = new TopicPartition(requests, 1);
        admin.alterConsumerGroupOffsets(name, Map.of(partition, new OffsetAndMetadata(0)))
                .all()
                .get();
        admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(2)))
                .all()
                .get();
        set(name + ".decisions", "message.timestamp.type", "CreateTime");
        write(name + ".decisions", 0, "a", "b", System.currentTimeMillis() + 600_000);
        List<Found> found = doctor.found(1, "");
        assertThat(only(found, "application", "offsets")).satisfies(one -> {
            assertThat(one.verdict()).isEqualTo("FAIL");
            assertThat(one.found()).startsWith(partition + ": offsets 0 to 1 were deleted before they were read");
            assertThat(one.advice().get(1)).contains("--entity-name " + requests + " --add-config retention.ms=");
        });
        assertThat(only(found, "clocks", "brokers")).satisfies(one -> {
            assertThat(one.verdict()).isEqualTo("WARN");
            assertThat(one.found())
                    .matches("the broker of the newest decision is 9m( [0-9]+s)? ahead of this machine.*");
        });
    }

    @Test
    void each_unreachable_broker_is_reported() throws Exception {
        String nobody = "127.0.0.1:1";
        assertThat(of(doctor.found(0, "", "-b", nobody + "," + broker.bootstrapServers()), "brokers", "reachable"))
                .extracting(Found::verdict)
                .containsExactly("WARN", "OK");
        List<Found> none = doctor.found(1, "", "-b", nobody + ",no-such-host.invalid:9092");
        assertThat(of(none, "brokers", "reachable"))
                .extracting(Found::found)
                .containsExactly(nobody + ": connection refused", "no-such-host.invalid:9092: unknown host");
        assertThat(none.get(none.size() - 1).verdict()).isEqualTo("SKIP");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            main.consumer.session.timeout.ms: 400      | settings      | FAIL | group.min.session.timeout.ms is 500, should be 400
            session.timeout.ms: 2000000                | settings      | FAIL | group.max.session.timeout.ms is 1800000, should be 2000000
            producer.transaction.timeout.ms: 1000000   | settings      | FAIL | transaction.max.timeout.ms is 900000, should be 1000000
            processing.guarantee: at_least_once        | configuration | WARN | after a crash, requests may be charged twice
            producer.transaction.timeout.ms: 5000      | configuration | WARN | transaction.timeout.ms is 5000, session.timeout.ms 6000
            linger.mss: 5                              | configuration | WARN | kafka.linger.mss is not a property
            """)
    void unsuitable_kafka_settings_are_reported(String kafka, String check, String verdict, String reported)
            throws Exception {
        assertThat(doctor.found(verdict.equals("FAIL") ? 1 : 0, "  " + kafka + "\n").stream()
                        .filter(one -> one.check().equals(check)))
                .filteredOn(one -> one.verdict().equals(verdict))
                .anySatisfy(one -> {
                    assertThat(one.found()).contains(reported);
                    assertThat(one.advice()).hasSize(1);
                });
    }

    /** Waits until all checks pass: positions are committed, and partitions assigned, a moment after the decision. */
    private void awaitWell(String yaml, String... options) throws Exception {
        await("all checks pass", PATIENCE, () -> Shell.run(doctor.args(yaml, options))
                .out()
                .endsWith(" OK, 0 WARN, 0 FAIL, 0 SKIP\n"));
    }

    private static void set(String topic, String setting, String value) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        admin.incrementalAlterConfigs(Map.of(
                        resource,
                        List.of(new AlterConfigOp(new ConfigEntry(setting, value), AlterConfigOp.OpType.SET))))
                .all()
                .get();
        awaitSet(topic, setting, value);
    }

    /** Runs a command by the class that Kafka's script starts. */
    private static void type(String command) {
        String[] words = command.split(" ", -1);
        assertThat(words[0]).isEqualTo("kafka-configs.sh");
        ConfigCommand.main(Arrays.copyOfRange(words, 1, words.length));
    }

    private static void awaitSet(String topic, String setting, String value) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        await(topic + " has " + setting + "=" + value, PATIENCE, () -> admin.describeConfigs(List.of(resource))
                .all()
                .get()
                .get(resource)
                .get(setting)
                .value()
                .equals(value));
    }

    private static int partitions(String topic) throws Exception {
        try {
            return admin.describeTopics(List.of(topic))
                    .allTopicNames()
                    .get()
                    .get(topic)
                    .partitions()
                    .size();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof UnknownTopicOrPartitionException) {
                return 0;
            }
            throw e;
        }
    }

    private static void write(String topic, int partition, String key, String value, Long timestamp) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer(Map.of())) {
            producer.send(new ProducerRecord<>(topic, partition, timestamp, bytes(key), bytes(value)))
                    .get();
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static KafkaProducer<byte[], byte[]> producer(Map<String, String> settings) {
        Properties all = new Properties();
        all.put("bootstrap.servers", broker.bootstrapServers());
        all.putAll(settings);
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }
}
