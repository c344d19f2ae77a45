package dev.weir.shape.fair;

import dev.weir.shape.fair.FlowOrder.MemberTag;
import dev.weir.shape.fair.FlowOrder.SingleFlow;
import dev.weir.shape.fair.FlowOrder.TaggedFlows;
import dev.weir.shape.fair.FlowOrder.TierOrder;
import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.TierShare;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;

/**
 * The order in which the requests of one queue leave: higher priorities first; within a priority, tiers by weight;
 * within a tier, flows evenly; and the requests of one flow in order. Both levels are a {@link StartTimeFairQueue}. The
 * scheduler knows which flows wait; the requests of each {@link Flow} are the caller's.
 *
 * <p>Shares and priorities are read when a request is served, so a change applies to waiting requests too. Each call
 * takes O(log flows). Memory grows with the flows that wait, not with the requests behind their heads.
 */
public final class FairScheduler {

    /** The largest weight of a flow: 2<sup>21</sup>. */
    public static final long MAX_WEIGHT = VirtualTime.MAX_WEIGHT;

    private Map<String, TierShare> shares;
    private Flow onlyFlow; // a single waiting flow without other tags needs no tag
    private SingleFlow onlyServed; // its last service, null if there was none
    private long onlyWeight;
    private boolean isOnlyHeld;
    private Tags tags; // null until a second flow enters, and again when none waits

    /** @param shares the shares by tier; a tier that is not named gets {@link TierShare#DEFAULT} */
    public FairScheduler(Map<String, TierShare> shares) {
        this.shares = Map.copyOf(shares);
    }

    /**
     * Restores what {@link #state} returned, possibly with other shares.
     *
     * @param flows the flows with waiting requests; if the order is not that of several, at most one
     */
    public void restore(FlowOrder order, Collection<Flow> flows) {
        if (order instanceof TaggedFlows tagged) {
            tags = new Tags(shares);
            tags.tiers.restore(tagged.priorities(), tagged.owed());
            for (TierOrder tier : tagged.tiers()) {
                tags.flowsByTier.put(tier.tier(), StartTimeFairQueue.of(tier.flows()));
            }
            tags.restoreHeld(tagged);
        } else {
            flows.forEach(flow -> enter(flow, 0)); // a single one gets no tag
            onlyServed = order instanceof SingleFlow single ? single : null;
        }
    }

    /** Returns what later releases depend on; null if at most one flow waits, and it has not been served. */
    public FlowOrder state() {
        if (tags == null) {
            return onlyServed;
        }
        List<TierOrder> tiers = new ArrayList<>();
        tags.flowsByTier.forEach((tier, flows) -> tiers.add(new TierOrder(tier, StartTimeFairQueue.state(flows))));
        return new TaggedFlows(tiers, tags.tiers.state(), tags.tiers.owed());
    }

