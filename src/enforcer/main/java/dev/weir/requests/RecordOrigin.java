package dev.weir.requests;

import dev.weir.event.Request;
import dev.weir.policy.RequestRules;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/**
 * The position, timestamp and key of a request's record before it was routed. It is in the last header of a record of
 * the topic of routed requests. Producers may use headers with the same name; those are passed on unchanged.
 *
 * @param source the partition and offset on the request topic
 * @param timestampMs the timestamp of the record there
 * @param key the key of the record there, null if it had none
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
public record RecordOrigin(Request.Source source, long timestampMs, byte[] key) {

    /**
     * The name of the header. Its value is {@code <partition>:<offset>:<timestamp in ms>} as text, followed by another
     * colon and the bytes of the key if the record had one.
     */
    public static final String HEADER = "weir.origin";

    private static final Pattern PLACE = Pattern.compile("([0-9]{1,9}):([0-9]{1,18}):([0-9]{1,15})");
    private static final int COLONS_BEFORE_KEY = 3;

    /** Returns the origin of a record of the topic of routed requests; empty if it is missing or unreadable. */
    public static Optional<RecordOrigin> read(Headers headers) {
        Header[] all = headers.toArray();
        Header last = all.length == 0 ? null : all[all.length - 1];
        return last == null || !last.key().equals(HEADER) || last.value() == null
                ? Optional.empty()
                : read(last.value());
    }

    private static Optional<RecordOrigin> read(byte[] value) {
        int end = endOfPlace(value);
        Matcher place = PLACE.matcher(new String(value, 0, end, StandardCharsets.UTF_8));
        if (!place.matches()) {
            return Optional.empty();
        }
        Request.Source source = new Request.Source(Integer.parseInt(place.group(1)), Long.parseLong(place.group(2)));
        long timestampMs = Long.parseLong(place.group(3));
        byte[] key = end == value.length ? null : Arrays.copyOfRange(value, end + 1, value.length);
        return timestampMs > RequestRules.MAX_TIMESTAMP_MS
                ? Optional.empty()
                : Optional.of(new RecordOrigin(source, timestampMs, key));
    }

    /** Returns the index of the colon before the key, or the length of the value if there is no key. */
    private static int endOfPlace(byte[] value) {
        int colons = 0;
        for (int i = 0; i < value.length; i++) {
            colons += value[i] == ':' ? 1 : 0;
            if (colons == COLONS_BEFORE_KEY) {
                return i;
            }
        }
        return value.length;
    }

    /** Returns the headers with this origin appended. */
    public Headers addTo(Headers headers) {
        byte[] place = (source.partition() + ":" + source.offset() + ":" + timestampMs + (key == null ? "" : ":"))
                .getBytes(StandardCharsets.UTF_8);
        byte[] value = Arrays.copyOf(place, place.length + (key == null ? 0 : key.length));
        if (key != null) {
            System.arraycopy(key, 0, value, place.length, key.length);
        }
        return new RecordHeaders(headers.toArray()).add(HEADER, value);
    }

    /** Returns the headers without the last one, that is, those that the producer wrote. */
    public static Headers removeFrom(Headers headers) {
        Header[] all = headers.toArray();
        return new RecordHeaders(Arrays.copyOf(all, all.length - 1));
    }
}
