package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.event.StateKey;
import dev.weir.kafka.Topics;
import dev.weir.lease.LeaseRequest;
import dev.weir.lease.LeaseResponse;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.QueueRegistry;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.KeyCodec;
import dev.weir.wire.LeaseRequestAvro;
import dev.weir.wire.LeaseResponseAvro;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests of shared limits with both topologies on test drivers. The harness copies messages from one to the other.
 */
abstract class SharingHarness {

    /** A shared limit of an algorithm, with as many tokens an hour. */
    static final String HOUR = "  - {id: all, key: [], limits: [{algorithm: %s, limit: %d, per: 1h}]}";

    private static final Instant START = Instant.parse("2026-01-01T00:00:00Z");

    @TempDir
    private Path directory;

    final PolicyRegistry live = new PolicyRegistry();
    final EnforcerMetrics metrics = new EnforcerMetrics();
    private final RequestCodec requestCodec = new RequestCodec();
    private final DecisionCodec decisionCodec = new DecisionCodec();
    TopologyTestDriver deciding;
    TopologyTestDriver lending;
    private TestInputTopic<byte[], byte[]> requests;
    TestInputTopic<String, byte[]> policies;
    TestInputTopic<byte[], byte[]> asksIn;
    TestInputTopic<byte[], byte[]> grantsIn;
    TestOutputTopic<byte[], byte[]> asksOut;
    TestOutputTopic<byte[], byte[]> grantsOut;
    private TestOutputTopic<byte[], byte[]> decisions;
    long nowMs = START.toEpochMilli();
    int sent;

    @BeforeEach
    void start() {
        WeirConfig config = WeirConfig.DEFAULTS.withStateDirectory(directory);
        Topics topics = new Topics("weir.", "weir");
        deciding = new InMemoryDriver(
                WeirTopology.deciding(config, 1, live, metrics), StreamsSettings.deciding(config), START);
        lending = new InMemoryDriver(
                WeirTopology.shaping(config, live, new QueueRegistry(), metrics),
                StreamsSettings.shaping(config),
                START);
        requests = in(deciding, topics.requests());
        grantsIn = in(deciding, topics.leaseResponses());
        policies = deciding.createInputTopic(topics.policies(), new StringSerializer(), new ByteArraySerializer());
        asksIn = in(lending, topics.leaseRequests());
        asksOut = out(deciding, topics.leaseRequests());
        decisions = out(deciding, topics.decisions());
        grantsOut = out(lending, topics.leaseResponses());
    }

    private static TestInputTopic<byte[], byte[]> in(TopologyTestDriver driver, String topic) {
        return driver.createInputTopic(topic, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static TestOutputTopic<byte[], byte[]> out(TopologyTestDriver driver, String topic) {
        return driver.createOutputTopic(topic, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    @AfterEach
    void stop() {
        deciding.close();
        lending.close();
    }

    void apply(String yaml, long version) throws Exception {
        for (PolicyFile.Definition definition :
                PolicyFile.read("test", "policies:\n" + yaml).policies()) {
            PolicyAvro.Applied applied =
                    new PolicyAvro.Applied(definition.kind(), definition.id(), version, definition.json(), 0);
            policies.pipeInput(applied.key(), new PolicyAvro().encode(applied));
        }
    }

    void request(String client, long cost) {
        request(client, RequestKind.CONSUME, cost);
    }

    void request(String client, RequestKind kind, long cost) {
        send(Request.builder("r" + sent++, client)
                .kind(kind)
                .cost(cost)
                .attributes(Map.of("endpoint", "/sms"))
                .payload(new byte[] {1})
                .timestampMs(nowMs)
                .source(0, 0)
                .build());
    }

    void send(Request request) {
        requests.pipeInput(new TestRecord<>(
                request.client().getBytes(StandardCharsets.UTF_8),
                requestCodec.encode(request),
                Instant.ofEpochMilli(nowMs)));
    }

    /**
     * Copies lease requests to the ledgers and responses back until there are no more. Returns the number of messages.
     */
    int exchange() throws Exception {
        int messages = 0;
        while (!asksOut.isEmpty() || !grantsOut.isEmpty()) {
            while (!asksOut.isEmpty()) {
                TestRecord<byte[], byte[]> ask = asksOut.readRecord();
                asksIn.pipeInput(new TestRecord<>(ask.key(), ask.value(), Instant.ofEpochMilli(nowMs)));
                messages++;
            }
            while (!grantsOut.isEmpty()) {
                TestRecord<byte[], byte[]> grant = grantsOut.readRecord();
                grantsIn.pipeInput(grant.key(), grant.value());
                messages++;
            }
        }
        return messages;
    }

    void pass(long ms) {
        nowMs += ms;
        deciding.advanceWallClockTime(Duration.ofMillis(ms));
        lending.advanceWallClockTime(Duration.ofMillis(ms));
    }

    List<Decision> decided() throws Exception {
        List<Decision> all = new ArrayList<>();
        while (!decisions.isEmpty()) {
            all.add(decisionCodec.decode(decisions.readValue()));
        }
        return all;
    }

    List<Outcome> outcomes() throws Exception {
        return decided().stream().map(Decision::outcome).toList();
    }

    /** Sends a request that is about the reservation of {@code id}, and lets all messages arrive. */
    void reservation(RequestKind kind, String id, long cost) throws Exception {
        reservationWithoutExchange(kind, id, cost);
        exchange();
    }

    void reservationWithoutExchange(RequestKind kind, String id, long cost) {
        boolean settles = kind == RequestKind.SETTLE;
        send(Request.builder(settles ? "s" + sent++ : id, "alice")
                .kind(kind)
                .cost(cost)
                .settles(settles ? id : null)
                .reserveMs(kind == RequestKind.CONSUME ? 60_000L : null)
                .timestampMs(nowMs)
                .source(0, 0)
                .build());
    }

    /** Lets leases end, which are reported before. */
    void endLeases() throws Exception {
        for (int i = 0; i < 60; i++) {
            pass(100);
            exchange();
        }
    }

    Decision ask(RequestKind kind, long cost) throws Exception {
        request("alice", kind, cost);
        exchange();
        List<Decision> all = decided();
        assertThat(all).hasSize(1);
        return all.get(0);
    }

    /** Sends a message of a holder that is not part of the enforcer, and returns the response. */
    LeaseResponse foreign(LeaseRequest message) throws Exception {
        byte[] key = KeyCodec.encode(new StateKey(StateKey.NO_CLIENT, "all", List.of()));
        byte[] value = new LeaseRequestAvro().encode(new LeaseRequestAvro.Addressed(message, 0));
        asksIn.pipeInput(new TestRecord<>(key, value, Instant.ofEpochMilli(nowMs)));
        return grantsOut.isEmpty()
                ? null
                : new LeaseResponseAvro().decode(grantsOut.readValue(), 0).response();
    }

    int ledgers() {
        try (KeyValueIterator<Bytes, byte[]> all =
                lending.<Bytes, byte[]>getKeyValueStore("ledgers").all()) {
            int count = 0;
            for (; all.hasNext(); count++) {
                all.next();
            }
            return count;
        }
    }
}
