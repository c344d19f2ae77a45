package dev.weir.shape.timer;

/**
 * The time of the queues of one partition: the broker's time, estimated from a monotonic clock and from the times at
 * which the broker appended the records that are read. The wall clock of the process is not used.
 *
 * <pre>
 *   a record appended at a and read at r:               offset ≥ a − r,   because it was appended before it was read
 *   a marker sent by this task at s and appended at a:  offset ≤ a − s,   because it was appended after it was sent
 *   queue time = offset + monotonic time, and never decreases while the task is open
 * </pre>
 *
 * <p>The lower bounds alone do not suffice: while the task lags, they are too low by the lag. So a queue releases
 * nothing before the first marker of its task has been read, by which time the lag is gone. Later lag is harmless,
 * since only markers lower the offset. Until the first marker, a task that takes over can date an answer before earlier
 * answers of its predecessor, though not before the last release. Markers also correct a monotonic clock that runs
 * fast. A record that is read more than {@value #MAX_OFFSET_AGE_MS} ms after the last correction sets the offset, so
 * that the drift of an idle period does not persist.
 *
 * <p>If a marker shows that queue time is more than {@value #TOLERANCE_MS} ms ahead, the broker's clock was wrong or
 * was set back, and queue time steps back. For smaller differences, queue time stands still until the broker's time
 * catches up.
 */
public final class QueueClock {

    /** The largest lead over the broker's time that does not make queue time step back, in milliseconds. */
    static final long TOLERANCE_MS = 1_000;

    /** How long an offset is kept without a correction, in milliseconds. */
    static final long MAX_OFFSET_AGE_MS = 60_000;

    private boolean isKnown;
    private boolean isSynchronized;
    private long offsetMs;
    private long correctedMs;
    private long latestMs;

    /** @param latestMs the time of the last release, in broker time; queue time does not start before it */
    public QueueClock(long latestMs) {
        this.latestMs = latestMs;
    }

    /** Returns whether queues may release: a marker has been read. */
    public boolean isSynchronized() {
        return isSynchronized;
    }

    /**
     * Returns queue time, in milliseconds since the epoch. Before the first record is read, it is the local time, which
     * is accurate enough for queries but must not be used for decisions.
     *
     * @param localMs the current time of a monotonic clock
     */
    public long timeMs(long localMs) {
        return Math.max(latestMs, localMs + offsetMs);
    }

    /** Returns whether queue time is ahead of a record's append time by more than the tolerance. */
    public boolean isAheadOf(long appendMs, long localMs) {
        return timeMs(localMs) - appendMs > TOLERANCE_MS;
    }

    /**
     * Updates the time from a record.
     *
     * @param appendMs when the broker appended it
     * @param localMs when it is read, by the monotonic clock
     */
    public void observe(long appendMs, long localMs) {
        long leastMs = appendMs - localMs;
        if (!isKnown || localMs - correctedMs > MAX_OFFSET_AGE_MS) {
            isKnown = true;
            offsetMs = leastMs;
            correctedMs = localMs;
        }
        offsetMs = Math.max(offsetMs, leastMs);
        latestMs = timeMs(localMs);
    }

    /**
     * Updates the time from a marker of this task.
     *
     * @param sentMs when it was sent, by the same clock as {@code localMs}
     * @param appendMs when the broker appended it
     * @param localMs when it is read
     * @return whether queue time stepped back
     */
    public boolean observeMarker(long sentMs, long appendMs, long localMs) {
        boolean isStep = timeMs(localMs) - (appendMs - sentMs + localMs) > TOLERANCE_MS;
        isSynchronized = true;
        isKnown = true;
        offsetMs = Math.min(Math.max(offsetMs, appendMs - localMs), appendMs - sentMs);
        correctedMs = localMs;
        latestMs = isStep ? localMs + offsetMs : timeMs(localMs);
        return isStep;
    }
}
