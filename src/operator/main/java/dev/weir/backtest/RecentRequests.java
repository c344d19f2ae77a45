package dev.weir.backtest;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.SchemaRegistries;
import dev.weir.kafka.Topics;
import dev.weir.kafka.UnreachableException;
import dev.weir.requests.RequestReader;
import dev.weir.topics.RecordReader;
import dev.weir.wire.RequestCodec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * The requests of the last minutes from the topic, ordered by time, those of a partition in the order of their offsets.
 *
 * @param isComplete whether all requests of the period were read; if not, the period begins later
 */
public record RecentRequests(long fromMs, long toMs, boolean isComplete, List<Request> requests) {

    /** The approximate heap size of an object, apart from its text or entries. */
    private static final long OBJECT_BYTES = 48;

    private static final long REQUEST_BYTES = 250;

    /** The number of records that are read first, before it is known how much heap they need. */
    private static final int FIRST_PART = 8_192;

    /** The factor by which each further part is larger. */
    private static final int GROWTH = 4;

    /**
     * A request that was read.
     *
     * @param order the latest time of its partition up to this request, because a partition is decided in the order of
     *     its offsets
     */
    private record Timed(long order, Request request) implements Comparable<Timed> {
        private static final Comparator<Timed> ORDER = Comparator.comparingLong(Timed::order)
                .thenComparingInt(timed -> timed.request.source().partition())
                .thenComparingLong(timed -> timed.request.source().offset());

        @Override
        public int compareTo(Timed other) {
            return ORDER.compare(this, other);
        }
    }

    /**
     * Reads the requests, without their payloads. If they would use more heap than the budget permits, the oldest are
     * left out.
     *
     * @param most the maximum number of records
     * @throws ResultTooLargeException if reading takes longer than the budget permits
     * @throws UnreachableException if the topic cannot be read
     */
    public static RecentRequests read(WeirConfig config, long fromMs, long toMs, int most, BacktestBudget budget) {
        return read(config, fromMs, toMs, most, budget, FIRST_PART);
    }

    /**
     * Reads the newest part first, and earlier parts only while there is heap left. A query for an hour of large
     * requests therefore reads about as much as fits on the heap, not all that is on the topic.
     */
    static RecentRequests read(
            WeirConfig config, long fromMs, long toMs, int most, BacktestBudget budget, int firstPart) {
        String topic = Topics.of(config).requests();
        try (RecordReader reader = new RecordReader(config, topic, RecordReader.Options.ofQuery())) {
            Map<TopicPartition, Long> end = reader.end(reader.partitions());
            Map<TopicPartition, Long> from = reader.at(fromMs, end);
            boolean isComplete = count(from, end) <= most;
            if (!isComplete) {
                from = newest(reader, fromMs, toMs, end, most);
            }
            Reading reading = new Reading(config, budget);
            for (long part = firstPart; count(from, end) > 0 && !reading.hasLeftOut; part *= GROWTH) {
                Map<TopicPartition, Long> start = partBefore(end, from, reader, fromMs, toMs, part);
                reading.begin();
                reader.read(start, end, reading::add);
                end = start;
            }
            isComplete &= !reading.hasLeftOut;
            List<Timed> timed = reading.inOrder();
            List<Request> requests = timed.stream().map(Timed::request).toList();
            long sinceMs = isComplete || requests.isEmpty() ? fromMs : timed.get(0).order;
            return new RecentRequests(sinceMs, toMs, isComplete, requests);
        }
    }

    /**
     * Returns the beginning of the part that ends at the given offsets; the beginning of all if there is no
     * smaller part.
     */
    private static Map<TopicPartition, Long> partBefore(
            Map<TopicPartition, Long> end,
            Map<TopicPartition, Long> from,
            RecordReader reader,
            long fromMs,
            long toMs,
            long part) {
        if (count(from, end) <= part) {
            return from;
        }
        Map<TopicPartition, Long> start = newest(reader, fromMs, toMs, end, (int) part);
        start.replaceAll((partition, offset) -> Math.max(from.get(partition), offset));
        return count(start, end) > 0 ? start : from;
    }

