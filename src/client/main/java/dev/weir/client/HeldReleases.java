package dev.weir.client;

import dev.weir.event.Release;
import dev.weir.wire.UnreadableException;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;

/**
 * Releases that were received and not handed out, and how far each partition is handed out.
 *
 * <p>The queues of a partition have their releases interleaved, so these leave in another order than that of their
 * offsets. Of offsets 5, 6, 7 due at 30, 10, 20 the second leaves first; the partition is handed out up to 5 until all
 * three are gone, and then up to 8.
 */
final class HeldReleases {

    private final PriorityQueue<Held> queue =
            new PriorityQueue<>(Comparator.comparingLong(Held::dueNanos).thenComparingLong(Held::sequence));
    private final Map<TopicPartition, Progress> partitions = new HashMap<>();

    /**
     * A record that waits.
     *
     * @param release null if it is no release; such a one comes before all others
     * @param headers the record's
     * @param unreadable what it is instead, else null
     */
    record Held(TopicPartition partition, long offset, Release release, Headers headers, Unreadable unreadable) {

        /** When it is to leave, ns since the epoch. */
        long dueNanos() {
            return release == null ? 0 : release.releaseAtNanos();
        }

        private long sequence() {
            return release == null ? 0 : release.sequence();
        }
    }

    /** A record that is no release, as it came. */
    @SuppressWarnings("ArrayRecordComponent") // carried, never compared
    record Unreadable(UnreadableException fault, byte[] key, byte[] value) {}

    private static final class Progress {
        private final TreeSet<Long> held = new TreeSet<>();
        private long next;
        private long marked = -1;
    }

    void add(Held held) {
        queue.add(held);
        progress(held.partition).held.add(held.offset);
    }

    /** @param offset of the record to be received next; that of the last one and 1, or more */
    void received(TopicPartition partition, long offset) {
        progress(partition).next = offset;
    }

    /** The next to leave, null if there is none. */
    Held first() {
        return queue.peek();
    }

    void removeFirst() {
        left(takeFirst());
    }

    /** Gives the first into somebody's hand: it counts as held until it has {@link #left}. */
    Held takeFirst() {
        return queue.remove();
    }

    /** Of one whose partition is gone it does not matter. */
    void left(Held taken) {
        Progress progress = partitions.get(taken.partition);
        if (progress != null) {
            progress.held.remove(taken.offset);
        }
    }

    /** The first offset that has not left, of each partition where it is another than at the last call. */
    Map<TopicPartition, Long> markHandedOut() {
        Map<TopicPartition, Long> changed = new HashMap<>();
        partitions.forEach((partition, progress) -> {
            long handedOut = progress.held.isEmpty() ? progress.next : progress.held.first();
            if (handedOut > progress.marked) {
                progress.marked = handedOut;
                changed.put(partition, handedOut);
            }
        });
        return changed;
    }

    /** Those of which something was received. */
    Set<TopicPartition> partitions() {
        return partitions.keySet();
    }

    /** How many of a partition wait, or are in somebody's hand. */
    int count(TopicPartition partition) {
        return partitions.get(partition).held.size();
    }

    void drop(Collection<TopicPartition> gone) {
        gone.forEach(partitions::remove);
        queue.removeIf(held -> !partitions.containsKey(held.partition));
    }

    private Progress progress(TopicPartition partition) {
        return partitions.computeIfAbsent(partition, p -> new Progress());
    }
}
