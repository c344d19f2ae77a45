package dev.weir.deadletter;

import dev.weir.config.WeirConfig;
import dev.weir.event.Rejection;
import dev.weir.topics.RecordReader;
import dev.weir.topics.UnreachableException;
import dev.weir.topology.Topics;
import dev.weir.wire.DeadLetterHeaders;
import java.util.ArrayList;
import java.util.Comparator;
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
     * Reads the end of the dead-letter topic.
     *
     * @param reason the reason of the dead letters to return; null for any
     * @param most the maximum number of dead letters to return
     * @throws UnreachableException if the topic cannot be read
     */
    public static DeadLetterList read(WeirConfig config, String reason, int most) {
        PriorityQueue<DeadLetter> newest = new PriorityQueue<>(OLDEST_FIRST);
        long[] counts = new long[2]; // records that were read, and those that were left out
        String topic = Topics.of(config).deadLetters();
        try (RecordReader reader = new RecordReader(config, topic, RecordReader.Options.ofQuery())) {
            List<TopicPartition> partitions = reader.partitions();
            Map<TopicPartition, Long> from = reader.beginning(partitions);
            Map<TopicPartition, Long> end = reader.end(partitions);
            from.replaceAll((partition, beginning) -> {
                long start = Math.max(beginning, end.get(partition) - MAX_READ);
                counts[1] += start - beginning;
                return start;
            });
            reader.read(from, end, record -> {
                counts[0]++;
                if (hasReason(record, reason)) {
                    newest.add(DeadLetter.of(record));
                }
                if (newest.size() > most) {
                    newest.remove();
                    counts[1]++;
                }
            });
        }
        List<DeadLetter> newestFirst = new ArrayList<>(newest);
        newestFirst.sort(OLDEST_FIRST.reversed());
        return new DeadLetterList(List.copyOf(newestFirst), counts[0], counts[1] == 0);
    }

    /** @param reason null for any */
    static boolean hasReason(ConsumerRecord<byte[], byte[]> record, String reason) {
        return reason == null || reason.equals(DeadLetter.header(record, DeadLetterHeaders.REASON));
    }
}
