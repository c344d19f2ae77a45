package dev.weir.processor;

import dev.weir.policy.Request;
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
 * The place and time of a request's record before it was routed. Only the last header of a record counts, and only on the
 * topic of routed requests: producers may use the same name, and their headers stay theirs.
 *
 * @param source the partition and offset on the request topic
 * @param timestampMs the time of the record there
 */
public record Origin(Request.Source source, long timestampMs) {

    /** The header's name. Its value is text: {@code <partition>:<offset>:<timestamp in ms>}. */
    static final String HEADER = "weir.origin";

    private static final Pattern VALUE = Pattern.compile("([0-9]{1,9}):([0-9]{1,18}):([0-9]{1,15})");

    /** Returns the origin of a record of the topic of routed requests; empty if it is missing or unreadable. */
    public static Optional<Origin> read(Headers headers) {
        Header[] all = headers.toArray();
        Header last = all.length == 0 ? null : all[all.length - 1];
        if (last == null || !last.key().equals(HEADER) || last.value() == null) {
            return Optional.empty();
        }
        Matcher value = VALUE.matcher(new String(last.value(), StandardCharsets.UTF_8));
        if (!value.matches()) {
            return Optional.empty();
        }
        Request.Source source = new Request.Source(Integer.parseInt(value.group(1)), Long.parseLong(value.group(2)));
        long timestampMs = Long.parseLong(value.group(3));
        return timestampMs > RequestRules.MAX_TIMESTAMP_MS
                ? Optional.empty()
                : Optional.of(new Origin(source, timestampMs));
    }

    /** Returns the headers with this origin behind them. */
    Headers addTo(Headers headers) {
        String value = source.partition() + ":" + source.offset() + ":" + timestampMs;
        return new RecordHeaders(headers.toArray()).add(HEADER, value.getBytes(StandardCharsets.UTF_8));
    }

    /** Returns the headers without their last one: those that the producer wrote. */
    static Headers removeFrom(Headers headers) {
        Header[] all = headers.toArray();
        return new RecordHeaders(Arrays.copyOf(all, all.length - 1));
    }
}
