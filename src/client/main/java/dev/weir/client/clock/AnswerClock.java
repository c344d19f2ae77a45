package dev.weir.client.clock;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Measures for how long no answer arrived although requests were sent. Enforcers that answer late are busy; only
 * ones that do not answer at all are away. All times are of {@link System#nanoTime}. Thread-safe.
 */
// A silence begins with the first request after an answer, because that answer may be to any request before it:
//
//   request request   answer              request                       now
//     |-------|--------|                   |------------ silence ---------|
//
// Without requests, nothing is measured. So a silence in which no request is sent for a while does not count.
public final class AnswerClock {

    /** A silence of at least this time indicates that those who should answer are away. */
    public static final Duration SILENCE = Duration.ofSeconds(1);

    /** How long a silence counts after the last request. */
    private static final long FORGET_NANOS = TimeUnit.SECONDS.toNanos(30);

    private boolean isWaiting;
    private boolean hasAnswer;
    private long sinceNanos;
    private long requestedNanos;
    private long answeredNanos;

    /** Creates a clock that has measured no silence. */
    public AnswerClock() {}

    /**
     * Records that a request was sent, or that one waits for an answer.
     *
     * @param nowNanos the time
     */
    public synchronized void requested(long nowNanos) {
        if (!isWaiting || nowNanos - requestedNanos > FORGET_NANOS) {
            isWaiting = true;
            sinceNanos = nowNanos;
        }
        requestedNanos = nowNanos;
    }

    /**
     * Records that an answer arrived.
     *
     * @param nowNanos the time
     */
    public synchronized void answered(long nowNanos) {
        isWaiting = false;
        hasAnswer = true;
        answeredNanos = nowNanos;
    }

    /**
     * Returns for how long no answer has arrived.
     *
     * @param nowNanos the time
     * @return the silence in ns; 0 if no request was sent since the last answer
     */
    public synchronized long silentNanos(long nowNanos) {
        return isWaiting && nowNanos - requestedNanos <= FORGET_NANOS ? Math.max(0, nowNanos - sinceNanos) : 0;
    }

    /**
     * Returns whether nothing was answered for {@link #SILENCE} and for the given time.
     *
     * @param nanos the shortest silence in ns
     * @param nowNanos the time
     * @return whether the silence is as long
     */
    public boolean isSilentFor(long nanos, long nowNanos) {
        return silentNanos(nowNanos) >= Math.max(SILENCE.toNanos(), nanos);
    }

    /**
     * Returns whether something was answered at the given time or later.
     *
     * @param nanos the time
     * @return whether something was
     */
    public synchronized boolean hasAnsweredSince(long nanos) {
        return hasAnswer && answeredNanos - nanos >= 0;
    }
}
