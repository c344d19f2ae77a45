package dev.weir.shape.backlog;

import dev.weir.shape.store.ScheduleKey;
import java.util.Optional;

/**
 * A summary of the requests of a bucket that wait for their time, sufficient to continue without reading them.
 *
 * @param requests their number
 * @param first the key of the first one; empty if there is none
 */
public record ScheduleSummary(long requests, Optional<ScheduleKey> first) {

    public static final ScheduleSummary NONE = new ScheduleSummary(0, Optional.empty());

    /** @throws IllegalArgumentException if there are requests without a first one, or the reverse */
    public ScheduleSummary {
        if (requests > 0 != first.isPresent()) {
            throw new IllegalArgumentException(requests + " requests wait for their time, the first one is " + first);
        }
    }

    /** Adds what waits to the backlog of the queue. */
    public void addTo(QueueBacklog backlog) {
        backlog.addScheduled(requests);
    }
}
