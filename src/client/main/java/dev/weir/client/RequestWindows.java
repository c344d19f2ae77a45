package dev.weir.client;

import dev.weir.event.Request;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

/** The windows of all partitions of the requests, so that one without decisions does not delay the others. */
final class RequestWindows {

    private final List<SendWindow<PendingRequest>> byPartition;

    /**
     * Creates windows.
     *
     * @param partitions the number of partitions of the topic of requests
     * @param max the largest window
     */
    RequestWindows(int partitions, int max) {
        byPartition = Stream.generate(() -> new SendWindow<PendingRequest>(max))
                .limit(partitions)
                .toList();
    }

    /** Returns how many requests wait to be sent. */
    int waiting() {
        return byPartition.stream().mapToInt(SendWindow::waiting).sum();
    }

    /** Returns the window of a request, by the default partitioner of Kafka's producer. */
    SendWindow<PendingRequest> of(Request request) {
        byte[] key = request.client().getBytes(StandardCharsets.UTF_8);
        return byPartition.get(BuiltInPartitioner.partitionForKey(key, byPartition.size()));
    }
}
