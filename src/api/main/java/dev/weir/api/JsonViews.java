package dev.weir.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.weir.backtest.BacktestComparison;
import dev.weir.backtest.DecisionStats;
import dev.weir.decision.usage.OpenReservation;
import dev.weir.decision.usage.PolicyUsage;
import dev.weir.decision.usage.SharedPolicyUsage;
import dev.weir.event.Decision;
import dev.weir.lease.LeaseResponse;
import dev.weir.lease.ledger.OutstandingLease;
import dev.weir.query.InstanceQueries;
import dev.weir.query.RecentDecisions;
import dev.weir.rules.ChangeDetails;
import dev.weir.rules.PolicyTopic.Change;
import dev.weir.rules.QueueCommands;
import dev.weir.shape.command.OrdersView;
import dev.weir.shape.command.QueueCommand;
import dev.weir.shape.rules.QueueRules;
import dev.weir.shape.view.QueueView;
import dev.weir.time.DueTime;
import dev.weir.wire.PolicyAvro.Applied;
import dev.weir.wire.json.DecisionJson;
import dev.weir.wire.json.Json;
import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** Responses as JSON trees, as described by {@code openapi.yaml}. */
public final class JsonViews {

    private static final int MAX_CLIENTS = 10;

    private JsonViews() {}

    static ObjectNode object() {
        return Json.MAPPER.createObjectNode();
    }

    /** Returns a version of a policy or queue. Its definition is null if it was deleted. */
    public static ObjectNode applied(Applied applied) {
        ObjectNode json = object();
        json.put("id", applied.id());
        json.put("version", applied.version());
        json.put("appliedAt", applied.appliedAtMs());
        json.put("author", applied.changedBy().author().orElse(null));
        json.put("reason", applied.changedBy().reason().orElse(null));
        json.set("definition", definition(applied.definition()));
        return json;
    }

    /** Returns a deleted queue that still drains. */
    static ObjectNode deleted(QueueRules rules) {
        ObjectNode json = object();
        json.put("id", rules.id());
        json.put("version", rules.version());
        json.putNull("appliedAt");
        json.putNull("author");
        json.putNull("reason");
        json.putNull("definition");
        return json;
    }

    /** Returns one key of a queue with key fields. */
    static ObjectNode key(QueueView bucket, Map<String, String> key) {
        ObjectNode json = object();
        json.put("id", bucket.rules().id());
        json.put("version", bucket.rules().version());
        json.set("key", Json.MAPPER.valueToTree(key));
        json.set("state", queueState(bucket));
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
        ArrayNode warnings = json.putArray("warnings");
        change.warnings().forEach(warnings::add);
        return json;
    }

    static ObjectNode queueState(QueueView queue) {
        ObjectNode json = object();
        json.put("deleted", queue.isDeleted());
        json.put("waiting", queue.waiting());
        json.put("waitingTokens", queue.waitingTokens());
        json.put("oldestWaitMs", queue.oldestWaitMs());
        ArrayNode tiers = json.putArray("tiers");
        for (QueueView.TierView tier : queue.tiers()) {
            tiers.addObject()
                    .put("tier", tier.tier())
                    .put("priority", tier.share().priority())
                    .put("weight", tier.share().weight())
                    .put("waiting", tier.waiting());
        }
        json.putObject("scheduled")
                .put("requests", queue.scheduled().requests())
                .put("nextAt", queue.scheduled().nextAtMs());
        ObjectNode inFlight = json.putObject("inFlight");
        inFlight.put("requests", queue.inFlight().requests())
                .put("slots", queue.inFlight().slots())
                .put("retries", queue.inFlight().retries())
                .put("oldestMs", queue.inFlight().oldestMs());
        ArrayNode inFlightTiers = inFlight.putArray("tiers");
        queue.inFlight().slotsByTier().forEach((tier, slots) -> inFlightTiers
                .addObject()
                .put("tier", tier.isEmpty() ? null : tier)
                .put("slots", slots));
        json.set("rate", rate(queue.rules()));
        QueueView.SeveralBuckets several = queue.buckets() instanceof QueueView.SeveralBuckets all ? all : null;
        QueueView.OneBucket one = queue.buckets() instanceof QueueView.OneBucket only ? only : null;
        json.put("keys", several == null ? null : (Long) several.keys());
        json.put("drainMs", queue.drainMs());
        ArrayNode longest = json.putArray("longest");
        for (QueueView.KeyView key : queue.longest()) {
            ObjectNode entry = longest.addObject();
            entry.set("key", Json.MAPPER.valueToTree(key.key()));
            entry.put("waiting", key.waiting())
                    .put("waitingTokens", key.waitingTokens())
                    .put("oldestWaitMs", key.oldestWaitMs())
                    .put("drainMs", key.drainMs())
                    .put("slots", key.slots());
        }
        json.put("released", one == null ? null : (Long) one.released());
        boolean isNextKnown = one != null && one.nextReleaseAtNanos() != null;
        json.put("nextReleaseAt", isNextKnown ? milliseconds(one.nextReleaseAtNanos()) : null);
        orders(json, queue.orders());
        json.put("commandedKeys", queue.orders().keys());
        ArrayNode keys = json.putArray("keyCommands");
        for (OrdersView.KeyOrders key : queue.orders().listed()) {
            ObjectNode entry = keys.addObject();
            entry.set("key", Json.MAPPER.valueToTree(key.key()));
            entry.set("paused", origin(key.paused()));
            entry.set("draining", origin(key.draining()));
        }
        return json;
    }

