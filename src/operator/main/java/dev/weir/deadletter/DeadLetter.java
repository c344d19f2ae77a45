package dev.weir.deadletter;

import dev.weir.wire.DeadLetterHeaders;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;

/**
 * A record that Weir could not read, as it was rejected. Values that do not come from Weir can be missing or wrong,
 * because anyone with the right to write can add records to the topic.
 *
 * @param position where it is in the dead-letter topic
 * @param timestampMs when it was written, in milliseconds since the epoch
 * @param reason the name of the {@link dev.weir.event.Rejection}; null if the header is missing
 * @param detail what is wrong with the record, in words; null if the header is missing
 * @param source where the record came from: topic, partition and offset; null if a header is missing
 * @param key the beginning of its key; null if it has none
 * @param value the beginning of its value; null if it has none
 */
public record DeadLetter(
        DeadLetterPosition position,
        long timestampMs,
        String reason,
        String detail,
        Source source,
        RecordPreview key,
        RecordPreview value) {

    /** The position of the rejected record. */
    public record Source(String topic, String partition, String offset) {

        @Override
        public String toString() {
            return topic + ":" + partition + ":" + offset;
        }
    }

    static DeadLetter of(ConsumerRecord<byte[], byte[]> record) {
        String topic = header(record, DeadLetterHeaders.TOPIC);
        String partition = header(record, DeadLetterHeaders.PARTITION);
        String offset = header(record, DeadLetterHeaders.OFFSET);
        boolean hasSource = topic != null && partition != null && offset != null;
        return new DeadLetter(
                new DeadLetterPosition(record.partition(), record.offset()),
                record.timestamp(),
                header(record, DeadLetterHeaders.REASON),
                header(record, DeadLetterHeaders.DETAIL),
                hasSource ? new Source(topic, partition, offset) : null,
                RecordPreview.of(record.key()),
                RecordPreview.of(record.value()));
    }

    /** Returns the text of the last header with a name, because Weir adds its headers last; null if there is none. */
    static String header(ConsumerRecord<byte[], byte[]> record, String name) {
        Header header = record.headers().lastHeader(name);
        return header == null || header.value() == null ? null : new String(header.value(), StandardCharsets.UTF_8);
    }
}
