package dev.weir.client.release;

import dev.weir.event.Release;
import dev.weir.fault.UnreadableException;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;

/**
 * Releases that were received and are not due, and the offset up to which each partition is done.
 *
 * <p>The queues of a partition interleave their releases, so these become due in another order than that of their
 * offsets. Of offsets 5, 6 and 7, due at 30, 10 and 20, the second is returned first. The partition is done up to 5
 * until all three have been returned, and then up to 8. Releases with an attempt that are done are reported as
 * {@linkplain StartedOffsets started} until then.
 */
final class HeldReleases {

    private final ReleaseOrder order;
    private final Map<TopicPartition, Progress> partitions = new HashMap<>();

    /**
     * A buffered record.
     *
     * @param release null if the record cannot be decoded; such records are returned before all releases
     * @param headers the headers of the record
     * @param unreadable the record if it cannot be decoded, otherwise null
     */
    record Held(TopicPartition partition, long offset, Release release, Headers headers, Unreadable unreadable) {

        /** Returns when the record is due, in ns since the epoch. */
        long dueNanos() {
            return release == null ? 0 : release.releaseAtNanos();
        }

        /** Returns whether the worker acknowledges the release. */
        boolean isAttempt() {
            return release != null && release.attempt() != null;
        }

        long sequence() {
            return release == null ? 0 : release.sequence();
        }
    }

    /** A record that cannot be decoded. */
    @SuppressWarnings("ArrayRecordComponent") // carried, never compared
    record Unreadable(UnreadableException fault, byte[] key, byte[] value) {}

    private static final class Progress {
        private final TreeSet<Long> offsets = new TreeSet<>();
        private StartedOffsets started = new StartedOffsets();
        private long next;
        private OffsetAndMetadata reported;

        void markDone(Held done) {
            boolean wasHeld = offsets.remove(done.offset);
            if (wasHeld && done.isAttempt()) {
                started.add(done.offset, offsets, next);
            }
        }

        /** Returns what can be committed; empty if the started offsets do not fit until an earlier one is done. */
        Optional<OffsetAndMetadata> committable() {
            long undone = offsets.isEmpty() ? next : offsets.first();
            started.removeBelow(undone);
            return started.metadata(undone).map(metadata -> new OffsetAndMetadata(undone, metadata));
        }
    }

    HeldReleases(LateReleases late) {
        order = new ReleaseOrder(late);
    }

    /** Sets what the last owner of a partition has committed, before anything of it is added. */
    void restore(TopicPartition partition, OffsetAndMetadata committed) {
        Progress progress = progress(partition);
        progress.next = committed.offset();
        progress.started = StartedOffsets.read(committed.offset(), committed.metadata());
        progress.reported = committed;
    }

    /** Adds a record, unless its attempt has started. */
    void add(Held held) {
        Progress progress = progress(held.partition);
        if (!progress.started.contains(held.offset)) {
            order.add(held);
            progress.offsets.add(held.offset);
        }
    }

    /**
     * Sets the offset of the record to be received next.
     *
     * @param offset one above that of the last record, or more
     */
    void received(TopicPartition partition, long offset) {
        progress(partition).next = offset;
    }

    /** Returns the record that is handed out next; empty if there is none. */
    Optional<ReleaseOrder.Turn> first(long nowNanos) {
        return order.first(nowNanos);
    }

    /** Removes the first record, which is due, from the order. It still counts as held until it is {@linkplain #markDone done}. */
    Held take(ReleaseOrder.Turn first) {
        return order.take(first);
    }

    /** Marks a record that was taken as done. Has no effect if its partition was dropped. */
    void markDone(Held taken) {
        Progress progress = partitions.get(taken.partition);
        if (progress != null) {
            progress.markDone(taken);
        }
    }

    /** Returns the first offset that is not done, of each partition in which a commit changed since the last call. */
    Map<TopicPartition, OffsetAndMetadata> takeChangedOffsets() {
        Map<TopicPartition, OffsetAndMetadata> changed = new HashMap<>();
        partitions.forEach((partition, progress) -> progress.committable()
                .filter(offset -> !offset.equals(progress.reported))
                .ifPresent(offset -> {
                    progress.reported = offset;
                    changed.put(partition, offset);
                }));
        return changed;
    }

    /** Returns whether all that is done can be committed now: the started offsets of each partition fit. */
    boolean isCommittable() {
        return partitions.values().stream()
                .allMatch(progress -> progress.committable().isPresent());
    }

    /** Returns the partitions of which something was received. */
    Set<TopicPartition> partitions() {
        return partitions.keySet();
    }

    /** Returns the number of records of a partition that are held or taken. */
    int count(TopicPartition partition) {
        return partitions.get(partition).offsets.size();
    }

    void drop(Collection<TopicPartition> gone) {
        gone.forEach(partitions::remove);
        order.drop(gone);
    }

    private Progress progress(TopicPartition partition) {
        return partitions.computeIfAbsent(partition, p -> new Progress());
    }
}
