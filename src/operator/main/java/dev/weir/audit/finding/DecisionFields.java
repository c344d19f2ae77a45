package dev.weir.audit.finding;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.audit.finding.Mismatch.FieldMismatch;
import dev.weir.event.Admission;
import dev.weir.event.Decision;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.wire.json.DecisionJson;
import dev.weir.wire.json.Json;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The fields in which decisions differ, with their names and values in JSON. */
public final class DecisionFields {

    private DecisionFields() {}

    public static List<FieldMismatch> of(Decision recorded, Decision expected) {
        List<FieldMismatch> fields = new ArrayList<>();
        JsonNode is = json(recorded);
        for (Map.Entry<String, JsonNode> field : json(expected).properties()) {
            add(fields, field.getKey(), is.get(field.getKey()), field.getValue());
        }
        return fields;
    }

    /**
     * Compares the fields of a queue's decision that can be recomputed: the request, the policy that sent it to
     * the queue, and those that observed it.
     */
    public static List<FieldMismatch> of(Decision recorded, Admission expected) {
        List<FieldMismatch> fields = new ArrayList<>();
        String queue = recorded.queueing() == null ? null : recorded.queueing().queue();
        add(fields, "requestId", recorded.requestId(), expected.request().requestId());
        add(fields, "client", recorded.client(), expected.request().client());
        PolicyVersion policy = expected.policy();
        add(fields, "policyId", recorded.policyId(), policy == null ? null : policy.id());
        add(fields, "policyVersion", recorded.policyVersion(), policy == null ? null : (Long) policy.version());
        add(fields, "repeated", recorded.repeated(), expected.repeated());
        add(fields, "queue", queue, expected.queue());
        if (recorded.outcome() == Outcome.QUEUED) {
            add(fields, "observedBy", recorded.observedBy(), expected.sent().observedBy());
        }
        return fields;
    }

    /** Compares the end of a wait with the decision that began it. */
    public static List<FieldMismatch> ofEnd(Decision recorded, Decision queued) {
        List<FieldMismatch> fields = new ArrayList<>();
        add(fields, "requestId", recorded.requestId(), queued.requestId());
        add(fields, "client", recorded.client(), queued.client());
        add(fields, "policyId", recorded.policyId(), queued.policyId());
        add(fields, "policyVersion", recorded.policyVersion(), queued.policyVersion());
        add(fields, "queue", recorded.queueing().queue(), queued.queueing().queue());
        add(fields, "queueKey", recorded.queueing().key(), queued.queueing().key());
        return fields;
    }

    private static void add(List<FieldMismatch> fields, String name, Object recorded, Object expected) {
        if (!Objects.equals(recorded, expected)) {
            fields.add(of(name, recorded, expected));
        }
    }

    /** Returns a field with its values in JSON. */
    public static FieldMismatch of(String name, Object recorded, Object expected) {
        return new FieldMismatch(name, Json.write(recorded), Json.write(expected));
    }

    private static JsonNode json(Decision decision) {
        StringWriter line = new StringWriter();
        try (DecisionJson json = new DecisionJson(line)) {
            json.write(decision);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return Json.read(line.toString());
    }
}
