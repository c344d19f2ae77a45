package dev.weir.client.clock;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Measures for how long nothing was answered although something was asked. Enforcers that answer late are busy; only
 * ones that do not answer at all are away. All times are of {@link System#nanoTime}. Thread-safe.
 */
// A silence begins with the first question after an answer, since what was asked before it was perhaps answered by it:
//
//   asked   asked   answered             asked                          now
//     |-------|--------|                   |------------ silence ---------|
//
// Without questions, nothing can be known. So a silence in which nothing is asked for a while does not count.
public final class AnswerClock {

    /** A silence of at least this time indicates that those who should answer are away. */
    public static final Duration SILENCE = Duration.ofSeconds(1);

    /** How long a silence counts after the last question. */
    private static final long FORGET_NANOS = TimeUnit.SECONDS.toNanos(30);

    private boolean isWaiting;
    private boolean hasAnswer;
    private long sinceNanos;
    private long askedNanos;
    private long answeredNanos;

    /** Creates a clock that has measured no silence. */
    public AnswerClock() {}

    /**
     * Records that something was asked, or that a request waits for an answer.
     *
     * @param nowNanos the time
     */
    public synchronized void asked(long nowNanos) {
        if (!isWaiting || nowNanos - askedNanos > FORGET_NANOS) {
            isWaiting = true;
            sinceNanos = nowNanos;
        }
        askedNanos = nowNanos;
    }

    /**
     * Records that something was answered.
     *
     * @param nowNanos the time
     */
    public synchronized void answered(long nowNanos) {
        isWaiting = false;
        hasAnswer = true;
        answeredNanos = nowNanos;
    }

    /**
     * Returns for how long nothing was answered.
     *
     * @param nowNanos the time
     * @return the silence in ns; 0 if nothing was asked since the last answer
     */
    public synchronized long silentNanos(long nowNanos) {
        return isWaiting && nowNanos - askedNanos <= FORGET_NANOS ? Math.max(0, nowNanos - sinceNanos) : 0;
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
