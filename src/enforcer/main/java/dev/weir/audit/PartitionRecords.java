package dev.weir.audit;

import java.util.Iterator;
import java.util.function.IntFunction;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * The committed records of a partition of each topic, in order.
 *
 * @param otherPartitions opens another partition of the request topic at its beginning
 * @param deadLetters the dead letters of all requests
 */
public record PartitionRecords(
        Iterator<ConsumerRecord<byte[], byte[]>> requests,
        Iterator<ConsumerRecord<byte[], byte[]>> decisions,
        Iterator<ConsumerRecord<byte[], byte[]>> releases,
        IntFunction<Iterator<ConsumerRecord<byte[], byte[]>>> otherPartitions,
        DeadLetterIndex deadLetters) {}
