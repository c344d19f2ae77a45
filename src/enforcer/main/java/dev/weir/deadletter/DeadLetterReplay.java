package dev.weir.deadletter;

import dev.weir.config.WeirConfig;
import dev.weir.event.Rejection;
import dev.weir.topics.KafkaSettings;
import dev.weir.topics.RecordReader;
import dev.weir.topics.UnreachableException;
import dev.weir.topology.Topics;
import dev.weir.wire.DeadLetterHeaders;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes dead letters to the request topic again, with the key, the value and the headers that they had. They are new
 * requests with a new timestamp, which are decided and charged like others. What is still invalid becomes a dead letter
 * again. A dead letter that is replayed twice is charged twice, unless its policies have {@code idempotency}.
 *
 * <p>Only requests can be replayed. A dead letter of another topic, or one whose value was too large to be kept, is
 * skipped.
 */
public final class DeadLetterReplay implements AutoCloseable {

    /** The header that names the dead letter from which a request was replayed. */
    public static final String REPLAYED_FROM = "weir.replayed-from";

    /** The maximum number of skipped dead letters that a result names. */
    public static final int MAX_SKIPPED = 100;

    private static final Set<String> ADDED_HEADERS = Set.of(
            DeadLetterHeaders.REASON,
            DeadLetterHeaders.DETAIL,
            DeadLetterHeaders.TOPIC,
            DeadLetterHeaders.PARTITION,
            DeadLetterHeaders.OFFSET,
            DeadLetterHeaders.TIMESTAMP,
            REPLAYED_FROM);

    private final Topics topics;
    private final RecordReader reader;
    private final KafkaProducer<byte[], byte[]> producer;
    private final AtomicReference<Exception> failure = new AtomicReference<>();
    private final List<Skipped> skipped = new ArrayList<>();
    private long replayedCount;
    private long skippedCount;

    /**
     * What was done.
     *
     * @param replayed the number of dead letters that were written to the request topic
     * @param skipped the number of dead letters that were not
     * @param firstSkipped the first {@value #MAX_SKIPPED} of them
     */
    public record Result(long replayed, long skipped, List<Skipped> firstSkipped) {}

    /** A dead letter that was not replayed, and why. */
    public record Skipped(DeadLetterPosition position, String why) {}

    private DeadLetterReplay(WeirConfig config) {
        topics = Topics.of(config);
        reader = new RecordReader(config, topics.deadLetters(), RecordReader.Options.ofQuery());
        Properties settings = KafkaSettings.producer(config);
        settings.put(ProducerConfig.ACKS_CONFIG, "all");
        settings.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
        settings.putIfAbsent(ProducerConfig.MAX_BLOCK_MS_CONFIG, 30_000);
        producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    /**
     * Replays the given dead letters.
     *
     * @throws UnreachableException if a topic cannot be read or written; some may have been replayed then
     */
    public static Result replay(WeirConfig config, Collection<DeadLetterPosition> positions) {
        try (DeadLetterReplay replay = new DeadLetterReplay(config)) {
            return replay.run(positions);
        }
    }

    /**
     * Replays all dead letters that are on the topic at the start.
     *
     * @param reason the reason of the dead letters to replay; null for any
     * @throws UnreachableException if a topic cannot be read or written; some may have been replayed then
     */
    public static Result replayAll(WeirConfig config, String reason) {
        try (DeadLetterReplay replay = new DeadLetterReplay(config)) {
            return replay.run(reason);
        }
    }

    private Result run(String reason) {
        List<TopicPartition> partitions = reader.partitions();
        Map<TopicPartition, Long> end = reader.end(partitions);
        Iterator<ConsumerRecord<byte[], byte[]>> records = reader.iterator(reader.beginning(partitions), end);
        while (records.hasNext()) {
            ConsumerRecord<byte[], byte[]> record = records.next();
            if (DeadLetterList.hasReason(record, reason)) {
                replay(record);
            }
        }
        return finish();
    }

    private Result run(Collection<DeadLetterPosition> positions) {
        List<TopicPartition> partitions = reader.partitions();
        Map<TopicPartition, Long> end = reader.end(partitions);
        for (DeadLetterPosition position : positions) {
            TopicPartition partition = new TopicPartition(topics.deadLetters(), position.partition());
            List<ConsumerRecord<byte[], byte[]>> found = new ArrayList<>(1);
            if (position.offset() < end.getOrDefault(partition, 0L)) {
                reader.read(Map.of(partition, position.offset()), Map.of(partition, position.offset() + 1), found::add);
            }
            if (found.isEmpty()) {
                skip(position, "there is no such dead letter, or it was deleted");
            } else {
                replay(found.get(0));
            }
        }
        return finish();
    }

    private void replay(ConsumerRecord<byte[], byte[]> record) {
        DeadLetterPosition position = new DeadLetterPosition(record.partition(), record.offset());
        String why = obstacle(record);
        if (why != null) {
            skip(position, why);
            return;
        }
        Headers headers = new RecordHeaders();
        record.headers().forEach(header -> {
            if (!ADDED_HEADERS.contains(header.key())) {
                headers.add(header);
            }
        });
        headers.add(REPLAYED_FROM, position.toString().getBytes(StandardCharsets.UTF_8));
        throwFailure();
        var unused = producer.send( // the callback handles the result
                new ProducerRecord<>(topics.requests(), null, record.key(), record.value(), headers),
                (metadata, exception) -> {
                    if (exception != null) {
                        failure.compareAndSet(null, exception);
                    }
                });
        replayedCount++;
    }

    /** Returns why a dead letter cannot be replayed, null if it can. */
    private String obstacle(ConsumerRecord<byte[], byte[]> record) {
        String topic = DeadLetter.header(record, DeadLetterHeaders.TOPIC);
        if (topic == null) {
            return "it does not name the topic that it came from";
        }
        if (topic.equals(topics.policies())) {
            return "it is a policy or queue; apply a corrected one with: weir policies apply";
        }
        if (!topic.equals(topics.requests()) && !topic.equals(topics.routedRequests())) {
            return "it came from the topic " + topic + ", which is not the request topic";
        }
        if (Rejection.RECORD_TOO_LARGE.name().equals(DeadLetter.header(record, DeadLetterHeaders.REASON))) {
            return "its value was too large to be kept";
        }
        return null;
    }

    private void skip(DeadLetterPosition position, String why) {
        skippedCount++;
        if (skipped.size() < MAX_SKIPPED) {
            skipped.add(new Skipped(position, why));
        }
    }

    private Result finish() {
        producer.flush();
        throwFailure();
        return new Result(replayedCount, skippedCount, List.copyOf(skipped));
    }

    private void throwFailure() {
        Exception first = failure.get();
        if (first != null) {
            throw new UnreachableException(
                    "cannot write to the topic %s: %s; up to %d dead letters were replayed before"
                            .formatted(topics.requests(), UnreachableException.causeMessage(first), replayedCount),
                    first);
        }
    }

    /** Closes the connections. */
    @Override
    public void close() {
        producer.close();
        reader.close();
    }
}
