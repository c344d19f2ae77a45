package dev.weir.shape.view;

import dev.weir.shape.rules.BucketId;
import dev.weir.shape.view.QueueView.KeyView;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * The buckets of a queue with the most waiting requests and those with the longest wait, up to {@value #MAX_LISTED} of
 * each. An update costs O(log {@value #MAX_LISTED}) and the heap is bounded, however many keys are in use.
 *
 * <p>The values of listed buckets are exact. A bucket that was displaced by longer ones is listed again at its
 * next update, not as soon as the others become shorter. A bucket with waiting requests is updated at each
 * admission and release.
 */
public final class LongestKeys {

    /** The most buckets listed in each of the two orders. */
    static final int MAX_LISTED = 32;

    private static final Comparator<KeyView> MOST_WAITING =
            Comparator.comparingLong(KeyView::waiting).reversed().thenComparing(LongestKeys::id);
    private static final Comparator<KeyView> LONGEST_WAIT =
            Comparator.comparingLong(KeyView::oldestWaitMs).reversed().thenComparing(LongestKeys::id);

    /** @param sinceMs when the oldest waiting request was queued, in milliseconds since the epoch */
    private record Entry(BucketId id, long waiting, long sinceMs) {}

    private final Map<BucketId, Entry> entries = new HashMap<>();
    private final TreeSet<Entry> mostWaiting =
            new TreeSet<>(Comparator.comparingLong(Entry::waiting).reversed().thenComparing(Entry::id));
    private final TreeSet<Entry> longestWait =
            new TreeSet<>(Comparator.comparingLong(Entry::sinceMs).thenComparing(Entry::id));

    /**
     * Records the state of a bucket after a change.
     *
     * @param waiting the number of waiting requests, 0 or more
     * @param sinceMs when the oldest request that waits for its first release was queued, in milliseconds since the
     *     epoch; null if none does. Then the bucket is not listed
     */
    public void update(BucketId id, long waiting, Long sinceMs) {
        Entry before = entries.remove(id);
        if (before != null) {
            mostWaiting.remove(before);
            longestWait.remove(before);
        }
        if (waiting == 0 || sinceMs == null) {
            return;
        }
        Entry entry = new Entry(id, waiting, sinceMs);
        if (isAmongFirst(entry, mostWaiting) || isAmongFirst(entry, longestWait)) {
            entries.put(id, entry);
            mostWaiting.add(entry);
            longestWait.add(entry);
            trim(mostWaiting, longestWait);
            trim(longestWait, mostWaiting);
        }
    }

    private static boolean isAmongFirst(Entry entry, TreeSet<Entry> order) {
        return order.size() < MAX_LISTED || order.comparator().compare(entry, order.last()) < 0;
    }

    private void trim(TreeSet<Entry> order, TreeSet<Entry> other) {
        if (order.size() > MAX_LISTED) {
            Entry last = order.pollLast();
            if (!other.contains(last)) {
                entries.remove(last.id());
            }
        }
    }

    /** Returns the listed buckets, in no particular order. */
    public List<BucketId> ids() {
        return List.copyOf(entries.keySet());
    }

    /**
     * Returns the keys that are among the first {@value #MAX_LISTED} in one of the two orders: most waiting first, then
     * by key.
     */
    public static List<KeyView> of(List<KeyView> keys) {
        TreeSet<KeyView> first = new TreeSet<>(MOST_WAITING);
        for (Comparator<KeyView> order : List.of(MOST_WAITING, LONGEST_WAIT)) {
            keys.stream().sorted(order).limit(MAX_LISTED).forEach(first::add);
        }
        return new ArrayList<>(first);
    }

    private static BucketId id(KeyView key) {
        return BucketId.of("", key.key());
    }
}
