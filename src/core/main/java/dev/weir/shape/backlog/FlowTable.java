package dev.weir.shape.backlog;

import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.QueueRules;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * The flows of a bucket that have waiting requests: by flow, by expiry and arrival of their heads, and as a {@link QueueOccupancy}.
 * Up to {@value #MAX_UNINDEXED} flows are kept in a list and searched linearly, since most keys of a keyed queue have
 * one client. Above that, they are indexed.
 */
final class FlowTable {

    /** The most flows that are searched linearly. */
    static final int MAX_UNINDEXED = 4;

    private static final Comparator<FlowQueue> SOONEST_EXPIRY_FIRST = Comparator.<FlowQueue>comparingLong(
                    queue -> queue.head().expiresAtMs())
            .thenComparingLong(queue -> queue.head().number())
            .thenComparing(FlowQueue::flow);

    static final Comparator<FlowQueue> OLDEST_FIRST =
            Comparator.<FlowQueue>comparingLong(queue -> queue.head().number()).thenComparing(FlowQueue::flow);

    private static final class Index {
        final Map<Flow, FlowQueue> byFlow = new HashMap<>();
        final TreeSet<FlowQueue> byExpiry = new TreeSet<>(SOONEST_EXPIRY_FIRST);
        final TreeSet<FlowQueue> byAge = new TreeSet<>(OLDEST_FIRST);
        final QueueOccupancy occupancy;

        Index(QueueRules rules) {
            occupancy = new QueueOccupancy(rules);
        }

        void add(FlowQueue queue) {
            byFlow.put(queue.flow(), queue);
            addHead(queue);
            occupancy.add(queue);
        }

        private void addHead(FlowQueue queue) {
            byExpiry.add(queue);
            byAge.add(queue);
        }

        void change(FlowQueue queue, Consumer<FlowQueue> change) {
            byExpiry.remove(queue);
            byAge.remove(queue);
            occupancy.change(queue, change);
            if (queue.isEmpty()) {
                byFlow.remove(queue.flow());
            } else {
                addHead(queue);
            }
        }
    }

    private QueueRules rules;
    private List<FlowQueue> unindexed = new ArrayList<>(1);
    private QueueOccupancy occupancy; // of the unindexed flows, null if it has to be computed
    private Index index; // null while there are few flows

    FlowTable(QueueRules rules) {
        this.rules = rules;
    }

    /** Changes the shares of the tiers. */
    void setRules(QueueRules newRules) {
        rules = newRules;
        occupancy = null;
        if (index != null) {
            index.occupancy.setRules(newRules);
        }
    }

    /** Returns the number of flows with waiting requests. */
    int flows() {
        return index == null ? unindexed.size() : index.byFlow.size();
    }

    /** Returns the number of waiting requests. */
    long size() {
        if (index != null) {
            return index.occupancy.size();
        }
        long size = 0;
        for (FlowQueue queue : unindexed) {
            size += queue.size();
        }
        return size;
    }

    /** Returns the queue of a flow, null if it has no waiting requests. */
    FlowQueue get(Flow flow) {
        if (index != null) {
            return index.byFlow.get(flow);
        }
        for (FlowQueue queue : unindexed) {
            if (queue.flow().equals(flow)) {
                return queue;
            }
        }
        return null;
    }

    /** Adds a flow that is not empty. */
    void add(FlowQueue queue) {
        if (index == null) {
            unindexed.add(queue);
            occupancy = null;
            if (unindexed.size() > MAX_UNINDEXED) {
                buildIndex();
            }
        } else {
            index.add(queue);
        }
    }

    /** Changes a flow, and removes it if it is empty then. */
    void change(FlowQueue queue, Consumer<FlowQueue> change) {
        if (index == null) {
            unindexed.remove(queue);
            change.accept(queue);
            occupancy = null;
            if (!queue.isEmpty()) {
                unindexed.add(queue);
            }
            return;
        }
        index.change(queue, change);
        if (index.byFlow.size() <= MAX_UNINDEXED / 2) {
            unindexed = new ArrayList<>(index.byExpiry);
            index = null;
        }
    }

    /** Returns the flow whose head expires first; null if nothing waits. */
    FlowQueue soonestExpiry() {
        if (index != null) {
            return index.byExpiry.first();
        }
        FlowQueue soonest = null;
        for (FlowQueue queue : unindexed) {
            if (soonest == null || SOONEST_EXPIRY_FIRST.compare(queue, soonest) < 0) {
                soonest = queue;
            }
        }
        return soonest;
    }

    /** Returns the flow whose head arrived first; null if nothing waits. */
    FlowQueue oldest() {
        if (index != null) {
            return index.byAge.first();
        }
        FlowQueue oldest = null;
        for (FlowQueue queue : unindexed) {
            if (oldest == null || OLDEST_FIRST.compare(queue, oldest) < 0) {
                oldest = queue;
            }
        }
        return oldest;
    }

    /** Returns all flows, in an order that depends only on the calls so far. */
    Iterable<FlowQueue> flowQueues() {
        return index == null ? unindexed : index.byExpiry;
    }

    /** Returns what waits by priority and tier. The result is valid until the next change. */
    QueueOccupancy occupancy() {
        if (index != null) {
            return index.occupancy;
        }
        if (occupancy == null) {
            occupancy = new QueueOccupancy(rules);
            unindexed.forEach(occupancy::add);
        }
        return occupancy;
    }

    private void buildIndex() {
        occupancy = null;
        index = new Index(rules);
        unindexed.forEach(index::add);
        unindexed = List.of();
    }
}
