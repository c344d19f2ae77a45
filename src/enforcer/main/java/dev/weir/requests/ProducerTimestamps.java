package dev.weir.requests;

import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.record.TimestampType;

/**
 * A consumer interceptor that marks the requests whose timestamp was set by the producer ({@code CreateTime}) and not
 * by the broker ({@code LogAppendTime}). Only an interceptor can distinguish them: Kafka Streams does not pass the
 * timestamp type to processors.
 */
public final class ProducerTimestamps implements ConsumerInterceptor<byte[], byte[]> {

    /** The consumer property with the name of the request topic. */
    public static final String TOPIC = "weir.requests.topic";

    private static final String MARK = "weir.stamped-by-producer";
    private static final byte[] NO_VALUE = {};

    private String topic;

    @Override
    public void configure(Map<String, ?> settings) {
        topic = (String) settings.get(TOPIC);
    }

    @Override
    public ConsumerRecords<byte[], byte[]> onConsume(ConsumerRecords<byte[], byte[]> records) {
        for (ConsumerRecord<byte[], byte[]> record : records.records(topic)) {
            if (record.timestampType() == TimestampType.CREATE_TIME) {
                mark(record.headers());
            }
        }
        return records;
    }

    /** Marks a record as one whose timestamp was set by its producer. */
    public static void mark(Headers headers) {
        headers.add(MARK, NO_VALUE);
    }

    /** Removes the mark from a record. Returns whether it was marked. */
    public static boolean takeMark(Headers headers) {
        boolean isMarked = headers.lastHeader(MARK) != null;
        if (isMarked) {
            headers.remove(MARK);
        }
        return isMarked;
    }

    @Override
    public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
        // nothing to do
    }

    @Override
    public void close() {
        // nothing to close
    }
}
