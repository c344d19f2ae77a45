package dev.weir.query;

import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.fault.UnreadableException;
import dev.weir.kafka.SchemaRegistries;
import dev.weir.kafka.Topics;
import dev.weir.requests.RequestReader;
import dev.weir.topics.RecordReader;
import dev.weir.wire.RequestCodec;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.TopicPartition;

/**
 * Finds what a client has requested recently, to report the policies that applied. Requests that are not in the
 * partition of the client are not found.
 */
public final class RecentClientRequests {

    /** The maximum number of requests that are returned. */
    private static final int MAX_REQUESTS = 100;

    private final RequestReader reader;
    private final String client;
    private final Map<Kind, Request> byKind = new LinkedHashMap<>();

    /** What policies match besides the client. */
    private record Kind(String tier, Map<String, String> attributes) {}

    private RecentClientRequests(WeirConfig config, String client) {
        reader = new RequestReader(
                new RequestCodec(SchemaRegistries.of(config)), config.requests().rules());
        this.client = client;
    }

    /**
     * Reads the last {@value RecentDecisions#MOST_READ} records of the client's partition of the request topic. Returns
     * its requests, only the last of those with the same tier and attributes, at most the last {@value #MAX_REQUESTS}.
     *
     * @param nowMs the time of the returned requests, so that they match the policies in force at that time
     * @throws dev.weir.kafka.UnreachableException if the topic cannot be read
     */
    public static List<Request> of(WeirConfig config, String client, long nowMs) {
        RecentClientRequests recent = new RecentClientRequests(config, client);
        String topic = Topics.of(config).requests();
        try (RecordReader records = new RecordReader(config, topic, RecordReader.Options.ofQuery())) {
            List<TopicPartition> all = records.partitions();
            int number = BuiltInPartitioner.partitionForKey(client.getBytes(StandardCharsets.UTF_8), all.size());
            List<TopicPartition> one = all.stream()
                    .filter(partition -> partition.partition() == number)
                    .toList();
            Map<TopicPartition, Long> from = records.beginning(one);
            Map<TopicPartition, Long> end = records.end(one);
            from.replaceAll(
                    (partition, beginning) -> Math.max(beginning, end.get(partition) - RecentDecisions.MOST_READ));
            records.read(from, end, recent::add);
        }
        return recent.byKind.values().stream()
                .map(request -> peek(request, nowMs))
                .toList();
    }

    private void add(ConsumerRecord<byte[], byte[]> record) {
        try {
            Request.Source source = new Request.Source(record.partition(), record.offset());
            Request request = reader.read(record.key(), record.value(), record.headers(), record.timestamp(), source);
            if (request.client().equals(client)) {
                Kind kind = new Kind(request.tier(), request.attributes());
                byKind.remove(kind);
                byKind.put(kind, request);
                removeEldest();
            }
        } catch (UnreadableException e) { // a dead letter
            return;
        }
    }

    private void removeEldest() {
        if (byKind.size() > MAX_REQUESTS) {
            Iterator<Kind> eldest = byKind.keySet().iterator();
            eldest.next();
            eldest.remove();
        }
    }

    private static Request peek(Request request, long nowMs) {
        return Request.builder(request.requestId(), request.client())
                .kind(RequestKind.PEEK)
                .tier(request.tier())
                .cost(0)
                .sizeBytes(request.sizeBytes())
                .attributes(request.attributes())
                .timestampMs(nowMs)
                .build();
    }
}
