package dev.weir.shape;

import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * In which order the requests of one queue leave: a higher priority first, always; within a priority, tiers by weight;
 * within a tier, clients evenly; and one client's requests in their own order. It knows only who waits, not for what:
 * the head of each {@link Flow} is the caller's.
 *
 * <p>Shares and priorities are asked for when a request is served, so a change acts on what already waits. Every call is
 * O(log active flows); memory grows with the flows that wait, not with what waits behind their heads.
 */
final class FairScheduler {

    private Map<String, Share> shares;
    private final TreeMap<Integer, StartTimeFairQueue<String>> tiersByPriority =
            new TreeMap<>(Comparator.reverseOrder());
    private final Map<String, StartTimeFairQueue<String>> clientsByTier = new TreeMap<>();

    /** @param shares by tier; a tier that is not named gets {@link Share#DEFAULT} */
    FairScheduler(Map<String, Share> shares) {
        this.shares = Map.copyOf(shares);
    }

    /** Changes the shares, for what waits as well. */
    void setShares(Map<String, Share> newShares) {
        Map<String, Share> old = shares;
        shares = Map.copyOf(newShares);
        clientsByTier.forEach((tier, clients) -> {
            int before = old.getOrDefault(tier, Share.DEFAULT).priority();
            if (!clients.isEmpty() && before != share(tier).priority()) {
                leave(before, tier);
                tiersOf(tier).enter(tier, share(tier).weight());
            }
        });
    }

    /** Lets a flow in, none of which waited. */
    void enter(Flow flow) {
        StartTimeFairQueue<String> clients =
                clientsByTier.computeIfAbsent(flow.tier(), tier -> new StartTimeFairQueue<>());
        if (clients.isEmpty()) {
            tiersOf(flow.tier()).enter(flow.tier(), share(flow.tier()).weight());
        }
        clients.enter(flow.client(), 1);
    }

    /** The flow whose head leaves next. */
    Optional<Flow> next() {
        if (tiersByPriority.isEmpty()) {
            return Optional.empty();
        }
        String tier = tiersByPriority.firstEntry().getValue().first();
        return Optional.of(new Flow(tier, clientsByTier.get(tier).first()));
    }

    /**
     * Takes note that a waiting flow's head has left.
     *
     * @param cost of what has left, in tokens
     * @param waitsOn whether the flow has more
     */
    void served(Flow flow, long cost, boolean waitsOn) {
        StartTimeFairQueue<String> clients = clientsByTier.get(flow.tier());
        clients.serve(flow.client(), cost, 1, waitsOn);
        Share share = share(flow.tier());
        StartTimeFairQueue<String> tiers = tiersByPriority.get(share.priority());
        tiers.serve(flow.tier(), cost, share.weight(), !clients.isEmpty());
        forget(share.priority(), flow.tier());
    }

    /** Takes note that a flow has nothing left that waits, though its head was not served. */
    void left(Flow flow) {
        StartTimeFairQueue<String> clients = clientsByTier.get(flow.tier());
        clients.leave(flow.client());
        if (clients.isEmpty()) {
            leave(share(flow.tier()).priority(), flow.tier());
        }
        forget(share(flow.tier()).priority(), flow.tier());
    }

    private void leave(int priority, String tier) {
        tiersByPriority.get(priority).leave(tier);
        forget(priority, tier);
    }

    private void forget(int priority, String tier) {
        StartTimeFairQueue<String> tiers = tiersByPriority.get(priority);
        if (tiers != null && tiers.isEmpty()) {
            tiersByPriority.remove(priority);
        }
        StartTimeFairQueue<String> clients = clientsByTier.get(tier);
        if (clients != null && clients.isForgettable()) {
            clientsByTier.remove(tier);
        }
    }

    private Share share(String tier) {
        return shares.getOrDefault(tier, Share.DEFAULT);
    }

    private StartTimeFairQueue<String> tiersOf(String tier) {
        return tiersByPriority.computeIfAbsent(share(tier).priority(), priority -> new StartTimeFairQueue<>());
    }
}
