package dev.weir.wire.json;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.weir.event.Release;
import dev.weir.fault.UnreadableException;
import java.io.IOException;
import java.io.Writer;
import java.math.BigDecimal;

/**
 * A writer of releases as NDJSON: one JSON object per line, with the fields of the Avro record. Times are in
 * milliseconds; {@code releaseAt} has decimals, down to the nanosecond. The payload is base64. The fields of the attempt
 * and of the pace are those of the release, and are left out if there is none.
 */
public final class ReleaseJson extends NdjsonWriter<Release> {

    /** The decimals of a time in milliseconds, down to the nanosecond. */
    private static final int MS_DECIMALS = 6;

    /**
     * Creates a writer.
     *
     * @param out where to write, closed with this writer
     * @throws IOException if the output cannot be written
     */
    public ReleaseJson(Writer out) throws IOException {
        super(out);
    }

    /**
     * Encodes a release.
     *
     * @param release the release
     * @return the value of a record
     */
    public static byte[] encode(Release release) {
        return encode(release, ReleaseJson::new);
    }

    /**
     * Decodes a release.
     *
     * @param value the value of a record
     * @return the release
     * @throws UnreadableException if the value is not a release
     */
    public static Release decode(byte[] value) throws UnreadableException {
        JsonFields json = JsonFields.of(value);
        return new Release(
                json.text("requestId"),
                json.text("client"),
                json.textOrNull("tier"),
                json.text("queue"),
                json.texts("queueKey"),
                json.number("sequence"),
                json.number("enqueuedAt"),
                json.scaled("releaseAt", MS_DECIMALS),
                json.number("cost"),
                json.texts("attributes"),
                json.bytesOrNull("payload"),
                attempt(json),
                new Release.Pace(nanos(json, "paceNanos"), nanos(json, "totalPaceNanos")));
    }

    private static Release.Attempt attempt(JsonFields json) throws UnreadableException {
        return json.has("receipt")
                ? new Release.Attempt((int) json.number("attempt"), json.text("receipt"), json.number("ackTimeoutMs"))
                : null;
    }

    private static long nanos(JsonFields json, String name) throws UnreadableException {
        return json.has(name) ? json.number(name) : 0;
    }

    @Override
    void writeFields(Release release, JsonGenerator json) throws IOException {
        json.writeStringField("requestId", release.requestId());
        json.writeStringField("client", release.client());
        json.writeStringField("tier", release.tier());
        json.writeStringField("queue", release.queue());
        json.writeNumberField("sequence", release.sequence());
        json.writeNumberField("enqueuedAt", release.enqueuedAtMs());
        json.writeFieldName("releaseAt");
        json.writeNumber(milliseconds(release.releaseAtNanos()));
        json.writeNumberField("waitMs", release.waitMs());
        json.writeNumberField("cost", release.cost());
        texts(json, "attributes", release.attributes());
        json.writeFieldName("payload");
        if (release.payload() == null) {
            json.writeNull();
        } else {
            json.writeBinary(release.payload());
        }
        texts(json, "queueKey", release.key());
        if (release.attempt() != null) {
            json.writeNumberField("attempt", release.attempt().number());
            json.writeStringField("receipt", release.attempt().receipt());
            json.writeNumberField("ackTimeoutMs", release.attempt().ackTimeoutMs());
        }
        writeNanos(json, "paceNanos", release.pace().nanos());
        writeNanos(json, "totalPaceNanos", release.pace().totalNanos());
    }

    private static void writeNanos(JsonGenerator json, String name, long nanos) throws IOException {
        if (nanos != 0) {
            json.writeNumberField(name, nanos);
        }
    }

    /** Returns nanoseconds as milliseconds without trailing zeros, such as {@code 1000} or {@code 1000.02}. */
    private static String milliseconds(long nanos) {
        return BigDecimal.valueOf(nanos, MS_DECIMALS).stripTrailingZeros().toPlainString();
    }
}
