package dev.weir.gateway.envoy;

import java.util.concurrent.TimeUnit;

/**
 * Bounds how many streams of a connection may end without a response: a number in each second, and one further for each
 * call that was answered. So a busy caller whose calls time out during a pause keeps its connection. Thread-safe.
 */
final class ResetBudget {

    /** How many further resets answered calls permit at most. */
    static final int MAX_CREDIT = 10_000;

    private static final long WINDOW_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final int max;
    private long windowNanos;
    private int resets;
    private int credit;

    /** @param max how many streams may end without a response in a second, whatever was answered */
    ResetBudget(int max, long nowNanos) {
        this.max = max;
        windowNanos = nowNanos;
    }

    /** Records that a call was answered. */
    synchronized void answered() {
        credit = Math.min(MAX_CREDIT, credit + 1);
    }

    /** Records that a stream ended without a response. Returns false if this is not permitted. */
    synchronized boolean reset(long nowNanos) {
        if (nowNanos - windowNanos >= WINDOW_NANOS) {
            windowNanos = nowNanos;
            resets = 0;
        }
        if (resets < max) {
            resets++;
            return true;
        }
        if (credit > 0) {
            credit--;
            return true;
        }
        return false;
    }
}
