package dev.weir.app;

import dev.weir.codec.RequestAvro;
import dev.weir.codec.UnreadableException;
import dev.weir.config.WeirConfig;
import dev.weir.policy.Request;
import dev.weir.processor.RequestReader;
import dev.weir.topology.Topics;
import java.util.ArrayList;
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

    /**
     * A request that was read.
     *
     * @param order the latest time of its partition up to it: a partition is decided in the order that it is in
     * @param number counts what was read
     */
    private record Timed(long order, long number, Request request) implements Comparable<Timed> {
        @Override
        public int compareTo(Timed other) {
            int byOrder = Long.compare(order, other.order);
            return byOrder != 0 ? byOrder : Long.compare(number, other.number);
        }
    }

    /**
     * Reads them, without their payloads. If they would take more of the heap than the budget permits, the first ones are left out.
     *
     * @param most how many records at most
     * @throws TooMuchException if it takes more time than the budget permits
     * @throws UnreachableException if the topic cannot be read
     */
    public static RecentRequests read(WeirConfig config, long fromMs, long toMs, int most, TrialBudget budget) {
        try (TopicSlice slice = new TopicSlice(config, Topics.of(config).requests())) {
            Map<TopicPartition, Long> end = slice.end(slice.partitions());
            Map<TopicPartition, Long> from = slice.at(fromMs, end);
            boolean isComplete = count(from, end) <= most;
            if (!isComplete) {
                from = newest(slice, fromMs, toMs, end, most);
            }
            Reading reading = new Reading(config, budget);
            slice.read(from, end, reading::add);
            isComplete &= !reading.hasLeftOut;
            List<Timed> timed = new ArrayList<>(reading.timed);
            timed.sort(null);
            List<Request> requests = timed.stream().map(Timed::request).toList();
            long sinceMs = isComplete || requests.isEmpty() ? fromMs : timed.get(0).order;
            return new RecentRequests(sinceMs, toMs, isComplete, requests);
        }
    }

    /** The first time since which there are few enough is found by halves; those of the millisecond before fill it up. */
    private static Map<TopicPartition, Long> newest(
            TopicSlice slice, long fromMs, long toMs, Map<TopicPartition, Long> end, int most) {
        long tooEarlyMs = fromMs;
        long lateEnoughMs = toMs;
        while (lateEnoughMs - tooEarlyMs > 1) {
            long middleMs = tooEarlyMs + (lateEnoughMs - tooEarlyMs) / 2;
            if (count(slice.at(middleMs, end), end) > most) {
                tooEarlyMs = middleMs;
            } else {
                lateEnoughMs = middleMs;
            }
        }
        Map<TopicPartition, Long> earlier = slice.at(tooEarlyMs, end);
        Map<TopicPartition, Long> from = slice.at(lateEnoughMs, end);
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
        private final TrialBudget budget;
        private final PriorityQueue<Timed> timed = new PriorityQueue<>(); // the first one first
        private final Map<Integer, Long> latest = new HashMap<>();
        private long numbers;
        private long bytes;
        private long leftOutBefore = Long.MIN_VALUE;
        private boolean hasLeftOut;

        Reading(WeirConfig config, TrialBudget budget) {
            this.budget = budget;
            reader = new RequestReader(
                    new RequestAvro(Registries.of(config)), config.requests().rules());
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
                timed.add(new Timed(order, numbers++, kept));
                while (bytes > budget.heapBytes()) {
                    Timed first = timed.remove();
                    hasLeftOut = true;
                    leftOutBefore = first.order;
                    bytes -= bytes(first.request);
                }
            });
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