    /** Adds the commands of operators that are in effect for a whole queue, or for one key. */
    static void orders(ObjectNode json, OrdersView orders) {
        json.set("paused", origin(orders.paused()));
        json.set("draining", origin(orders.draining()));
        json.put("purging", orders.isPurging());
    }

    private static JsonNode origin(Optional<QueueCommand.Origin> command) {
        return command.<JsonNode>map(one -> object().put("author", one.author().orElse(null))
                        .put("reason", one.reason())
                        .put("since", one.atMs()))
                .orElseGet(Json.MAPPER::nullNode);
    }

    /** Returns what became of a command to a queue. */
    static ObjectNode commanded(QueueCommand command, QueueCommands.Result result) {
        ObjectNode json = object();
        json.put("id", command.target().queue());
        json.put("action", command.action().name().toLowerCase(Locale.ROOT));
        json.set("key", Json.MAPPER.valueToTree(command.target().values()));
        json.put("partitions", result.partitions());
        result.pending().forEach(json.putArray("pending")::add);
        return json;
    }

    /** Returns the commands that were sent to a queue. */
    static ObjectNode commands(String queue, List<QueueCommands.PastCommand> newestFirst) {
        ObjectNode json = object().put("id", queue);
        ArrayNode list = json.putArray("commands");
        for (QueueCommands.PastCommand past : newestFirst) {
            ObjectNode one = list.addObject();
            one.put("number", past.number());
            one.put("sentAt", past.origin().atMs());
            one.put("action", past.action());
            one.set("key", Json.MAPPER.valueToTree(past.key()));
            one.put("author", past.origin().author().orElse(null));
            one.put("reason", past.origin().reason());
        }
        return json;
    }

    /** Returns the rate of a queue; null if it has none. */
    private static ObjectNode rate(QueueRules rules) {
        return rules.hasRate()
                ? object().put("limit", rules.limit())
                        .put("perMs", rules.perMs())
                        .put("burst", rules.burst())
                : null;
    }

    static ObjectNode usage(String client, long nowMs, List<PolicyUsage> usages) {
        ObjectNode json = object();
        json.put("client", client);
        json.put("at", nowMs);
        ArrayNode list = json.putArray("usage");
        for (PolicyUsage usage : usages) {
            ObjectNode one = list.addObject();
            one.put("policyId", usage.policy().id());
            one.put("policyVersion", usage.policy().version());
            ObjectNode key = one.putObject("key");
            if (usage.held() == null) {
                key.put("client", client);
            }
            key(key, usage.namesAndValues());
            one.put("lastAt", usage.lastChargeMs());
            one.put("reserved", usage.reserved());
            one.put("held", usage.held());
            limits(one, usage.limits());
        }
        return json;
    }

    static ObjectNode reservations(String client, long nowMs, InstanceQueries.ReservationPage page) {
        ObjectNode json = object();
        json.put("client", client);
        json.put("at", nowMs);
        ArrayNode list = json.putArray("reservations");
        for (OpenReservation reservation : page.reservations()) {
            ObjectNode one = list.addObject()
                    .put("requestId", reservation.requestId())
                    .put("cost", reservation.cost())
                    .put("since", reservation.sinceMs())
                    .put("ends", reservation.endMs());
            ArrayNode policies = one.putArray("policies");
            for (OpenReservation.Holding holding : reservation.holdings()) {
                ObjectNode policy = policies.addObject().put("policyId", holding.policyId());
                ObjectNode key = policy.putObject("key");
                key.put("client", client);
                key(key, holding.namesAndValues());
                policy.put("observes", holding.observes())
                        .put("slotsUntil", holding.slotsUntilMs().orElse(null));
            }
        }
        json.put("next", page.next().orElse(null));
        return json;
    }

