package dev.weir.shape.total;

import dev.weir.shape.rules.Pacing;
import dev.weir.shape.timer.QueueClock;

/**
 * The state of a queue's outflow. All times are {@linkplain QueueClock queue times}.
 *
 * @param arrival the state of the pacing, under the rules by which it was counted
 * @param lastNanos the time of the last release, in nanoseconds since the epoch; later ones are not before it
 * @param sequence the number of releases so far
 * @param clockNanos when this was written; releases ahead of their time have a later time
 */
public record OutflowState(Pacing.Arrival arrival, long lastNanos, long sequence, long clockNanos) {

    /** Returns this state moved to another time, so that what was used of the burst stays used. */
    public OutflowState movedTo(long nowNanos) {
        long byNanos = nowNanos - clockNanos;
        Pacing.Arrival moved = new Pacing.Arrival(arrival.nanos() + byNanos, arrival.part());
        return new OutflowState(moved, lastNanos + byNanos, sequence, nowNanos);
    }
}
