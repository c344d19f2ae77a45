package dev.weir.shape.backlog;

import dev.weir.shape.backlog.BucketContents.FlowOrder;
import dev.weir.shape.backlog.BucketContents.TierOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * In which order the requests of one queue leave: a higher priority first, always; within a priority, tiers by weight;
 * within a tier, clients evenly; and one client's requests in their own order. It knows only who waits, not for what:
 * the head of each {@link Flow} is the caller's.
 *
 * <p>Shares and priorities are asked for when a request is served, so a change acts on what already waits. Every call
 * is O(log active flows); memory grows with the flows that wait, not with what waits behind their heads.
 */
public final class FairScheduler {

    private Map<String, TierShare> shares;
    private Flow onlyFlow; // while one flow waits and none is remembered beside it, it needs no tags
    private long onlyWeight;
    private Tags tags; // null until a second flow enters, and again when none waits

    /** @param shares by tier; a tier that is not named gets {@link TierShare#DEFAULT} */
    public FairScheduler(Map<String, TierShare> shares) {
        this.shares = Map.copyOf(shares);
    }

    /** Continues from what {@link #state} returned, with other shares perhaps. */
    void restore(FlowOrder order) {
        tags = new Tags(shares);
        tags.tiers.restore(order.priorities());
        for (TierOrder tier : order.tiers()) {
            tags.clientsByTier.put(tier.tier(), StartTimeFairQueue.of(tier.clients()));
        }
    }

    /** The tags; null if at most one flow waits and it needs none. */
    FlowOrder state() {
        if (tags == null) {
            return null;
        }
        List<TierOrder> tiers = new ArrayList<>();
        tags.clientsByTier.forEach(
                (tier, clients) -> tiers.add(new TierOrder(tier, StartTimeFairQueue.state(clients))));
        return new FlowOrder(tiers, tags.tiers.state());
    }

    /** How many tags it holds. */
    int tags() {
        if (tags == null) {
            return 0;
        }
        int count = tags.tiers.tags();
        for (StartTimeFairQueue<String> clients : tags.clientsByTier.values()) {
            count += clients.tagCount();
        }
        return count;
    }

    /** Changes the shares, for what waits as well. */
    public void setShares(Map<String, TierShare> newShares) {
        shares = Map.copyOf(newShares);
        if (tags != null) {
            tags.tiers.setShares(shares);
        }
    }

    /** Lets a flow in, none of which waited. */
    public void enter(Flow flow) {
        enter(flow, 1);
    }

    /** Lets a flow in, none of which waited, that gets so many times the share of one of weight 1. */
    public void enter(Flow flow, long weight) {
        if (tags == null && onlyFlow == null) {
            onlyFlow = flow;
            onlyWeight = weight;
            return;
        }
        if (tags == null) {
            tags = new Tags(shares);
            tags.enter(onlyFlow, onlyWeight);
            onlyFlow = null;
        }
        tags.enter(flow, weight);
    }

    /** The flow whose head leaves next. */
    public Optional<Flow> next() {
        return tags == null ? Optional.ofNullable(onlyFlow) : Optional.of(tags.next());
    }

    /**
     * Takes note that a waiting flow's head has left.
     *
     * @param cost of what has left, in tokens
     * @param waitsOn whether the flow has more
     */
    public void served(Flow flow, long cost, boolean waitsOn) {
        served(flow, cost, 1, waitsOn);
    }

    /** As {@link #served(Flow, long, boolean)}, for a flow of this weight. */
    public void served(Flow flow, long cost, long weight, boolean waitsOn) {
        if (tags != null) {
            tags.served(flow, cost, weight, waitsOn);
            forget();
        } else if (waitsOn) {
            onlyWeight = weight;
        } else {
            onlyFlow = null;
        }
    }

    /** Takes note that a flow has nothing left that waits, though its head was not served. */
    public void leave(Flow flow) {
        if (tags != null) {
            tags.leave(flow);
            forget();
        } else {
            onlyFlow = null;
        }
    }

    private void forget() {
        if (tags.tiers.isEmpty()) {
            tags = null;
        }
    }

    /** The order of several flows. */
    private static final class Tags {
        final TierScheduler tiers;
        final Map<String, StartTimeFairQueue<String>> clientsByTier = new TreeMap<>();

        Tags(Map<String, TierShare> shares) {
            tiers = new TierScheduler(shares);
        }

        void enter(Flow flow, long weight) {
            StartTimeFairQueue<String> clients =
                    clientsByTier.computeIfAbsent(flow.tier(), tier -> new StartTimeFairQueue<>());
            if (clients.isEmpty()) {
                tiers.enter(flow.tier());
            }
            clients.enter(flow.client(), weight);
        }

        Flow next() {
            String tier = tiers.first();
            return new Flow(tier, clientsByTier.get(tier).first());
        }

        void served(Flow flow, long cost, long weight, boolean waitsOn) {
            StartTimeFairQueue<String> clients = clientsByTier.get(flow.tier());
            clients.serve(flow.client(), cost, weight, waitsOn);
            tiers.served(flow.tier(), cost, !clients.isEmpty());
            forget(flow.tier(), clients);
        }

        void leave(Flow flow) {
            StartTimeFairQueue<String> clients = clientsByTier.get(flow.tier());
            clients.leave(flow.client());
            if (clients.isEmpty()) {
                tiers.leave(flow.tier());
            }
            forget(flow.tier(), clients);
        }

        private void forget(String tier, StartTimeFairQueue<String> clients) {
            if (clients.hasNoTags()) {
                clientsByTier.remove(tier);
            }
        }
    }
}
