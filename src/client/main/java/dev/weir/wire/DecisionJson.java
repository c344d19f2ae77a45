package dev.weir.wire;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.weir.event.Decision;
import dev.weir.event.DecisionOrder;
import java.io.IOException;
import java.io.Writer;

/** A writer of decisions as NDJSON: one JSON object per line, with the fields of the Avro record. */
public final class DecisionJson extends NdjsonWriter<Decision> {

    private static final Decision.Queueing NOT_SHAPED = new Decision.Queueing(null, null, null);

    /**
     * Creates a writer.
     *
     * @param out where to write, closed with this writer
     * @throws IOException if the output cannot be written
     */
    public DecisionJson(Writer out) throws IOException {
        super(out);
    }

    @Override
    void writeFields(Decision decision, JsonGenerator json) throws IOException {
        json.writeStringField("requestId", decision.requestId());
        json.writeStringField("client", decision.client());
        json.writeStringField("outcome", decision.outcome().name());
        json.writeStringField("reason", decision.reason().name());
        text(json, "policyId", decision.policyId());
        number(json, "policyVersion", decision.policyVersion());
        text(json, "limitedBy", decision.limitedBy());
        number(json, "limit", decision.limit());
        number(json, "windowMs", decision.windowMs());
        number(json, "remaining", decision.remaining());
        number(json, "resetAfterMs", decision.resetAfterMs());
        number(json, "retryAfterMs", decision.retryAfterMs());
        number(json, "delayMs", decision.delayMs());
        json.writeBooleanField("observed", decision.observed());
        json.writeBooleanField("shadowBanned", decision.shadowBanned());
        json.writeBooleanField("repeated", decision.repeated());
        Decision.Queueing queueing = decision.queueing() == null ? NOT_SHAPED : decision.queueing();
        text(json, "queue", queueing.queue());
        number(json, "position", queueing.position());
        number(json, "expectedWaitMs", queueing.expectedWaitMs());
        json.writeNumberField("httpStatus", decision.httpStatus());
        json.writeNumberField("decidedAt", decision.decidedAtMs());
        json.writeNumberField("sourcePartition", decision.source().partition());
        json.writeNumberField("sourceOffset", decision.source().offset());
        json.writeFieldName("order");
        write(decision.context().order(), json);
        number(json, "policiesChecksum", decision.context().policiesChecksum());
        texts(json, "queueKey", queueing.key());
    }

    private static void write(DecisionOrder order, JsonGenerator json) throws IOException {
        if (order == null) {
            json.writeNull();
            return;
        }
        json.writeStartObject();
        json.writeNumberField("afterOffset", order.afterOffset());
        json.writeNumberField("step", order.step());
        json.writeEndObject();
    }

    private static void text(JsonGenerator json, String field, String value) throws IOException {
        if (value == null) {
            json.writeNullField(field);
        } else {
            json.writeStringField(field, value);
        }
    }

    private static void number(JsonGenerator json, String field, Long value) throws IOException {
        if (value == null) {
            json.writeNullField(field);
        } else {
            json.writeNumberField(field, value);
        }
    }
}
