package dev.weir.shape;

/**
 * The time of a task's queues: an estimate of the broker's clock, carried on by a monotonic clock of this process, the
 * local clock. Neither the wall clock of the instance nor a takeover by another instance changes it.
 *
 * <p>The offset between the two clocks lies within bounds that records give. A record of the task's partition that the broker
 * appended at {@code append} and that is read at {@code local} was appended before it was read, so {@code offset ≥ append −
 * local}. A marker that this task sent at {@code sent} was appended after that, so also {@code offset ≤ append − sent}. The
 * estimate starts at the upper bound of the first marker and is moved into all later bounds (as in D. Mills, <i>Internet time synchronization</i>, 1991, with the task as the
 * client and its own partition as the server). Reading late, as in a backlog, only loosens the lower bound.
 *
 * <pre>
 *   sent 100, appended 5,103, read 120:   4,983 ≤ offset ≤ 5,003
 * </pre>
 *
 * <p>The estimate is unsettled, and no request may be released or expire by it, until the first marker has come back, and
 * again when the last record was read more than {@value #FRESH_MS} ms ago (a pause of the process, a local clock that drifted
 * in an idle hour) and the next one does not confirm the estimate within {@value #TOLERATED_MS} ms. While it is unsettled
 * the time is that of the last record. The time never goes back, unless it was ahead of a settled estimate by more than
 * {@value #TOLERATED_MS} ms, as when the clock of a broker was set back.
 */
public final class QueueClock {

    /** How long an estimate is good without another record. */
    static final long FRESH_MS = 10_000;

    /** By how much the time may be ahead of the estimate, and stand still until the estimate has caught up. */
    static final long TOLERATED_MS = 1_000;

    private static final long NONE = Long.MIN_VALUE;

    private boolean isSettled;
    private boolean wasEverSettled;
    private boolean isReset;
    private long offsetMs = NONE; // broker's clock − local clock
    private long leastOffsetMs = NONE; // the lower bound of the records that were read while unsettled
    private long readAtMs; // local time of the last record
    private long timeMs;

    /** Takes note of a record that was read from the partition; times of 0 or less are not the broker's. */
    public void read(long appendMs, long localMs) {
        if (appendMs <= 0) {
            return;
        }
        long lowerMs = appendMs - localMs;
        if (isSettled && isStale(localMs)) {
            isSettled = lowerMs >= offsetMs - TOLERATED_MS;
            offsetMs = isSettled ? lowerMs : offsetMs;
        }
        if (isSettled) {
            offsetMs = Math.max(offsetMs, lowerMs);
            readAtMs = localMs;
        } else {
            leastOffsetMs = Math.max(leastOffsetMs, lowerMs);
            timeMs = Math.max(timeMs, appendMs);
        }
    }

    /**
     * Takes note that a marker has come back, which settles the estimate.
     *
     * @param appendMs when the broker appended it; 0 or less if its time is not the broker's: then it confirms the records
     *     that were read
     * @param sentMs local time before it was sent
     */
    public void returned(long appendMs, long sentMs, long localMs) {
        if (appendMs > 0) {
            long lowerMs = Math.max(appendMs - localMs, leastOffsetMs);
            long upperMs = Math.max(appendMs - sentMs, lowerMs);
            offsetMs = offsetMs == NONE ? upperMs : Math.max(lowerMs, Math.min(upperMs, offsetMs));
        } else if (leastOffsetMs != NONE) {
            offsetMs = leastOffsetMs;
        } else if (offsetMs == NONE) {
            offsetMs = 0;
        }
        boolean isAhead = timeMs > localMs + offsetMs + TOLERATED_MS;
        timeMs = isAhead ? localMs + offsetMs : timeMs;
        isReset |= isAhead || !wasEverSettled;
        wasEverSettled = true;
        isSettled = true;
        leastOffsetMs = NONE;
        readAtMs = localMs;
    }

    /** Whether requests may be released and expire. */
    public boolean isSettled(long localMs) {
        return isSettled && !isStale(localMs);
    }

    private boolean isStale(long localMs) {
        return localMs - readAtMs > FRESH_MS || localMs < readAtMs;
    }

    /** The time, which does not go back from call to call unless {@link #takeReset} tells so. */
    public long nowMs(long localMs) {
        if (isSettled(localMs)) {
            timeMs = Math.max(timeMs, localMs + offsetMs);
        }
        return timeMs;
    }

    /** The best estimate of the time, for readers that change nothing. */
    public long estimateMs(long localMs) {
        long knownMs = timeMs == 0 ? localMs : timeMs;
        return isSettled ? Math.max(knownMs, localMs + offsetMs) : knownMs;
    }

    /** Whether the estimate was settled for the first time, or the time went back, since this was asked last. */
    public boolean takeReset() {
        boolean reset = isReset;
        isReset = false;
        return reset;
    }
}
