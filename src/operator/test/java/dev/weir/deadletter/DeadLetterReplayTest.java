package dev.weir.deadletter;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.config.WeirConfig;
import dev.weir.event.Rejection;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.testing.TestBroker;
import dev.weir.topics.RecordReader;
import dev.weir.topics.TopicSetup;
import dev.weir.wire.DeadLetterHeaders;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.StreamSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Dead letters on a real broker. */
@Tag("full")
class DeadLetterReplayTest {

    private static final byte[] TOO_LONG = "é".repeat(RecordPreview.MAX_BYTES).getBytes(UTF_8);

    private static int count;

    private WeirConfig config;
    private Topics topics;

    @BeforeEach
    void write() throws Exception {
        String prefix = "dead" + ++count;
        config = WeirConfig.builder()
                .named(prefix)
                .kafka(TestBroker.clientSettings())
                .topics(prefix + ".", 2)
                .build();
        topics = Topics.of(config);
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        try (KafkaProducer<byte[], byte[]> producer = producer()) {
            producer.send(letter(0, topics.requests(), Rejection.NOT_JSON, "alice", "{oops".getBytes(UTF_8)))
                    .get();
            producer.send(letter(0, topics.policies(), Rejection.INVALID_POLICY, "policy/a", new byte[] {1}))
                    .get();
            producer.send(letter(0, topics.requests(), Rejection.RECORD_TOO_LARGE, "bob", null))
                    .get();
            producer.send(letter(1, topics.routedRequests(), Rejection.NOT_AVRO, null, new byte[] {0, (byte) 0xFF}))
                    .get();
            producer.send(letter(1, "elsewhere", Rejection.NOT_JSON, "carol", TOO_LONG))
                    .get();
            producer.send(new ProducerRecord<>(topics.deadLetters(), 1, null, new byte[] {2}))
                    .get();
        }
    }

    private KafkaProducer<byte[], byte[]> producer() {
        return new KafkaProducer<>(
                KafkaSettings.producer(config), new ByteArraySerializer(), new ByteArraySerializer());
    }

    private ProducerRecord<byte[], byte[]> letter(
            int partition, String topic, Rejection reason, String key, byte[] value) {
        ProducerRecord<byte[], byte[]> record =
                new ProducerRecord<>(topics.deadLetters(), partition, key == null ? null : key.getBytes(UTF_8), value);
        record.headers().add("correlation", "7".getBytes(UTF_8));
        Map.of(
                        DeadLetterHeaders.REASON, reason.name(),
                        DeadLetterHeaders.DETAIL, "it is wrong",
                        DeadLetterHeaders.TOPIC, topic,
                        DeadLetterHeaders.PARTITION, "3",
                        DeadLetterHeaders.OFFSET, "42",
                        DeadLetterHeaders.TIMESTAMP, "1000")
                .forEach((name, value1) -> record.headers().add(name, value1.getBytes(UTF_8)));
        return record;
    }

    @Test
    void the_newest_dead_letters_are_listed_with_their_origin_and_the_beginning_of_their_content() {
        DeadLetterList all = DeadLetterList.read(config, null, 10);
        assertThat(all.isComplete()).isTrue();
        assertThat(all.read()).isEqualTo(6);
        assertThat(all.newestFirst())
                .extracting(DeadLetter::reason)
                .containsExactly(null, "NOT_JSON", "NOT_AVRO", "RECORD_TOO_LARGE", "INVALID_POLICY", "NOT_JSON");
        DeadLetter first = all.newestFirst().get(5);
        assertThat(first.position()).isEqualTo(new DeadLetterPosition(0, 0));
        assertThat(first.detail()).isEqualTo("it is wrong");
        assertThat(first.source()).hasToString(topics.requests() + ":3:42");
        assertThat(first.key().text()).isEqualTo("alice");
        assertThat(first.value()).isEqualTo(new RecordPreview(5, "{oops", "7b6f6f7073"));
        assertThat(all.newestFirst().get(2).value()).isEqualTo(new RecordPreview(2, null, "00ff"));
        assertThat(all.newestFirst().get(1).value().size()).isEqualTo(2 * RecordPreview.MAX_BYTES);
        assertThat(all.newestFirst().get(1).value().text()).isEqualTo("é".repeat(RecordPreview.MAX_BYTES / 2));
        assertThat(all.newestFirst().get(0).source()).isNull();
    }

