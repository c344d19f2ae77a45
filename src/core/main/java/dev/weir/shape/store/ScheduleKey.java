package dev.weir.shape.store;

import java.util.Comparator;

/**
 * The key of a request that waits for its time. Keys are ordered by time, then by arrival.
 *
 * @param atMs the time before which it is not released, in milliseconds since the epoch, 0 or more
 * @param number its number in the order of arrival, 0 or more
 */
public record ScheduleKey(long atMs, long number) implements Comparable<ScheduleKey> {

    /** The key that no other precedes. */
    public static final ScheduleKey LEAST = new ScheduleKey(0, 0);

    private static final Comparator<ScheduleKey> ORDER =
            Comparator.comparingLong(ScheduleKey::atMs).thenComparingLong(ScheduleKey::number);

    @Override
    public int compareTo(ScheduleKey other) {
        return ORDER.compare(this, other);
    }

    /** Returns the least key that is greater. */
    public ScheduleKey next() {
        return new ScheduleKey(atMs, number + 1);
    }
}
