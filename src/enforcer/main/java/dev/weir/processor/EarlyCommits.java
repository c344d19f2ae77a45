package dev.weir.processor;

import dev.weir.event.DueTime;

/**
 * Decides when a task commits early because a request waits for a lease: the ledger reads the lease request only after
 * the commit. Early commits take at most half of the task's time. Otherwise a task with slow brokers would commit after
 * every few records and decide hardly any. Times are milliseconds of the task's clock.
 */
final class EarlyCommits {

    /** The minimum time between the starts of two commits. */
    static final long LEAST_APART_MS = 20;

    /** Commits take at most one part in this many of the time. */
    private static final int PARTS = 2;

    private boolean isCommitting;
    private long startedMs = Long.MIN_VALUE / 2;
    private long tookMs;
    private long dueMs = DueTime.NEVER;

    /** Records the start of a commit, early or regular. */
    void started(long nowMs) {
        isCommitting = true;
        startedMs = nowMs;
        dueMs = DueTime.NEVER; // this commit covers what was requested before
    }

    /**
     * Records that the task processes records again. It may have been idle since the commit ended, so the duration of
     * the commit is an estimate.
     *
     * @param roundTripMs the round trip of a lease request, which takes about as long as two commits
     */
    void resumed(long nowMs, long roundTripMs) {
        if (isCommitting) {
            isCommitting = false;
            tookMs = Math.min(nowMs - startedMs, roundTripMs / 2);
        }
    }

    /** Requests an early commit. Returns whether to commit now; if not, {@link #dueMs} returns when. */
    boolean request(long nowMs) {
        long nextMs = startedMs + Math.max(LEAST_APART_MS, PARTS * tookMs);
        boolean isNow = nowMs >= nextMs;
        dueMs = isNow ? DueTime.NEVER : nextMs;
        return isNow;
    }

    /** Returns when to call {@link #request} again; {@link DueTime#NEVER} if no commit is due. */
    long dueMs() {
        return dueMs;
    }
}
