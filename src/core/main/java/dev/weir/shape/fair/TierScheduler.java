package dev.weir.shape.fair;

import dev.weir.shape.fair.FlowOrder.PriorityOrder;
import dev.weir.shape.fair.FlowOrder.TierOwed;
import dev.weir.shape.rules.TierShare;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The order of tiers: first those that have got less than their {@linkplain MinShares least share}, then higher priorities
 * first, and within a priority by weight. Shares are read when a tier is served, so a change applies to waiting requests
 * too. Each call takes amortized O(log tiers); to find the first, O(priorities of which all tiers are held).
 */
public final class TierScheduler {

    private Map<String, TierShare> shares;
    private final TreeMap<Integer, StartTimeFairQueue<String>> byPriority = new TreeMap<>(Comparator.reverseOrder());
    private final Set<String> waiting = new TreeSet<>();
    private final MinShares minShares = new MinShares();

    /** @param shares the shares by tier; a tier that is not named gets {@link TierShare#DEFAULT} */
    public TierScheduler(Map<String, TierShare> shares) {
        this.shares = Map.copyOf(shares);
    }

    /** Restores what {@link #state} and {@link #owed} returned, possibly with other shares. */
    void restore(List<PriorityOrder> order, List<TierOwed> owed) {
        minShares.restore(owed);
        for (PriorityOrder priority : order) {
            byPriority.put(priority.priority(), StartTimeFairQueue.of(priority.tiers()));
        }
        Map<String, Integer> priorities = new TreeMap<>(); // moved by name, as when shares change
        for (PriorityOrder priority : order) {
            for (FlowOrder.MemberTag tier : priority.tiers().members()) {
                if (!tier.isAway()) {
                    priorities.put(tier.member(), priority.priority());
                }
            }
        }
        waiting.addAll(priorities.keySet());
        priorities.forEach(this::move);
        for (String tier : waiting) {
            minShares.enter(tier, share(tier));
            if (byPriority.get(share(tier).priority()).isHeld(tier)) {
                minShares.hold(tier);
            }
        }
    }

    /** Returns what each waiting tier with a least share is owed. */
    List<TierOwed> owed() {
        return minShares.owed();
    }

    /** Returns the tags of all tiers. */
    List<PriorityOrder> state() {
        List<PriorityOrder> order = new ArrayList<>();
        byPriority.forEach(
                (priority, tiers) -> order.add(new PriorityOrder(priority, StartTimeFairQueue.state(tiers))));
        return order;
    }

    /** Returns the number of tags. */
    int tags() {
        int count = 0;
        for (StartTimeFairQueue<String> tiers : byPriority.values()) {
            count += tiers.tagCount();
        }
        return count;
    }

    /** Changes the shares, also for tiers that wait. */
    public void setShares(Map<String, TierShare> newShares) {
        Map<String, TierShare> old = shares;
        shares = Map.copyOf(newShares);
        for (String tier : waiting) {
            move(tier, old.getOrDefault(tier, TierShare.DEFAULT).priority());
            minShares.enter(tier, share(tier));
        }
    }

    private void move(String tier, int before) {
        int priority = share(tier).priority();
        if (before != priority) {
            boolean isHeld = byPriority.get(before).isHeld(tier);
            remove(before, tier);
            add(tier, 0);
            if (isHeld) {
                byPriority.get(priority).hold(tier);
            }
        }
    }

    /**
     * Adds a tier that did not wait.
     *
     * @param cost the cost of its first request, in tokens
     */
    public void enter(String tier, long cost) {
        waiting.add(tier);
        minShares.enter(tier, share(tier));
        add(tier, cost);
    }

    public boolean isWaiting(String tier) {
        return waiting.contains(tier);
    }

    boolean isEmpty() {
        return waiting.isEmpty();
    }

    /** Returns the tiers of a priority; null if none waits. */
    StartTimeFairQueue<String> of(int priority) {
        return byPriority.get(priority);
    }

    /** Returns the tier to be served next, null if none waits, or all that wait are held. */
    public String first() {
        String owed = minShares.first();
        if (owed != null) {
            return owed;
        }
        for (StartTimeFairQueue<String> tiers : byPriority.values()) {
            String first = tiers.first();
            if (first != null) {
                return first;
            }
        }
        return null;
    }

    /** Has a waiting tier not be served until it is {@linkplain #readmit readmitted}. */
    void hold(String tier) {
        minShares.hold(tier);
        byPriority.get(share(tier).priority()).hold(tier);
    }

    /** Has a waiting tier be served again. Does nothing if it is not held. */
    void readmit(String tier) {
        minShares.readmit(tier);
        byPriority.get(share(tier).priority()).readmit(tier);
    }

    /**
     * Records that a waiting tier was served.
     *
     * @param cost tokens
     * @param waitsOn whether the tier has more requests
     */
    public void served(String tier, long cost, boolean waitsOn) {
        TierShare share = share(tier);
        StartTimeFairQueue<String> tiers = byPriority.get(share.priority());
        if (minShares.isOwed(tier)) {
            tiers.serveOutOfTurn(tier, cost, share.weight(), waitsOn);
        } else {
            tiers.serve(tier, cost, share.weight(), waitsOn);
        }
        minShares.served(tier, cost, shares);
        if (!waitsOn) {
            waiting.remove(tier);
            minShares.leave(tier);
            removeIfEmpty(share.priority());
        }
    }

    /** Changes what a tier has been charged for past service. */
    void correct(String tier, long change) {
        TierShare share = share(tier);
        StartTimeFairQueue<String> tiers = byPriority.get(share.priority());
        if (tiers != null) {
            tiers.correct(tier, change, share.weight());
        }
        minShares.correct(tier, change, shares);
    }

    /** Removes a tier that has no waiting requests left, although it was not served. */
    public void leave(String tier) {
        waiting.remove(tier);
        minShares.leave(tier);
        remove(share(tier).priority(), tier);
    }

    private void add(String tier, long cost) {
        TierShare share = share(tier);
        byPriority
                .computeIfAbsent(share.priority(), priority -> new StartTimeFairQueue<>())
                .enter(tier, cost, share.weight());
    }

    private void remove(int priority, String tier) {
        byPriority.get(priority).leave(tier);
        removeIfEmpty(priority);
    }

    private void removeIfEmpty(int priority) {
        if (byPriority.get(priority).isEmpty()) {
            byPriority.remove(priority);
        }
    }

    private TierShare share(String tier) {
        return shares.getOrDefault(tier, TierShare.DEFAULT);
    }
}
