package dev.weir.shape.backlog;

import dev.weir.decision.KeyValueTable;
import dev.weir.shape.backlog.BucketContents.ExpiryTimerCount;
import dev.weir.shape.backlog.QueueStore.ExpiryTimer;
import dev.weir.shape.backlog.QueueStore.Place;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Wakes requests that may expire before others that are ahead of them in their flow; those that expire in order are
 * found at the heads. Alarms are numbered within tenths of a second, so that they are found one by one, without walking
 * over those that were called off. Memory grows with the tenths of a second that have alarms.
 */
final class ExpiryTimers {

    private static final long SLOT_MS = 100;

    private static final class Bucket {
        long next;
        long live;
        long cursor;
    }

    private final KeyValueTable<ExpiryTimer, Place> table;
    private final TreeMap<Long, Bucket> buckets = new TreeMap<>();

    ExpiryTimers(KeyValueTable<ExpiryTimer, Place> table) {
        this.table = table;
    }

    /** Continues from what {@link #counts} returned. */
    void restore(List<ExpiryTimerCount> counts) {
        for (ExpiryTimerCount count : counts) {
            Bucket bucket = bucket(count.bucket());
            bucket.next = count.next();
            bucket.live = count.live();
            bucket.cursor = count.cursor();
        }
    }

    /** The counts of each tenth of a second that has alarms. */
    List<ExpiryTimerCount> counts() {
        List<ExpiryTimerCount> counts = new ArrayList<>(buckets.size());
        buckets.forEach(
                (number, bucket) -> counts.add(new ExpiryTimerCount(number, bucket.next, bucket.live, bucket.cursor)));
        return counts;
    }

    /** How many tenths of a second have alarms. */
    int buckets() {
        return buckets.size();
    }

    /** Sets an alarm; it rings within a tenth of a second after the time. */
    ExpiryTimer set(long expiresAtMs, Place place) {
        long bucket = Math.floorDiv(expiresAtMs, SLOT_MS);
        ExpiryTimer alarm = new ExpiryTimer(bucket, bucket(bucket).next);
        table.put(alarm, place);
        restore(alarm);
        return alarm;
    }

    /** Takes note of an alarm that is set. */
    void restore(ExpiryTimer alarm) {
        Bucket bucket = bucket(alarm.bucket());
        bucket.next = Math.max(bucket.next, alarm.index() + 1);
        bucket.live++;
    }

    /** Calls an alarm off. */
    void cancel(ExpiryTimer alarm) {
        table.delete(alarm);
        Bucket bucket = bucket(alarm.bucket());
        if (--bucket.live == 0) {
            buckets.remove(alarm.bucket());
        }
    }

    /** When the next alarm may ring, in ms; {@link Long#MAX_VALUE} if none is set. */
    long dueMs() {
        return buckets.isEmpty() ? Long.MAX_VALUE : (buckets.firstKey() + 1) * SLOT_MS;
    }

    /**
     * Who is to be woken, null if nobody is or the budget is spent. Goes on with the next one when it is asked again.
     */
    Place nextDue(long nowMs, WorkBudget budget) {
        while (dueMs() <= nowMs && budget.trySpend()) {
            Map.Entry<Long, Bucket> first = buckets.firstEntry();
            Place place = table.get(new ExpiryTimer(first.getKey(), first.getValue().cursor++));
            if (place != null) {
                return place;
            }
        }
        return null;
    }

    private Bucket bucket(long number) {
        return buckets.computeIfAbsent(number, n -> new Bucket());
    }
}
