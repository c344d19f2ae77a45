package dev.weir.backtest;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.processor.RequestReader;
import dev.weir.topics.RecordReader;
import dev.weir.topics.SchemaRegistries;
import dev.weir.topics.UnreachableException;
import dev.weir.topology.Topics;
import dev.weir.wire.RequestAvro;
import dev.weir.wire.UnreadableException;
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
 * The requests of the last minutes, as the topic has them: by their times, those of a partition in its order.
 *
 * @param isComplete false: there were more than are read, so that it begins later
 */
public record RecentRequests(long fromMs, long toMs, boolean isComplete, List<Request> requests) {

    /** What an object takes on the heap beside its text or its entries, roughly. */
    private static final long OBJECT_BYTES = 48;

    private static final long REQUEST_BYTES = 250;

    /** How many records are read first, before it is known how much heap they take. */
    private static final int FIRST_PART = 8_192;

    /** How many times as many are read next. */
    private static final int GROWTH = 4;

    /**
     * A request that was read.
     *
     * @param order the latest time of its partition up to it: a partition is decided in the order that it is in
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
     * Reads them, without their payloads. If they would take more of the heap than the budget permits, the first ones
     * are left out.
     *
     * @param most how many records at most
     * @throws ResultTooLargeException if it takes more time than the budget permits
     * @throws UnreachableException if the topic cannot be read
     */
    public static RecentRequests read(WeirConfig config, long fromMs, long toMs, int most, BacktestBudget budget) {
        return read(config, fromMs, toMs, most, budget, FIRST_PART);
    }

    /**
     * Reads the newest part first, and what is before it only if there is heap left: whoever asks for an hour of large
     * requests costs what fits on the heap, and not what is on the topic.
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

    /** Where the part begins that ends at these offsets; at the latest where all begin if there is no smaller part. */
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
     * The first time since which there are few enough is found by halves; those of the millisecond before fill it up.
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
        if (count(from, end) > most) { // they have times behind now, by other clocks
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

    /** What has come; what is no request is passed over. */
    private static final class Reading {
        private final RequestReader reader;
        private final BacktestBudget budget;
        private final PriorityQueue<Timed> part = new PriorityQueue<>(); // the first one first
        private final Map<Integer, Long> latest = new HashMap<>();
        private final List<Request> later = new ArrayList<>();
        private long bytes;
        private long leftOutBefore = Long.MIN_VALUE;
        private boolean hasLeftOut;

        Reading(WeirConfig config, BacktestBudget budget) {
            this.budget = budget;
            reader = new RequestReader(
                    new RequestAvro(SchemaRegistries.of(config)),
                    config.requests().rules());
        }

        /** Before a part, which is earlier than those that were read. */
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
                Request kept = withoutPayload(request);
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

        /** All that was read. */
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

        /** What a request takes on the heap, roughly. */
        private static long bytes(Request request) {
            long bytes = REQUEST_BYTES + text(request.requestId()) + text(request.client()) + text(request.tier());
            for (Map.Entry<String, String> attribute : request.attributes().entrySet()) {
                bytes += OBJECT_BYTES + text(attribute.getKey()) + text(attribute.getValue());
            }
            return bytes;
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

        /** Nothing is released by a trial. */
        private static Request withoutPayload(Request request) {
            return new Request(
                    request.requestId(),
                    request.client(),
                    request.kind(),
                    request.tier(),
                    request.cost(),
                    request.sizeBytes(),
                    request.attributes(),
                    request.deadlineMs(),
                    null,
                    request.queue(),
                    request.timestampMs(),
                    request.source());
        }
    }
}