    /** Returns the number of tags. */
    public int tags() {
        if (tags == null) {
            return 0;
        }
        int count = tags.tiers.tags();
        for (StartTimeFairQueue<String> flows : tags.flowsByTier.values()) {
            count += flows.tagCount();
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

    /**
     * Adds a flow that did not wait.
     *
     * @param cost the cost of its first request, in tokens
     */
    public void enter(Flow flow, long cost) {
        enter(flow, cost, 1);
    }

    /**
     * Adds a flow that did not wait and gets {@code weight} times the share of a flow of weight 1.
     *
     * @param weight 1 to {@link #MAX_WEIGHT}
     */
    public void enter(Flow flow, long cost, long weight) {
        if (tags == null && onlyFlow == null) {
            onlyFlow = flow;
            onlyWeight = weight;
            return;
        }
        if (tags == null) {
            tagOnly();
        }
        tags.enter(flow, cost, weight);
    }

    private void tagOnly() {
        tags = new Tags(shares);
        enterOnly(tags);
        forgetOnly();
    }

    private void enterOnly(Tags into) {
        into.enter(onlyFlow, 0, onlyWeight);
        if (onlyServed != null) {
            into.served(onlyFlow, onlyServed.ahead(), onlyServed.weight(), true);
        }
    }

    private void forgetOnly() {
        onlyFlow = null;
        onlyServed = null;
        isOnlyHeld = false;
    }

    /** Returns the flow whose head leaves next; empty if none waits, or all that wait are held. */
    public Optional<Flow> next() {
        return Optional.ofNullable(tags != null ? tags.next() : isOnlyHeld ? null : onlyFlow);
    }

    /** Has the next flow wait without delaying others until a flow with its value is {@linkplain #readmit readmitted}. */
    public void holdNextFlow() {
        if (tags == null) {
            isOnlyHeld = true;
        } else {
            tags.hold(tags.next());
        }
    }

    /** Has the tier of the next flow wait without delaying others until a flow of it is {@linkplain #readmit readmitted}. */
    public void holdNextTier() {
        if (tags == null) {
            isOnlyHeld = true;
        } else {
            tags.holdTier(tags.next());
        }
    }

    /**
     * Has the flows with the value of this one take part again, and its tier. Takes O(log flows) for each tier in which
     * a flow with this value is held.
     */
    public void readmit(Flow flow) {
        if (tags == null) {
            isOnlyHeld = false;
        } else {
            tags.readmit(flow);
        }
    }

    /** Has all flows and tiers take part again. */
    public void readmitAll() {
        isOnlyHeld = false;
        if (tags != null) {
            tags.readmitAll();
        }
    }

    /**
     * Has the flows and tiers take part again that need not be held any more, as after a change of rules.
     *
     * @param canFlowLeave whether a held flow need not be, as far as it is up to its value
     * @param canTierLeave whether a tier need not be held for this one, its next flow
     */
    public void readmitIf(Predicate<Flow> canFlowLeave, Predicate<Flow> canTierLeave) {
        if (tags != null) {
            tags.readmitIf(canFlowLeave, canTierLeave);
        }
    }

    /** The order of the flows, for queries. It is valid until the next change. */
    public static final class View {
        private final Tags tags;

        private View(Tags tags) {
            this.tags = tags;
        }

        /** Returns the flows of a tier by value; null if none waits in it. */
        public StartTimeFairQueue<String> flows(String tier) {
            return tags.flowsByTier.get(tier);
        }

        /** Returns the tiers of a priority; null if none waits. */
        public StartTimeFairQueue<String> tiers(int priority) {
            return tags.tiers.of(priority);
        }
    }

    /** Returns the order of the flows. */
    public View view() {
        if (tags != null) {
            return new View(tags);
        }
        Tags fresh = new Tags(shares);
        if (onlyFlow != null) {
            enterOnly(fresh);
        }
        return new View(fresh);
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
            onlyServed = new SingleFlow(Math.min(0, onlyAhead()) + cost, weight);
            onlyWeight = weight;
        } else {
            forgetOnly();
        }
    }

    /**
     * Changes what a flow, and its tier, has been charged for requests that have left. The flow need not wait.
     *
     * @param change what is added to their costs; negative if they cost less than was charged
     */
    public void correct(Flow flow, long change) {
        if (tags == null && onlyFlow != null) {
            correctBesideOnly(flow, change);
        } else if (tags != null) {
            tags.correct(flow, change);
        }
    }

    /** Returns how far the start of the single flow is ahead of the virtual time, by its weight. */
    private long onlyAhead() {
        return onlyServed == null ? 0 : onlyServed.ahead();
    }

    private void correctBesideOnly(Flow flow, long change) {
        if (flow.equals(onlyFlow)) {
            onlyServed = new SingleFlow(onlyAhead() + change, onlyWeight);
        } else if (change > 0) {
            tagOnly();
            tags.correct(flow, change);
        }
    }

    /** Removes a flow that has no waiting requests left, although its head was not served. */
    public void leave(Flow flow) {
        if (tags != null) {
            tags.leave(flow);
            removeTagsIfEmpty();
        } else {
            forgetOnly();
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
        final Map<String, StartTimeFairQueue<String>> flowsByTier = new TreeMap<>();
        final Map<String, Set<String>> heldTiers = new HashMap<>(); // in which a flow is held, or for it, by its value
        boolean hasHeld; // whether a flow or a tier may be held

        Tags(Map<String, TierShare> shares) {
            tiers = new TierScheduler(shares);
        }

        void enter(Flow flow, long cost, long weight) {
            StartTimeFairQueue<String> flows =
                    flowsByTier.computeIfAbsent(flow.tier(), tier -> new StartTimeFairQueue<>());
            if (flows.isEmpty()) {
                tiers.enter(flow.tier(), cost);
            }
            flows.enter(flow.value(), cost, weight);
            if (hasHeld) {
                tiers.readmit(flow.tier());
            }
        }

        Flow next() {
            String tier = tiers.first();
            return tier == null ? null : new Flow(tier, flowsByTier.get(tier).first());
        }

        void hold(Flow flow) {
            StartTimeFairQueue<String> flows = flowsByTier.get(flow.tier());
            flows.hold(flow.value());
            recordHeld(flow);
            holdIfNoneCanLeave(flow.tier(), flows);
        }

        void holdTier(Flow first) {
            tiers.hold(first.tier());
            recordHeld(first);
        }

        private void recordHeld(Flow flow) {
            heldTiers.computeIfAbsent(flow.value(), value -> new TreeSet<>()).add(flow.tier());
            hasHeld = true;
        }

        private void restoreHeld(TaggedFlows state) {
            for (TierOrder tier : state.tiers()) {
                for (MemberTag flow : tier.flows().members()) {
                    if (flow.isHeld()) {
                        recordHeld(new Flow(tier.tier(), flow.member()));
                    }
                }
            }
            state.priorities().stream()
                    .flatMap(priority -> priority.tiers().members().stream())
                    .filter(MemberTag::isHeld)
                    .filter(tier -> flowsByTier.get(tier.member()).first() != null)
                    .forEach(tier -> recordHeld(new Flow(
                            tier.member(), flowsByTier.get(tier.member()).first())));
        }

        void readmit(Flow flow) {
            if (!hasHeld) {
                return;
            }
            Set<String> held = heldTiers.remove(flow.value());
            if (held != null) {
                held.forEach(tier -> readmit(tier, flow.value()));
            }
            readmit(flow.tier(), flow.value());
        }

        private void readmit(String tier, String value) {
            StartTimeFairQueue<String> flows = flowsByTier.get(tier);
            if (flows != null) {
                flows.readmit(value);
                if (flows.first() != null) {
                    tiers.readmit(tier);
                }
            }
        }

        void readmitIf(Predicate<Flow> canFlowLeave, Predicate<Flow> canTierLeave) {
            Set<Flow> all = new TreeSet<>();
            heldTiers.forEach((value, held) -> held.forEach(tier -> all.add(new Flow(tier, value))));
            for (Flow flow : all) {
                boolean isFlowHeld = flowsByTier.get(flow.tier()).isHeld(flow.value());
                if ((isFlowHeld ? canFlowLeave : canTierLeave).test(flow)) {
                    readmit(flow);
                }
            }
        }

        void readmitAll() {
            heldTiers.forEach((value, held) -> held.forEach(tier -> readmit(tier, value)));
            heldTiers.clear();
            flowsByTier.keySet().forEach(tiers::readmit);
            hasHeld = false;
        }

        private void holdIfNoneCanLeave(String tier, StartTimeFairQueue<String> flows) {
            if (flows.first() == null) {
                tiers.hold(tier);
            }
        }

        void served(Flow flow, long cost, long weight, boolean waitsOn) {
            StartTimeFairQueue<String> flows = flowsByTier.get(flow.tier());
            flows.serve(flow.value(), cost, weight, waitsOn);
            tiers.served(flow.tier(), cost, !flows.isEmpty());
            if (flows.isEmpty()) {
                flowsByTier.remove(flow.tier());
            } else {
                holdIfNoneCanLeave(flow.tier(), flows);
            }
            readmit(flow); // a tier that waits for a flow with this value may serve others, if it has no slots left now
        }

        void correct(Flow flow, long change) {
            StartTimeFairQueue<String> flows = flowsByTier.get(flow.tier());
            if (flows != null) {
                flows.correct(flow.value(), change, 1);
            }
            tiers.correct(flow.tier(), change);
        }

        void leave(Flow flow) {
            readmit(flow);
            StartTimeFairQueue<String> flows = flowsByTier.get(flow.tier());
            flows.leave(flow.value());
            if (flows.isEmpty()) {
                tiers.leave(flow.tier());
                flowsByTier.remove(flow.tier());
            } else {
                holdIfNoneCanLeave(flow.tier(), flows);
            }
        }
    }
}
