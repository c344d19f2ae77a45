package dev.weir.topology;

import dev.weir.app.KafkaSettings;
import dev.weir.codec.DecisionAvro;
import dev.weir.codec.FaultsException;
import dev.weir.codec.PolicyAvro;
import dev.weir.codec.PolicyFile;
import dev.weir.codec.RequestAvro;
import dev.weir.codec.UnreadableException;
import dev.weir.config.WeirConfig;
import dev.weir.policy.Decision;
import dev.weir.policy.Kind;
import dev.weir.policy.Request;
import dev.weir.policy.RequestRules;
import dev.weir.processor.LiveCounts;
import dev.weir.processor.LivePolicies;
import dev.weir.processor.WriteBackStore;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.apache.kafka.streams.test.TestRecord;

/** The real topology on a test driver, spoken to in requests and decisions. */
final class TopologyHarness implements AutoCloseable {

    static final Request.Source NOWHERE = new Request.Source(0, 0);

    /** The machine's clock at the start: no request is ahead of it. */
    static final Instant CLOCK = Instant.ofEpochMilli(RequestRules.MAX_TIMESTAMP_MS);

    final TopologyTestDriver driver;
    final LivePolicies live = new LivePolicies();
    private final RequestAvro requestAvro = new RequestAvro();
    private final DecisionAvro decisionAvro = new DecisionAvro();
    private final TestInputTopic<byte[], byte[]> requests;
    private final TestInputTopic<String, byte[]> policies;
    private final TestOutputTopic<String, byte[]> decisions;
    private final TestOutputTopic<byte[], byte[]> deadLetters;
    private int sent;

    TopologyHarness(Path stateDirectory) {
        WeirConfig config = WeirConfig.DEFAULTS.withStateDirectory(stateDirectory);
        Properties settings = KafkaSettings.deciding(config);
        driver = new TopologyTestDriver(WeirTopology.deciding(config, 1, live, new LiveCounts()), settings, CLOCK);
        Topics topics = Topics.of("weir.", "weir");
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

    /** A record of the policies topic. */
    void rules(String key, byte[] value) {
        policies.pipeInput(key, value);
    }

    Decision ask(String client, long timestampMs) {
        return ask(client, 1, timestampMs);
    }

    Decision ask(String client, long cost, long timestampMs) {
        return ask(new Request(
                "r" + sent++,
                client,
                Kind.CONSUME,
                null,
                cost,
                null,
                Map.of(),
                null,
                null,
                null,
                timestampMs,
                NOWHERE));
    }

    Decision ask(Request request) {
        raw(request.client().getBytes(StandardCharsets.UTF_8), requestAvro.encode(request), request.timestampMs());
        try {
            return decisionAvro.decode(decisions.readValue());
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

    /** What is in a store, whatever is built upon it. */
    ReadOnlyKeyValueStore<?, ?> store(String name) {
        return name.equals(Stores.POLICY_STATES) || name.equals(Stores.LEASE_BOOKS)
                ? (WriteBackStore<?, ?>) driver.getAllStateStores().get(name)
                : driver.getKeyValueStore(name);
    }

    @Override
    public void close() {
        driver.close();
    }
}
