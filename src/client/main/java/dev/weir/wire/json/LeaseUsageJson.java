package dev.weir.wire.json;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.weir.event.LeaseUsage;
import java.io.IOException;
import java.io.Writer;

/** A writer of lease usage as NDJSON: one JSON object per line, with the fields of the Avro record. */
public final class LeaseUsageJson extends NdjsonWriter<LeaseUsage> {

    /**
     * Creates a writer.
     *
     * @param out where to write, closed with this writer
     * @throws IOException if the output cannot be written
     */
    public LeaseUsageJson(Writer out) throws IOException {
        super(out);
    }

    @Override
    void writeFields(LeaseUsage usage, JsonGenerator json) throws IOException {
        json.writeStringField("holder", usage.origin().holder());
        json.writeNumberField("lease", usage.origin().leaseId());
        json.writeNumberField("number", usage.origin().number());
        json.writeStringField("policyId", usage.policy().id());
        json.writeNumberField("policyVersion", usage.policy().version());
        texts(json, "key", usage.key());
        json.writeNumberField("cost", usage.amount().cost());
        json.writeNumberField("requests", usage.amount().requests());
        json.writeNumberField("denied", usage.amount().denied());
        json.writeNumberField("since", usage.sinceMs());
        json.writeNumberField("until", usage.untilMs());
    }
}
