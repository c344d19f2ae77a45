package dev.weir.shape.total;

import dev.weir.shape.QueueClock;
import dev.weir.shape.backlog.Pacing;

/**
 * What a queue has released. All times are {@linkplain QueueClock queue times}.
 *
 * @param arrival the pacing's state, under the rules it was counted by
 * @param lastNanos when the last one was released, ns since the epoch; no later one is released before
 * @param sequence how many it has released
 * @param clockNanos the time at which this was written: what has left ahead of its time was released after it
 */
public record OutflowState(Pacing.Arrival arrival, long lastNanos, long sequence, long clockNanos) {

    /** The same at another time, so that what was used of the burst stays used. */
    public OutflowState movedTo(long nowNanos) {
        long byNanos = nowNanos - clockNanos;
        Pacing.Arrival moved = new Pacing.Arrival(arrival.nanos() + byNanos, arrival.part());
        return new OutflowState(moved, lastNanos + byNanos, sequence, nowNanos);
    }
}
