package dev.weir.limit;

import dev.weir.limit.segment.LogSegment;
import dev.weir.limit.segment.SegmentReader;
import dev.weir.limit.segment.SegmentWrite;
import dev.weir.limit.segment.SlotNodes;
import java.util.List;

/**
 * The slots in use of a {@link Concurrency} limit: how many end at which millisecond. An immutable value.
 *
 * @param id distinguishes the stored nodes from those of other states under the same key
 * @param recent the latest changes that are not in the tree: slots that end at a time; negative if they were freed
 * @param root the ends in the tree, in sums of {@link #width width(level)} milliseconds
 * @param level the level of the nodes to which the entries of the root refer, 1 or more
 * @param endedMs all slots that end up to this time, in milliseconds since the epoch, have ended
 * @param nodes the nodes of the tree
 */
// Slots can end in any order, be freed before, and be so many that they do not fit into a state. So their ends are
// counted, not listed, in a radix tree over time. Its nodes hold, for each of up to 32 children, the sum of the slots
// that end in its time. An end that has passed is not taken out: what is in use is the sum of all ends less the sum of
// those up to now. That sum is read along one path, however many have passed since the last request.
//
//   state    recent   7: +1   12: +2   40: −1                  up to 32 times, usually all there is
//            root     0: 31   1024: 500   2048: 40             level 2: each entry is a node of 1,024 ms
//   stored   node 1024, level 2       1024: 17   1056: 12  …   each entry is a leaf of 32 ms
//            leaf 1056, level 1       1056: 1   1058: 11       the milliseconds
//
//   in use at 1057 = (recent + root) − (recent up to 1057) − 31 − 17 − 1
//
// A change is made in `recent`. If that is full, the changes of the leaf with the most of them go into the tree: one
// node is written on each level. A slot that is freed early is often gone before that. If the root is full, it gets a
// level more, so the number of levels follows from the span of the ends, not from the limit: 2 for a minute, 4 for a
// day. Leaves that have ended are deleted, two with each change; a change adds at most one.
public record Slots(int id, LogSegment recent, LogSegment root, int level, long endedMs, SlotNodes nodes)
        implements SegmentedState {

    /** The most leaves that one change deletes. */
    static final int DELETES_PER_CHANGE = 2;

    private static final int RADIX_BITS = 5; // LogSegment.CAPACITY children
    private static final int LEVEL_SHIFT = 56; // above all times, divided by the width of a leaf

    /** No slots in use. */
    static final Slots NONE = new Slots(0, LogSegment.empty(0), LogSegment.empty(0), 1, 0, SlotNodes.NONE);

    /** Returns slots as they are stored. */
    public static Slots stored(
            int id, LogSegment recent, LogSegment root, int level, long endedMs, SegmentReader store) {
        return new Slots(id, recent, root, level, endedMs, root.size() == 0 ? SlotNodes.NONE : SlotNodes.stored(store));
    }

    /** Returns the slots in use at {@code nowMs}. */
    long inUse(long nowMs) {
        return total() - endedBy(nowMs);
    }

    /** Returns how many slots end at {@code endMs}; 0 if that is not after {@code nowMs}. */
    public long endingAt(long endMs, long nowMs) {
        return endMs <= nowMs ? 0 : endedBy(endMs) - endedBy(endMs - 1);
    }

    private long total() {
        return recent.lastSum() + root.lastSum();
    }

    /** Returns how many of the {@link #total} have ended at {@code atMs}. */
    private long endedBy(long atMs) {
        long ended = recent.sumUpTo(atMs);
        LogSegment node = root;
        for (int below = level; below >= 0; below--) {
            int last = node.indexUpTo(atMs);
            boolean hasPassed = last < 0 || node.timeMs(last) + width(below) - 1 <= atMs;
            if (hasPassed) {
                return ended + node.sum(last);
            }
            ended += node.sum(last - 1);
            node = nodes.get(number(below, node.timeMs(last)));
        }
        throw new IllegalStateException("an end is longer than a millisecond");
    }

    /**
     * Returns the first time at which {@code count} of the {@link #total} have ended.
     *
     * @param count above those that have ended at {@code nowMs}, at most the total
     */
    // The sum of ends grows with time. At each level, the search goes on in the first child at whose end it is reached,
    // unless it is reached before that child begins: then by changes that are not in the tree.
    private long endedAtMs(long count, long nowMs) {
        long afterMs = nowMs;
        LogSegment node = root;
        for (int below = level; below >= 0 && node.size() > 0; below--) {
            int low = 0;
            int high = node.size();
            while (low < high) {
                int middle = (low + high) >>> 1;
                if (endedBy(node.timeMs(middle) + width(below) - 1) >= count) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            afterMs = low == 0 ? afterMs : Math.max(afterMs, node.timeMs(low - 1) + width(below) - 1);
            if (low == node.size() || endedBy(node.timeMs(low) - 1) >= count) {
                return recentEndMs(count, afterMs, low == node.size() ? Long.MAX_VALUE : node.timeMs(low) - 1);
            }
            if (below == 0) {
                return recentEndMs(count, afterMs, node.timeMs(low));
            }
            node = nodes.get(number(below, node.timeMs(low)));
        }
        return recentEndMs(count, afterMs, Long.MAX_VALUE);
    }

    /** Returns the first recent change after {@code afterMs} with which the count is reached, or else the end. */
    private long recentEndMs(long count, long afterMs, long untilMs) {
        for (int i = Math.max(0, recent.indexUpTo(afterMs)); i < recent.size(); i++) {
            long atMs = recent.timeMs(i);
            if (atMs > afterMs && atMs < untilMs && endedBy(atMs) >= count) {
                return atMs;
            }
        }
        return untilMs;
    }

    /**
     * Returns how long until at most {@code most} slots are in use, if none is freed before it ends.
     *
     * @param most 0 or more
     */
    long waitMs(long most, long nowMs) {
        long excess = inUse(nowMs) - most;
        return excess <= 0 ? 0 : endedAtMs(endedBy(nowMs) + excess, nowMs) - nowMs;
    }

    /**
     * Returns these slots after a change at {@code nowMs}.
     *
     * @param endMs when the slots end, after {@code nowMs}
     * @param count slots taken, or negative, slots freed, which must be in use
     */
    Slots changed(long endMs, long count, long nowMs) {
        Slots now = advancedTo(nowMs);
        boolean isFull = now.recent.isFull() && !now.recent.has(endMs);
        Slots free = isFull ? now.flushed() : now;
        return free.with(free.recent.plus(endMs, count), free.root, free.level, free.nodes)
                .trimmed();
    }

    private Slots advancedTo(long nowMs) {
        return new Slots(id, recent.after(nowMs), root, level, Math.max(endedMs, nowMs), nodes);
    }

    private Slots with(LogSegment otherRecent, LogSegment otherRoot, int otherLevel, SlotNodes otherNodes) {
        return new Slots(id, otherRecent, otherRoot, otherLevel, endedMs, otherNodes);
    }

    /** Returns these slots with the changes of one leaf in the tree: of the one with the most, the earliest if several. */
    private Slots flushed() {
        int from = 0;
        int end = 0;
        for (int i = 0, j = 0; i < recent.size(); i = j) {
            while (j < recent.size() && startMs(1, recent.timeMs(j)) == startMs(1, recent.timeMs(i))) {
                j++;
            }
            if (j - i > end - from) {
                from = i;
                end = j;
            }
        }
        long atMs = recent.timeMs(from);
        long count = recent.sum(end - 1) - recent.sum(from - 1);
        Slots grown = this;
        while (grown.root.isFull() && !grown.root.has(startMs(grown.level, atMs))) {
            grown = grown.higher();
        }
        LogSegment otherRoot = grown.root.plus(startMs(grown.level, atMs), count);
        SlotNodes next = grown.nodes;
        LogSegment parent = grown.root;
        for (int of = grown.level; of >= 1; of--) {
            long number = number(of, startMs(of, atMs));
            LogSegment node = parent.has(startMs(of, atMs)) ? next.get(number) : LogSegment.empty(0);
            parent = node;
            if (of > 1) {
                node = node.plus(startMs(of - 1, atMs), count);
            } else {
                for (int i = from; i < end; i++) {
                    node = node.plus(recent.timeMs(i), recent.cost(i));
                }
            }
            next = next.with(number, node);
        }
        return grown.with(recent.without(from, end), otherRoot, grown.level, next);
    }

    /** Returns these slots with one more level: the entries of the root go to nodes under it. */
    private Slots higher() {
        LogSegment above = LogSegment.empty(0);
        SlotNodes next = nodes;
        for (int i = 0; i < root.size(); ) {
            long startMs = startMs(level + 1, root.timeMs(i));
            LogSegment node = LogSegment.empty(0);
            for (; i < root.size() && startMs(level + 1, root.timeMs(i)) == startMs; i++) {
                node = node.plus(root.timeMs(i), root.cost(i));
            }
            above = above.plus(startMs, node.lastSum());
            next = next.with(number(level + 1, startMs), node);
        }
        return with(recent, above, level + 1, next);
    }

    @Override
    public Slots trimmed() {
        Slots next = this;
        for (int i = 0; i < DELETES_PER_CHANGE && next.hasGarbage(); i++) {
            Slots less = next.withoutFirstLeaf();
            if (less == next) {
                break;
            }
            next = less;
        }
        return next.root.size() == 0 ? next.with(next.recent, next.root, 1, next.nodes) : next;
    }

    /** Returns these slots without the first leaf of the tree if it has ended. */
    private Slots withoutFirstLeaf() {
        LogSegment[] path = new LogSegment[level + 1];
        path[level] = root;
        for (int of = level; of >= 1; of--) {
            path[of - 1] = nodes.get(number(of, path[of].timeMs(0)));
        }
        long startMs = startMs(1, path[0].timeMs(0));
        if (startMs + width(1) - 1 > endedMs) {
            return this;
        }
        long count = path[0].lastSum();
        SlotNodes next = nodes.with(number(1, startMs), LogSegment.empty(0));
        for (int of = 1; of < level; of++) {
            next = next.with(number(of + 1, startMs(of + 1, startMs)), path[of].plus(path[of].timeMs(0), -count));
        }
        return with(recent, root.plus(root.timeMs(0), -count), level, next);
    }

    /** {@inheritDoc} Whether a leaf of the first node has ended is known only when it is read. */
    @Override
    public boolean hasGarbage() {
        return root.size() > 0 && root.timeMs(0) + width(1) - 1 <= endedMs;
    }

    @Override
    public Slots withId(int other) {
        return new Slots(other, recent, root, level, endedMs, nodes);
    }

    @Override
    public Slots retired() {
        return new Slots(id, LogSegment.empty(0), root, level, Long.MAX_VALUE, nodes);
    }

    @Override
    public boolean isStored() {
        return nodes.isStored();
    }

    @Override
    public List<SegmentWrite> writes() {
        return nodes.writes();
    }

    @Override
    public Slots stored(SegmentReader store) {
        return stored(id, recent, root, level, endedMs, store);
    }

    /** Returns the time of a node of a level, or of an entry of the node above, in milliseconds. */
    private static long width(int of) {
        return 1L << (RADIX_BITS * of);
    }

    private static long startMs(int of, long atMs) {
        return atMs >> (RADIX_BITS * of) << (RADIX_BITS * of);
    }

    private static long number(int of, long startMs) {
        return ((long) of << LEVEL_SHIFT) + (startMs >> (RADIX_BITS * of));
    }
}
