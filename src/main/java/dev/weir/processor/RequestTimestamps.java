package dev.weir.processor;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.streams.processor.TimestampExtractor;

/**
 * Takes the time of a request's record, and marks the record if its producer has stamped it, which a processor cannot tell. A
 * timestamp that the broker has set ({@code LogAppendTime}) is never compared with the clock of the instance.
 */
public final class RequestTimestamps implements TimestampExtractor {

    private static final String STAMPED_BY_PRODUCER = "weir.stamped-by-producer";
    private static final byte[] NO_VALUE = {};

    @Override
    public long extract(ConsumerRecord<Object, Object> record, long partitionTime) {
        if (record.timestampType() == TimestampType.CREATE_TIME) {
            record.headers().add(STAMPED_BY_PRODUCER, NO_VALUE);
        }
        return Math.max(0, record.timestamp());
    }

    /** Takes the mark off a record. Returns whether its producer has stamped it. */
    static boolean takeMark(Headers headers) {
        boolean isMarked = headers.lastHeader(STAMPED_BY_PRODUCER) != null;
        if (isMarked) {
            headers.remove(STAMPED_BY_PRODUCER);
        }
        return isMarked;
    }
}
