package dev.weir.topology;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.kafka.Topics;
import dev.weir.metrics.EnforcerMetrics;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.requests.ProducerTimestamps;
import dev.weir.requests.RequestTimestamps;
import dev.weir.wire.DeadLetterHeaders;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests that a record with a producer's timestamp far in the future becomes a dead letter and has no other effect. */
class MaxAheadTest {

    private static final long NOW_MS = 1_767_225_600_000L;
    private static final long HOUR_MS = 3_600_000;
    private static final byte[] CLIENT = "alice".getBytes(StandardCharsets.UTF_8);

    @TempDir
    Path directory;

    private static TestRecord<byte[], byte[]> stampedByProducer(String id, long timestampMs) {
        RecordHeaders headers = new RecordHeaders();
        ProducerTimestamps.mark(headers);
        return new TestRecord<>(CLIENT, request(id), headers, Instant.ofEpochMilli(timestampMs));
    }

    private static byte[] request(String id) {
        return new RequestCodec()
                .encode(Request.builder(id, "alice").source(0, 0).build());
    }

    @Test
    void a_request_stamped_by_its_producer_beyond_the_maximum_is_a_dead_letter() throws Exception {
        WeirConfig config = WeirConfig.DEFAULTS.withStateDirectory(directory);
        try (TopologyTestDriver driver = new InMemoryDriver(
                WeirTopology.deciding(config, 1, new PolicyRegistry(), new EnforcerMetrics()),
                StreamsSettings.deciding(config),
                Instant.ofEpochMilli(NOW_MS))) {
            Topics topics = new Topics("weir.", "weir");
            TestInputTopic<byte[], byte[]> requests =
                    driver.createInputTopic(topics.requests(), new ByteArraySerializer(), new ByteArraySerializer());
            TestOutputTopic<byte[], byte[]> decisions = driver.createOutputTopic(
                    topics.decisions(), new ByteArrayDeserializer(), new ByteArrayDeserializer());
            TestOutputTopic<byte[], byte[]> dead = driver.createOutputTopic(
                    topics.deadLetters(), new ByteArrayDeserializer(), new ByteArrayDeserializer());
            for (long timestampMs : new long[] {
                0,
                NOW_MS,
                NOW_MS + HOUR_MS,
                NOW_MS + HOUR_MS + 1,
                Instant.parse("2096-01-01T00:00:00Z").toEpochMilli()
            }) {
                requests.pipeInput(stampedByProducer("r" + timestampMs, timestampMs));
                if (timestampMs <= NOW_MS + HOUR_MS) {
                    TestRecord<byte[], byte[]> decision = decisions.readRecord();
                    assertThat(new DecisionCodec().decode(decision.value()).requestId())
                            .isEqualTo("r" + timestampMs);
                    assertThat(decision.headers()).isEmpty();
                } else {
                    TestRecord<byte[], byte[]> letter = dead.readRecord();
                    assertThat(header(letter, DeadLetterHeaders.REASON)).isEqualTo("TIMESTAMP_AHEAD");
                    assertThat(header(letter, DeadLetterHeaders.DETAIL))
                            .isEqualTo("timestamp is " + (timestampMs - NOW_MS)
                                    + " ms ahead of Weir's clock; the maximum is 3600000");
                    assertThat(letter.value()).isEqualTo(request("r" + timestampMs));
                }
            }
            assertThat(decisions.isEmpty()).isTrue();
            driver.advanceWallClockTime(Duration.ofMillis(1));
            requests.pipeInput(stampedByProducer("r", NOW_MS + HOUR_MS + 1));
            assertThat(decisions.readRecordsToList()).hasSize(1);
            requests.pipeInput(CLIENT, request("stamped by the broker"), NOW_MS + 2 * HOUR_MS);
            assertThat(decisions.readRecordsToList()).hasSize(1);
        }
    }

    private static String header(TestRecord<byte[], byte[]> record, String name) {
        return new String(record.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
    }

    @ParameterizedTest
    @CsvSource({"weir.requests, CREATE_TIME, 1", "weir.requests, LOG_APPEND_TIME, 0", "weir.others, CREATE_TIME, 0"})
    void only_a_request_stamped_by_its_producer_is_marked(String topic, TimestampType type, int marks) {
        ConsumerRecord<byte[], byte[]> record =
                new ConsumerRecord<>(topic, 0, 0, 7, type, 0, 0, null, null, new RecordHeaders(), Optional.empty());
        ConsumerRecords<byte[], byte[]> records =
                new ConsumerRecords<>(Map.of(new TopicPartition(topic, 0), List.of(record)), Map.of());
        try (ProducerTimestamps interceptor = new ProducerTimestamps()) {
            interceptor.configure(Map.of(ProducerTimestamps.TOPIC, "weir.requests"));
            assertThat(interceptor.onConsume(records)).isSameAs(records);
        }
        assertThat(record.headers()).hasSize(marks);
    }

    @Test
    void a_record_without_a_timestamp_has_time_0() {
        ConsumerRecord<Object, Object> record = new ConsumerRecord<>(
                "weir.requests",
                0,
                0,
                -1,
                TimestampType.NO_TIMESTAMP_TYPE,
                0,
                0,
                null,
                null,
                new RecordHeaders(),
                Optional.empty());
        assertThat(new RequestTimestamps().extract(record, 7)).isZero();
    }
}
