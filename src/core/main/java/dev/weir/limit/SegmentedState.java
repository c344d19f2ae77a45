package dev.weir.limit;

import dev.weir.limit.segment.SegmentReader;
import dev.weir.limit.segment.SegmentWrite;
import java.util.List;

/**
 * The state of an algorithm that keeps parts of it, its segments, in a store: an immutable value, like any state. A
 * charge does not change the stored segments that it reads, but returns a state whose {@link #writes} are to be carried
 * out before the state is stored.
 */
public sealed interface SegmentedState permits SlidingWindowLog.Log, Slots {

    /** Returns the number that distinguishes the stored segments from those of other states under the same key. */
    int id();

    /** Returns this state with another id. None of its segments may have been stored under the current one. */
    SegmentedState withId(int other);

    /** Returns this state for deletion: all of its segments are garbage. */
    SegmentedState retired();

    /** Returns this state without a bounded number of its garbage segments; see {@link #hasGarbage}. */
    SegmentedState trimmed();

    /** Returns whether the state may have segments that it no longer needs. */
    boolean hasGarbage();

    /** Returns whether the segments are those that are stored. If so, there is nothing to write. */
    boolean isStored();

    /** Returns what has to be written to the store of the segments, and is not yet. */
    List<SegmentWrite> writes();

    /**
     * Returns this state after its {@link #writes} were carried out.
     *
     * @param store reads its segments
     */
    SegmentedState stored(SegmentReader store);
}
