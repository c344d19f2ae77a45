package dev.weir.limit.segment;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The stored nodes of the ends of slots, and what differs from them. An immutable value.
 *
 * @param store reads the stored nodes
 * @param changed the nodes that are not stored yet, by number; empty for a stored node that is to be deleted
 */
public record SlotNodes(SegmentReader store, NavigableMap<Long, Optional<LogSegment>> changed) {

    /** No nodes, and none in the store. */
    public static final SlotNodes NONE = stored(FullSegments.NO_STORE);

    public static SlotNodes stored(SegmentReader store) {
        return new SlotNodes(store, Collections.emptyNavigableMap());
    }

    /** Returns a node that exists. */
    public LogSegment get(long number) {
        Optional<LogSegment> node = changed.get(number);
        return node == null ? store.get(number) : node.orElseThrow();
    }

    /** Returns these nodes with one replaced or, if it has no entries, deleted. */
    public SlotNodes with(long number, LogSegment node) {
        NavigableMap<Long, Optional<LogSegment>> next = new TreeMap<>(changed);
        next.put(number, node.size() == 0 ? Optional.empty() : Optional.of(node));
        return new SlotNodes(store, next);
    }

    public boolean isStored() {
        return changed.isEmpty();
    }

    public List<SegmentWrite> writes() {
        List<SegmentWrite> writes = new ArrayList<>();
        changed.forEach((number, node) -> writes.add(
                node.isPresent() ? new SegmentWrite.Put(number, node.get()) : new SegmentWrite.Delete(number)));
        return writes;
    }
}
