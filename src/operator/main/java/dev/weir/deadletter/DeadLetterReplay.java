package dev.weir.deadletter;

import dev.weir.config.WeirConfig;
import dev.weir.event.Rejection;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.topics.RecordReader;
import dev.weir.wire.DeadLetterHeaders;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * Writes dead letters to the request topic again, with the key, the value and the headers that they had. They are new
 * requests with a new timestamp, which are decided and charged like others. What is still invalid becomes a dead letter
 * again.
 *
 * <p>What was replayed is remembered in the topic ({@link ReplayMarker}) as long as its dead letter is retained, and is
 * not sent again unless the caller asks for it. The same holds for the dead letter that a replayed request became.
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
    private final ReplayWriter writer;
    private final WeirConfig config;
    private final boolean again;
    private final List<Skipped> skipped = new ArrayList<>();
    private long replayedCount;
    private long skippedCount;
    private long replayedBefore;

    /**
     * What was done.
     *
     * @param replayed the number of dead letters that were written to the request topic
     * @param skipped the number of dead letters that were not
     * @param replayedBefore how many of these were not because their requests had been replayed before
     * @param firstSkipped the first {@value #MAX_SKIPPED} of the others, or of all that were named
     */
    public record Result(long replayed, long skipped, long replayedBefore, List<Skipped> firstSkipped) {}

    /** A dead letter that was not replayed, and why. */
    public record Skipped(DeadLetterPosition position, String why) {}

    private DeadLetterReplay(WeirConfig config, boolean again) {
        this.config = config;
        this.again = again;
        topics = Topics.of(config);
        reader = new RecordReader(config, topics.deadLetters(), RecordReader.Options.ofQuery());
        writer = new ReplayWriter(config);
    }

    /**
     * Replays the given dead letters.
     *
     * @param again whether those are replayed too that were replayed before
     * @throws UnreachableException if a topic cannot be read or written; some may have been replayed then, and are not
     *     sent twice by another call
     */
    public static Result replay(WeirConfig config, Collection<DeadLetterPosition> positions, boolean again) {
        try (DeadLetterReplay replay = new DeadLetterReplay(config, again)) {
            return replay.run(positions);
        }
    }

    /**
     * Replays all dead letters that are on the topic at the start.
     *
     * @param reason the reason of the dead letters to replay; null for any
     * @param again whether those are replayed too that were replayed before
     * @throws UnreachableException if a topic cannot be read or written; some may have been replayed then, and are not
     *     sent twice by another call
     */
    public static Result replayAll(WeirConfig config, String reason, boolean again) {
        try (DeadLetterReplay replay = new DeadLetterReplay(config, again)) {
            return replay.run(reason);
        }
    }

    private Result run(String reason) {
        writer.begin();
        List<TopicPartition> partitions = reader.partitions();
        Map<TopicPartition, Long> beginning = reader.beginning(partitions);
        Map<TopicPartition, Long> end = logEnd(partitions);
        ReplayMarker.Replayed replayed = ReplayMarker.Replayed.read(reader, beginning, end);
        Iterator<ConsumerRecord<byte[], byte[]>> records = reader.iterator(beginning, end);
        while (records.hasNext()) {
            ConsumerRecord<byte[], byte[]> record = records.next();
            if (!ReplayMarker.isIn(record) && DeadLetterList.hasReason(record, reason)) {
                if (again ? replayed.isRejectedAgain(record) : replayed.contains(record) || isOfReplay(record)) {
                    skippedCount++;
                    replayedBefore++;
                } else {
                    replay(record);
                }
            }
        }
        return finish();
    }

    private Result run(Collection<DeadLetterPosition> positions) {
        writer.begin();
        List<TopicPartition> partitions = reader.partitions();
        Map<TopicPartition, Long> beginning = reader.beginning(partitions);
        Map<TopicPartition, Long> end = logEnd(partitions);
        Map<TopicPartition, Long> from = new HashMap<>();
        for (DeadLetterPosition position : positions) {
            TopicPartition partition = new TopicPartition(topics.deadLetters(), position.partition());
            if (position.offset() < end.getOrDefault(partition, 0L)) {
                from.merge(partition, Math.max(position.offset(), beginning.get(partition)), Math::min);
            }
        }
        Map<TopicPartition, Long> until = new HashMap<>(end);
        until.keySet().retainAll(from.keySet());
        ReplayMarker.Replayed replayed = ReplayMarker.Replayed.read(reader, from, until);
        for (DeadLetterPosition position : positions) {
            TopicPartition partition = new TopicPartition(topics.deadLetters(), position.partition());
            List<ConsumerRecord<byte[], byte[]>> found = new ArrayList<>(1);
            if (from.containsKey(partition)
                    && position.offset() >= from.get(partition)
                    && position.offset() < end.get(partition)) {
                reader.read(Map.of(partition, position.offset()), Map.of(partition, position.offset() + 1), found::add);
            }
            if (found.isEmpty() || ReplayMarker.isIn(found.get(0))) {
                skip(position, "there is no such dead letter, or it was deleted");
            } else if (!again && replayed.contains(found.get(0))) {
                replayedBefore++;
                skip(position, "it was replayed before");
            } else {
                replay(found.get(0));
            }
        }
        return finish();
    }

    /**
     * Returns the ends of the logs. Markers can lie behind the last stable offset, which is that of the oldest open
     * transaction of an enforcer: reading waits for its end.
     */
    private Map<TopicPartition, Long> logEnd(List<TopicPartition> partitions) {
        RecordReader.Options uncommitted =
                RecordReader.Options.of(IsolationLevel.READ_UNCOMMITTED, Duration.ofSeconds(10));
        try (RecordReader ends = new RecordReader(config, topics.deadLetters(), uncommitted)) {
            return ends.end(partitions);
        }
    }

    /** Returns whether the request of a dead letter was itself written by a replay. */
    private static boolean isOfReplay(ConsumerRecord<byte[], byte[]> record) {
        return DeadLetter.header(record, REPLAYED_FROM) != null;
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
        writer.write(position, record.key(), record.value(), headers);
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
        writer.commit();
        return new Result(replayedCount, skippedCount, replayedBefore, List.copyOf(skipped));
    }

    /** Closes the connections. */
    @Override
    public void close() {
        writer.close();
        reader.close();
    }
}
