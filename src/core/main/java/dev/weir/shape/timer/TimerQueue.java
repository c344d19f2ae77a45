package dev.weir.shape.timer;

import dev.weir.time.DueTime;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;

/**
 * A priority queue of timers, at most one per key. Timers of the same time are ordered by when they were set. Each call
 * takes O(log n).
 *
 * @param <K> the type of keys
 */
public final class TimerQueue<K> {

    private record Timer<K>(long nanos, long order, K key) {}

    private final Map<K, Timer<K>> byKey = new HashMap<>();
    private final TreeSet<Timer<K>> soonestFirst =
            new TreeSet<>(Comparator.<Timer<K>>comparingLong(Timer::nanos).thenComparingLong(Timer::order));
    private long nextOrder;

    /**
     * Sets the timer of a key, replacing an earlier one, behind those of the same time. {@link DueTime#NEVER} removes
     * the timer.
     */
    public void set(K key, long nanos) {
        cancel(key);
        if (nanos < DueTime.NEVER) {
            Timer<K> timer = new Timer<>(nanos, nextOrder++, key);
            byKey.put(key, timer);
            soonestFirst.add(timer);
        }
    }

    public void cancel(K key) {
        Timer<K> before = byKey.remove(key);
        if (before != null) {
            soonestFirst.remove(before);
        }
    }

    public boolean contains(K key) {
        return byKey.containsKey(key);
    }

    public boolean isEmpty() {
        return byKey.isEmpty();
    }

    public int size() {
        return byKey.size();
    }

    /** Returns the key that is due first, null if no timer is set. */
    public K first() {
        return soonestFirst.isEmpty() ? null : soonestFirst.first().key;
    }

    /** Returns the keys by ascending time. */
    public Iterable<K> soonestFirst() {
        return () -> soonestFirst.stream().map(Timer::key).iterator();
    }

    /** Returns the keys by descending time. */
    public Iterable<K> latestFirst() {
        return () -> soonestFirst.descendingSet().stream().map(Timer::key).iterator();
    }

    /** Returns when a key is due; {@link DueTime#NEVER} if its timer is not set. */
    public long nanos(K key) {
        Timer<K> timer = byKey.get(key);
        return timer == null ? DueTime.NEVER : timer.nanos;
    }

    /** Returns when the first key is due; {@link DueTime#NEVER} if no timer is set. */
    public long firstNanos() {
        return soonestFirst.isEmpty() ? DueTime.NEVER : soonestFirst.first().nanos;
    }
}
