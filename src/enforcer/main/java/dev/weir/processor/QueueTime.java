package dev.weir.processor;

import dev.weir.shape.effect.QueueMessage;
import dev.weir.shape.timer.QueueClock;
import java.util.UUID;

/**
 * The queue time of an open task: the broker's time, as estimated by a {@link QueueClock} from the markers that
 * the task sends to itself. In all methods, {@code localMs} is the task's clock and {@code appendMs} the broker's
 * time when it appended a record.
 */
final class QueueTime {

    private static final long NANOS_PER_MS = 1_000_000;

    /** The minimum time between two markers. */
    private static final long MARKER_MS = 1_000;

    private final QueueClock clock;
    private final UUID task = UUID.randomUUID(); // distinguishes its markers from those of earlier tasks
    private boolean hasSentMarker;
    private long markerSentMs;

    /** @param writtenMs the latest queue time in the restored state, in milliseconds */
    QueueTime(long writtenMs) {
        clock = new QueueClock(writtenMs);
    }

    long ms(long localMs) {
        return clock.timeMs(localMs);
    }

    long nanos(long localMs) {
        return clock.timeMs(localMs) * NANOS_PER_MS;
    }

    /** Returns the time until a queue time, rounded up to milliseconds; negative if it has passed. */
    long untilMs(long atNanos, long localMs) {
        return -Math.floorDiv(-atNanos, NANOS_PER_MS) - clock.timeMs(localMs);
    }

    /** Advances the time by a record that is not a marker. */
    void read(long appendMs, long localMs) {
        clock.observe(appendMs, localMs);
    }

    /** Synchronizes the time if the marker is from this task. Returns whether the time has stepped back. */
    boolean readMarker(QueueMessage.Marker marker, long appendMs, long localMs) {
        if (!marker.task().equals(task)) {
            clock.observe(appendMs, localMs); // from a previous task of the partition
            return false;
        }
        return clock.observeMarker(marker.sentMs(), appendMs, localMs);
    }

    /**
     * Returns whether a record was appended long before the current queue time, that is, whether the task lags or the
     * broker's clock was set back.
     */
    boolean isAheadOf(long appendMs, long localMs) {
        return clock.isAheadOf(appendMs, localMs);
    }

    /** Returns whether a marker of this task has been read. */
    boolean isSynchronized() {
        return clock.isSynchronized();
    }

    /** Returns whether the first marker has been sent but not read yet. */
    boolean isSynchronizing() {
        return hasSentMarker && !clock.isSynchronized();
    }

    /** Returns whether enough time has passed since the last marker. */
    boolean isMarkerDue(long localMs) {
        return !hasSentMarker || localMs - markerSentMs >= MARKER_MS;
    }

    /** Returns the marker to send now. */
    QueueMessage.Marker nextMarker(int partition, long localMs) {
        hasSentMarker = true;
        markerSentMs = localMs;
        return new QueueMessage.Marker(task, localMs, partition);
    }
}
