package dev.weir.cli;

import static dev.weir.testing.Await.await;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.audit.Audit;
import dev.weir.audit.finding.AuditRange;
import dev.weir.audit.finding.AuditSummary;
import dev.weir.audit.finding.Mismatch;
import dev.weir.audit.finding.UnverifiedReason;
import dev.weir.client.ClientBuilder;
import dev.weir.client.RequestBuilder;
import dev.weir.client.WeirClient;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Decision;
import dev.weir.event.LeaseUsage;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.failure.check.Evidence;
import dev.weir.failure.check.Oracle;
import dev.weir.failure.load.FailurePolicies;
import dev.weir.failure.load.TraceWorkload;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.UnreachableException;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.RequestSender;
import dev.weir.topics.RecordReader;
import dev.weir.topics.TopicReader;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.DeadLetterHeaders;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.LeaseUsageAvro;
import dev.weir.wire.ReleaseCodec;
import dev.weir.wire.json.DecisionJson;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Audits a real run, with every algorithm, queues, policy changes that take effect at once and bad records; and
 * forged copies of the run.
 */
@Tag("full")
class AuditTest {

    private static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final DecisionCodec AVRO = new DecisionCodec();
    private static final LeaseUsageAvro USAGE = new LeaseUsageAvro(Optional.empty());
    private static final int PARTITIONS = 2;
    private static final int ROUNDS = 8;
    private static final int A_ROUND = 500;

    private static final int SHARED_ROUNDS = 6;
    private static final int A_SHARED_ROUND = 200;
    private static final int SHARED_LIMIT = 300;
    private static final String SHARED_RULES = """
            policies:
              - id: own
                match: {endpoint: [/a, /b, /c]}
                limits: [{algorithm: sliding-window-log, limit: 8, per: 1s}]
              - id: all
                layer: shared
                match: {endpoint: [/a, /o]}
                key: []
                max-wait: 2s
                limits: [{algorithm: sliding-window-log, limit: 300, per: 1h}]
              - id: step
                layer: shared
                match: {endpoint: /b}
                key: [endpoint]
                limits:
                  - {algorithm: token-bucket, limit: 20, per: 1s, burst: 30}
                  - {algorithm: sliding-window-counter, limit: 40, per: 2s}
                idempotency: 10m
            """;
    private static final String SHARED_CHANGES = """
            policies:
              - id: own
                match: {endpoint: [/a, /b, /c]}
                limits: [{algorithm: sliding-window-log, limit: 9, per: 1s}]
              - id: step
                layer: shared
                match: {endpoint: /b}
                key: [endpoint]
                limits: [{algorithm: gcra, limit: 10, per: 1s, burst: 15}]
                idempotency: 10m
            """;
    private static final int LEASED_LIMIT = 300;
    private static final String LEASED_RULES = """
            policies:
              - id: lent
                match: {endpoint: /a}
                key: []
                lease: client
                max-wait: 1m
                limits: [{algorithm: sliding-window-log, limit: 300, per: 1h}]
              - id: mail
                match: {endpoint: /mail}
                limits: [{algorithm: token-bucket, limit: 1, per: 1h}]
                on-exceed: shape
                queue: mail
            queues:
              - {id: mail, limit: 20, per: 1s, capacity: 60, max-wait: 2s}
            """;
    private static final AuditRange ALL = new AuditRange(null, null, Duration.ofSeconds(30));

    private static final Map<TopicPartition, List<Copied>> RECORDS = new HashMap<>();

    private static EmbeddedBroker broker;
    private static WeirConfig config;
    private static WeirConfig sharing;
    private static WeirConfig leasing;
    private static int onTopic;
    private static int byClient;
    private static Instant middle;

    @TempDir
    static Path directory;

