package dev.weir.audit;

import dev.weir.event.Request;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.IntFunction;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * The committed records of a partition of each topic, in order.
 *
 * @param otherPartitions opens another partition of the request topic at its beginning
 * @param deadLetters the dead letters of all requests, by the request's partition and offset
 */
public record PartitionRecords(
        Iterator<ConsumerRecord<byte[], byte[]>> requests,
        Iterator<ConsumerRecord<byte[], byte[]>> decisions,
        Iterator<ConsumerRecord<byte[], byte[]>> releases,
        IntFunction<Iterator<ConsumerRecord<byte[], byte[]>>> otherPartitions,
        Map<Integer, NavigableMap<Long, List<AuditedDeadLetter>>> deadLetters) {

    NavigableMap<Long, List<AuditedDeadLetter>> deadLetters(int partition) {
        return deadLetters.getOrDefault(partition, new TreeMap<>());
    }

    List<AuditedDeadLetter> deadLettersOf(Request.Source source) {
        return deadLetters(source.partition()).getOrDefault(source.offset(), List.of());
    }
}
