package dev.weir.pacing;

import dev.weir.time.DueTime;

/**
 * Chooses when a stream thread commits. Times are nanoseconds of any clock that never steps back, from 0.
 *
 * <p>A commit is due {@code min} after the first uncommitted record, and a gap after the end of the previous commit. The
 * gap, {@code min} to {@code max}, is chosen at the end of each commit: commits take at most half of the time that
 * records leave. So they are frequent while the thread is idle, rare while it is busy, and without any records there are
 * none. With a cost of 6 ms, the average of the latest commits:
 *
 * <pre>
 *   the thread was idle, except for the commit                          gap  6 ms
 *   it processed records for half of the time                           gap 18 ms
 *   it processed records for 24 of 30 ms, and committed for 6           gap 54 ms
 * </pre>
 *
 * A saturated thread has no time left but that of its commits. So its gap doubles with each commit, up to {@code max}.
 */
final class CommitPace {

    /** Commits take at most one part in this many of the time that records leave. */
    private static final int PARTS = 2;

    /** The weight of the latest commit in the average cost is one in this many. */
    private static final int WEIGHT = 4;

    private static final int PERMILLE = 1000;

    private final long minNanos;
    private final long maxNanos;
    private boolean isUncommitted;
    private boolean isUrgent;
    private boolean isCommitting;
    private long firstNanos;
    private long repeatNanos;
    private long startedNanos;
    private long committedNanos;
    private long idleNanos;
    private long costNanos;
    private long gapNanos;

    /**
     * @param minNanos the minimum time from the first uncommitted record, and from the previous commit
     * @param maxNanos the maximum time from the previous commit, not less than {@code minNanos}
     */
    CommitPace(long minNanos, long maxNanos) {
        this.minNanos = minNanos;
        this.maxNanos = maxNanos;
        gapNanos = minNanos;
    }

    /** Records that something was processed. */
    void work(long nowNanos) {
        if (isCommitting) { // the commit that has started was skipped, or has failed
            forget();
        }
        if (!isUncommitted) {
            isUncommitted = true;
            firstNanos = nowNanos;
        }
    }

    /** Records that another application waits for the next commit: it may take half of the time, busy or not. */
    void hurry() {
        isUrgent = isUncommitted;
    }

    /** Records that the thread was idle for a time. */
    void idle(long nanos) {
        idleNanos += nanos;
    }

    /** Returns when to {@linkplain #request request} a commit, {@link DueTime#NEVER} if nothing is uncommitted. */
    long dueNanos() {
        if (!isUncommitted) {
            return DueTime.NEVER;
        }
        long gap = isUrgent ? within(costNanos) : gapNanos;
        return Math.max(repeatNanos, Math.max(firstNanos + minNanos, committedNanos + gap));
    }

    /**
     * Returns whether to request a commit now. A request that has no effect, for example during a rebalance, is repeated
     * after {@code max}.
     */
    boolean request(long nowNanos) {
        if (nowNanos < dueNanos()) {
            return false;
        }
        repeatNanos = nowNanos + maxNanos;
        return true;
    }

    /** Records that a commit starts. Further calls until {@link #finish} have no effect. */
    void start(long nowNanos) {
        if (isUncommitted && !isCommitting) {
            isCommitting = true;
            startedNanos = nowNanos;
        }
    }

    /** Records that a commit has ended. */
    void finish(long nowNanos) {
        long tookNanos = isCommitting ? nowNanos - startedNanos : 0;
        costNanos = costNanos == 0 ? tookNanos : costNanos + (tookNanos - costNanos) / WEIGHT;
        gapNanos = within(gap(nowNanos - committedNanos, idleNanos + tookNanos));
        committedNanos = nowNanos;
        idleNanos = 0;
        forget();
    }

    /** Records that what is uncommitted was dropped, or committed elsewhere. */
    void forget() {
        isUncommitted = false;
        isUrgent = false;
        isCommitting = false;
        repeatNanos = 0;
    }

    /** Returns the gap with which commits take their part of the time that records left since the previous commit. */
    private long gap(long sinceNanos, long leftNanos) {
        long unit = Math.max(1, sinceNanos / PERMILLE);
        long leftPermille = Math.max(1, Math.min(PERMILLE, leftNanos / unit));
        return costNanos * PARTS * PERMILLE / leftPermille - costNanos;
    }

    private long within(long gap) {
        return Math.max(minNanos, Math.min(maxNanos, gap));
    }
}