    /** A record to be copied. */
    @SuppressWarnings("ArrayRecordComponent") // carried, never compared
    private record Copied(ConsumerRecord<byte[], byte[]> from, byte[] value) {
        Decision decision() {
            try {
                return AVRO.decode(value);
            } catch (UnreadableException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    @BeforeAll
    static void run() throws Exception {
        broker = EmbeddedBroker.start();
        config = config("weir.");
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        apply(FailurePolicies.INITIAL);
        FailurePolicies changes = new FailurePolicies(1);
        TraceWorkload workload = new TraceWorkload(1, System::currentTimeMillis);
        try (Enforcer enforcer = Enforcer.start(config);
                RequestSender sender = new RequestSender(config)) {
            enforcer.awaitRunning(PATIENCE);
            for (int round = 0; round < ROUNDS; round++) {
                for (int i = 0; i < A_ROUND; i++) {
                    sender.send(workload.next());
                    if (i == A_ROUND / 2) { // in the middle of the round
                        apply(changes.next(0));
                    }
                }
                bad("client-1", new byte[] {1, 2, 3});
                bad(null, null);
                if (round == ROUNDS / 2) {
                    sender.flush();
                    awaitAnswers(config, (round + 1) * A_ROUND * 99 / 100); // dead letters have their own times
                    middle = Instant.now();
                }
            }
            sender.flush();
            assertThat(Oracle.isSettled(Evidence.readSettled(config, PATIENCE))).isTrue();
        }
        runShared();
        runLeased();
    }

    /**
     * Runs requests for shared quota, some of which wait for it, among other requests of the same
     * clients; then policies change.
     */
    private static void runShared() throws Exception {
        sharing = config("weir-shared", "shared.");
        try (Admin admin = Admin.create(KafkaSettings.admin(sharing))) {
            TopicSetup.createMissing(admin, sharing, TopicSetup.RequestTime.LOG_APPEND);
        }
        apply(sharing, SHARED_RULES);
        Random random = new Random(1);
        try (Enforcer enforcer = Enforcer.start(sharing);
                RequestSender sender = new RequestSender(sharing)) {
            enforcer.awaitRunning(PATIENCE);
            for (int round = 0; round < SHARED_ROUNDS; round++) {
                for (int i = 0; i < A_SHARED_ROUND; i++) {
                    sender.send(sharedRequest(random, round * A_SHARED_ROUND + i));
                }
                sender.flush();
                awaitAnswers(sharing, (round + 1) * A_SHARED_ROUND);
                if (round == SHARED_ROUNDS - 2) {
                    apply(sharing, SHARED_CHANGES);
                }
            }
        }
    }

    /**
     * Runs a request that waits for shared quota, while another one of its client is sent to a queue; then requests
     * over the topic and by a client that holds leases.
     */
    @SuppressWarnings("try") // the enforcer only has to run
    private static void runLeased() throws Exception {
        leasing = config("weir-leased", "leased.");
        try (Admin admin = Admin.create(KafkaSettings.admin(leasing))) {
            TopicSetup.createMissing(admin, leasing, TopicSetup.RequestTime.LOG_APPEND);
        }
        apply(leasing, LEASED_RULES);
        try (RequestSender sender = new RequestSender(leasing)) { // all before an enforcer runs
            for (String endpoint : List.of("/a", "/mail", "/mail")) {
                sender.send(leasedRequest(endpoint));
            }
        }
        try (Enforcer enforcer = Enforcer.start(leasing)) {
            enforcer.awaitRunning(PATIENCE);
            awaitAnswers(leasing, 3);
            try (WeirClient over = client().start();
                    WeirClient by = client().leased(true).start()) {
                onTopic = 1 + countAllowed(over, 20);
                byClient = countAllowed(by, 200);
                assertThat(by.stats().decided().here()).isGreaterThanOrEqualTo(byClient);
            }
        }
    }

    private static ClientBuilder client() {
        return WeirClient.builder(leasing.kafka())
                .prefix("leased.")
                .applicationId(leasing.applicationId())
                .timeout(PATIENCE);
    }

    /** Sends {@code requests} requests. Returns how many are allowed. */
    private static int countAllowed(WeirClient client, int requests) {
        int allowed = 0;
        for (int i = 0; i < requests; i++) {
            Decision decision =
                    client.decide(leasedRequest("/a")).join().decision().orElseThrow();
            allowed += decision.outcome() == Outcome.ALLOWED ? 1 : 0;
        }
        return allowed;
    }

    private static Request leasedRequest(String endpoint) {
        return RequestBuilder.of("alice").attribute("endpoint", endpoint).build();
    }

    /** Returns a request whose id starts with its endpoint. */
    private static Request sharedRequest(Random random, int number) {
        String endpoint = List.of("a", "a", "b", "c", "c", "o").get(random.nextInt(6));
        int draw = endpoint.equals("b") ? random.nextInt(10) : 9;
        RequestKind kind = draw == 0 ? RequestKind.PEEK : draw == 1 ? RequestKind.SETTLE : RequestKind.CONSUME;
        boolean isAgain = endpoint.equals("b") && draw > 6;
        return Request.builder(
                        endpoint + (isAgain ? number / 50 : number), "client-" + (isAgain ? 1 : random.nextInt(20)))
                .kind(kind)
                .cost(kind == RequestKind.SETTLE ? random.nextInt(7) - 3 : 1)
                .attributes(Map.of("endpoint", "/" + endpoint))
                .timestampMs(System.currentTimeMillis())
                .source(0, 0)
                .build();
    }

    private static WeirConfig config(String prefix) {
        return config("weir", prefix);
    }

    private static WeirConfig config(String applicationId, String prefix) {
        return WeirConfig.builder()
                .applicationId(applicationId)
                .threads(1)
                .topics(prefix, PARTITIONS)
                .kafka("bootstrap.servers", broker.bootstrapServers())
                .stateDirectory(directory.resolve("state"))
                .build();
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    @Test
    void recomputed_decisions_equal_the_recorded_ones() throws Exception {
        CapturedRun result = audit("-o", "json");
        assertThat(result.err()).isEmpty();
        JsonNode counts = document(result);
        assertThat(counts.get("mismatches").asLong()).isZero();
        assertThat(result.exit()).isZero();
        assertThat(counts.get("requests").asLong()).isEqualTo(ROUNDS * (A_ROUND + 2));
        assertThat(counts.get("deadLetters").asLong()).isGreaterThan(2 * ROUNDS);
        assertThat(counts.get("equal").asLong()).isGreaterThan(ROUNDS * A_ROUND / 2);
        assertThat(counts.get("sentToQueue").asLong()).isPositive();
    }

    @Test
    void a_range_is_judged_with_the_usage_before_it() throws Exception {
        JsonNode late = document(audit("-o", "json", "--from", middle.toString()));
        JsonNode early = document(audit("-o", "json", "--to", middle.toString()));
        for (JsonNode counts : List.of(early, late)) {
            assertThat(counts.get("mismatches").asLong()).isZero();
            assertThat(counts.get("equal").asLong()).isPositive();
            assertThat(counts.get("notJudged").has("RELEASE_UNMATCHED")).isFalse();
        }
        assertThat(early.get("requests").asLong() + late.get("requests").asLong())
                .isEqualTo(ROUNDS * (A_ROUND + 2));
    }

    @Test
    void a_table_shows_the_counts() {
        CapturedRun result = audit();
        assertThat(result.exit()).isZero();
        assertThat(result.out().lines())
                .anyMatch(line -> line.matches(" +4,016  requests"))
                .anyMatch(line -> line.matches(" +0  mismatches"));
    }

    @Test
    void each_forged_record_is_found_with_its_position() throws Exception {
        List<Copied> decisions = read("weir.decisions", 0);
        List<Integer> plain = new ArrayList<>(); // early, before policies changed
        for (int i = 0; i < decisions.size() && plain.size() < 12; i++) {
            if (isPlain(decisions.get(i).decision())) {
                plain.add(i);
            }
        }
        Map<Integer, List<byte[]>> instead = new HashMap<>();
        List<String> expected = new ArrayList<>();
        Forger forger = (index, kind, forged) -> {
            Copied copied = decisions.get(plain.get(index));
            instead.put(plain.get(index), List.of(forged));
            expected.add(kind + " " + copied.decision().source().offset());
        };
        forger.forge(3, "DIFFERS", encoded(decisions, plain.get(3), json -> json.put("outcome", "DENIED")));
        forger.forge(4, "DIFFERS", encoded(decisions, plain.get(4), json -> json.put("remaining", 0)));
        forger.forge(5, "DIFFERS", encoded(decisions, plain.get(5), json -> json.put("policyVersion", 77)));
        forger.forge(6, "UNDECIDED");
        byte[] same = decisions.get(plain.get(7)).value();
        forger.forge(7, "SECOND", same, same);
        byte[] beyond = encoded(decisions, plain.get(8), json -> json.put("sourceOffset", 1_000_000));
        byte[] elsewhere = encoded(decisions, plain.get(8), json -> json.put("sourcePartition", 7));
        instead.put(plain.get(8), List.of(decisions.get(plain.get(8)).value(), beyond, elsewhere, new byte[] {1}));
        expected.add("NO_REQUEST 1000000");
        expected.add(
                "NO_REQUEST " + decisions.get(plain.get(8)).decision().source().offset());
        expected.add("UNREADABLE null");
        expected.add("DIFFERS null");
        Copied letter = read("weir.dead-letters", 0).get(0);
        expected.add("DEAD_LETTER " + header(letter, DeadLetterHeaders.OFFSET));
        expected.add("WRONG_QUEUE_EXITS null");

        copy("forged.", (topic, partition, index) -> switch (topic + partition) {
            case "decisions0" -> instead.get(index);
            case "dead-letters0" -> index == 0 ? List.of() : null;
            case "releases0" ->
                index == 0 ? twice(read("weir.releases", 0).get(0).value()) : null;
            default -> null;
        });
        long usedMs = decisions.get(plain.get(9)).from.timestamp();
        send("forged.lease-usage", 0, usedMs, usage("p", 5, usedMs));
        CapturedRun result = audit("-o", "json", "-c", configFile("forged."));
        assertThat(result.err()).isEmpty();
        assertThat(result.exit()).isEqualTo(1);
        JsonNode counts = document(result);
        JsonNode found = counts.get("firstMismatches");
        assertThat(found)
                .extracting(line -> line.get("mismatch").asText() + " "
                        + line.path("sourceOffset").asText("null"))
                .containsExactlyInAnyOrderElementsOf(expected);
        assertThat(counts.get("mismatches").asInt()).isEqualTo(expected.size());
        JsonNode outcome = StreamSupport.stream(found.spliterator(), false)
                .filter(line -> line.get("fields").has("outcome"))
                .findFirst()
                .orElseThrow();
        assertThat(outcome.get("fields"))
                .hasToString("{\"outcome\":{\"recorded\":\"DENIED\",\"expected\":\"ALLOWED\"}}");
        Decision denied = decisions.get(plain.get(3)).decision();
        assertThat(outcome.get("client").asText()).isEqualTo(denied.client());
        assertThat(outcome.get("requestId").asText()).isEqualTo(denied.requestId());
        assertThat(outcome.get("topic").asText()).isEqualTo("decisions");
        Copied reported = read("forged.decisions", 0).get(outcome.get("offset").asInt());
        assertThat(reported.decision().source()).isEqualTo(denied.source());

        assertThat(audit("-c", configFile("forged."), "--from", middle.toString())
                        .exit())
                .isZero();
        JsonNode early = document(audit("-o", "json", "-c", configFile("forged."), "--to", middle.toString()));
        assertThat(early.get("mismatches").asInt()).isEqualTo(expected.size() - 1); // not WRONG_QUEUE_EXITS
        assertThat(early.get("notJudged").get("RELEASE_UNMATCHED").asInt()).isEqualTo(1);

        CapturedRun few = audit("-c", configFile("forged."), "--max-mismatches", "2");
        assertThat(few.exit()).isEqualTo(1);
        assertThat(few.out()).contains("… and " + (expected.size() - 2) + " more");
    }

    @Test
    void decisions_that_depend_on_deleted_requests_are_not_judged() throws Exception {
        copy("late.", (topic, partition, index) -> null);
        delete("late.requests", 0, 300);
        delete("late.requests", 1, 300);
        CapturedRun result = audit("-o", "json", "-c", configFile("late."));
        JsonNode counts = document(result);
        assertThat(counts.get("mismatches").asLong()).isZero();
        assertThat(result.exit()).isZero();
        assertThat(counts.get("requests").asLong()).isEqualTo(ROUNDS * (A_ROUND + 2) - 600);
        assertThat(counts.get("notJudged").get("BEFORE_RETENTION").asLong()).isPositive();
    }

    @Test
    void a_release_of_a_deleted_request_does_not_end_a_later_wait_of_its_id() throws Exception {
        Decision end = read("weir.decisions", 0).stream()
                .map(Copied::decision)
                .filter(decision -> decision.queueing() != null && decision.endsWait())
                .filter(decision -> decision.source().offset() >= 300)
                .findFirst()
                .orElseThrow();
        byte[] old = new ReleaseCodec()
                .encode(Release.builder(
                                end.requestId(), end.client(), end.queueing().queue())
                        .build());
        copy(
                "reused.",
                (topic, partition, index) -> (topic + partition).equals("releases0") && index == 0
                        ? List.of(old, read("weir.releases", 0).get(0).value())
                        : null);
        delete("reused.requests", 0, 300);
        JsonNode counts = document(audit("-o", "json", "-c", configFile("reused.")));
        assertThat(counts.get("mismatches").asInt()).isZero();
        assertThat(counts.get("notJudged").get("RELEASE_UNMATCHED").asInt()).isPositive();
    }

    @Test
    void records_deleted_during_an_audit_are_no_mismatch() throws Exception {
        copy(
                "passing.",
                (topic, partition, index) ->
                        (topic + partition).equals("decisions0") && index == 0 ? List.of(new byte[] {1}) : null);
        WeirConfig passing = config("passing.");
        AuditRange all = new AuditRange(null, null, Duration.ofSeconds(30));
        List<Mismatch.Kind> found = new ArrayList<>();
        AuditSummary totals = Audit.run(
                passing,
                all,
                mismatch -> { // of partition 0, before partition 1 is read
                    found.add(mismatch.kind());
                    delete("passing.requests", 1, 300);
                });
        assertThat(found).containsExactlyInAnyOrder(Mismatch.Kind.UNREADABLE, Mismatch.Kind.UNDECIDED);
        assertThat(totals.unverified().get(UnverifiedReason.BEFORE_RETENTION)).isPositive();

        assertThatThrownBy(() -> Audit.run(passing, all, mismatch -> delete("passing.releases", 0, 1)))
                .isInstanceOf(UnreachableException.class)
                .hasMessage("the beginning of the topic passing.releases was deleted while it was read; try again");
    }

    @Test
    void a_dead_letter_that_may_have_been_deleted_is_not_missing() throws Exception {
        List<Copied> letters = read("weir.dead-letters", 0);
        int missing = letters.size() * 3 / 4;
        int left = letters.size() / 2;
        copy(
                "unlettered.",
                (topic, partition, index) ->
                        (topic + partition).equals("dead-letters0") && index == missing ? List.of() : null);
        ConsumerRecord<byte[], byte[]> first = letters.get(0).from;
        send("unlettered.dead-letters", 1, first, letterHeaders(first, "unlettered."));
        delete("unlettered.dead-letters", 0, left);
        CapturedRun result = audit("-o", "json", "-c", configFile("unlettered."));
        JsonNode counts = document(result);
        assertThat(counts.get("mismatchesByKind")).hasToString("{\"DEAD_LETTER\":1}");
        assertThat(counts.get("firstMismatches").get(0).get("sourceOffset").asText())
                .isEqualTo(header(letters.get(missing), DeadLetterHeaders.OFFSET));
        assertThat(counts.get("notJudged").get("NOT_RETAINED").asInt()).isEqualTo(left - 1);
    }

    @Test
    void a_dead_letter_without_a_request_is_reported_if_its_time_is_in_the_range() throws Exception {
        copy("stray.", (topic, partition, index) -> null);
        ConsumerRecord<byte[], byte[]> early = read("weir.dead-letters", 0).get(0).from;
        for (List<String> place :
                List.of(List.of("7", "0"), List.of("4294967296", "0"), List.of("0", "1000000"), List.of("0", "none"))) {
            Headers headers = letterHeaders(early, "stray.");
            headers.remove(DeadLetterHeaders.PARTITION).remove(DeadLetterHeaders.OFFSET);
            headers.add(DeadLetterHeaders.PARTITION, place.get(0).getBytes(UTF_8));
            headers.add(DeadLetterHeaders.OFFSET, place.get(1).getBytes(UTF_8));
            send("stray.dead-letters", 0, early, headers);
        }
        JsonNode found = document(audit("-o", "json", "-c", configFile("stray.")));
        assertThat(found.get("mismatchesByKind")).hasToString("{\"NO_REQUEST\":4}");
        assertThat(found.get("firstMismatches"))
                .extracting(line -> line.get("sourcePartition") + " " + line.get("sourceOffset"))
                .containsExactlyInAnyOrder("7 0", "-1 0", "0 1000000", "0 -1");
        assertThat(audit("-c", configFile("stray."), "--to", middle.toString()).exit())
                .isEqualTo(1);
        assertThat(audit("-c", configFile("stray."), "--from", middle.toString())
                        .exit())
                .isZero();
    }

    @Test
    void a_failed_audit_prints_one_line_and_exits_with_2() throws Exception {
        assertThat(audit("-c", configFile("nowhere.")))
                .isEqualTo(new CapturedRun(
                        2, "", "weir audit: topic nowhere.decisions does not exist; `weir run` creates it\n"));
        assertThat(audit("--from", "yesterday").exit()).isEqualTo(2);
        assertThat(audit("--from", "2026-11-21T00:00:00Z", "--to", "2026-11-20T00:00:00Z")
                        .exit())
                .isEqualTo(2);
    }

    @Test
    void a_missing_field_or_reason_is_a_mismatch() throws Exception {
        List<Copied> decisions = read("weir.decisions", 0);
        int plain = IntStream.range(0, decisions.size())
                .filter(index -> isPlain(decisions.get(index).decision()))
                .skip(3) // earlier ones show which policies were in force
                .findFirst()
                .orElseThrow();
        copy("lacking.", (topic, partition, index) -> switch (topic + partition) {
            case "decisions0" ->
                index == plain ? List.of(encoded(decisions, plain, json -> json.putNull("policyVersion"))) : null;
            case "dead-letters0" -> index == 0 ? List.of() : null;
            default -> null;
        });
        Copied letter = read("weir.dead-letters", 0).get(0);
        Headers noReason = letterHeaders(letter.from, "lacking.");
        noReason.remove(DeadLetterHeaders.REASON);
        send("lacking.dead-letters", 0, letter.from, noReason);
        CapturedRun result = audit("-o", "json", "-c", configFile("lacking."));
        assertThat(result.err()).isEmpty();
        assertThat(result.exit()).isEqualTo(1);
        assertThat(result.out()).contains("its reason is null");
        assertThat(document(result).get("mismatchesByKind")).hasToString("{\"DIFFERS\":1,\"DEAD_LETTER\":1}");
    }

    @Test
    void shared_limits_are_judged_by_totals_and_others_recomputed() throws Exception {
        List<Mismatch> found = new ArrayList<>();
        AuditSummary totals = Audit.run(sharing, ALL, found::add);
        assertThat(found).isEmpty();
        assertThat(totals.requests()).isEqualTo(SHARED_ROUNDS * A_SHARED_ROUND);
        assertThat(totals.summed()).isPositive();
        assertThat(totals.unverified().keySet()).isSubsetOf(UnverifiedReason.LIMIT_CHANGED);
        assertThat(totals.equal()).isGreaterThan(totals.requests() / 2);
        assertThat(sharedDecisions().stream().filter(one -> isShared(one) && one.outcome() == Outcome.DENIED))
                .isNotEmpty();
        assertThat(overtaken(0) + overtaken(1)).isPositive();
    }

    @Test
    void the_usage_of_leased_clients_is_in_the_totals() throws Exception {
        List<Mismatch> found = new ArrayList<>();
        AuditSummary totals = Audit.run(leasing, ALL, found::add);
        assertThat(found).isEmpty();
        assertThat(totals.reportedByClients()).isEqualTo(byClient).isPositive();
        assertThat(totals.summed()).isEqualTo(onTopic + byClient);
        assertThat(totals.decisions()).isEqualTo(totals.requests());
    }

    @Test
    void a_request_sent_to_a_queue_while_another_waits_for_quota_is_judged() throws Exception {
        AuditSummary totals = Audit.run(leasing, ALL, mismatch -> {});
        assertThat(totals.sentToQueue()).isPositive();
        assertThat(totals.unverified().keySet()).isSubsetOf(UnverifiedReason.LIMIT_CHANGED);
    }

    @Test
    void excess_usage_by_a_leased_client_is_found_with_its_position() throws Exception {
        long atMs = 1;
        for (int partition = 0; partition < PARTITIONS; partition++) {
            for (Copied record : read("leased.decisions", partition)) {
                atMs = Math.max(atMs, 1 + record.decision().decidedAtMs());
            }
            for (Copied record : read("leased.lease-usage", partition)) {
                atMs = Math.max(atMs, 1 + USAGE.decode(record.value()).untilMs());
            }
        }
        int left = LEASED_LIMIT - onTopic - byClient;
        assertThat(left).isPositive();
        for (int more : List.of(left, left + 1)) {
            String prefix = more + "-more.";
            copy("leased.", prefix, (topic, partition, index) -> null);
            send(prefix + "lease-usage", 0, atMs, usage("lent", more, atMs));
            CapturedRun result = audit("-o", "json", "-c", configFile(prefix));
            JsonNode counts = document(result);
            assertThat(counts.get("reportedByClients").asInt()).isEqualTo(byClient + more);
            assertThat(counts.get("mismatches").asInt()).isEqualTo(more - left);
        }
        int last = read(left + 1 + "-more.lease-usage", 0).size() - 1;
        CapturedRun above = audit("-c", configFile(left + 1 + "-more."));
        assertThat(above.exit()).isEqualTo(1);
        assertThat(above.out())
                .startsWith("lease usage 0@" + last + ": exceeds a shared limit"
                        + " (policy lent: 301 of 300 by sliding-window-log 300/1h at ")
                .contains("  reported by leased clients\n");
    }

    /** Returns how many requests were decided after a later one of their partition. */
    private static int overtaken(int partition) {
        long furthest = -1;
        int overtaken = 0;
        for (Copied record : read("shared.decisions", partition)) {
            long offset = record.decision().source().offset();
            overtaken += offset < furthest ? 1 : 0;
            furthest = Math.max(furthest, offset);
        }
        return overtaken;
    }

    @Test
    void excess_usage_of_a_shared_limit_is_found_with_its_position() throws Exception {
        List<Decision> all = sharedDecisions();
        long allowed = all.stream()
                .filter(one -> one.outcome() == Outcome.ALLOWED && isOfAll(one))
                .count();
        List<Request.Source> denied = all.stream()
                .filter(one ->
                        one.outcome() == Outcome.DENIED && one.requestId().startsWith("o"))
                .map(Decision::source)
                .toList();
        int left = (int) (SHARED_LIMIT - allowed);
        assertThat(denied).hasSizeGreaterThan(left);

        assertThat(auditShared("full.", denied.subList(0, left), AuditTest::allowed))
                .isEmpty();
        List<Mismatch> found = auditShared("above.", denied.subList(0, left + 1), AuditTest::allowed);
        assertThat(found).singleElement().satisfies(mismatch -> {
            assertThat(mismatch.kind()).isEqualTo(Mismatch.Kind.ABOVE_SHARED_LIMIT);
            assertThat(mismatch.note()).startsWith("policy all: 301 of 300 by sliding-window-log 300/1h at ");
            Mismatch.RecordPosition place = mismatch.answer();
            Decision last = read("above.decisions", place.partition())
                    .get((int) place.offset())
                    .decision();
            assertThat(last.source()).isEqualTo(mismatch.request());
            assertThat(isOfAll(last)).isTrue();
        });
    }

    @Test
    void a_limit_beside_a_shared_one_is_recomputed() throws Exception {
        List<Decision> all = sharedDecisions();
        for (Outcome outcome : List.of(Outcome.ALLOWED, Outcome.DENIED)) {
            Decision any = all.stream()
                    .filter(one -> one.outcome() == outcome
                            && one.requestId().startsWith("a")
                            && "own".equals(one.policyId())
                            && one.policyVersion() == 1)
                    .findFirst()
                    .orElseThrow();
            List<Mismatch> found = auditShared(
                    outcome + ".",
                    List.of(any.source()),
                    one -> outcome == Outcome.DENIED
                            ? allowed(one)
                            : with(one, Outcome.DENIED, Reason.LIMIT_EXCEEDED, 1_000, 429));
            assertThat(found).isNotEmpty();
            assertThat(found.get(0).kind()).isEqualTo(Mismatch.Kind.DIFFERS);
            assertThat(found.get(0).request()).isEqualTo(any.source());
            assertThat(found.get(0).fields())
                    .extracting(Mismatch.FieldMismatch::name)
                    .contains("outcome");
        }
    }

    /** Returns whether the policy {@code all} applies, by the endpoint in the request id. */
    private static boolean isOfAll(Decision decision) {
        return decision.requestId().startsWith("a") || decision.requestId().startsWith("o");
    }

    private static boolean isShared(Decision decision) {
        return "all".equals(decision.policyId()) || "step".equals(decision.policyId());
    }

    private static List<Decision> sharedDecisions() {
        return IntStream.range(0, PARTITIONS)
                .boxed()
                .flatMap(partition -> read("shared.decisions", partition).stream())
                .map(Copied::decision)
                .toList();
    }

    private static Decision allowed(Decision decision) {
        return with(decision, Outcome.ALLOWED, Reason.WITHIN_LIMITS, 0, 200);
    }

    private static Decision with(Decision decision, Outcome outcome, Reason reason, long retryAfterMs, int httpStatus) {
        Decision.Status status = new Decision.Status(
                outcome, reason, httpStatus, decision.observed(), decision.shadowBanned(), decision.repeated());
        return decision.withStatus(status).withRetryAfterMs(retryAfterMs);
    }

    /** Returns the mismatches of an audit in which these decisions are forged. */
    private static List<Mismatch> auditShared(String prefix, List<Request.Source> forged, UnaryOperator<Decision> forge)
            throws Exception {
        List<List<Copied>> decisions = List.of(read("shared.decisions", 0), read("shared.decisions", 1));
        copy("shared.", prefix, (topic, partition, index) -> {
            if (!topic.equals("decisions")) {
                return null;
            }
            Decision decision = decisions.get(partition).get(index).decision();
            return forged.contains(decision.source()) ? List.of(AVRO.encode(forge.apply(decision))) : null;
        });
        List<Mismatch> found = new ArrayList<>();
        AuditSummary unused = Audit.run(config(prefix), ALL, found::add);
        return found;
    }

    private interface Forger {
        void forge(int index, String kind, byte[]... forged);
    }

    private interface Tampering {
        /** Returns the values to write in place of a record, null to copy it. */
        List<byte[]> instead(String topic, int partition, int index) throws Exception;
    }

    private interface Edit {
        void edit(ObjectNode json);
    }

    private static boolean isPlain(Decision decision) {
        return decision.queueing() == null
                && decision.policyId() != null
                && decision.reason() == Reason.WITHIN_LIMITS
                && decision.remaining() != null
                && decision.remaining() > 0
                && !decision.repeated();
    }

    private static List<byte[]> twice(byte[] value) {
        return List.of(value, value);
    }

    /** Returns a decision with changed fields. */
    private static byte[] encoded(List<Copied> decisions, int index, Edit edit) throws Exception {
        Decision decision = decisions.get(index).decision();
        StringWriter line = new StringWriter();
        try (DecisionJson json = new DecisionJson(line)) {
            json.write(decision);
        }
        ObjectNode json = (ObjectNode) JSON.readTree(line.toString());
        edit.edit(json);
        Decision.Identity identity = new Decision.Identity(
                decision.requestId(),
                decision.client(),
                decision.tier(),
                new Request.Source(
                        json.get("sourcePartition").asInt(),
                        json.get("sourceOffset").asLong()));
        Decision.Status status = new Decision.Status(
                Outcome.valueOf(json.get("outcome").asText()),
                decision.reason(),
                decision.httpStatus(),
                decision.observed(),
                decision.shadowBanned(),
                decision.repeated());
        PolicyVersion policy =
                new PolicyVersion(decision.policyId(), json.get("policyVersion").asLong());
        LimitStatus limit = new LimitStatus(
                decision.limitedBy(),
                decision.limit(),
                decision.windowMs(),
                json.get("remaining").asLong(),
                decision.resetAfterMs());
        return AVRO.encode(new Decision(identity, status, decision.timing())
                .withLimit(policy, limit)
                .withLimits(decision.limits())
                .withContext(decision.context()));
    }

    /** Returns a usage report of a leased client, for a single time. */
    private static byte[] usage(String policy, long cost, long atMs) {
        return USAGE.encode(new LeaseUsage(
                new LeaseUsage.Origin("c-1", 1, 1),
                new PolicyVersion(policy, 1),
                Map.of(),
                new LeaseUsage.Amount(cost, cost, 0),
                atMs,
                atMs));
    }

    /** Copies committed records to topics with another prefix. The times and offsets of requests stay the same. */
    private static void copy(String prefix, Tampering tampering) throws Exception {
        copy("weir.", prefix, tampering);
    }

    private static void copy(String source, String prefix, Tampering tampering) throws Exception {
        try (Admin admin = Admin.create(KafkaSettings.admin(config));
                KafkaProducer<byte[], byte[]> producer = producer()) {
            for (String name : TopicSetup.names(config)) {
                String topic = name.substring("weir.".length());
                boolean isRead = !topic.equals("replies")
                        && !topic.startsWith("admissions.")
                        && !topic.startsWith("lease-requests.")
                        && !topic.startsWith("lease-responses.")
                        && !topic.startsWith("routed-requests.");
                int partitions = topic.startsWith("polic") ? 1 : PARTITIONS;
                admin.createTopics(List.of(new NewTopic(prefix + topic, partitions, (short) 1)))
                        .all()
                        .get();
                for (int partition = 0; partition < partitions; partition++) {
                    List<Copied> records = isRead ? read(source + topic, partition) : List.of();
                    for (int i = 0; i < records.size(); i++) {
                        Copied record = records.get(i);
                        List<byte[]> instead = tampering.instead(topic, partition, i);
                        for (byte[] value : instead == null ? Collections.singletonList(record.value) : instead) {
                            var unused = producer.send(new ProducerRecord<>(
                                    prefix + topic,
                                    partition,
                                    record.from.timestamp(),
                                    record.from.key(),
                                    value,
                                    letterHeaders(record.from, prefix)));
                        }
                    }
                }
            }
        }
    }

    private static void send(String topic, int partition, long timestampMs, byte[] value) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer()) {
            producer.send(new ProducerRecord<>(topic, partition, timestampMs, null, value))
                    .get();
        }
    }

    private static void send(String topic, int partition, ConsumerRecord<byte[], byte[]> record, Headers headers)
            throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer()) {
            producer.send(new ProducerRecord<>(
                            topic, partition, record.timestamp(), record.key(), record.value(), headers))
                    .get();
        }
    }

