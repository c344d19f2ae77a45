package dev.weir.audit;

import java.util.Iterator;
import java.util.List;
import java.util.NavigableMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * What is committed on the partition of each topic, in its order.
 *
 * @param deadLetters of its requests, by the request's offset
 */
public record Records(
        Iterator<ConsumerRecord<byte[], byte[]>> requests,
        Iterator<ConsumerRecord<byte[], byte[]>> decisions,
        Iterator<ConsumerRecord<byte[], byte[]>> releases,
        NavigableMap<Long, List<DeadLetter>> deadLetters) {}
