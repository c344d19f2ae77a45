package dev.weir.limit.segment;

import java.util.Map;
import java.util.TreeMap;

/**
 * By how much the sums of a log's full segments are too large or too small, since an entry of an older segment was
 * corrected. The correction of an entry changes its segment, and adds its effect on all later ones to a tree with 32
 * children a node, so it writes {@value #LEVELS} nodes, however long the log is. An immutable value.
 *
 * <pre>
 *   level 0    node 0: corrections of segments 0 to 31      node 1: 32 to 63   …
 *   level 1    node 0: sums of the nodes 0 to 31 of level 0                    …
 * </pre>
 *
 * <p>A node is stored like a segment, under a number below 0. Its entries are the children whose corrections are not 0.
 *
 * @param replaced the nodes, and the corrected segments, that are not stored
 * @param end the number after the last corrected segment; 0 if there is none
 */
record SumCorrections(Map<Long, LogSegment> replaced, long end) {

    static final SumCorrections NONE = new SumCorrections(Map.of(), 0);

    static final int LEVELS = 3;

    private static final int BITS = 5;
    private static final long CHILDREN = 1 << BITS;
    private static final LogSegment EMPTY = LogSegment.empty(0);

    static SumCorrections stored(long end) {
        return end == 0 ? NONE : new SumCorrections(Map.of(), end);
    }

    static long nodeNumber(int level, long index) {
        return -1 - (index * LEVELS + level);
    }

    /** Returns the number of the first segment after those of a node. */
    static long endOfNode(long nodeNumber) {
        long position = -1 - nodeNumber;
        return (position / LEVELS + 1) << (BITS * (position % LEVELS + 1));
    }

    /** Returns the index of the node of a level that has a segment. */
    static long indexOfNode(int level, long segment) {
        return segment >> (BITS * (level + 1));
    }

    /** Returns the sum of the corrections of the segments from {@code from} to {@code to} − 1. */
    long sum(SegmentReader store, long from, long to) {
        long sum = 0;
        long first = from;
        long last = Math.min(to, end);
        for (int level = 0; first < last; level++) {
            long node = first >> BITS;
            long lastNode = last >> BITS;
            boolean isTop = level == LEVELS - 1;
            if (node == lastNode) {
                return sum + sum(store, level, node, first, last);
            }
            if ((first & CHILDREN - 1) != 0 || isTop) {
                sum += sum(store, level, node, first, node + 1 << BITS);
                node++;
            }
            for (; isTop && node < lastNode; node++) {
                sum += sum(store, level, node, node << BITS, node + 1 << BITS);
            }
            if ((last & CHILDREN - 1) != 0) {
                sum += sum(store, level, lastNode, lastNode << BITS, last);
            }
            if (isTop) {
                return sum;
            }
            first = node;
            last = lastNode;
        }
        return sum;
    }

    private long sum(SegmentReader store, int level, long index, long from, long to) {
        LogSegment node = node(store, nodeNumber(level, index));
        long sum = 0;
        for (int i = 0; i < node.size(); i++) {
            long child = (index << BITS) + node.timeMs(i);
            sum += child >= from && child < to ? node.sum(i) - node.sum(i - 1) : 0;
        }
        return sum;
    }

    private LogSegment node(SegmentReader store, long number) {
        LogSegment node = replaced.get(number);
        return node != null ? node : store.node(number);
    }

    /** Returns these corrections and one of a segment, which may be followed by others. */
    SumCorrections with(SegmentReader store, long number, LogSegment segment, long change) {
        Map<Long, LogSegment> next = new TreeMap<>(replaced);
        next.put(number, segment);
        return new SumCorrections(withNodes(next, store, number, change), Math.max(end, number + 1));
    }

    /** Returns these corrections without those of a segment that is no longer full. */
    SumCorrections without(SegmentReader store, long number) {
        long change = sum(store, number, number + 1);
        if (change == 0 && !replaced.containsKey(number)) {
            return this;
        }
        Map<Long, LogSegment> next = new TreeMap<>(replaced);
        next.remove(number);
        return new SumCorrections(change == 0 ? next : withNodes(next, store, number, -change), end);
    }

    private Map<Long, LogSegment> withNodes(Map<Long, LogSegment> next, SegmentReader store, long number, long change) {
        long child = number;
        for (int level = 0; level < LEVELS; level++) {
            long node = nodeNumber(level, child >> BITS);
            next.put(node, withChild(node(store, node), child & CHILDREN - 1, change));
            child >>= BITS;
        }
        return next;
    }

    private static LogSegment withChild(LogSegment node, long child, long change) {
        LogSegment next = EMPTY;
        boolean isAdded = false;
        for (int i = 0; i < node.size(); i++) {
            long other = node.timeMs(i);
            if (!isAdded && other > child) {
                next = next.withEntry(child, change);
                isAdded = true;
            }
            long cost = node.sum(i) - node.sum(i - 1) + (other == child ? change : 0);
            isAdded |= other == child;
            next = cost == 0 ? next : next.withEntry(other, cost);
        }
        return isAdded ? next : next.withEntry(child, change);
    }
}
