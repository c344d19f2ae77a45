package dev.weir.client.kafka;

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
public final class RequestCorrelation {

    /** The name of the header. */
    public static final String HEADER = "weir.correlation";

    /** The header that names the partition of the topic of replies that the client reads, as a decimal number. */
    public static final String REPLY_PARTITION = "weir.reply-partition";

    private static final int BYTES = 24;

    private final UUID client;

    /**
     * Creates the correlation of one client.
     *
     * @param client identifies the client
     */
    public RequestCorrelation(UUID client) {
        this.client = client;
    }

    /**
     * Returns the partition of the topic of replies that the client reads.
     *
     * @param partitions the number of partitions of the topic
     * @return the number of one of them
     */
    int replyPartition(int partitions) {
        return Math.floorMod(client.hashCode(), partitions);
    }

    /**
     * Returns the header of a request.
     *
     * @param number the number of the request among those of the client
     * @return a new header
     */
    public Header header(long number) {
        byte[] value = ByteBuffer.allocate(BYTES)
                .putLong(client.getMostSignificantBits())
                .putLong(client.getLeastSignificantBits())
                .putLong(number)
                .array();
        return new RecordHeader(HEADER, value);
    }

    /**
     * Returns the number of the request that has given headers.
     *
     * @param headers the headers of a request or a reply
     * @return the number; empty if it is not a request of this client
     */
    public OptionalLong number(Headers headers) {
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
