package dev.weir.shape.total;

import dev.weir.shape.rules.BucketId;
import dev.weir.shape.timer.TimerQueue;
import dev.weir.shape.total.Contenders.Contender;
import dev.weir.shape.total.TotalReport.ClientKeys;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/** The buckets that contend in one tier, by their turn, with sums. */
final class TierContenders {

    private static final Comparator<ClientKeys> MOST_KEYS_FIRST =
            Comparator.comparingLong(ClientKeys::keys).reversed().thenComparing(ClientKeys::client);

    final String tier;
    final TimerQueue<BucketId> soonestFirst = new TimerQueue<>();
    private final TreeMap<Long, Integer> costs = new TreeMap<>();
    private final Map<String, Integer> keysByClient = new HashMap<>();
    private final TreeSet<ClientKeys> largestClients = new TreeSet<>(MOST_KEYS_FIRST); // those with several keys
    private long tokens;

    TierContenders(String tier) {
        this.tier = tier;
    }

    /** Returns the tokens that all could release soon. */
    long tokens() {
        return tokens;
    }

    /** Returns the number of clients. */
    int clients() {
        return keysByClient.size();
    }

    /** Returns the largest cost of a first request; 1 if there are none. */
    long largestCost() {
        return costs.isEmpty() ? 1 : costs.lastKey();
    }

    /**
     * Returns the clients with the most keys, of those with several.
     *
     * @param cold the number of contenders that are not on the heap; the clients are assumed to have their part of them
     * @param mostCharacters the most characters of all names together
     */
    List<ClientKeys> largestClients(long cold, int mostCharacters) {
        List<ClientKeys> largest = new ArrayList<>();
        int left = mostCharacters;
        for (ClientKeys client : largestClients) {
            left -= client.client().length();
            if (largest.size() == TotalReport.MAX_CLIENTS || left < 0) {
                break;
            }
            largest.add(new ClientKeys(client.client(), client.keys() + client.keys() * cold / soonestFirst.size()));
        }
        return largest;
    }

    /** Adds a contender to the sums. */
    void add(Contender contender) {
        tokens += contender.tokens();
        countCost(contender.cost(), 1);
        countKey(contender.flow().value(), 1);
    }

    /** Subtracts a contender from the sums. */
    void remove(Contender contender) {
        tokens -= contender.tokens();
        countCost(contender.cost(), -1);
        countKey(contender.flow().value(), -1);
    }

    /** Changes the sums by the change of a contender. */
    void replace(Contender before, Contender after) {
        tokens += after.tokens() - before.tokens();
        if (before.cost() != after.cost()) {
            countCost(before.cost(), -1);
            countCost(after.cost(), 1);
        }
        if (!before.flow().value().equals(after.flow().value())) {
            countKey(before.flow().value(), -1);
            countKey(after.flow().value(), 1);
        }
    }

    private void countCost(long cost, int by) {
        costs.merge(cost, by, TierContenders::sum);
    }

    private void countKey(String client, int by) {
        int had = keysByClient.getOrDefault(client, 0);
        keysByClient.merge(client, by, TierContenders::sum);
        if (had > 1) {
            largestClients.remove(new ClientKeys(client, had));
        }
        if (had + by > 1) {
            largestClients.add(new ClientKeys(client, had + by));
        }
    }

    private static Integer sum(Integer had, Integer more) {
        return had + more == 0 ? null : (Integer) (had + more);
    }
}
