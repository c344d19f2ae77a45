package dev.weir.wire;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.weir.event.Release;
import java.io.IOException;
import java.io.Writer;
import java.math.BigDecimal;

/**
 * Writes releases as NDJSON: one JSON object a line, its fields those of the Avro record. Times are milliseconds, as
 * everywhere; {@code releaseAt} has decimals, down to the nanosecond. A payload is base64.
 */
public final class ReleaseJson extends NdjsonWriter<Release> {

    /** @param out closed with this */
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

    /** As a decimal without trailing zeros: {@code 1000}, {@code 1000.02}. */
    private static String milliseconds(long nanos) {
        return BigDecimal.valueOf(nanos, 6).stripTrailingZeros().toPlainString();
    }
}
