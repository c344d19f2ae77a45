package dev.weir.shape.rules;

import dev.weir.event.Admission;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Identifies one leaky bucket. A queue without key fields has one; a queue with key fields has one for each
 * combination of their values. Ids are comparable, so that hash tables stay fast even if a client chooses values whose
 * hash codes collide.
 *
 * @param queue the id of the queue
 * @param key the names and values of the key fields, alternating, in the order of the names; empty for a queue without
 *     key fields
 */
public record BucketId(String queue, List<String> key) implements Comparable<BucketId> {

    public BucketId {
        key = List.copyOf(key);
    }

    /** Returns the bucket of a queue for the given values of its key fields, by name. */
    public static BucketId of(String queue, Map<String, String> values) {
        if (values.isEmpty()) {
            return new BucketId(queue, List.of());
        }
        List<String> key = new ArrayList<>(2 * values.size());
        Map<String, String> byName = values.size() == 1 ? values : new TreeMap<>(values);
        byName.forEach((name, value) -> {
            key.add(name);
            key.add(value);
        });
        return new BucketId(queue, key);
    }

    /** Returns the bucket of an admission. */
    public static BucketId of(Admission admission) {
        return of(admission.queue(), admission.key());
    }

    /** Returns whether the queue has key fields. */
    public boolean isKeyed() {
        return !key.isEmpty();
    }

    /** Returns the values of the key fields, by name. */
    public Map<String, String> values() {
        if (key.size() <= 2) {
            return key.isEmpty() ? Map.of() : Map.of(key.get(0), key.get(1));
        }
        Map<String, String> values = new LinkedHashMap<>();
        for (int i = 0; i < key.size(); i += 2) {
            values.put(key.get(i), key.get(i + 1));
        }
        return values;
    }

    @Override
    public int compareTo(BucketId other) {
        int order = queue.compareTo(other.queue);
        for (int i = 0; order == 0 && i < key.size() && i < other.key.size(); i++) {
            order = key.get(i).compareTo(other.key.get(i));
        }
        return order != 0 ? order : Integer.compare(key.size(), other.key.size());
    }
}
