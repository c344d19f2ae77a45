package dev.weir.service;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.app.ChangeDetails;
import dev.weir.app.PolicyTopic.Change;
import dev.weir.codec.DecisionJson;
import dev.weir.codec.PolicyAvro.Applied;
import dev.weir.policy.Decision;
import dev.weir.policy.Usage;
import dev.weir.shape.QueueRules;
import dev.weir.shape.QueueView;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.util.List;
import java.util.Locale;

/** Answers as JSON trees; {@code openapi.yaml} describes them. */
final class Views {

    private static final ObjectMapper JSON = new ObjectMapper();

    private Views() {}

    static ObjectNode object() {
        return JSON.createObjectNode();
    }

    static ObjectNode applied(Applied applied) {
        ObjectNode json = object();
        json.put("id", applied.id());
        json.put("version", applied.version());
        json.put("appliedAt", applied.appliedAtMs());
        json.set("definition", definition(applied.definition()));
        return json;
    }

    /** A queue that is out of force, as long as it drains. */
    static ObjectNode deleted(QueueRules rules) {
        ObjectNode json = object();
        json.put("id", rules.id());
        json.put("version", rules.version());
        json.putNull("appliedAt");
        json.putNull("definition");
        return json;
    }

    static ObjectNode changes(List<Change> changes) {
        ObjectNode json = object();
        ArrayNode list = json.putArray("changes");
        changes.forEach(change -> list.add(change(change)));
        return json;
    }

    static ObjectNode change(Change change) {
        ObjectNode json = object();
        json.put("kind", change.kind().word());
        json.put("id", change.id());
        json.put("effect", change.effect().name().toLowerCase(Locale.ROOT));
        json.put("version", change.version());
        json.set("before", definition(change.before()));
        json.set("after", definition(change.after()));
        ArrayNode details = json.putArray("details");
        ChangeDetails.of(change).forEach(details::add);
        return json;
    }

    static ObjectNode queueState(QueueView queue, long nowMs) {
        ObjectNode json = object();
        json.put("deleted", queue.isDeleted());
        json.put("waiting", queue.waiting());
        json.put("waitingTokens", queue.waitingTokens());
        json.put(
                "oldestWaitMs",
                queue.oldestEnqueuedAtMs() == null ? null : Math.max(0, nowMs - queue.oldestEnqueuedAtMs()));
        ArrayNode tiers = json.putArray("tiers");
        for (QueueView.OfTier tier : queue.tiers()) {
            tiers.addObject()
                    .put("tier", tier.tier())
                    .put("priority", tier.share().priority())
                    .put("weight", tier.share().weight())
                    .put("waiting", tier.waiting());
        }
        json.putObject("rate")
                .put("limit", queue.rules().limit())
                .put("perMs", queue.rules().perMs())
                .put("burst", queue.rules().burst());
        json.put("released", queue.released());
        json.put("nextReleaseAt", queue.nextReleaseAtNanos() == null ? null : milliseconds(queue.nextReleaseAtNanos()));
        return json;
    }

    static ObjectNode usage(String client, long nowMs, List<Usage> usages) {
        ObjectNode json = object();
        json.put("client", client);
        json.put("at", nowMs);
        ArrayNode list = json.putArray("usage");
        for (Usage usage : usages) {
            ObjectNode one = list.addObject();
            one.put("policyId", usage.policy().id());
            one.put("policyVersion", usage.policy().version());
            ObjectNode key = one.putObject("key");
            key.put("client", client);
            for (int i = 0; i + 1 < usage.others().size(); i += 2) {
                key.put(usage.others().get(i), usage.others().get(i + 1));
            }
            one.put("lastAt", usage.lastMs());
            ArrayNode limits = one.putArray("limits");
            for (Usage.OfLimit limit : usage.limits()) {
                limits.addObject()
                        .put("label", limit.label())
                        .put("limit", limit.limit())
                        .put("windowMs", limit.windowMs())
                        .put("used", limit.used())
                        .put("remaining", limit.remaining())
                        .put("resetAfterMs", limit.resetAfterMs());
            }
        }
        return json;
    }

    static JsonNode decision(Decision decision) {
        StringWriter line = new StringWriter();
        try (DecisionJson out = new DecisionJson(line)) {
            out.write(decision);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return tree(line.toString());
    }

    private static JsonNode definition(String json) {
        return json == null ? JSON.nullNode() : tree(json);
    }

    private static JsonNode tree(String json) {
        try {
            return JSON.readTree(json);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e); // it was written by Weir
        }
    }

    /** As in releases: 1000.02. */
    private static BigDecimal milliseconds(long nanos) {
        return new BigDecimal(BigDecimal.valueOf(nanos, 6).stripTrailingZeros().toPlainString());
    }
}
