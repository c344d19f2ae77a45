package dev.weir.live;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** Sums the seconds of an instance by the minute, and keeps the minutes of the last day. Not thread-safe. */
final class MinuteHistory {

    static final long MS_PER_MINUTE = 60_000;

    /** The number of minutes that are kept. */
    static final int KEPT_MINUTES = 24 * 60;

    private final Deque<InstanceSecond> complete = new ArrayDeque<>();
    private InstanceSecond current;

    /**
     * Adds a second that is later than the last one, unless the clock was set back: then later minutes are forgotten.
     */
    void add(InstanceSecond second) {
        long minute = second.at() - Math.floorMod(second.at(), MS_PER_MINUTE);
        if (current != null && minute < current.at()) {
            current = null;
            complete.removeIf(earlier -> earlier.at() >= minute);
        }
        if (current != null && current.at() != minute) {
            complete.addLast(current);
            current = null;
            if (complete.size() > KEPT_MINUTES) {
                complete.removeFirst();
            }
        }
        current = (current == null ? InstanceSecond.empty(minute) : current).plus(second);
    }

    /** Returns the complete minutes that began after a given time, oldest first. */
    List<InstanceSecond> since(long at) {
        return complete.stream().filter(minute -> minute.at() > at).toList();
    }
}
