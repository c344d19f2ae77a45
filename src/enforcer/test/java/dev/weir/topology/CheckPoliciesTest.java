package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.QueueRegistry;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.wire.PolicyAvro;
import dev.weir.wire.PolicyAvro.Kind;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests bad records on the policies topic. Records that are written back to the topic are read again. */
class CheckPoliciesTest {

    private static final String DEFINITION = "{\"id\":\"a\",\"limits\":[{\"unlimited\":true}]}";
    private static final byte[] GOOD = policy("a", 3, DEFINITION);

    @TempDir
    Path directory;

    private TopologyTestDriver driver;
    private TestInputTopic<byte[], byte[]> policies;
    private TestOutputTopic<byte[], byte[]> restored;
    private TestOutputTopic<byte[], byte[]> dead;

    @BeforeEach
    void open() {
        WeirConfig config = WeirConfig.DEFAULTS.withStateDirectory(directory.resolve("weir-state"));
        driver = new InMemoryDriver(
                WeirTopology.shaping(config, new PolicyRegistry(), new QueueRegistry(), new EnforcerMetrics()),
                StreamsSettings.shaping(config),
                Instant.EPOCH);
        policies = driver.createInputTopic("weir.policies", new ByteArraySerializer(), new ByteArraySerializer());
        restored = out("weir.policies");
        dead = out("weir.dead-letters");
    }

    @AfterEach
    void close() {
        driver.close();
    }

