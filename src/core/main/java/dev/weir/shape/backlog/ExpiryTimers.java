package dev.weir.shape.backlog;

import dev.weir.decision.state.KeyValueTable;
import dev.weir.shape.backlog.BucketContents.ExpiryTimerCount;
import dev.weir.shape.store.QueueStore.ExpiryTimer;
import dev.weir.shape.store.QueueStore.Place;
import dev.weir.shape.timer.WorkBudget;
import dev.weir.time.DueTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Timers for requests that may expire before others ahead of them in their flow. (Requests that expire in order are
 * found at the heads of flows.) Timers are numbered within tenths of a second and found one by one, so no iteration
 * passes over cancelled ones. Memory grows with the number of tenths of a second that have timers.
 */
final class ExpiryTimers {

    private static final long INTERVAL_MS = 100;

    private static final class Interval {
        long next;
        long live;
        long cursor;
    }

    private final KeyValueTable<ExpiryTimer, Place> table;
    private final TreeMap<Long, Interval> intervals = new TreeMap<>();

    ExpiryTimers(KeyValueTable<ExpiryTimer, Place> table) {
        this.table = table;
    }

    /** Restores what {@link #counts} returned. */
    void restore(List<ExpiryTimerCount> counts) {
        for (ExpiryTimerCount count : counts) {
            Interval interval = interval(count.interval());
            interval.next = count.next();
            interval.live = count.live();
            interval.cursor = count.cursor();
        }
    }

    /** Returns the counters of each tenth of a second that has timers. */
    List<ExpiryTimerCount> counts() {
        List<ExpiryTimerCount> counts = new ArrayList<>(intervals.size());
        intervals.forEach((number, interval) ->
                counts.add(new ExpiryTimerCount(number, interval.next, interval.live, interval.cursor)));
        return counts;
    }

    /** Returns how many tenths of a second have timers. */
    int intervals() {
        return intervals.size();
    }

    /** Sets a timer, which fires within a tenth of a second after its time. */
    ExpiryTimer set(long expiresAtMs, Place place) {
        long interval = Math.floorDiv(expiresAtMs, INTERVAL_MS);
        ExpiryTimer timer = new ExpiryTimer(interval, interval(interval).next);
        table.put(timer, place);
        restore(timer);
        return timer;
    }

    /** Restores a timer that is in the table. */
    void restore(ExpiryTimer timer) {
        Interval interval = interval(timer.interval());
        interval.next = Math.max(interval.next, timer.index() + 1);
        interval.live++;
    }

    /** Cancels a timer. */
    void cancel(ExpiryTimer timer) {
        table.delete(timer);
        Interval interval = interval(timer.interval());
        if (--interval.live == 0) {
            intervals.remove(timer.interval());
        }
    }

    /** Returns when the next timer may fire, in milliseconds; {@link DueTime#NEVER} if none is set. */
    long dueMs() {
        return intervals.isEmpty() ? DueTime.NEVER : (intervals.firstKey() + 1) * INTERVAL_MS;
    }

    /**
     * Returns a time before which no timer's request expires, in milliseconds; {@link DueTime#NEVER} if none is set.
     */
    long soonestMs() {
        return intervals.isEmpty() ? DueTime.NEVER : intervals.firstKey() * INTERVAL_MS;
    }

    /**
     * Returns the place of a request whose timer has fired; null if there is none, or if the budget is spent. Each call
     * continues with the next timer.
     */
    Place nextDue(long nowMs, WorkBudget budget) {
        while (dueMs() <= nowMs && budget.trySpend()) {
            Map.Entry<Long, Interval> first = intervals.firstEntry();
            Place place = table.get(new ExpiryTimer(first.getKey(), first.getValue().cursor++));
            if (place != null) {
                return place;
            }
        }
        return null;
    }

    private Interval interval(long number) {
        return intervals.computeIfAbsent(number, n -> new Interval());
    }
}
