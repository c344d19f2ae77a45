package dev.weir.shape.fair;

import dev.weir.shape.rules.BucketId;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.TierShare;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The order in which the keys of a queue share its total: tiers by priority and weight, within a tier clients evenly,
 * and within a client keys evenly, all of them by tokens. A key belongs to the tier and the client of its first
 * request. Each call takes O(log keys).
 *
 * <pre>
 *   gold      ann   k1 k2 k3       ann and bob get the same, so each of ann's keys gets a third of bob's
 *             bob   k4
 *   silver    cem   k5 k6          after gold, or beside it by weight
 * </pre>
 */
public final class KeyScheduler {

    /** The weight of a client whose keys are all on this partition. */
    public static final long CLIENT_WEIGHT = 1_000;

    /** If more keys or clients than this keep a tag although they do not wait, tags are forgotten. */
    private static final int MAX_AWAY = 10_000;

    /** The keys of a client. */
    private static final class ClientKeys {
        final Set<BucketId> waiting = new LinkedHashSet<>();
        StartTimeFairQueue<BucketId> order = new StartTimeFairQueue<>();

        void leave(BucketId key) {
            waiting.remove(key);
            order.leave(key);
            if (order.tagCount() > waiting.size() + MAX_AWAY) {
                order = new StartTimeFairQueue<>();
                waiting.forEach(each -> order.enter(each, 0, 1));
            }
        }
    }

    /** The clients of a tier. */
    private static final class TierClients {
        final Map<String, ClientKeys> waiting = new LinkedHashMap<>();
        StartTimeFairQueue<String> order = new StartTimeFairQueue<>();

        BucketId first() {
            return waiting.get(order.first()).order.first();
        }

        void leave(String client) {
            waiting.remove(client);
            order.leave(client);
            if (order.tagCount() > waiting.size() + MAX_AWAY) {
                order = new StartTimeFairQueue<>();
                waiting.keySet().forEach(each -> order.enter(each, 0, CLIENT_WEIGHT));
            }
        }
    }

    private final TierScheduler tiers;
    private final Map<String, TierClients> byTier = new TreeMap<>(); // those with waiting keys
    private Map<Flow, Long> clientWeights = Map.of();

    /** @param shares the shares by tier; a tier that is not named gets {@link TierShare#DEFAULT} */
    public KeyScheduler(Map<String, TierShare> shares) {
        tiers = new TierScheduler(shares);
    }

    /** Changes the shares, also for keys that wait. */
    public void setShares(Map<String, TierShare> newShares) {
        tiers.setShares(newShares);
    }

    /**
     * Sets the weights of clients from the next time on that they are served.
     *
     * @param newWeights 1 or more; a client that is not named gets {@link #CLIENT_WEIGHT}
     */
    public void setClientWeights(Map<Flow, Long> newWeights) {
        clientWeights = newWeights;
    }

    /**
     * Adds a key that did not wait.
     *
     * @param cost the cost of its first request, in tokens
     */
    public void enter(Flow flow, BucketId key, long cost) {
        TierClients clients = byTier.get(flow.tier());
        if (clients == null) {
            clients = new TierClients();
            byTier.put(flow.tier(), clients);
            tiers.enter(flow.tier(), cost);
        }
        ClientKeys keys = clients.waiting.get(flow.value());
        if (keys == null) {
            keys = new ClientKeys();
            clients.waiting.put(flow.value(), keys);
            clients.order.enter(flow.value(), cost, weight(flow));
        }
        keys.waiting.add(key);
        keys.order.enter(key, cost, 1);
    }

    private long weight(Flow flow) {
        return clientWeights.getOrDefault(flow, CLIENT_WEIGHT);
    }

    /** Returns the key that is served next; null if none waits. */
    public BucketId first() {
        String tier = tiers.first();
        return tier == null ? null : byTier.get(tier).first();
    }

    /** Returns the key of a tier that is served next; null if none waits. */
    public BucketId first(String tier) {
        TierClients clients = byTier.get(tier);
        return clients == null ? null : clients.first();
    }

    /** Records that a waiting key was served. It waits on until it {@linkplain #leave leaves}. */
    public void served(Flow flow, BucketId key, long cost) {
        TierClients clients = byTier.get(flow.tier());
        clients.waiting.get(flow.value()).order.serve(key, cost, 1, true);
        clients.order.serve(flow.value(), cost, weight(flow), true);
        tiers.served(flow.tier(), cost, true);
    }

    /** Removes a waiting key. If it returns soon, it continues where it was. */
    public void leave(Flow flow, BucketId key) {
        TierClients clients = byTier.get(flow.tier());
        ClientKeys keys = clients.waiting.get(flow.value());
        keys.leave(key);
        if (keys.waiting.isEmpty()) {
            clients.leave(flow.value());
        }
        if (clients.waiting.isEmpty()) {
            byTier.remove(flow.tier());
            tiers.leave(flow.tier());
        }
    }
}
