package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.weir.config.WeirConfig;
import dev.weir.config.WeirConfig.MisplacedAction;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.DecisionOrder;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.fault.FaultsException;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.Topics;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.wire.AdmissionAvro;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests the routing of misplaced requests. A test driver has partition 0 only. With four configured partitions, the
 * requests of clients that belong to other partitions are misplaced.
 */
class RoutingTest {

    private static final String POLICIES = """
            queues: [{id: q, limit: 1, per: 1s}]
            policies:
              - {id: p, limits: [{algorithm: fixed-window, limit: 2, per: 1h}]}
              - {id: shaped, priority: 1, match: {tier: slow}, on-exceed: shape, queue: q,
                 limits: [{algorithm: fixed-window, limit: 1, per: 1h}]}
            """;

    private static final String HERE = clients(true).findFirst().orElseThrow();
    private static final String ELSEWHERE = clients(false).findFirst().orElseThrow();
    private static final byte[] NO_KEY = null;

    @TempDir
    Path directory;

    private static Stream<String> clients(boolean here) {
        return IntStream.range(0, 100)
                .mapToObj(i -> "client" + i)
                .filter(client -> (BuiltInPartitioner.partitionForKey(bytes(client), 4) == 0) == here);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "another", "client"})
    void a_request_in_the_right_partition_is_decided_there_under_its_client_whatever_its_key(String key) {
        try (Weir weir = new Weir(4, MisplacedAction.ROUTE)) {
            weir.send(key.isEmpty() ? NO_KEY : bytes(key), request("r", HERE), new RecordHeaders(), 1_000);
            TestRecord<byte[], byte[]> decided = weir.decisions.readRecord();
            assertThat(decided.key()).isEqualTo(bytes(HERE));
            assertThat(decision(decided).source()).isEqualTo(new Request.Source(0, 0));
            assertThat(weir.routed.isEmpty()).isTrue();
            assertThat(weir.metrics.misplacedRequests()).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "another", "the client itself"})
    void a_misplaced_request_is_forwarded_unchanged_under_its_client(String key) {
        try (Weir weir = new Weir(4, MisplacedAction.ROUTE)) {
            weir.send(bytes("x"), request("first", HERE), new RecordHeaders(), 500);
            weir.decisions.readRecord();
            byte[] written = key.isEmpty() ? NO_KEY : bytes(key.equals("another") ? key : ELSEWHERE);
            Request request = request("r", ELSEWHERE);
            weir.send(written, request, new RecordHeaders().add("mine", bytes("1")), 1_000);
            TestRecord<byte[], byte[]> routed = weir.routed.readRecord();
            assertThat(routed.key()).isEqualTo(bytes(ELSEWHERE));
            assertThat(routed.value()).isEqualTo(new RequestCodec().encode(request));
            String origin = "weir.origin=0:1:1000"
                    + (written == NO_KEY ? "" : ":" + new String(written, StandardCharsets.UTF_8));
            assertThat(texts(routed.headers())).containsExactly("mine=1", origin);
            assertThat(weir.metrics.misplacedRequests()).isEqualTo(1);
            assertThat(weir.decisions.isEmpty()).isTrue();
        }
    }

    @Test
    void a_routed_request_is_decided_at_its_original_time_with_its_original_position_and_headers() {
        Headers headers = new RecordHeaders().add("mine", bytes("1")).add("weir.origin", bytes("3:17:1234"));
        try (Weir weir = new Weir(4, MisplacedAction.ROUTE)) {
            weir.apply(POLICIES);
            weir.route(bytes(HERE), request("r", HERE), headers, 9_999_999);
            TestRecord<byte[], byte[]> decided = weir.decisions.readRecord();
            assertThat(decided.key()).isEqualTo(bytes(HERE));
            assertThat(texts(decided.headers())).containsExactly("mine=1");
            Decision decision = decision(decided);
            assertThat(decision.decidedAtMs()).isEqualTo(1234);
            assertThat(decision.source().offset()).isEqualTo(17);
            assertThat(decision.source().partition()).isEqualTo(3);
            assertThat(decision.remaining()).isEqualTo(1);
        }
    }

    @Test
    void routed_and_other_requests_of_a_client_count_together_and_repeats_are_found() throws Exception {
        try (Weir weir = new Weir(4, MisplacedAction.ROUTE)) {
            weir.apply("policies: [{id: p, idempotency: 10m, limits: [{algorithm: fixed-window, limit: 2, per: 1h}]}]");
            weir.send(bytes(HERE), request("r1", HERE), new RecordHeaders(), 1_000);
            weir.route(bytes(HERE), request("r2", HERE), origin("2:5:900"), 1_100);
            weir.route(bytes(HERE), request("r1", HERE), origin("2:6:900"), 1_100);
            weir.send(bytes(HERE), request("r3", HERE), new RecordHeaders(), 1_200);
            weir.route(bytes(HERE), settle("s", HERE, -1), origin("2:7:1200"), 1_300);
            weir.send(bytes(HERE), request("r4", HERE), new RecordHeaders(), 1_300);
            assertThat(weir.decisions.readRecordsToList().stream().map(RoutingTest::decision))
                    .extracting(Decision::requestId, Decision::outcome, Decision::repeated)
                    .containsExactly(
                            tuple("r1", Outcome.ALLOWED, false),
                            tuple("r2", Outcome.ALLOWED, false),
                            tuple("r1", Outcome.ALLOWED, true),
                            tuple("r3", Outcome.DENIED, false),
                            tuple("s", Outcome.ALLOWED, false),
                            tuple("r4", Outcome.ALLOWED, false));
        }
    }

    @Test
    void the_order_of_a_routed_request_among_the_others_is_recorded() {
        try (Weir weir = new Weir(4, MisplacedAction.ROUTE)) {
            weir.route(bytes(HERE), request("r0", HERE), origin("2:70:900"), 900);
            weir.send(bytes(HERE), request("r1", HERE), new RecordHeaders(), 1_000);
            weir.route(bytes(HERE), request("r2", HERE), origin("2:75:900"), 900);
            weir.route(bytes(HERE), request("r3", HERE), origin("1:3:900"), 900);
            weir.send(bytes(HERE), request("r4", HERE), new RecordHeaders(), 1_000);
            weir.route(bytes(HERE), request("r5", HERE), origin("1:4:900"), 900);
            assertThat(weir.decisions.readRecordsToList().stream()
                            .map(record -> decision(record).context().order()))
                    .containsExactly(
                            new DecisionOrder(-1, 1),
                            null,
                            new DecisionOrder(0, 1),
                            new DecisionOrder(0, 2),
                            null,
                            new DecisionOrder(1, 1));
        }
    }

    @Test
    void a_routed_request_is_admitted_to_a_queue_with_its_original_position_and_headers() throws Exception {
        try (Weir weir = new Weir(4, MisplacedAction.ROUTE)) {
            weir.apply(POLICIES);
            for (String id : new String[] {"r1", "r2"}) {
                Headers headers = new RecordHeaders().add("mine", bytes(id)).add("weir.origin", bytes("3:17:1234"));
                weir.route(bytes(HERE), request(id, HERE, "slow"), headers, 5_000);
            }
            Admission admission = new AdmissionAvro().decode(weir.admissions.readValue());
            assertThat(admission.request().requestId()).isEqualTo("r2");
            assertThat(admission.request().source()).isEqualTo(new Request.Source(3, 17));
            assertThat(admission.headers()).extracting(Admission.Header::key).containsExactly("mine");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"no key", "", ":", "another"})
    void a_rejected_routed_record_is_a_dead_letter_with_its_original_key_and_position(String key) {
        byte[] original = key.equals("no key") ? NO_KEY : bytes(key);
        Headers headers = origin("2:17:1000" + (original == NO_KEY ? "" : ":" + key));
        try (Weir weir = new Weir(4, MisplacedAction.ROUTE)) {
            weir.route(bytes(ELSEWHERE), request("r", ELSEWHERE), headers, 5_000);
            TestRecord<byte[], byte[]> dead = weir.deadLetters.readRecord();
            assertThat(text(dead, "weir.reason")).isEqualTo("INVALID_ROUTING");
            assertThat(text(dead, "weir.detail"))
                    .startsWith("the request was routed to partition 0, but the client belongs in partition ");
            assertIsFrom2At17(dead, original, weir);
            weir.route(bytes(HERE), request("", HERE), headers, 5_000);
            dead = weir.deadLetters.readRecord();
            assertThat(text(dead, "weir.reason")).isEqualTo("NO_REQUEST_ID");
            assertIsFrom2At17(dead, original, weir);
        }
    }

    private static void assertIsFrom2At17(TestRecord<byte[], byte[]> dead, byte[] key, Weir weir) {
        assertThat(dead.key()).isEqualTo(key);
        assertThat(text(dead, "weir.source.topic")).isEqualTo("weir.requests");
        assertThat(text(dead, "weir.source.partition")).isEqualTo("2");
        assertThat(text(dead, "weir.source.offset")).isEqualTo("17");
        assertThat(text(dead, "weir.source.timestamp")).isEqualTo("1000");
        assertThat(dead.headers().lastHeader("weir.origin")).isNull();
        assertThat(weir.routed.isEmpty()).isTrue();
        assertThat(weir.decisions.isEmpty()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "3",
                "3:17",
                "3:17:",
                "3:17::1234",
                "-1:17:1234",
                "3:-17:1234",
                "3:17:-1234",
                "3:17:253402300800000",
                "9999999999:17:1234",
                "3:99999999999999999999:1234",
                "٣:17:1234"
            })
    void without_a_readable_origin_a_routed_record_is_an_unchanged_dead_letter(String origin) {
        try (Weir weir = new Weir(4, MisplacedAction.ROUTE)) {
            weir.route(bytes(HERE), request("r", HERE), origin(origin), 5_000);
            TestRecord<byte[], byte[]> dead = weir.deadLetters.readRecord();
            assertThat(text(dead, "weir.reason")).isEqualTo("INVALID_ROUTING");
            assertThat(text(dead, "weir.source.topic")).isEqualTo("weir.routed-requests.weir");
            assertThat(text(dead, "weir.origin")).isEqualTo(origin);
            assertThat(weir.decisions.isEmpty()).isTrue();
        }
    }

    @Test
    void an_origin_written_by_a_producer_or_not_in_the_last_header_is_ignored() {
        try (Weir weir = new Weir(4, MisplacedAction.ROUTE)) {
            weir.route(bytes(HERE), request("r", HERE), origin("3:17:1234").add("behind", bytes("1")), 5_000);
            weir.route(bytes(HERE), request("r", HERE), new RecordHeaders(), 5_000);
            assertThat(weir.deadLetters.readRecordsToList())
                    .hasSize(2)
                    .allSatisfy(dead -> assertThat(text(dead, "weir.reason")).isEqualTo("INVALID_ROUTING"));
            weir.send(bytes(HERE), request("r", HERE), origin("3:17:1234"), 5_000);
            assertThat(decision(weir.decisions.readRecord()))
                    .extracting(Decision::source, Decision::decidedAtMs)
                    .containsExactly(new Request.Source(0, 0), 5_000L);
            weir.send(bytes(ELSEWHERE), request("r", ELSEWHERE), origin("3:17:1234"), 5_000);
            assertThat(texts(weir.routed.readRecord().headers()))
                    .containsExactly("weir.origin=3:17:1234", "weir.origin=0:1:5000:" + ELSEWHERE);
        }
    }

    @Test
    void an_invalid_misplaced_request_is_a_dead_letter_at_once() {
        try (Weir weir = new Weir(4, MisplacedAction.ROUTE)) {
            weir.send(NO_KEY, request("", ELSEWHERE), new RecordHeaders(), 1_000);
            assertThat(text(weir.deadLetters.readRecord(), "weir.reason")).isEqualTo("NO_REQUEST_ID");
            assertThat(weir.routed.isEmpty()).isTrue();
        }
    }

    @Test
    void a_misplaced_request_can_become_a_dead_letter_that_names_the_fix() {
        try (Weir weir = new Weir(4, MisplacedAction.DEAD_LETTER)) {
            weir.send(bytes("another"), request("r", ELSEWHERE), new RecordHeaders(), 1_000);
            TestRecord<byte[], byte[]> dead = weir.deadLetters.readRecord();
            assertThat(dead.key()).isEqualTo(bytes("another"));
            assertThat(text(dead, "weir.reason")).isEqualTo("MISPLACED");
            assertThat(text(dead, "weir.detail"))
                    .matches("the client belongs in partition [123]; set partitioner=murmur2_random in the producer"
                            + " and use the client as the key");
            assertThat(weir.metrics.misplacedRequests()).isEqualTo(1);
            weir.send(bytes("another"), request("r", HERE), new RecordHeaders(), 1_000);
            assertThat(decision(weir.decisions.readRecord()).client()).isEqualTo(HERE);
            assertThat(weir.routed.isEmpty()).isTrue();
        }
    }

    @Test
    void a_request_of_the_maximum_size_can_be_routed() {
        Request request = request("r", HERE);
        long rest = (2L << 20) - new RequestCodec().encode(request).length - 10 - 3;
        try (Weir weir = new Weir(4, MisplacedAction.ROUTE)) {
            Headers full = new RecordHeaders().add("h", new byte[(int) rest]);
            weir.send(NO_KEY, request, full, 1_000);
            assertThat(decision(weir.decisions.readRecord()).outcome()).isEqualTo(Outcome.ALLOWED);
            weir.route(bytes(HERE), request, full.add("weir.origin", bytes("1:0:1000")), 1_000);
            assertThat(decision(weir.decisions.readRecord()).outcome()).isEqualTo(Outcome.ALLOWED);
        }
    }

    private final class Weir implements AutoCloseable {
        final EnforcerMetrics metrics = new EnforcerMetrics();
        final TopologyTestDriver driver;
        final TestInputTopic<byte[], byte[]> requests;
        final TestInputTopic<byte[], byte[]> routedIn;
        final TestInputTopic<String, byte[]> policies;
        final TestOutputTopic<byte[], byte[]> routed;
        final TestOutputTopic<byte[], byte[]> decisions;
        final TestOutputTopic<byte[], byte[]> admissions;
        final TestOutputTopic<byte[], byte[]> deadLetters;

        Weir(int partitions, MisplacedAction misplaced) {
            WeirConfig from = WeirConfig.DEFAULTS.withStateDirectory(directory.resolve("state"));
            WeirConfig.Requests r = from.requests();
            WeirConfig config = WeirConfig.builder()
                    .applicationId(from.applicationId())
                    .threads(from.threads())
                    .topics(from.topics())
                    .state(from.state())
                    .requests(new WeirConfig.Requests(
                            10L << 16, r.maxAttributes(), r.maxAttributeLength(), r.maxCost(), misplaced, r.maxAhead()))
                    .shaping(from.shaping())
                    .service(from.service())
                    .kafka(from.kafka())
                    .build();
            driver = new InMemoryDriver(
                    WeirTopology.deciding(config, partitions, new PolicyRegistry(), metrics),
                    StreamsSettings.deciding(config),
                    TopologyHarness.CLOCK);
            Topics topics = Topics.of(config);
            requests = in(topics.requests());
            routedIn = in(topics.routedRequests());
            policies = driver.createInputTopic(topics.policies(), new StringSerializer(), new ByteArraySerializer());
            routed = out(topics.routedRequests());
            decisions = out(topics.decisions());
            admissions = out(topics.admissions());
            deadLetters = out(topics.deadLetters());
        }

        private TestInputTopic<byte[], byte[]> in(String topic) {
            return driver.createInputTopic(topic, new ByteArraySerializer(), new ByteArraySerializer());
        }

        private TestOutputTopic<byte[], byte[]> out(String topic) {
            return driver.createOutputTopic(topic, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        }

        void apply(String yaml) {
            try {
                PolicyFile.Contents contents = PolicyFile.read("test", yaml);
                Stream.concat(contents.queues().stream(), contents.policies().stream())
                        .map(rule -> new PolicyAvro.Applied(rule.kind(), rule.id(), 1, rule.json(), 0))
                        .forEach(rule -> policies.pipeInput(rule.key(), new PolicyAvro().encode(rule)));
            } catch (FaultsException e) {
                throw new AssertionError(e);
            }
        }

        void send(byte[] key, Request request, Headers headers, long timestampMs) {
            pipe(requests, key, request, headers, timestampMs);
        }

        void route(byte[] key, Request request, Headers headers, long timestampMs) {
            pipe(routedIn, key, request, headers, timestampMs);
        }

        private void pipe(
                TestInputTopic<byte[], byte[]> topic, byte[] key, Request request, Headers headers, long timestampMs) {
            byte[] value = new RequestCodec().encode(request);
            topic.pipeInput(new TestRecord<>(key, value, headers, Instant.ofEpochMilli(timestampMs)));
        }

        @Override
        public void close() {
            driver.close();
        }
    }

    private static Headers origin(String value) {
        return new RecordHeaders().add("weir.origin", bytes(value));
    }

    private static Request request(String id, String client) {
        return request(id, client, null);
    }

    private static Request request(String id, String client, String tier) {
        return request(id, client, tier, RequestKind.CONSUME, 1);
    }

    private static Request settle(String id, String client, long cost) {
        return request(id, client, null, RequestKind.SETTLE, cost);
    }

    private static Request request(String id, String client, String tier, RequestKind kind, long cost) {
        return Request.builder(id, client)
                .kind(kind)
                .tier(tier)
                .cost(cost)
                .source(TopologyHarness.NOWHERE)
                .build();
    }

    private static Decision decision(TestRecord<byte[], byte[]> record) {
        try {
            return new DecisionCodec().decode(record.value());
        } catch (UnreadableException e) {
            throw new AssertionError(e);
        }
    }

    private static Stream<String> texts(Headers headers) {
        return Stream.of(headers.toArray()).map(header -> header.key() + "=" + text(header));
    }

    private static String text(TestRecord<byte[], byte[]> record, String header) {
        return text(record.headers().lastHeader(header));
    }

    private static String text(Header header) {
        return new String(header.value(), StandardCharsets.UTF_8);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
