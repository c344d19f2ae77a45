package dev.weir.shape;

/**
 * The time of the queues of one partition: the broker's time, estimated from a monotonic clock and from the times at
 * which the broker appended what is read. The wall clock of the process has no part in it.
 *
 * <pre>
 *   a record that was appended at a and is read at r:       offset ≥ a − r,   because it was appended before it was read
 *   a marker that this task sent at s, appended at a:       offset ≤ a − s,   because it was appended after it was sent
 *   queue time = offset + monotonic time, and never before what it was
 * </pre>
 *
 * <p>The lower bounds alone are not enough: where the task lags, they are too low by the lag. So a queue releases
 * nothing before the first marker of its task has been read, by when the lag is gone. Afterwards lag does no harm,
 * since only markers lower the offset; they also correct a monotonic clock that runs fast. A record that is read more
 * than {@value #MAX_OFFSET_AGE_MS} ms after the last correction sets the offset, so that the drift of an idle time is
 * not kept.
 *
 * <p>If a marker shows that queue time is more than {@value #TOLERANCE_MS} ms ahead, the broker's clock was wrong or
 * was set back, and queue time steps back. Smaller differences are waited for.
 */
public final class QueueClock {

    /** Queue time waits for the broker's time if it is ahead by at most this. */
    static final long TOLERANCE_MS = 1_000;

    /** How long an offset is kept that nothing corrects. */
    static final long MAX_OFFSET_AGE_MS = 60_000;

    private boolean isKnown;
    private boolean isSynchronized;
    private long offsetMs;
    private long correctedMs;
    private long latestMs;

    /** @param latestMs the time of the last release, in broker time: queue time does not begin before */
    public QueueClock(long latestMs) {
        this.latestMs = latestMs;
    }

    /** Whether queues may release: a marker has been read. */
    public boolean isSynchronized() {
        return isSynchronized;
    }

    /**
     * Queue time, in ms since the epoch. Before the first record is read, it is the local time, which is good enough to
     * answer queries but must not be used for decisions.
     *
     * @param localMs by a clock that does not go back
     */
    public long timeMs(long localMs) {
        return Math.max(latestMs, localMs + offsetMs);
    }

    /** Whether queue time is ahead of when a record was appended by more than is waited for. */
    public boolean isAheadOf(long appendMs, long localMs) {
        return timeMs(localMs) - appendMs > TOLERANCE_MS;
    }

    /**
     * Takes the time from a record.
     *
     * @param appendMs when the broker appended it
     * @param localMs when it is read
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
     * Takes the time from a marker of this task.
     *
     * @param sentMs when it was sent, by the same clock as {@code localMs}
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
