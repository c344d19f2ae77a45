package dev.weir.deadletter;

import dev.weir.config.WeirConfig;
import dev.weir.event.Rejection;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.topics.RecordReader;
import dev.weir.wire.DeadLetterHeaders;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * The newest dead letters.
 *
 * @param newestFirst the dead letters, newest first
 * @param read the number of records that were read to find them
 * @param isComplete whether these are all that the topic has; if not, there are older ones
 */
public record DeadLetterList(List<DeadLetter> newestFirst, long read, boolean isComplete) {

    /** The maximum number of records of a partition that are read. */
    public static final int MAX_READ = 20_000;

    /** The factor by which each further part is larger. */
    private static final int GROWTH = 4;

    private static final Set<String> REASONS = reasons();

    private static final Comparator<DeadLetter> OLDEST_FIRST = Comparator.comparingLong(DeadLetter::timestampMs)
            .thenComparingInt(letter -> letter.position().partition())
            .thenComparingLong(letter -> letter.position().offset());

    private static Set<String> reasons() {
        Set<String> reasons = new TreeSet<>(Set.of(DeadLetterHeaders.ATTEMPTS_FAILED));
        for (Rejection rejection : Rejection.values()) {
            reasons.add(rejection.name());
        }
        return reasons;
    }

    /** @throws IllegalArgumentException unless {@code reason} is a reason of dead letters */
    public static String requireReason(String reason) {
        if (!REASONS.contains(reason)) {
            throw new IllegalArgumentException(
                    "reason must be one of " + String.join(", ", REASONS) + ", is '" + reason + "'");
        }
        return reason;
    }

    /**
     * Reads the end of the dead-letter topic. The newest part is read first, and earlier ones only while they can have
     * newer dead letters than those found, so that a topic full of large records can be listed too.
     *
     * @param reason the reason of the dead letters to return; null for any
     * @param most the maximum number of dead letters to return
     * @throws UnreachableException if the topic cannot be read
     */
    public static DeadLetterList read(WeirConfig config, String reason, int most) {
        Newest newest = new Newest(reason, most);
        String topic = Topics.of(config).deadLetters();
        try (RecordReader reader = new RecordReader(config, topic, RecordReader.Options.ofQuery())) {
            List<TopicPartition> partitions = reader.partitions();
            Map<TopicPartition, Long> beginning = reader.beginning(partitions);
            Map<TopicPartition, Long> end = reader.end(partitions);
            Map<TopicPartition, Long> from = new HashMap<>(beginning);
            from.replaceAll((partition, offset) -> Math.max(offset, end.get(partition) - MAX_READ));
            Map<TopicPartition, Long> until = end;
            for (long part = most; !until.equals(from) && !newest.areFound(from, until); part *= GROWTH) {
                until = newest.read(reader, from, until, part);
            }
            return newest.list(until.equals(beginning));
        }
    }

    /** The newest dead letters among the records that were read. */
    private static final class Newest {
        private final PriorityQueue<DeadLetter> letters = new PriorityQueue<>(OLDEST_FIRST);
        private final Map<TopicPartition, Long> oldestMs = new HashMap<>();
        private final String reason;
        private final int most;
        private long read;
        private boolean hasLeftOut;

        Newest(String reason, int most) {
            this.reason = reason;
            this.most = most;
        }

        /** Reads the last records of each partition before an offset. Returns the offset of the first of them. */
        Map<TopicPartition, Long> read(
                RecordReader reader, Map<TopicPartition, Long> from, Map<TopicPartition, Long> until, long part) {
            Map<TopicPartition, Long> start = new HashMap<>(until);
            start.replaceAll((partition, offset) -> Math.max(from.get(partition), offset - part));
            reader.read(start, until, this::add);
            return start;
        }

        private void add(ConsumerRecord<byte[], byte[]> record) {
            read++;
            oldestMs.merge(new TopicPartition(record.topic(), record.partition()), record.timestamp(), Math::min);
            if (!ReplayMarker.isIn(record) && hasReason(record, reason)) {
                letters.add(DeadLetter.of(record));
            }
            if (letters.size() > most) {
                letters.remove();
                hasLeftOut = true;
            }
        }

        /** Returns whether no record between the offsets is newer than the dead letters that were found. */
        boolean areFound(Map<TopicPartition, Long> from, Map<TopicPartition, Long> until) {
            return letters.size() == most
                    && from.keySet().stream()
                            .filter(partition -> from.get(partition) < until.get(partition))
                            .allMatch(partition -> oldestMs.getOrDefault(partition, Long.MAX_VALUE)
                                    <= letters.element().timestampMs());
        }

        DeadLetterList list(boolean hasReadAll) {
            List<DeadLetter> newestFirst = new ArrayList<>(letters);
            newestFirst.sort(OLDEST_FIRST.reversed());
            return new DeadLetterList(List.copyOf(newestFirst), read, hasReadAll && !hasLeftOut);
        }
    }

    /** @param reason null for any */
    static boolean hasReason(ConsumerRecord<byte[], byte[]> record, String reason) {
        return reason == null || reason.equals(DeadLetter.header(record, DeadLetterHeaders.REASON));
    }
}
