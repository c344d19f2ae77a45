package dev.weir.spring;

import java.util.concurrent.Semaphore;

/**
 * Blocks threads until their throttled calls may proceed, and bounds the number of threads that it blocks at the same
 * time. Thread-safe.
 */
public final class ThrottleSleeper {

    private final int maxThreads;
    private final Semaphore free;

    ThrottleSleeper(int maxThreads) {
        this.maxThreads = maxThreads;
        free = new Semaphore(maxThreads);
    }

    int maxThreads() {
        return maxThreads;
    }

    /**
     * Blocks the thread for a delay.
     *
     * @param delayMs the delay; 0 for none
     * @return false, at once, if the maximum number of threads is blocked
     * @throws InterruptedException if the thread is interrupted
     */
    public boolean sleep(long delayMs) throws InterruptedException {
        if (delayMs == 0) {
            return true;
        }
        if (!free.tryAcquire()) {
            return false;
        }
        try {
            Thread.sleep(delayMs);
            return true;
        } finally {
            free.release();
        }
    }
}
