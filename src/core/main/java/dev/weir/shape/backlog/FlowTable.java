package dev.weir.shape.backlog;

import dev.weir.shape.rules.Flow;
import dev.weir.shape.rules.QueueRules;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * The flows of a bucket that have waiting requests: by flow, by expiry of their heads, and as a {@link QueueOccupancy}.
 * Up to {@value #MAX_UNINDEXED} flows are kept in a list and searched linearly, since most keys of a keyed queue have
 * one client. Above that, they are indexed.
 */
final class FlowTable {

    /** The most flows that are searched linearly. */
    static final int MAX_UNINDEXED = 4;

    private static final Comparator<FlowQueue> SOONEST_EXPIRY_FIRST = Comparator.comparingLong(
                    FlowQueue::headExpiresAtMs)
            .thenComparingLong(FlowQueue::headNumber)
            .thenComparing(FlowQueue::flow);

    private static final Comparator<FlowQueue> OLDEST_FIRST = Comparator.comparingLong(FlowQueue::headEnqueuedAtMs)
            .thenComparingLong(FlowQueue::headNumber)
            .thenComparing(FlowQueue::flow);

    private static final class Index {
        final Map<Flow, FlowQueue> byFlow = new HashMap<>();
        final TreeSet<FlowQueue> byExpiry = new TreeSet<>(SOONEST_EXPIRY_FIRST);
        final TreeSet<FlowQueue> byAge = new TreeSet<>(OLDEST_FIRST);
        final QueueOccupancy occupancy;

        Index(QueueRules rules) {
            occupancy = new QueueOccupancy(rules);
        }

        void add(FlowQueue line) {
            byExpiry.add(line);
            byAge.add(line);
            occupancy.add(line);
        }

        void remove(FlowQueue line) {
            byExpiry.remove(line);
            byAge.remove(line);
            occupancy.remove(line);
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
        for (FlowQueue line : unindexed) {
            size += line.size();
        }
        return size;
    }

    /** Returns the queue of a flow, null if it has no waiting requests. */
    FlowQueue get(Flow flow) {
        if (index != null) {
            return index.byFlow.get(flow);
        }
        for (FlowQueue line : unindexed) {
            if (line.flow().equals(flow)) {
                return line;
            }
        }
        return null;
    }

    /** Adds a flow that is not empty, or adds it again after it changed. */
    void add(FlowQueue line) {
        if (index == null) {
            unindexed.add(line);
            occupancy = null;
            if (unindexed.size() > MAX_UNINDEXED) {
                buildIndex();
            }
        } else {
            index.byFlow.put(line.flow(), line);
            index.add(line);
        }
    }

    /** Removes a flow before it changes. If it is not empty afterwards, {@link #add} must follow. */
    void remove(FlowQueue line) {
        if (index == null) {
            unindexed.remove(line);
            occupancy = null;
        } else {
            index.remove(line);
        }
    }

    /** Removes all traces of a flow that was removed and is now empty. */
    void removeEmpty(FlowQueue line) {
        if (index != null) {
            index.byFlow.remove(line.flow());
            index.occupancy.removeIfEmpty(line.flow().tier());
            if (index.byFlow.size() <= MAX_UNINDEXED / 2) {
                unindexed = new ArrayList<>(index.byExpiry);
                index = null;
            }
        }
    }

    /** Returns the flow whose head expires first; null if nothing waits. */
    FlowQueue soonestExpiry() {
        if (index != null) {
            return index.byExpiry.first();
        }
        FlowQueue soonest = null;
        for (FlowQueue line : unindexed) {
            if (soonest == null || SOONEST_EXPIRY_FIRST.compare(line, soonest) < 0) {
                soonest = line;
            }
        }
        return soonest;
    }

    /** Returns when the oldest waiting request was queued, in milliseconds since the epoch; null if none waits. */
    Long oldestEnqueuedAtMs() {
        if (index != null) {
            return index.byAge.first().headEnqueuedAtMs();
        }
        Long oldestMs = null;
        for (FlowQueue line : unindexed) {
            oldestMs = oldestMs == null ? line.headEnqueuedAtMs() : Math.min(oldestMs, line.headEnqueuedAtMs());
        }
        return oldestMs;
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
        for (FlowQueue line : unindexed) {
            index.byFlow.put(line.flow(), line);
            index.add(line);
        }
        unindexed = List.of();
    }
}
