package dev.weir.topology;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.fault.FaultsException;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.Topics;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.policy.RequestRules;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.storage.WriteBackStore;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.apache.kafka.streams.test.TestRecord;

/** The deciding topology on a test driver, with methods to send requests and read decisions. */
final class TopologyHarness implements AutoCloseable {

    static final Request.Source NOWHERE = new Request.Source(0, 0);

    /** The machine's clock at the start, so late that no request is ahead of it. */
    static final Instant CLOCK = Instant.ofEpochMilli(RequestRules.MAX_TIMESTAMP_MS);

    private static final Set<String> HOT = Set.of(Stores.POLICY_STATES, Stores.RESERVATIONS, Stores.LEASE_BOOKS);

    final TopologyTestDriver driver;
    final PolicyRegistry live = new PolicyRegistry();
    private final RequestCodec requestCodec = new RequestCodec();
    private final DecisionCodec decisionCodec = new DecisionCodec();
    private final TestInputTopic<byte[], byte[]> requests;
    private final TestInputTopic<String, byte[]> policies;
    private final TestOutputTopic<String, byte[]> decisions;
    private final TestOutputTopic<byte[], byte[]> deadLetters;
    private int sent;

    TopologyHarness(Path stateDirectory) {
        WeirConfig config = WeirConfig.DEFAULTS.withStateDirectory(stateDirectory);
        Properties settings = StreamsSettings.deciding(config);
        driver = new InMemoryDriver(WeirTopology.deciding(config, 1, live, new EnforcerMetrics()), settings, CLOCK);
        Topics topics = new Topics("weir.", "weir");
        requests = driver.createInputTopic(topics.requests(), new ByteArraySerializer(), new ByteArraySerializer());
        policies = driver.createInputTopic(topics.policies(), new StringSerializer(), new ByteArraySerializer());
        decisions = driver.createOutputTopic(topics.decisions(), new StringDeserializer(), new ByteArrayDeserializer());
        deadLetters = driver.createOutputTopic(
                topics.deadLetters(), new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    void apply(String yaml, long version) throws FaultsException {
        PolicyFile.Contents contents = PolicyFile.read("test", yaml);
        contents.queues().forEach(definition -> apply(definition, version));
        contents.policies().forEach(definition -> apply(definition, version));
    }

    private void apply(PolicyFile.Definition definition, long version) {
        PolicyAvro.Applied applied =
                new PolicyAvro.Applied(definition.kind(), definition.id(), version, definition.json(), 0);
        rules(applied.key(), new PolicyAvro().encode(applied));
    }

    void policy(String id, byte[] value) {
        rules("policy/" + id, value);
    }

    /** Sends a record to the policies topic. */
    void rules(String key, byte[] value) {
        policies.pipeInput(key, value);
    }

    Decision ask(String client, long timestampMs) {
        return ask(client, 1, timestampMs);
    }

    Decision ask(String client, long cost, long timestampMs) {
        return ask(Request.builder("r" + sent++, client)
                .cost(cost)
                .timestampMs(timestampMs)
                .source(NOWHERE)
                .build());
    }

    Decision ask(Request request) {
        return ask(request.client(), requestCodec.encode(request), request.timestampMs());
    }

    Decision ask(String client, byte[] value, long timestampMs) {
        raw(client.getBytes(StandardCharsets.UTF_8), value, timestampMs);
        try {
            return decisionCodec.decode(decisions.readValue());
        } catch (UnreadableException e) {
            throw new AssertionError(e);
        }
    }

    void raw(byte[] key, byte[] value, long timestampMs) {
        requests.pipeInput(new TestRecord<>(key, value, Instant.ofEpochMilli(timestampMs)));
    }

    TestRecord<byte[], byte[]> deadLetter() {
        return deadLetters.readRecord();
    }

    List<String> leftOver() {
        return List.of(decisions.getQueueSize() + " decisions", deadLetters.getQueueSize() + " dead letters");
    }

    void pass(Duration time) {
        driver.advanceWallClockTime(time);
    }

    long stored(String storeName) {
        long size = 0;
        try (var all = store(storeName).all()) {
            while (all.hasNext()) {
                all.next();
                size++;
            }
        }
        return size;
    }

    /** Returns a store of any type. */
    ReadOnlyKeyValueStore<?, ?> store(String name) {
        return HOT.contains(name)
                ? (WriteBackStore<?, ?>) driver.getAllStateStores().get(name)
                : driver.getKeyValueStore(name);
    }

    @Override
    public void close() {
        driver.close();
    }
}
