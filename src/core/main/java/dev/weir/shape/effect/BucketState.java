package dev.weir.shape.effect;

import dev.weir.shape.backlog.BucketContents;
import dev.weir.shape.backlog.ScheduleSummary;
import dev.weir.shape.rules.BucketId;
import dev.weir.shape.timer.TimerKey;
import dev.weir.shape.total.OutflowState;
import java.util.List;

/**
 * The stored state of a bucket, apart from the requests that wait in it.
 *
 * @param id the id of the bucket
 * @param limit the tokens per {@code perMs} in the rules by which {@code outflow} is counted
 * @param perMs the time for {@code limit}, in milliseconds
 * @param burst the burst in those rules, in tokens
 * @param outflow what the bucket has released
 * @param contents a summary of what waits; null if the requests must be read, and for a queue without key
 * @param schedule a summary of what waits for its time
 * @param timers the timers of a cold bucket; empty if the bucket is hot
 */
public record BucketState(
        BucketId id,
        long limit,
        long perMs,
        long burst,
        OutflowState outflow,
        BucketContents contents,
        ScheduleSummary schedule,
        List<TimerKey> timers) {

    /** @throws IllegalArgumentException if a cold bucket has no summary of what waits */
    public BucketState {
        timers = List.copyOf(timers);
        if (contents == null && !timers.isEmpty()) {
            throw new IllegalArgumentException("the state of the cold bucket " + id + " does not list what waits");
        }
    }

    /** Creates the state of a bucket in which no request waits for its time. */
    public BucketState(
            BucketId id,
            long limit,
            long perMs,
            long burst,
            OutflowState outflow,
            BucketContents contents,
            List<TimerKey> timers) {
        this(id, limit, perMs, burst, outflow, contents, ScheduleSummary.NONE, timers);
    }

    /** Returns this state with another summary of what waits for its time. */
    public BucketState withSchedule(ScheduleSummary other) {
        return new BucketState(id, limit, perMs, burst, outflow, contents, other, timers);
    }

    /** Returns this state as that of a cold bucket with these timers, or of a hot bucket if there are none. */
    public BucketState withTimers(List<TimerKey> newTimers) {
        return new BucketState(id, limit, perMs, burst, outflow, contents, schedule, newTimers);
    }
}
