package dev.weir.fuzz;

import dev.weir.config.WeirConfig;
import dev.weir.kafka.Topics;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.policy.RequestRules;
import dev.weir.processor.QueueRegistry;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.topology.StreamsSettings;
import dev.weir.topology.WeirTopology;
import dev.weir.wire.PolicyAvro;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.test.TestRecord;

/** Both real topologies on test drivers, with encoded records as input and output. */
final class TopologyDrivers implements AutoCloseable {

    /** The output of one record or of a time step. */
    record Output(
            List<byte[]> decisions,
            int admissions,
            List<byte[]> releases,
            List<TestRecord<byte[], byte[]>> deadLetters) {}

    private final PolicyRegistry live = new PolicyRegistry();
    private final TopologyTestDriver deciding;
    private final TopologyTestDriver shaping;
    private final TestInputTopic<byte[], byte[]> requests;
    private final TestInputTopic<byte[], byte[]> admissions;
    private final TestInputTopic<byte[], byte[]> policiesToDecide;
    private final TestInputTopic<byte[], byte[]> policiesToCheck;
    private final TestOutputTopic<byte[], byte[]> decided;
    private final TestOutputTopic<byte[], byte[]> answered;
    private final TestOutputTopic<byte[], byte[]> admitted;
    private final TestOutputTopic<byte[], byte[]> released;
    private final TestOutputTopic<byte[], byte[]> restored;
    private final TestOutputTopic<byte[], byte[]> dead;
    private final TestOutputTopic<byte[], byte[]> deadInShaping;
    private long nowMs;

    TopologyDrivers(Path directory) {
        WeirConfig config = WeirConfig.DEFAULTS.withStateDirectory(directory.resolve("weir-state"));
        Topics topics = new Topics("weir.", "weir");
        deciding = new TopologyTestDriver(
                WeirTopology.deciding(config, 1, live, new EnforcerMetrics()),
                StreamsSettings.deciding(config),
                Instant.ofEpochMilli(RequestRules.MAX_TIMESTAMP_MS)); // no request is ahead of this time
        shaping = new TopologyTestDriver(
                WeirTopology.shaping(config, live, new QueueRegistry(), new EnforcerMetrics()),
                StreamsSettings.shaping(config),
                Instant.EPOCH);
        requests = in(deciding, topics.requests());
        admissions = in(shaping, topics.admissions());
        policiesToDecide = in(deciding, topics.policies());
        policiesToCheck = in(shaping, topics.policies());
        decided = out(deciding, topics.decisions());
        answered = out(shaping, topics.decisions());
        admitted = out(deciding, topics.admissions());
        released = out(shaping, topics.releases());
        restored = out(shaping, topics.policies());
        dead = out(deciding, topics.deadLetters());
        deadInShaping = out(shaping, topics.deadLetters());
    }

    private static TestInputTopic<byte[], byte[]> in(TopologyTestDriver driver, String topic) {
        return driver.createInputTopic(topic, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static TestOutputTopic<byte[], byte[]> out(TopologyTestDriver driver, String topic) {
        return driver.createOutputTopic(topic, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** Sends a record to the requests topic, and the resulting admissions to their queues. */
    Output request(byte[] key, byte[] value, Headers headers, long timestampMs) {
        requests.pipeInput(new TestRecord<>(key, value, headers, timestampMs));
        List<TestRecord<byte[], byte[]>> sent = admitted.readRecordsToList();
        sent.forEach(admissions::pipeInput);
        return output(sent.size());
    }

    /** Sends a record to the admissions topic. */
    Output admission(byte[] key, byte[] value, Headers headers, long timestampMs) {
        admissions.pipeInput(new TestRecord<>(key, value, headers, timestampMs));
        return output(1);
    }

    /** Sends a record to the policies topic, and then the records that the topologies write back to it. */
    Output policies(byte[] key, byte[] value) {
        toPolicies(key, value);
        List<TestRecord<byte[], byte[]>> letters = deadInShaping.readRecordsToList();
        for (TestRecord<byte[], byte[]> back : restored.readRecordsToList()) {
            toPolicies(back.key(), back.value());
        }
        if (!restored.isEmpty() || !deadInShaping.isEmpty()) {
            throw new AssertionError("a record that was written back is invalid");
        }
        return new Output(List.of(), 0, List.of(), letters);
    }

    private void toPolicies(byte[] key, byte[] value) {
        TestRecord<byte[], byte[]> record = new TestRecord<>(key, value, new RecordHeaders(), 0L);
        policiesToDecide.pipeInput(record);
        policiesToCheck.pipeInput(record);
    }

    /** Returns the policies and queues in force. */
    List<PolicyAvro.Applied> applied() {
        return live.applied();
    }

    /** Returns the time of the drivers, which only {@link #pass} advances. */
    long nowMs() {
        return nowMs;
    }

    Output pass(Duration time) {
        nowMs += time.toMillis();
        deciding.advanceWallClockTime(time);
        shaping.advanceWallClockTime(time);
        return output(0);
    }

    private Output output(int sent) {
        List<byte[]> decisions = new ArrayList<>();
        decisions.addAll(values(decided));
        decisions.addAll(values(answered));
        List<TestRecord<byte[], byte[]>> letters = new ArrayList<>(dead.readRecordsToList());
        letters.addAll(deadInShaping.readRecordsToList());
        return new Output(decisions, sent, values(released), letters);
    }

    private static List<byte[]> values(TestOutputTopic<byte[], byte[]> topic) {
        return topic.readRecordsToList().stream().map(TestRecord::value).toList();
    }

    @Override
    public void close() {
        deciding.close();
        shaping.close();
    }
}