    @Test
    void a_list_says_whether_it_is_complete() {
        DeadLetterList two = DeadLetterList.read(config, "NOT_JSON", 1);
        assertThat(two.newestFirst())
                .extracting(letter -> letter.position().toString())
                .containsExactly("1:1");
        assertThat(two.isComplete()).isFalse();
        assertThat(DeadLetterList.read(config, "NOT_JSON", 2).isComplete()).isTrue();
    }

    @Test
    void older_records_than_those_returned_are_not_read() {
        DeadLetterList last = DeadLetterList.read(config, null, 1);
        assertThat(last.newestFirst())
                .extracting(letter -> letter.position().toString())
                .containsExactly("1:2");
        assertThat(last.read()).as("one of each partition").isEqualTo(2);
    }

    @Test
    void a_replayed_request_has_its_key_value_and_headers_and_names_its_dead_letter() {
        Map<TopicPartition, Long> before = endOfRequests();
        DeadLetterReplay.Result result = replay("0:0", "1:0");
        assertThat(result.replayed()).isEqualTo(2);
        assertThat(result.skipped()).isZero();
        List<ConsumerRecord<byte[], byte[]>> written = requestsAfter(before);
        assertThat(written).hasSize(2);
        ConsumerRecord<byte[], byte[]> alice = written.stream()
                .filter(record -> record.key() != null)
                .findFirst()
                .orElseThrow();
        assertThat(alice.value()).isEqualTo("{oops".getBytes(UTF_8));
        assertThat(StreamSupport.stream(alice.headers().spliterator(), false))
                .extracting(header -> header.key() + "=" + new String(header.value(), UTF_8))
                .containsExactly("correlation=7", "weir.replayed-from=0:0");
    }

    private DeadLetterReplay.Result replay(String... positions) {
        return DeadLetterReplay.replay(
                config, Arrays.stream(positions).map(DeadLetterPosition::parse).toList(), false);
    }

    @Test
    void what_was_replayed_is_not_sent_again() {
        Map<TopicPartition, Long> before = endOfRequests();
        assertThat(replay("0:0").replayed()).isEqualTo(1);
        DeadLetterReplay.Result others = DeadLetterReplay.replayAll(config, null, false);
        assertThat(others.replayed()).isEqualTo(1);
        assertThat(others.replayedBefore()).isEqualTo(1);
        assertThat(requestsAfter(before)).hasSize(2);
        DeadLetterReplay.Result none = DeadLetterReplay.replayAll(config, null, false);
        assertThat(none.replayed()).isZero();
        assertThat(none.replayedBefore()).isEqualTo(2);
        assertThat(none.skipped()).isEqualTo(6);
        assertThat(replay("0:0").firstSkipped())
                .extracting(skipped -> skipped.position() + " " + skipped.why())
                .containsExactly("0:0 it was replayed before");
        assertThat(requestsAfter(before)).hasSize(2);
    }

    @Test
    void what_was_replayed_is_sent_again_if_the_caller_asks_for_it() {
        Map<TopicPartition, Long> before = endOfRequests();
        for (int i = 0; i < 2; i++) {
            assertThat(DeadLetterReplay.replayAll(config, null, true).replayed())
                    .isEqualTo(2);
        }
        assertThat(DeadLetterReplay.replay(config, List.of(new DeadLetterPosition(0, 0)), true)
                        .replayed())
                .isEqualTo(1);
        assertThat(requestsAfter(before)).hasSize(5);
    }

    @Test
    void markers_are_no_dead_letters() {
        DeadLetterReplay.replayAll(config, null, false);
        assertThat(DeadLetterList.read(config, null, 100).newestFirst()).hasSize(6);
        assertThat(replay("0:3", "0:4", "1:3", "1:4").firstSkipped())
                .extracting(DeadLetterReplay.Skipped::why)
                .containsOnly("there is no such dead letter, or it was deleted");
    }

