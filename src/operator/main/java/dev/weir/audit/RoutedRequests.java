package dev.weir.audit;

import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * The requests that were routed to one task from other partitions. Each partition that has such requests is read along
 * with the decisions on them. The requests of one partition are routed in the order of their offsets, and are decided
 * in that order unless they wait for a lease.
 */
final class RoutedRequests {

    /**
     * The maximum number of requests of a partition without a decision that are kept. If there are more, the oldest is
     * treated as undecided.
     */
    private static final int MAX_WAITING = 20_000;

    private final AuditContext context;
    private final AuditScope scope;
    private final IntFunction<Iterator<ConsumerRecord<byte[], byte[]>>> open;
    private final Consumer<Request> undecided;
    private final Map<Integer, PartitionRequests> partitions = new HashMap<>();

    /** A partition, and its requests for which no decision has been found so far. */
    private static final class PartitionRequests {
        final Iterator<ConsumerRecord<byte[], byte[]>> records;
        final NavigableMap<Long, Request> waiting = new TreeMap<>();
        long next;

        PartitionRequests(Iterator<ConsumerRecord<byte[], byte[]>> records) {
            this.records = records;
        }
    }

    /**
     * Creates the reader of one task.
     *
     * @param open opens a partition of the request topic at its beginning
     * @param undecided receives each request that has no decision
     */
    RoutedRequests(
            AuditContext context,
            AuditScope scope,
            IntFunction<Iterator<ConsumerRecord<byte[], byte[]>>> open,
            Consumer<Request> undecided) {
        this.context = context;
        this.scope = scope;
        this.open = open;
        this.undecided = undecided;
    }

    /** Ensures that a partition is read, even if there is no decision on a request of it. */
    void openPartition(int partition) {
        partitions.computeIfAbsent(partition, any -> new PartitionRequests(open.apply(partition)));
    }

    boolean hasBegun(int partition) {
        return partitions.containsKey(partition);
    }

    /** Removes and returns a request that has a decision; null if it does not exist or was taken before. */
    Request take(Request.Source source) {
        openPartition(source.partition());
        PartitionRequests of = partitions.get(source.partition());
        readTo(of, source.offset() + 1);
        return of.waiting.remove(source.offset());
    }

    private void readTo(PartitionRequests of, long end) {
        while (of.next < end && of.records.hasNext()) {
            ConsumerRecord<byte[], byte[]> record = of.records.next();
            of.next = record.offset() + 1;
            Request request = read(record);
            if (request != null && scope.taskOf().applyAsInt(request.client()) == scope.partition()) {
                of.waiting.put(record.offset(), request);
                if (of.waiting.size() > MAX_WAITING) {
                    undecided.accept(of.waiting.pollFirstEntry().getValue());
                }
            }
        }
    }

    /** Returns null if the record is not a valid request. */
    private Request read(ConsumerRecord<byte[], byte[]> record) {
        try {
            return context.requests()
                    .read(
                            record.key(),
                            record.value(),
                            record.headers(),
                            Math.max(0, record.timestamp()),
                            new Request.Source(record.partition(), record.offset()));
        } catch (UnreadableException e) {
            return null;
        }
    }

    /** Reads all partitions to their ends. The remaining requests have no decision. */
    void readRemaining() {
        for (PartitionRequests of : partitions.values()) {
            readTo(of, Long.MAX_VALUE);
            List<Request> left = new ArrayList<>(of.waiting.values());
            of.waiting.clear();
            left.forEach(undecided);
        }
    }
}