    private TestOutputTopic<byte[], byte[]> out(String topic) {
        return driver.createOutputTopic(topic, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /**
     * A bad value of the key {@code policy/a}, written after a good one of version 3, with the reason and detail of its
     * dead letter.
     */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Bad(String reason, String detail, byte[] value) {
        @Override
        public String toString() {
            return reason + " " + detail;
        }
    }

    static List<Bad> badRecords() {
        byte[] unknown = GOOD.clone();
        unknown[2]++;
        PolicyAvro.Earlier same = new PolicyAvro.Earlier(4, DEFINITION, 0);
        PolicyAvro.Earlier wrong = new PolicyAvro.Earlier(2, "{}", 0);
        return List.of(
                new Bad("NOT_AVRO", "Unrecognized header bytes", bytes("not what it should be")),
                new Bad("UNKNOWN_SCHEMA", "Cannot resolve schema", unknown),
                new Bad("KEY_IS_NOT_POLICY", "the record has the id 'b'", policy("b", 4, DEFINITION)),
                new Bad(
                        "KEY_IS_NOT_POLICY",
                        "the record has the id '\\u001b[2J\\u000a'",
                        policy("\u001b[2J\n", 4, DEFINITION)),
                new Bad(
                        "KEY_IS_NOT_POLICY",
                        "the definition has the id 'b'",
                        policy("a", 4, DEFINITION.replace('a', 'b'))),
                new Bad("INVALID_POLICY", "policy/a:1: limits: is required", policy("a", 4, "{\"id\":\"a\"}")),
                new Bad("INVALID_POLICY", "version must be 1 to", policy("a", Long.MAX_VALUE, DEFINITION)),
                new Bad("INVALID_POLICY", "version must be 1 to 3, is 4", policy("a", 4, DEFINITION, same)),
                new Bad("INVALID_POLICY", "policy/a:1: ", policy("a", 4, DEFINITION, wrong)),
                new Bad("OUTDATED_POLICY", "version 2 is older than version 3 before it", policy("a", 2, DEFINITION)),
                new Bad("OUTDATED_POLICY", "version 1 is older than version 3 before it", policy("a", 1, null)),
                new Bad("RECORD_TOO_LARGE", "the record has 1000001 bytes", new byte[1_000_001]));
    }

    @ParameterizedTest
    @MethodSource("badRecords")
    void a_bad_record_is_a_dead_letter_once_and_the_last_good_one_is_written_back_once(Bad bad) {
        policies.pipeInput(bytes("policy/a"), GOOD);
        policies.pipeInput(bytes("policy/a"), bad.value);
        TestRecord<byte[], byte[]> letter = dead.readRecord();
        assertThat(letter.key()).isEqualTo(bytes("policy/a"));
        assertThat(letter.value()).isEqualTo(bad.value);
        assertThat(header(letter, "weir.reason")).isEqualTo(bad.reason);
        assertThat(header(letter, "weir.detail")).startsWith(bad.detail);
        assertThat(header(letter, "weir.source.topic")).isEqualTo("weir.policies");
        assertThat(header(letter, "weir.source.offset")).isEqualTo("1");
        TestRecord<byte[], byte[]> back = restored.readRecord();
        assertThat(back.key()).isEqualTo(bytes("policy/a"));
        assertThat(back.value()).isEqualTo(GOOD);
        assertThat(back.headers()).isEmpty();
        policies.pipeInput(bytes("policy/a"), policy("a", 4, DEFINITION));
        assertThat(dead.isEmpty()).isTrue();
        assertThat(restored.isEmpty()).isTrue();
    }

    @Test
    void without_an_earlier_good_record_nothing_is_written_back() {
        policies.pipeInput(bytes("policy/a"), bytes("nonsense"));
        policies.pipeInput(bytes("policy/b"), GOOD);
        policies.pipeInput(bytes("rule/a"), GOOD);
        policies.pipeInput(null, GOOD);
        policies.pipeInput(null, new byte[3 << 20]);
        policies.pipeInput(bytes("policy/c"), new byte[3 << 20]);
        List<TestRecord<byte[], byte[]>> letters = dead.readRecordsToList();
        assertThat(letters)
                .extracting(letter -> header(letter, "weir.reason"))
                .containsExactly(
                        "NOT_AVRO", "KEY_IS_NOT_POLICY", "KEY_IS_NOT_POLICY", "NO_KEY", "NO_KEY", "RECORD_TOO_LARGE");
        assertThat(letters.subList(4, 6))
                .as("large records without their values")
                .allMatch(letter -> letter.value() == null);
        assertThat(restored.isEmpty()).isTrue();
    }

    @Test
    void a_good_record_is_checked_only_by_its_value() {
        TestRecord<byte[], byte[]> bulky = new TestRecord<>(bytes("policy/a"), GOOD);
        bulky.headers().add("bulk", new byte[3 << 20]);
        policies.pipeInput(bulky);
        assertThat(dead.isEmpty()).isTrue();
        policies.pipeInput(bytes("policy/a"), bytes("nonsense"));
        assertThat(restored.readRecord().value()).isEqualTo(GOOD);
    }

    @Test
    void a_record_without_a_value_is_valid_and_versions_restart() {
        policies.pipeInput(bytes("policy/a"), GOOD);
        policies.pipeInput(bytes("policy/a"), (byte[]) null);
        policies.pipeInput(bytes("what/ever"), (byte[]) null);
        policies.pipeInput(bytes("policy/a"), policy("a", 1, DEFINITION));
        policies.pipeInput(bytes("policy/a"), bytes("nonsense"));
        assertThat(dead.readRecordsToList()).hasSize(1);
        assertThat(restored.readRecord().value()).isEqualTo(policy("a", 1, DEFINITION));
    }

    @Test
    void an_oversized_record_is_a_dead_letter_without_its_value() {
        policies.pipeInput(bytes("policy/a"), GOOD);
        policies.pipeInput(bytes("policy/a"), new byte[3 << 20]);
        TestRecord<byte[], byte[]> letter = dead.readRecord();
        assertThat(letter.value()).isNull();
        assertThat(header(letter, "weir.reason")).isEqualTo("RECORD_TOO_LARGE");
        assertThat(restored.readRecord().value()).isEqualTo(GOOD);
    }

    @Test
    void a_formerly_good_record_is_not_written_back_repeatedly() {
        byte[] once = policy("a", 5, "{\"id\":\"a\",\"of-another-version\":1}");
        KeyValueStore<Object, byte[]> store = driver.getKeyValueStore(Stores.GOOD_POLICIES);
        store.put(Bytes.wrap(bytes("policy/a")), once);
        policies.pipeInput(bytes("policy/a"), bytes("nonsense"));
        assertThat(dead.readRecordsToList())
                .extracting(letter -> header(letter, "weir.reason"))
                .containsExactly("NOT_AVRO", "INVALID_POLICY");
        assertThat(restored.readRecordsToList()).hasSize(1);
    }

    private static String header(TestRecord<byte[], byte[]> record, String name) {
        return new String(record.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] policy(String id, long version, String definition, PolicyAvro.Earlier... before) {
        return new PolicyAvro()
                .encode(new PolicyAvro.Applied(Kind.POLICY, id, version, definition, 0).withBefore(List.of(before)));
    }
}