    /** Otherwise the number of dead letters would grow with each replay of requests that stay invalid. */
    @Test
    void a_request_that_is_rejected_again_is_not_replayed_with_all() throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer()) {
            ProducerRecord<byte[], byte[]> again =
                    letter(0, topics.requests(), Rejection.NOT_JSON, "dora", "{oops".getBytes(UTF_8));
            again.headers().add(DeadLetterReplay.REPLAYED_FROM, "0:0".getBytes(UTF_8));
            producer.send(again).get();
        }
        DeadLetterReplay.Result result = DeadLetterReplay.replayAll(config, "NOT_JSON", false);
        assertThat(result.replayed()).isEqualTo(1);
        assertThat(result.replayedBefore()).isEqualTo(1);
        assertThat(replay("0:3").replayed()).isEqualTo(1);
    }

    /** Otherwise a request that was rejected twice would be sent, and charged, twice. */
    @Test
    void of_a_request_that_was_rejected_again_only_the_last_letter_is_sent_again() throws Exception {
        assertThat(replay("0:0").replayed()).isEqualTo(1);
        try (KafkaProducer<byte[], byte[]> producer = producer()) {
            ProducerRecord<byte[], byte[]> later =
                    letter(0, topics.requests(), Rejection.NOT_JSON, "alice", "{oops".getBytes(UTF_8));
            later.headers().add(DeadLetterReplay.REPLAYED_FROM, "0:0".getBytes(UTF_8));
            producer.send(later).get();
        }
        Map<TopicPartition, Long> before = endOfRequests();
        DeadLetterReplay.Result again = DeadLetterReplay.replayAll(config, "NOT_JSON", true);
        assertThat(again.replayedBefore()).isEqualTo(1);
        assertThat(requestsAfter(before)).hasSize((int) again.replayed());
        assertThat(DeadLetterReplay.replayAll(config, "NOT_JSON", true).replayed())
                .isEqualTo(again.replayed());
    }

    /** A process can pause before it commits. The next replay prevents that it commits later, and sends what it did not. */
    @Test
    void a_replay_that_was_interrupted_loses_and_doubles_nothing() {
        Map<TopicPartition, Long> before = endOfRequests();
        ReplayWriter interrupted = new ReplayWriter(config);
        interrupted.begin();
        interrupted.write(new DeadLetterPosition(0, 0), "alice".getBytes(UTF_8), new byte[] {1}, new RecordHeaders());
        DeadLetterReplay.Result result = DeadLetterReplay.replayAll(config, "NOT_JSON", false);
        assertThat(result.replayed()).isEqualTo(1);
        assertThat(requestsAfter(before)).hasSize(1);
        assertThatThrownBy(interrupted::commit)
                .isInstanceOf(UnreachableException.class)
                .hasMessageContaining("0 dead letters were replayed before");
        interrupted.close();
        assertThat(requestsAfter(before)).hasSize(1);
    }

    @Test
    void what_is_not_a_request_is_skipped_with_the_reason() {
        Map<TopicPartition, Long> before = endOfRequests();
        DeadLetterReplay.Result result = DeadLetterReplay.replayAll(config, null, false);
        assertThat(result.replayed()).isEqualTo(2);
        assertThat(result.skipped()).isEqualTo(4);
        assertThat(result.firstSkipped())
                .extracting(skipped -> skipped.position() + " " + skipped.why())
                .containsExactlyInAnyOrder(
                        "0:1 it is a policy or queue; apply a corrected one with: weir policies apply",
                        "0:2 its value was too large to be kept",
                        "1:1 it came from the topic elsewhere, which is not the request topic",
                        "1:2 it does not name the topic that it came from");
        assertThat(requestsAfter(before)).hasSize(2);
    }

    @Test
    void a_replay_of_one_reason_leaves_the_others() {
        DeadLetterReplay.Result result = DeadLetterReplay.replayAll(config, "NOT_AVRO", false);
        assertThat(result).isEqualTo(new DeadLetterReplay.Result(1, 0, 0, List.of()));
    }

    @Test
    void a_position_without_a_dead_letter_is_skipped() {
        assertThat(replay("0:99", "9:0").firstSkipped())
                .extracting(skipped -> skipped.position() + " " + skipped.why())
                .containsExactly(
                        "0:99 there is no such dead letter, or it was deleted",
                        "9:0 there is no such dead letter, or it was deleted");
    }

    @Test
    void a_position_is_a_partition_and_an_offset() {
        assertThat(DeadLetterPosition.parse("3:42")).isEqualTo(new DeadLetterPosition(3, 42));
        for (String wrong : List.of("", "3", "3:", ":42", "3:42:1", "-3:42", "3:4.2", "3000000000:1")) {
            assertThatThrownBy(() -> DeadLetterPosition.parse(wrong))
                    .hasMessage(
                            "a dead letter is named by its partition and offset, such as 0:42, not '" + wrong + "'");
        }
    }

    private Map<TopicPartition, Long> endOfRequests() {
        try (RecordReader reader = reader()) {
            return reader.end(reader.partitions());
        }
    }

    private List<ConsumerRecord<byte[], byte[]>> requestsAfter(Map<TopicPartition, Long> before) {
        List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
        try (RecordReader reader = reader()) {
            reader.read(before, reader.end(reader.partitions()), records::add);
        }
        return records;
    }

    private RecordReader reader() {
        return new RecordReader(config, topics.requests(), RecordReader.Options.ofQuery());
    }
}
