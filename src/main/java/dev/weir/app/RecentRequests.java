package dev.weir.app;

import dev.weir.codec.RequestAvro;
import dev.weir.codec.UnreadableException;
import dev.weir.config.WeirConfig;
import dev.weir.policy.Request;
import dev.weir.processor.RequestReader;
import dev.weir.topology.Topics;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * The requests of the last minutes, as the topic has them: by their times, those of a partition in its order.
 *
 * @param isComplete false: there were more than are read, so that it begins later
 */
public record RecentRequests(long fromMs, long toMs, boolean isComplete, List<Request> requests) {

    /** What is kept of them all, without payloads, in bytes as they are on the topic. */
    private static final long MAX_BYTES = 64 << 20;

    /** @param order the latest time of its partition up to it: a partition is decided in the order that it is in */
    private record Timed(long order, Request request) {}

    /**
     * Reads them, without their payloads.
     *
     * @param most how many records at most
     * @throws TooMuchException if they are too large to be held
     * @throws UnreachableException if the topic cannot be read
     */
    public static RecentRequests read(WeirConfig config, long fromMs, long toMs, int most) {
        try (TopicSlice slice = new TopicSlice(config, Topics.of(config).requests())) {
            Map<TopicPartition, Long> end = slice.end(slice.partitions());
            Map<TopicPartition, Long> from = slice.at(fromMs, end);
            boolean isComplete = count(from, end) <= most;
            if (!isComplete) {
                from = newest(slice, fromMs, toMs, end, most);
            }
            Reading reading = new Reading(config);
            slice.read(from, end, reading::add);
            reading.timed.sort(Comparator.comparingLong(Timed::order));
            List<Request> requests = reading.timed.stream().map(Timed::request).toList();
            long sinceMs = isComplete || requests.isEmpty() ? fromMs : reading.timed.get(0).order;
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
        private final List<Timed> timed = new ArrayList<>();
        private final Map<Integer, Long> latest = new HashMap<>();
        private long bytes;

        Reading(WeirConfig config) {
            reader = new RequestReader(
                    new RequestAvro(Registries.of(config)), config.requests().rules());
        }

        void add(ConsumerRecord<byte[], byte[]> record) {
            request(record).ifPresent(request -> {
                int payload = request.payload() == null ? 0 : request.payload().length;
                bytes += record.serializedValueSize() - payload;
                if (bytes > MAX_BYTES) {
                    throw new TooMuchException(
                            "the requests of this time are too large to be tried: take fewer minutes");
                }
                long order = latest.merge(record.partition(), record.timestamp(), Math::max);
                timed.add(new Timed(order, withoutPayload(request)));
            });
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
