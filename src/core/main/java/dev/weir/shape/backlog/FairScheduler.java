package dev.weir.shape.backlog;

import dev.weir.shape.backlog.BucketContents.FlowOrder;
import dev.weir.shape.backlog.BucketContents.TierOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The order in which the requests of one queue leave: higher priorities first; within a priority, tiers by weight;
 * within a tier, clients evenly; and the requests of one client in order. The scheduler knows which flows wait; the
 * requests of each {@link Flow} are the caller's.
 *
 * <p>Shares and priorities are read when a request is served, so a change applies to waiting requests too. Each call
 * takes O(log flows). Memory grows with the flows that wait, not with the requests behind their heads.
 */
public final class FairScheduler {

    private Map<String, TierShare> shares;
    private Flow onlyFlow; // a single waiting flow without other tags needs no tag
    private long onlyWeight;
    private Tags tags; // null until a second flow enters, and again when none waits

    /** @param shares the shares by tier; a tier that is not named gets {@link TierShare#DEFAULT} */
    public FairScheduler(Map<String, TierShare> shares) {
        this.shares = Map.copyOf(shares);
    }

    /** Restores what {@link #state} returned, possibly with other shares. */
    void restore(FlowOrder order) {
        tags = new Tags(shares);
        tags.tiers.restore(order.priorities());
        for (TierOrder tier : order.tiers()) {
            tags.clientsByTier.put(tier.tier(), StartTimeFairQueue.of(tier.clients()));
        }
    }

    /** Returns the tags; null if at most one flow waits and it needs none. */
    FlowOrder state() {
        if (tags == null) {
            return null;
        }
        List<TierOrder> tiers = new ArrayList<>();
        tags.clientsByTier.forEach(
                (tier, clients) -> tiers.add(new TierOrder(tier, StartTimeFairQueue.state(clients))));
        return new FlowOrder(tiers, tags.tiers.state());
    }

    /** Returns the number of tags. */
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

    /** Changes the shares, also for waiting requests. */
    public void setShares(Map<String, TierShare> newShares) {
        shares = Map.copyOf(newShares);
        if (tags != null) {
            tags.tiers.setShares(shares);
        }
    }

    /** Adds a flow that did not wait. */
    public void enter(Flow flow) {
        enter(flow, 1);
    }

    /** Adds a flow that did not wait and gets {@code weight} times the share of a flow of weight 1. */
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

    /** Returns the flow whose head leaves next. */
    public Optional<Flow> next() {
        return tags == null ? Optional.ofNullable(onlyFlow) : Optional.of(tags.next());
    }

    /** Returns the tags of the clients of a tier; null if it has none, that is, if all starts are 0. */
    StartTimeFairQueue<String> clients(String tier) {
        return tags == null ? null : tags.clientsByTier.get(tier);
    }

    /** Returns the tags of the tiers of a priority; null if it has none, that is, if all starts are 0. */
    StartTimeFairQueue<String> tiers(int priority) {
        return tags == null ? null : tags.tiers.of(priority);
    }

    /** Returns whether no tier of a higher priority waits, although some tier does. */
    boolean isHighest(int priority) {
        return tags != null && tags.tiers.isHighest(priority);
    }

    /** Returns the flow of a waiting tier whose head leaves first. */
    Flow head(String tier) {
        return tags == null ? onlyFlow : new Flow(tier, tags.clientsByTier.get(tier).first());
    }

    /**
     * Records that the head of a waiting flow has left.
     *
     * @param cost the cost of the head, in tokens
     * @param waitsOn whether the flow has more requests
     */
    public void served(Flow flow, long cost, boolean waitsOn) {
        served(flow, cost, 1, waitsOn);
    }

    /** Like {@link #served(Flow, long, boolean)}, for a flow of this weight. */
    public void served(Flow flow, long cost, long weight, boolean waitsOn) {
        if (tags != null) {
            tags.served(flow, cost, weight, waitsOn);
            removeTagsIfEmpty();
        } else if (waitsOn) {
            onlyWeight = weight;
        } else {
            onlyFlow = null;
        }
    }

    /** Removes a flow that has no waiting requests left, although its head was not served. */
    public void leave(Flow flow) {
        if (tags != null) {
            tags.leave(flow);
            removeTagsIfEmpty();
        } else {
            onlyFlow = null;
        }
    }

    private void removeTagsIfEmpty() {
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
            removeTierIfEmpty(flow.tier(), clients);
        }

        void leave(Flow flow) {
            StartTimeFairQueue<String> clients = clientsByTier.get(flow.tier());
            clients.leave(flow.client());
            if (clients.isEmpty()) {
                tiers.leave(flow.tier());
            }
            removeTierIfEmpty(flow.tier(), clients);
        }

        private void removeTierIfEmpty(String tier, StartTimeFairQueue<String> clients) {
            if (clients.hasNoTags()) {
                clientsByTier.remove(tier);
            }
        }
    }
}
