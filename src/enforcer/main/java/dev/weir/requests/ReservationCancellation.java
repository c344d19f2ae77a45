package dev.weir.requests;

import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * The message of a queue to the task of a client: the queue will not release a request that holds a reservation. It is a
 * record of the topic of routed requests with the client as the key. Its last header has the number of the reservation,
 * and its value is the requestId.
 *
 * <p>Records of producers cannot be taken for it: the last header of a routed request is always a {@link RecordOrigin}.
 *
 * @param client the client
 * @param requestId the request
 * @param number the number of the reservation, above 0
 */
public record ReservationCancellation(String client, String requestId, long number) {

    /** The name of the header. Its value is the number as text. */
    public static final String HEADER = "weir.cancelled-reservation";

    private static final Pattern NUMBER = Pattern.compile("[1-9][0-9]{0,17}");

    /** Returns whether the last header of a record is that of a cancellation. */
    public static boolean isMarked(Headers headers) {
        Header last = last(headers);
        return last != null && last.key().equals(HEADER);
    }

    /** Returns the cancellation of a {@linkplain #isMarked marked} record; empty if it is unreadable. */
    public static Optional<ReservationCancellation> read(byte[] key, byte[] value, Headers headers) {
        byte[] text = last(headers).value();
        if (key == null || value == null || text == null) {
            return Optional.empty();
        }
        Matcher number = NUMBER.matcher(new String(text, StandardCharsets.UTF_8));
        return number.matches()
                ? Optional.of(new ReservationCancellation(
                        new String(key, StandardCharsets.UTF_8),
                        new String(value, StandardCharsets.UTF_8),
                        Long.parseLong(number.group())))
                : Optional.empty();
    }

    private static Header last(Headers headers) {
        Header[] all = headers.toArray();
        return all.length == 0 ? null : all[all.length - 1];
    }

    /** Returns the key of the record. */
    public byte[] key() {
        return client.getBytes(StandardCharsets.UTF_8);
    }

    /** Returns the value of the record. */
    public byte[] value() {
        return requestId.getBytes(StandardCharsets.UTF_8);
    }

    /** Returns the headers of the record. */
    public Headers headers() {
        return new RecordHeaders().add(HEADER, Long.toString(number).getBytes(StandardCharsets.UTF_8));
    }
}
