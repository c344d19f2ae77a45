package dev.weir.processor;

/**
 * Decides when a task commits before its interval has passed, because a request waits for a lease: the ledger reads the
 * request for it only after the commit. Early commits take at most half of the time, or else a task on slow brokers
 * would commit after every few records and decide hardly any. Times are of the task's clock.
 */
final class EarlyCommits {

    /** They start at least this far apart. */
    static final long LEAST_APART_MS = 20;

    /** They take at most one part in so many of the time. */
    private static final int PARTS = 2;

    private boolean isCommitting;
    private long startedMs = Long.MIN_VALUE / 2;
    private long tookMs;
    private long dueMs = Long.MAX_VALUE;

    /** A commit starts, early or not. */
    void started(long nowMs) {
        isCommitting = true;
        startedMs = nowMs;
    }

    /**
     * The task works again. It may have been idle since the commit ended, so how long that took is an estimate.
     *
     * @param roundTripMs of a request for a lease, which is as long as two commits
     */
    void resumed(long nowMs, long roundTripMs) {
        if (isCommitting) {
            isCommitting = false;
            tookMs = Math.min(nowMs - startedMs, roundTripMs / 2);
        }
    }

    /** Requests an early commit. Returns whether to commit now; if not, {@link #dueMs} says when. */
    boolean request(long nowMs) {
        long nextMs = startedMs + Math.max(LEAST_APART_MS, PARTS * tookMs);
        boolean isNow = nowMs >= nextMs;
        dueMs = isNow ? Long.MAX_VALUE : nextMs;
        return isNow;
    }

    /** When to request again; {@link Long#MAX_VALUE} if no commit is due. */
    long dueMs() {
        return dueMs;
    }
}
