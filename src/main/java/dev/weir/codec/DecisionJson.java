package dev.weir.codec;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import dev.weir.policy.Decision;
import java.io.IOException;
import java.io.Writer;

/** Writes decisions as NDJSON: one JSON object a line, its fields those of the Avro record. */
public final class DecisionJson implements NdjsonWriter<Decision> {

    private static final JsonFactory FACTORY = new JsonFactory();
    private static final Decision.Queueing NOT_SHAPED = new Decision.Queueing(null, null, null);

    private final JsonGenerator json;

    /** @param out closed with this */
    public DecisionJson(Writer out) throws IOException {
        json = FACTORY.createGenerator(out);
        json.setRootValueSeparator(null);
    }

    @Override
    public void write(Decision decision) throws IOException {
        json.writeStartObject();
        json.writeStringField("requestId", decision.requestId());
        json.writeStringField("client", decision.client());
        json.writeStringField("outcome", decision.outcome().name());
        json.writeStringField("reason", decision.reason().name());
        text("policyId", decision.policyId());
        number("policyVersion", decision.policyVersion());
        text("limitedBy", decision.limitedBy());
        number("limit", decision.limit());
        number("remaining", decision.remaining());
        number("resetAfterMs", decision.resetAfterMs());
        number("retryAfterMs", decision.retryAfterMs());
        json.writeBooleanField("observed", decision.observed());
        json.writeBooleanField("shadowBanned", decision.shadowBanned());
        Decision.Queueing queueing = decision.queueing() == null ? NOT_SHAPED : decision.queueing();
        text("queue", queueing.queue());
        number("position", queueing.position());
        number("expectedWaitMs", queueing.expectedWaitMs());
        json.writeNumberField("httpStatus", decision.httpStatus());
        json.writeNumberField("decidedAt", decision.decidedAtMs());
        json.writeNumberField("sourcePartition", decision.source().partition());
        json.writeNumberField("sourceOffset", decision.source().offset());
        json.writeEndObject();
        json.writeRaw('\n');
    }

    @Override
    public void flush() throws IOException {
        json.flush();
    }

    @Override
    public void close() throws IOException {
        json.close();
    }

    private void text(String field, String value) throws IOException {
        if (value == null) {
            json.writeNullField(field);
        } else {
            json.writeStringField(field, value);
        }
    }

    private void number(String field, Long value) throws IOException {
        if (value == null) {
            json.writeNullField(field);
        } else {
            json.writeNumberField(field, value);
        }
    }
}
