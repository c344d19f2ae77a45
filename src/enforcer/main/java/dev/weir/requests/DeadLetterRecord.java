package dev.weir.requests;

import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.fault.SafeText;
import dev.weir.wire.DeadLetterHeaders;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.streams.processor.api.Record;

/** Builds dead letters. Headers with text values contain the reason and the original position of the record. */
public final class DeadLetterRecord {

    /**
     * The maximum size of key, value and headers together, uncompressed. The source topic bounds only the compressed
     * size; the records that Weir derives from them must fit the output topics.
     */
    static final int MAX_RECORD_BYTES = 2 << 20;

    private static final int MAX_KEPT_KEY_BYTES = 1 << 10;

    /**
     * An upper bound of what a header adds to its key and value. Headers with empty keys and values consist of
     * overhead only.
     */
    private static final long HEADER_BYTES = 10;

    /** The most bytes that UTF-8 uses for a {@code char}. */
    private static final long UTF_8_BYTES = 3;

    private DeadLetterRecord() {}

    /**
     * Returns the dead letter of a record: the record with the reason and its original position in additional headers.
     * If the record exceeds {@link #MAX_RECORD_BYTES}, its value and headers are dropped, and so is a large key.
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

    /** Returns an upper bound of the uncompressed size of a record, in bytes. */
    static long bytes(byte[] key, byte[] value, Headers headers) {
        long size = length(key) + length(value);
        for (Header header : headers) {
            size += HEADER_BYTES + UTF_8_BYTES * header.key().length() + length(header.value());
        }
        return size;
    }

    /** Returns a record that is too large without its value and headers, and without its key if that is large. */
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
