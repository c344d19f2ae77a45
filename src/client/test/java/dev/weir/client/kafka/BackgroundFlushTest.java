package dev.weir.client.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class BackgroundFlushTest {

    private static final int PATIENCE_SECONDS = 20;

    private final CountDownLatch isConfirmed = new CountDownLatch(1);
    private final Semaphore begun = new Semaphore(0);

    private void flush() {
        begun.release();
        try {
            isConfirmed.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void awaitBegun() throws InterruptedException {
        assertThat(begun.tryAcquire(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void while_a_flush_waits_for_the_brokers_all_further_requests_are_one_flush() throws Exception {
        try (BackgroundFlush flush = new BackgroundFlush(this::flush)) {
            flush.request();
            awaitBegun();
            for (int i = 0; i < 100; i++) {
                flush.request();
            }
            isConfirmed.countDown();
            awaitBegun(); // that of the 100 requests
            flush.request();
            awaitBegun();
            assertThat(begun.availablePermits()).as("further flushes").isZero();
        }
    }
}
