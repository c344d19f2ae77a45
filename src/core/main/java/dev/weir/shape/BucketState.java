package dev.weir.shape;

import dev.weir.shape.backlog.BucketContents;
import dev.weir.shape.backlog.BucketId;
import dev.weir.shape.total.OutflowState;
import java.util.List;

/**
 * What is kept of a bucket beside the requests that wait in it.
 *
 * @param limit how many tokens left in {@code perMs} under the rules by which the outflow is counted
 * @param contents what waits; null if it has to be found by reading the bucket's slots, and for a queue without key
 * @param timers where the bucket is found when it is due, if it is cold; none if it is hot
 */
public record BucketState(
        BucketId id, long limit, long perMs, OutflowState outflow, BucketContents contents, List<TimerKey> timers) {

    public BucketState {
        timers = List.copyOf(timers);
    }

    /** The same, put away with these timers, or hot if there are none. */
    public BucketState withTimers(List<TimerKey> newTimers) {
        return new BucketState(id, limit, perMs, outflow, contents, newTimers);
    }
}
