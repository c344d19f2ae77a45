package dev.weir.wire.json;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.weir.event.Decision;
import dev.weir.event.DecisionContext;
import dev.weir.event.DecisionOrder;
import dev.weir.event.EnforcedLimit;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Rejection;
import dev.weir.event.Request;
import dev.weir.fault.UnreadableException;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.util.ArrayList;
import java.util.List;

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

    /**
     * Returns a decision as the text of a JSON object.
     *
     * @param decision the decision
     * @return the JSON object, on one line
     */
    public static String text(Decision decision) {
        StringWriter line = new StringWriter();
        try (DecisionJson out = new DecisionJson(line)) {
            out.write(decision);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // cannot happen: the text is in memory
        }
        return line.toString().stripTrailing();
    }

    /**
     * Encodes a decision.
     *
     * @param decision the decision
     * @return the value of a record
     */
    public static byte[] encode(Decision decision) {
        return encode(decision, DecisionJson::new);
    }

    /**
     * Decodes a decision.
     *
     * @param value the value of a record
     * @return the decision
     * @throws UnreadableException if the value is not a decision, or its reason is of a later version
     */
    public static Decision decode(byte[] value) throws UnreadableException {
        JsonFields json = JsonFields.of(value);
        return new Decision(
                new Decision.Identity(
                        json.text("requestId"),
                        json.text("client"),
                        json.textOrNull("tier"),
                        new Request.Source(json.integer("sourcePartition"), json.number("sourceOffset"))),
                new Decision.Status(
                        json.constant("outcome", Outcome.class),
                        json.constant("reason", Reason.class),
                        json.integer("httpStatus"),
                        json.flag("observed"),
                        json.flag("shadowBanned"),
                        json.flag("repeated"),
                        json.textList("observedBy")),
                new Decision.Timing(
                        json.number("decidedAt"),
                        json.numberOrNull("retryAfterMs"),
                        json.numberOrNull("delayMs"),
                        json.numberOrNull("reservedUntil")),
                new Decision.Explanation(
                        policy(json),
                        new LimitStatus(
                                        json.textOrNull("limitedBy"),
                                        json.numberOrNull("limit"),
                                        json.numberOrNull("windowMs"),
                                        json.numberOrNull("remaining"),
                                        json.numberOrNull("resetAfterMs"))
                                .orNull(),
                        limits(json)),
                json.isNull("queue")
                        ? null
                        : new Decision.Queueing(
                                json.text("queue"),
                                json.texts("queueKey"),
                                json.numberOrNull("position"),
                                json.numberOrNull("expectedWaitMs")),
                new DecisionContext(order(json), json.numberOrNull("policiesChecksum")));
    }

    private static PolicyVersion policy(JsonFields json) throws UnreadableException {
        String id = json.textOrNull("policyId");
        Long version = json.numberOrNull("policyVersion");
        if (id != null && version == null) {
            throw new UnreadableException(Rejection.NOT_JSON, "policyId is " + id + ", but policyVersion is null");
        }
        return id == null ? null : new PolicyVersion(id, version);
    }

    private static DecisionOrder order(JsonFields json) throws UnreadableException {
        if (json.isNull("order")) {
            return null;
        }
        JsonFields order = json.object("order");
        return new DecisionOrder(order.number("afterOffset"), order.integer("step"));
    }

    private static List<EnforcedLimit> limits(JsonFields json) throws UnreadableException {
        List<EnforcedLimit> limits = new ArrayList<>();
        for (JsonFields limit : json.objects("limits")) {
            limits.add(new EnforcedLimit(
                    limit.text("policyId"),
                    limit.integer("number"),
                    limit.number("quota"),
                    limit.numberOrNull("windowMs"),
                    limit.numberOrNull("remaining"),
                    limit.numberOrNull("resetAfterMs"),
                    limit.numberOrNull("retryAfterMs")));
        }
        return limits;
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
        number(json, "reservedUntil", decision.reservedUntilMs());
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
        text(json, "tier", decision.tier());
        json.writeArrayFieldStart("observedBy");
        for (String id : decision.observedBy()) {
            json.writeString(id);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("limits");
        for (EnforcedLimit limit : decision.limits()) {
            json.writeStartObject();
            json.writeStringField("policyId", limit.policyId());
            json.writeNumberField("number", limit.number());
            json.writeNumberField("quota", limit.quota());
            number(json, "windowMs", limit.windowMs());
            number(json, "remaining", limit.remaining());
            number(json, "resetAfterMs", limit.resetAfterMs());
            number(json, "retryAfterMs", limit.retryAfterMs());
            json.writeEndObject();
        }
        json.writeEndArray();
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
