package dev.weir.processor;

import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.fault.SafeText;
import dev.weir.wire.DeadLetterHeaders;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.streams.processor.api.Record;

/** The headers that tell why a record is a dead letter and where it came from; their values are text. */
public final class DeadLetterRecord {

    /**
     * The most that key, value and headers may have together, uncompressed: what is made of them must fit the output
     * topics, while the topic that they are from bounds only what producers compressed.
     */
    static final int MAX_RECORD_BYTES = 2 << 20;

    private static final int MAX_KEPT_KEY_BYTES = 1 << 10;

    /**
     * The most that a header takes beside its key and value, and a character of its key: a header may be all overhead.
     */
    private static final long HEADER_BYTES = 10;

    private static final long UTF_8_BYTES = 3;

    private DeadLetterRecord() {}

    /**
     * Returns the dead letter of a record: the record, with the reason and its place in additional headers. The value
     * and the headers of a record that is too large for the topic are left out, and a large key too.
     */
    static Record<byte[], byte[]> of(
            Record<byte[], byte[]> record, Rejection rejection, String detail, String topic, Request.Source source) {
        boolean fits = bytes(record.key(), record.value(), record.headers()) <= MAX_RECORD_BYTES;
        Record<byte[], byte[]> dead = fits ? record.withHeaders(record.headers()) : withoutBulk(record);
        Headers headers = dead.headers();
        add(headers, DeadLetterHeaders.REASON, rejection.name());
        add(headers, DeadLetterHeaders.DETAIL, detail == null ? "" : SafeText.of(detail, DeadLetterHeaders.MAX_DETAIL));
        add(headers, DeadLetterHeaders.TOPIC, topic);
        add(headers, DeadLetterHeaders.PARTITION, String.valueOf(source.partition()));
        add(headers, DeadLetterHeaders.OFFSET, String.valueOf(source.offset()));
        add(headers, DeadLetterHeaders.TIMESTAMP, String.valueOf(record.timestamp()));
        return dead;
    }

    /** What a record has uncompressed. */
    static long bytes(byte[] key, byte[] value, Headers headers) {
        long size = length(key) + length(value);
        for (Header header : headers) {
            size += HEADER_BYTES + UTF_8_BYTES * header.key().length() + length(header.value());
        }
        return size;
    }

    /** What of a record that is too large is a dead letter: its key, if that is not what is large. */
    private static Record<byte[], byte[]> withoutBulk(Record<byte[], byte[]> record) {
        byte[] key = length(record.key()) > MAX_KEPT_KEY_BYTES ? null : record.key();
        return new Record<>(key, null, record.timestamp());
    }

    private static long length(byte[] bytes) {
        return bytes == null ? 0 : bytes.length;
    }

    private static void add(Headers headers, String name, String value) {
        headers.add(name, value.getBytes(StandardCharsets.UTF_8));
    }
}
