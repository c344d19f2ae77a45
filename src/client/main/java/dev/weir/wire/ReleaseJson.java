package dev.weir.wire;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.weir.event.Release;
import java.io.IOException;
import java.io.Writer;
import java.math.BigDecimal;

/**
 * A writer of releases as NDJSON: one JSON object per line, with the fields of the Avro record. Times are in
 * milliseconds; {@code releaseAt} has decimals, down to the nanosecond. The payload is base64.
 */
public final class ReleaseJson extends NdjsonWriter<Release> {

    /**
     * Creates a writer.
     *
     * @param out where to write, closed with this writer
     * @throws IOException if the output cannot be written
     */
    public ReleaseJson(Writer out) throws IOException {
        super(out);
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
    }

    /** Returns nanoseconds as milliseconds without trailing zeros, such as {@code 1000} or {@code 1000.02}. */
    private static String milliseconds(long nanos) {
        return BigDecimal.valueOf(nanos, 6).stripTrailingZeros().toPlainString();
    }
}
