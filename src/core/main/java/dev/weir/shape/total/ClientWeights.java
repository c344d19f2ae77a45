package dev.weir.shape.total;

import dev.weir.shape.fair.FairScheduler;
import dev.weir.shape.fair.KeyScheduler;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.total.TotalGrant.ClientWeight;
import dev.weir.shape.total.TotalReport.ClientKeys;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The shares of partitions in a tier. Clients share evenly, so a partition counts as much as clients have requests
 * there. A client whose keys are on several partitions counts once: on each by the part of its keys. This is so for the
 * clients with the most keys, which reports name. Others count once on each of their partitions.
 *
 * <pre>
 *   partition 0    ann: 15 keys, bob: 1 key      weight 3/4 + 1
 *   partition 1    ann:  5 keys                  weight 1/4
 * </pre>
 */
final class ClientWeights {

    /** The weights of demands are in units of so many parts of {@link KeyScheduler#CLIENT_WEIGHT}. */
    private static final long PARTS = 50;

    private final Map<Integer, List<TotalReport.Demand>> reported = new HashMap<>(); // by partition
    private final Map<String, Map<String, Long>> keys = new TreeMap<>(); // by tier and client, on all partitions

    /** Replaces what a partition has reported. */
    void count(int partition, List<TotalReport.Demand> demands) {
        List<TotalReport.Demand> before =
                demands.isEmpty() ? reported.remove(partition) : reported.put(partition, demands);
        if (before != null) {
            before.forEach(demand -> add(demand, -1));
        }
        demands.forEach(demand -> add(demand, 1));
    }

    private void add(TotalReport.Demand demand, int by) {
        Map<String, Long> ofTier = keys.computeIfAbsent(demand.tier(), tier -> new HashMap<>());
        for (ClientKeys client : demand.largestClients()) {
            ofTier.merge(
                    client.client(), by * client.keys(), (had, more) -> had + more == 0 ? null : (Long) (had + more));
        }
        if (ofTier.isEmpty()) {
            keys.remove(demand.tier());
        }
    }

    /**
     * Returns the weight of a demand that was counted, 1 to {@link FairScheduler#MAX_WEIGHT}. That suffices for 100,000
     * clients on a partition; more count as many.
     */
    long weight(TotalReport.Demand demand) {
        long weight = demand.clients() * KeyScheduler.CLIENT_WEIGHT;
        for (ClientKeys client : demand.largestClients()) {
            weight += weight(demand.tier(), client);
        }
        return Math.max(1, Math.min(FairScheduler.MAX_WEIGHT, weight / PARTS));
    }

    private long weight(String tier, ClientKeys client) {
        return Math.max(
                1, KeyScheduler.CLIENT_WEIGHT * client.keys() / keys.get(tier).get(client.client()));
    }

    /** Returns the weights of clients on a partition that have keys on others too. */
    List<ClientWeight> weights(int partition) {
        List<ClientWeight> weights = new ArrayList<>();
        for (TotalReport.Demand demand : reported.getOrDefault(partition, List.of())) {
            for (ClientKeys client : demand.largestClients()) {
                long weight = weight(demand.tier(), client);
                if (weight < KeyScheduler.CLIENT_WEIGHT && weights.size() < TotalGrant.MAX_WEIGHTS) {
                    weights.add(new ClientWeight(new Flow(demand.tier(), client.client()), weight));
                }
            }
        }
        return weights;
    }
}