    /** Returns the usage of a shared policy. The leases of one holder are added up. */
    static ObjectNode sharedUsage(long nowMs, SharedPolicyUsage usage) {
        ObjectNode json = object();
        json.put("policyId", usage.policy().id());
        json.put("policyVersion", usage.policy().version());
        json.put("at", nowMs);
        key(json.putObject("key"), usage.namesAndValues());
        limits(json, usage.limits());
        json.put("free", usage.free());
        LeaseResponse.Checked check = usage.check();
        json.put("lendable", Math.max(0, check.free()));
        json.put("retryAfterMs", check.retryAfterMs() == DueTime.NEVER ? null : (Long) check.retryAfterMs());
        json.put("heldUnused", check.isLent());
        ArrayNode holders = json.putArray("holders");
        Map<String, ObjectNode> byName = new LinkedHashMap<>();
        for (OutstandingLease lease : usage.leases()) {
            ObjectNode holder = byName.computeIfAbsent(
                    lease.holder(),
                    name -> holders.addObject().put("holder", name).put("lent", 0L));
            holder.put("lent", holder.get("lent").longValue() + lease.amount());
            holder.put("until", lease.untilMs());
        }
        return json;
    }

    private static void key(ObjectNode json, List<String> others) {
        for (int i = 0; i + 1 < others.size(); i += 2) {
            json.put(others.get(i), others.get(i + 1));
        }
    }

    private static void limits(ObjectNode json, List<PolicyUsage.LimitUsage> limits) {
        ArrayNode list = json.putArray("limits");
        for (PolicyUsage.LimitUsage limit : limits) {
            list.addObject()
                    .put("label", limit.label())
                    .put("limit", limit.limit())
                    .put("windowMs", limit.windowMs())
                    .put("used", limit.used())
                    .put("remaining", limit.remaining())
                    .put("resetAfterMs", limit.resetAfterMs());
        }
    }

    static ObjectNode decisions(String client, RecentDecisions recent) {
        ObjectNode json = object();
        json.put("client", client);
        json.put("read", recent.read());
        json.put("since", recent.sinceMs());
        ArrayNode list = json.putArray("decisions");
        recent.newestFirst().forEach(decision -> list.add(decision(decision)));
        return json;
    }

    static ObjectNode backtest(BacktestComparison comparison) {
        ObjectNode json = object();
        json.put("from", comparison.requests().fromMs());
        json.put("to", comparison.requests().toMs());
        json.put("requests", comparison.requests().requests().size());
        json.put("complete", comparison.requests().isComplete());
        json.set("before", stats(comparison.before()));
        json.set("after", stats(comparison.after()));
        ArrayNode policies = json.putArray("policies");
        Set<String> names = new TreeSet<>(comparison.before().byPolicy().keySet());
        names.addAll(comparison.after().byPolicy().keySet());
        for (String name : names) {
            ObjectNode policy = policies.addObject().put("policy", name);
            policy.set("before", counts(comparison.before().byPolicy().get(name)));
            policy.set("after", counts(comparison.after().byPolicy().get(name)));
        }
        ArrayNode shared = json.putArray("shared");
        comparison.shared().forEach(shared::add);
        ArrayNode clients = json.putArray("clients");
        for (BacktestComparison.ClientComparison client : comparison.clients(MAX_CLIENTS)) {
            clients.addObject()
                    .put("client", client.client())
                    .put("deniedBefore", client.deniedBefore())
                    .put("deniedAfter", client.deniedAfter());
        }
        return json;
    }

    private static ObjectNode stats(DecisionStats stats) {
        long expired = stats.byQueue().values().stream()
                .mapToLong(queue -> queue.all().expired())
                .sum();
        return counts(stats.all()).put("expired", expired);
    }

    /** @param counts null if nothing was counted */
    private static ObjectNode counts(DecisionStats.Counts counts) {
        return object().put("allowed", counts == null ? 0 : counts.allowed())
                .put("denied", counts == null ? 0 : counts.denied())
                .put("queued", counts == null ? 0 : counts.queued());
    }

    static JsonNode decision(Decision decision) {
        return Json.read(DecisionJson.text(decision));
    }

    private static JsonNode definition(String json) {
        return json == null ? Json.MAPPER.nullNode() : Json.read(json);
    }

    /** Returns milliseconds with decimals, as in releases: 1000.02. */
    private static BigDecimal milliseconds(long nanos) {
        return new BigDecimal(BigDecimal.valueOf(nanos, 6).stripTrailingZeros().toPlainString());
    }
}
