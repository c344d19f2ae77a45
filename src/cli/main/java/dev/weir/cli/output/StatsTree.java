package dev.weir.cli.output;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.backtest.DecisionStats;
import dev.weir.backtest.QueueStats;
import dev.weir.shape.rules.QueueRules;
import dev.weir.wire.json.Json;
import java.util.Map;

/** The counts of decisions and queues as a JSON tree. */
public final class StatsTree {

    private StatsTree() {}

    /**
     * Returns the counts.
     *
     * @param queues the queues by id
     * @param maxClients the maximum number of clients with the most denials
     */
    public static ObjectNode of(DecisionStats stats, Map<String, QueueRules> queues, int maxClients) {
        ObjectNode tree = put(Json.MAPPER.createObjectNode(), stats.all());
        ArrayNode policies = tree.putArray("policies");
        stats.byPolicy().forEach((policy, counts) -> put(policies.addObject().put("policy", policy), counts));
        ArrayNode tiers = tree.putArray("tiers");
        stats.byTier().forEach((tier, counts) -> put(tiers.addObject().put("tier", tier), counts));
        ArrayNode byQueue = tree.putArray("queues");
        stats.byQueue().forEach((id, queue) -> put(byQueue.addObject().put("queue", id), queue, queues.get(id)));
        ArrayNode clients = tree.putArray("clients");
        stats.topLimited(maxClients)
                .forEach(client ->
                        clients.addObject().put("client", client.name()).put("denied", client.count()));
        ArrayNode shared = tree.putArray("shared");
        stats.shared().forEach(shared::add);
        return tree;
    }

    private static ObjectNode put(ObjectNode tree, DecisionStats.Counts counts) {
        return tree.put("requests", counts.requests())
                .put("allowed", counts.allowed())
                .put("queued", counts.queued())
                .put("denied", counts.denied())
                .put("observed", counts.observed())
                .put("delayed", counts.throttled())
                .put("repeated", counts.repeated());
    }

    /** @param rules null if the queue is not defined */
    private static void put(ObjectNode tree, QueueStats queue, QueueRules rules) {
        put(tree, queue.all());
        ArrayNode tiers = tree.putArray("tiers");
        queue.byTier().forEach((tier, counts) -> put(tiers.addObject().put("tier", tier), counts));
        tree.put("tokensPerSecond", queue.tokensPerSecond());
        tree.putNull("rate").putNull("total").putNull("keys").putNull("gapMs");
        if (rules == null) {
            return;
        }
        if (rules.hasRate()) {
            putRate(tree.putObject("rate"), rules.limit(), rules.perMs());
        }
        if (rules.isKeyed()) {
            if (rules.total() != null) {
                rules.total().rate().ifPresent(rate -> putRate(tree.putObject("total"), rate.limit(), rate.perMs()));
            }
            QueueStats.Spacing gaps = queue.spacing();
            tree.put("keys", gaps.keys());
            if (gaps.count() > 0) {
                tree.putObject("gapMs").put("min", gaps.ms(0)).put("p50", gaps.ms(50));
            }
        }
    }

    private static void putRate(ObjectNode tree, long limit, long perMs) {
        tree.put("limit", limit).put("perMs", perMs);
    }

    private static void put(ObjectNode tree, QueueStats.Counts counts) {
        tree.put("queued", counts.queued())
                .put("refused", counts.refused())
                .put("released", counts.released())
                .put("expired", counts.expired())
                .put("evicted", counts.evicted())
                .put("cancelled", counts.withdrawn())
                .putObject("waitMs")
                .put("p50", counts.waitMs(50))
                .put("p99", counts.waitMs(99));
    }
}
