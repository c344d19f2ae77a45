package dev.weir.client;

import java.nio.ByteBuffer;
import java.util.OptionalLong;
import java.util.UUID;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeader;

/**
 * Identifies the requests of a client by a header: 16 bytes identify the client and 8 bytes count its requests. Its
 * bytes are described in topology-docs/reference/topics.md.
 */
final class RequestCorrelation {

    /** The name of the header. */
    static final String HEADER = "weir.correlation";

    private static final int BYTES = 24;

    private final UUID client;

    RequestCorrelation(UUID client) {
        this.client = client;
    }

    /** Returns the header of the request with a number. */
    Header header(long number) {
        byte[] value = ByteBuffer.allocate(BYTES)
                .putLong(client.getMostSignificantBits())
                .putLong(client.getLeastSignificantBits())
                .putLong(number)
                .array();
        return new RecordHeader(HEADER, value);
    }

    /** Returns the number of the request that has the headers; empty if it is not a request of this client. */
    OptionalLong number(Headers headers) {
        Header header = headers.lastHeader(HEADER);
        if (header == null || header.value() == null || header.value().length != BYTES) {
            return OptionalLong.empty();
        }
        ByteBuffer bytes = ByteBuffer.wrap(header.value());
        return bytes.getLong() == client.getMostSignificantBits() && bytes.getLong() == client.getLeastSignificantBits()
                ? OptionalLong.of(bytes.getLong())
                : OptionalLong.empty();
    }
}
