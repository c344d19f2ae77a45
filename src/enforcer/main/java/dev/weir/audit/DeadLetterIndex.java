package dev.weir.audit;

import dev.weir.event.Request;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * The dead letters of requests, by the request's partition and offset. It keeps a maximum number of them. Beyond that,
 * it omits those of the oldest requests and remembers which requests may have had one. Not thread-safe.
 */
public final class DeadLetterIndex {

    private final int max;
    private final Map<Integer, NavigableMap<Long, List<AuditedDeadLetter>>> byPartition = new HashMap<>();
    private final Map<Integer, Long> omittedTo = new HashMap<>(); // by partition, the last omitted request
    private int count;
    private long omitted;

    /**
     * Creates an empty index.
     *
     * @param max the maximum number of dead letters that are kept, at least 1
     */
    public DeadLetterIndex(int max) {
        this.max = max;
    }

    /** Adds the dead letter of a request. */
    public void add(Request.Source source, AuditedDeadLetter letter) {
        if (isOmitted(source)) {
            omitted++;
            return;
        }
        byPartition
                .computeIfAbsent(source.partition(), any -> new TreeMap<>())
                .computeIfAbsent(source.offset(), any -> new ArrayList<>(1))
                .add(letter);
        count++;
        while (count > max) {
            omitOldest();
        }
    }

    /** Omits the older half of the partition with the most requests, so that this is rarely repeated. */
    private void omitOldest() {
        Map.Entry<Integer, NavigableMap<Long, List<AuditedDeadLetter>>> largest = byPartition.entrySet().stream()
                .max(Comparator.comparingInt(entry -> entry.getValue().size()))
                .orElseThrow();
        int half = (largest.getValue().size() + 1) / 2;
        for (int i = 0; i < half; i++) {
            Map.Entry<Long, List<AuditedDeadLetter>> oldest = largest.getValue().pollFirstEntry();
            omittedTo.put(largest.getKey(), oldest.getKey());
            omitted += oldest.getValue().size();
            count -= oldest.getValue().size();
        }
    }

    /** Returns the dead letters of a partition's requests, by offset. */
    NavigableMap<Long, List<AuditedDeadLetter>> of(int partition) {
        return byPartition.getOrDefault(partition, new TreeMap<>());
    }

    /** Returns the dead letters of a request. */
    List<AuditedDeadLetter> of(Request.Source source) {
        return of(source.partition()).getOrDefault(source.offset(), List.of());
    }

    /** Returns whether a dead letter of the request would have been omitted. */
    boolean isOmitted(Request.Source source) {
        return source.offset() <= omittedTo.getOrDefault(source.partition(), -1L);
    }

    /** Returns the number of dead letters that were omitted. */
    long omitted() {
        return omitted;
    }
}
