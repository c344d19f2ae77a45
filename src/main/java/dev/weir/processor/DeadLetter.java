package dev.weir.processor;

import dev.weir.policy.Rejection;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;

/** The headers that tell why a record is a dead letter and where it came from; their values are text. */
public final class DeadLetter {

    public static final String REASON = "weir.reason";
    public static final String DETAIL = "weir.detail";
    public static final String TOPIC = "weir.source.topic";
    public static final String PARTITION = "weir.source.partition";
    public static final String OFFSET = "weir.source.offset";
    public static final String TIMESTAMP = "weir.source.timestamp";

    /** The longest detail, in characters: it may quote what the record holds. */
    static final int MAX_DETAIL = 500;

    private DeadLetter() {}

    /** A record as it came, with the reason in headers of its own; the record's stay as they are. */
    static Record<byte[], byte[]> of(
            Record<byte[], byte[]> record, Rejection rejection, String detail, RecordMetadata metadata) {
        Record<byte[], byte[]> dead = record.withHeaders(record.headers());
        Headers headers = dead.headers();
        add(headers, REASON, rejection.name());
        add(headers, DETAIL, detail == null ? "" : detail.substring(0, Math.min(MAX_DETAIL, detail.length())));
        add(headers, TOPIC, metadata.topic());
        add(headers, PARTITION, String.valueOf(metadata.partition()));
        add(headers, OFFSET, String.valueOf(metadata.offset()));
        add(headers, TIMESTAMP, String.valueOf(record.timestamp()));
        return dead;
    }

    private static void add(Headers headers, String name, String value) {
        headers.add(name, value.getBytes(StandardCharsets.UTF_8));
    }
}