    /**
     * Finds the earliest time after which there are few enough records, by binary search, and then adds records of the
     * millisecond before.
     */
    private static Map<TopicPartition, Long> newest(
            RecordReader reader, long fromMs, long toMs, Map<TopicPartition, Long> end, int most) {
        long tooEarlyMs = fromMs;
        long lateEnoughMs = toMs;
        while (lateEnoughMs - tooEarlyMs > 1) {
            long middleMs = tooEarlyMs + (lateEnoughMs - tooEarlyMs) / 2;
            if (count(reader.at(middleMs, end), end) > most) {
                tooEarlyMs = middleMs;
            } else {
                lateEnoughMs = middleMs;
            }
        }
        Map<TopicPartition, Long> earlier = reader.at(tooEarlyMs, end);
        Map<TopicPartition, Long> from = reader.at(lateEnoughMs, end);
        if (count(from, end) > most) { // their timestamps are later than the current time of this machine
            from = new HashMap<>(end);
        }
        long more = (most - count(from, end)) / end.size();
        from.replaceAll((partition, offset) -> Math.max(earlier.get(partition), offset - more));
        return from;
    }

    private static long count(Map<TopicPartition, Long> from, Map<TopicPartition, Long> end) {
        return end.keySet().stream()
                .mapToLong(partition -> end.get(partition) - from.get(partition))
                .sum();
    }

    /** The requests that have been read. Invalid records are skipped. */
    private static final class Reading {
        private final RequestReader reader;
        private final BacktestBudget budget;
        private final PriorityQueue<Timed> part = new PriorityQueue<>(); // oldest first
        private final Map<Integer, Long> latest = new HashMap<>();
        private final List<Request> later = new ArrayList<>();
        private long bytes;
        private long leftOutBefore = Long.MIN_VALUE;
        private boolean hasLeftOut;

        Reading(WeirConfig config, BacktestBudget budget) {
            this.budget = budget;
            reader = new RequestReader(
                    new RequestCodec(SchemaRegistries.of(config)),
                    config.requests().rules());
        }

        /** Must be called before each part. A part is earlier than those before it. */
        void begin() {
            part.forEach(timed -> later.add(timed.request));
            part.clear();
            latest.clear();
        }

        void add(ConsumerRecord<byte[], byte[]> record) {
            budget.check(0);
            request(record).ifPresent(request -> {
                long order = latest.merge(record.partition(), record.timestamp(), Math::max);
                if (order < leftOutBefore) {
                    return;
                }
                Request kept = request.withoutPayload(); // a backtest does not write releases
                bytes += bytes(kept);
                part.add(new Timed(order, kept));
                while (bytes > budget.heapBytes() && !part.isEmpty()) {
                    Timed first = part.remove();
                    hasLeftOut = true;
                    leftOutBefore = first.order;
                    bytes -= bytes(first.request);
                }
            });
        }

        /** Returns all requests that were read, in order. */
        List<Timed> inOrder() {
            begin();
            later.sort(
                    Comparator.<Request>comparingInt(request -> request.source().partition())
                            .thenComparingLong(request -> request.source().offset()));
            List<Timed> timed = new ArrayList<>(later.size());
            for (Request request : later) {
                long order = latest.merge(request.source().partition(), request.timestampMs(), Math::max);
                timed.add(new Timed(order, request));
            }
            timed.sort(null);
            return timed;
        }

        /** Returns the approximate heap size of a request. */
        private static long bytes(Request request) {
            long bytes = REQUEST_BYTES
                    + text(request.requestId())
                    + text(request.client())
                    + text(request.tier())
                    + text(request.queue())
                    + text(request.policyId())
                    + text(request.settles())
                    + (request.reserveMs() == null ? 0 : OBJECT_BYTES);
            for (Map.Entry<String, String> attribute : request.attributes().entrySet()) {
                bytes += OBJECT_BYTES + text(attribute.getKey()) + text(attribute.getValue());
            }
            return request.limitOverride() == null ? bytes : bytes + OBJECT_BYTES;
        }

        private static long text(String text) {
            return text == null ? 0 : OBJECT_BYTES + 2L * text.length();
        }

        private Optional<Request> request(ConsumerRecord<byte[], byte[]> record) {
            try {
                Request.Source source = new Request.Source(record.partition(), record.offset());
                return Optional.of(
                        reader.read(record.key(), record.value(), record.headers(), record.timestamp(), source));
            } catch (UnreadableException e) {
                return Optional.empty();
            }
        }
    }
}