    private static void delete(String topic, int partition, long before) {
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            admin.deleteRecords(Map.of(new TopicPartition(topic, partition), RecordsToDelete.beforeOffset(before)))
                    .all()
                    .get();
        } catch (ExecutionException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String header(Copied record, String name) {
        return new String(record.from.headers().lastHeader(name).value(), UTF_8);
    }

    private static Headers letterHeaders(ConsumerRecord<byte[], byte[]> record, String prefix) {
        Headers headers = new RecordHeaders(record.headers().toArray());
        if (headers.lastHeader(DeadLetterHeaders.TOPIC) != null) {
            headers.remove(DeadLetterHeaders.TOPIC);
            headers.add(DeadLetterHeaders.TOPIC, (prefix + "requests").getBytes(UTF_8));
        }
        return headers;
    }

    /** Returns all records of a partition that is no longer written. */
    private static List<Copied> read(String topic, int partition) {
        return RECORDS.computeIfAbsent(new TopicPartition(topic, partition), from -> {
            List<Copied> records = new ArrayList<>();
            try (RecordReader reader =
                    new RecordReader(config, topic, RecordReader.Options.of(IsolationLevel.READ_COMMITTED, PATIENCE))) {
                List<TopicPartition> one = List.of(from);
                reader.read(
                        reader.beginning(one),
                        reader.end(one),
                        record -> records.add(new Copied(record, record.value())));
            }
            return List.copyOf(records);
        });
    }

    private static String configFile(String prefix) throws Exception {
        return Files.writeString(directory.resolve(prefix + "yaml"), "topics: {prefix: " + prefix + "}\n")
                .toString();
    }

    private static JsonNode document(CapturedRun result) throws Exception {
        return JSON.readTree(result.out());
    }

    private static CapturedRun audit(String... options) {
        List<String> args = new ArrayList<>(List.of("audit", "-b", broker.bootstrapServers()));
        args.addAll(List.of(options));
        return CapturedRun.of(Main::execute, args.toArray(String[]::new));
    }

    private static void awaitAnswers(WeirConfig of, int requests) {
        Set<Request.Source> answered = new HashSet<>();
        try (TopicReader<Decision> reader = TopicReader.decisions(of, TopicReader.From.BEGINNING, true)) {
            await(() -> answered.size() + " of " + requests + " decisions", PATIENCE, () -> {
                reader.poll(Duration.ofMillis(100), decision -> answered.add(decision.source()));
                return answered.size() >= requests;
            });
        }
    }

    private static void bad(String key, byte[] value) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer()) {
            producer.send(new ProducerRecord<>("weir.requests", key == null ? null : key.getBytes(UTF_8), value))
                    .get();
        }
    }

    private static KafkaProducer<byte[], byte[]> producer() {
        Properties settings = KafkaSettings.producer(config);
        // On a topic that has just been created, a second batch in flight may be appended before the first.
        settings.put(ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION, 1);
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static void apply(String yaml) throws Exception {
        apply(config, yaml);
    }

    private static void apply(WeirConfig to, String yaml) throws Exception {
        new PolicyTopic(to)
                .apply(PolicyFile.read("rules.yaml", yaml), PolicyTopic.Options.DEFAULTS, System.currentTimeMillis());
    }
}
