package dev.weir.app;

import dev.weir.codec.RequestAvro;
import dev.weir.codec.UnreadableException;
import dev.weir.config.WeirConfig;
import dev.weir.policy.Request;
import dev.weir.policy.RequestRules;
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

    private static final int STEPS = 10;

    /** @param order the latest time of its partition up to it: a partition is decided in the order that it is in */
    private record Timed(long order, Request request) {}

    /**
     * Reads them.
     *
     * @param most how many records at most
     * @throws UnreachableException if the topic cannot be read
     */
    public static RecentRequests read(WeirConfig config, long fromMs, long toMs, int most) {
        try (TopicSlice slice =
                new TopicSlice(config, Topics.of(config.topics().prefix()).requests())) {
            Map<TopicPartition, Long> end = slice.end(slice.partitions());
            long startMs = fromMs;
            Map<TopicPartition, Long> from = slice.at(startMs, end);
            if (count(from, end) > most) {
                startMs = newest(slice, fromMs, toMs, end, most);
                from = slice.at(startMs, end);
            }
            Reading reading = new Reading(config);
            slice.read(from, end, reading::add);
            reading.timed.sort(Comparator.comparingLong(Timed::order));
            return new RecentRequests(
                    startMs,
                    toMs,
                    startMs == fromMs,
                    reading.timed.stream().map(Timed::request).toList());
        }
    }

    /** From which time on there are few enough: found by halves. */
    private static long newest(TopicSlice slice, long fromMs, long toMs, Map<TopicPartition, Long> end, int most) {
        long tooEarly = fromMs;
        long lateEnough = toMs;
        for (int i = 0; i < STEPS; i++) {
            long middle = tooEarly + (lateEnough - tooEarly) / 2;
            if (count(slice.at(middle, end), end) > most) {
                tooEarly = middle;
            } else {
                lateEnough = middle;
            }
        }
        return lateEnough;
    }

    private static long count(Map<TopicPartition, Long> from, Map<TopicPartition, Long> end) {
        return end.keySet().stream()
                .mapToLong(partition -> end.get(partition) - from.get(partition))
                .sum();
    }

    /** What has come; what is no request is passed over. */
    private static final class Reading {
        private final RequestAvro avro;
        private final RequestRules rules;
        private final List<Timed> timed = new ArrayList<>();
        private final Map<Integer, Long> latest = new HashMap<>();

        Reading(WeirConfig config) {
            avro = new RequestAvro(Registries.of(config));
            rules = config.requests().rules();
        }

        void add(ConsumerRecord<byte[], byte[]> record) {
            request(record).ifPresent(request -> {
                long order = latest.merge(record.partition(), record.timestamp(), Math::max);
                timed.add(new Timed(order, request));
            });
        }

        private Optional<Request> request(ConsumerRecord<byte[], byte[]> record) {
            try {
                Request.Source source = new Request.Source(record.partition(), record.offset());
                Request request = avro.decode(record.value(), record.timestamp(), source);
                return rules.check(request).isEmpty() ? Optional.of(request) : Optional.empty();
            } catch (UnreadableException e) {
                return Optional.empty();
            }
        }
    }
}
