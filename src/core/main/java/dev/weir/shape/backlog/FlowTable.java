package dev.weir.shape.backlog;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * The lines of a bucket that are not empty, by flow, by expiry of their heads, and as a {@link QueueOccupancy}. Up to
 * {@value #MAX_UNINDEXED} lines are kept in a list and compared one by one: most keys of a keyed queue have one client.
 * More are indexed.
 */
final class FlowTable {

    /** How many lines are compared one by one. */
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
    private Index index; // null while there are few lines

    FlowTable(QueueRules rules) {
        this.rules = rules;
    }

    /** Changes what the tiers get. */
    void setRules(QueueRules newRules) {
        rules = newRules;
        if (index != null) {
            index.occupancy.setRules(newRules);
        }
    }

    /** How many flows have requests waiting. */
    int flows() {
        return index == null ? unindexed.size() : index.byFlow.size();
    }

    /** How many requests wait. */
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

    /** The line of a flow, null if nothing of it waits. */
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

    /** Adds a line that is not empty, or adds it again after it changed. */
    void add(FlowQueue line) {
        if (index == null) {
            unindexed.add(line);
            if (unindexed.size() > MAX_UNINDEXED) {
                buildIndex();
            }
        } else {
            index.byFlow.put(line.flow(), line);
            index.add(line);
        }
    }

    /** Removes a line: call before it changes, and {@link #add} afterwards if it is not empty. */
    void remove(FlowQueue line) {
        if (index == null) {
            unindexed.remove(line);
        } else {
            index.remove(line);
        }
    }

    /** Forgets a line that was removed and is now empty. */
    void forget(FlowQueue line) {
        if (index != null) {
            index.byFlow.remove(line.flow());
            index.occupancy.forget(line.flow().tier());
            if (index.byFlow.size() <= MAX_UNINDEXED / 2) {
                unindexed = new ArrayList<>(index.byExpiry);
                index = null;
            }
        }
    }

    /** The line whose head expires first; null if nothing waits. */
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

    /** When the request that has waited longest began to wait, ms since the epoch; null if nothing waits. */
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

    /** All lines, in an order that depends on nothing but them and the calls so far. */
    Iterable<FlowQueue> flowQueues() {
        return index == null ? unindexed : index.byExpiry;
    }

    /** What waits, by priority and tier; valid until the next change. */
    QueueOccupancy occupancy() {
        if (index != null) {
            return index.occupancy;
        }
        QueueOccupancy crowd = new QueueOccupancy(rules);
        unindexed.forEach(crowd::add);
        return crowd;
    }

    private void buildIndex() {
        index = new Index(rules);
        for (FlowQueue line : unindexed) {
            index.byFlow.put(line.flow(), line);
            index.add(line);
        }
        unindexed = List.of();
    }
}
