package dev.weir.shape.total;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;

/**
 * When each of several things is due, in order of time; of those due at the same time, the one that was set first comes
 * first. Each call takes O(log n).
 *
 * @param <K> names a thing
 */
public final class TimerQueue<K> {

    private record Timer<K>(long nanos, long order, K key) {}

    private final Map<K, Timer<K>> byKey = new HashMap<>();
    private final TreeSet<Timer<K>> soonestFirst =
            new TreeSet<>(Comparator.<Timer<K>>comparingLong(Timer::nanos).thenComparingLong(Timer::order));
    private long nextOrder;

    /**
     * Sets the timer of a key instead of the one that it had, behind those of the same time. {@link Long#MAX_VALUE}: it
     * has none.
     */
    public void set(K key, long nanos) {
        cancel(key);
        if (nanos < Long.MAX_VALUE) {
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

    boolean isEmpty() {
        return byKey.isEmpty();
    }

    int size() {
        return byKey.size();
    }

    /** The key that is due first, null if no timer is set. */
    public K first() {
        return soonestFirst.isEmpty() ? null : soonestFirst.first().key;
    }

    /** The keys that are due last, latest first. */
    Iterable<K> latestFirst() {
        return () -> soonestFirst.descendingSet().stream().map(Timer::key).iterator();
    }

    /** When the first one is due; {@link Long#MAX_VALUE} if no timer is set. */
    public long firstNanos() {
        return soonestFirst.isEmpty() ? Long.MAX_VALUE : soonestFirst.first().nanos;
    }
}
