package dev.weir.client.release;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.wire.ReleaseCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.common.KafkaException;
import org.junit.jupiter.api.Test;

/** A worker whose consumer fails. */
class ReleaseWorkerFailureTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String ID = "release-worker-failure";

    private final CountDownLatch closed = new CountDownLatch(1);

    private final class Group extends MockConsumer<byte[], byte[]> {
        private final boolean failsToClose;

        Group(boolean failsToClose) {
            super("earliest");
            this.failsToClose = failsToClose;
        }

        @Override
        public synchronized void close() {
            super.close();
            closed.countDown();
            if (failsToClose) {
                throw new KafkaException("cannot leave the group");
            }
        }
    }

    private static ReleaseWorker worker(Group group) {
        WorkerBuilder options = ReleaseWorker.builder(
                Map.of("bootstrap.servers", "127.0.0.1:1", "client.id", ID, "group.id", "g"), task -> {});
        return ReleaseWorker.start(
                options,
                () -> new ReleaseConsumer(
                        new ReleaseCodec(),
                        () -> group,
                        "releases",
                        new BrokerClock(System::nanoTime),
                        8,
                        LateReleases.PACE));
    }

    /** Returns the names of the threads of workers that do not end. */
    private static List<String> threadsLeft() throws InterruptedException {
        List<String> left = new ArrayList<>();
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            String name = thread.getName();
            if (name.endsWith(ID) || name.startsWith("weir-client-") || name.equals("weir-worker")) {
                thread.join(PATIENCE.toMillis()); // close() does not wait for the last steps of a thread
                if (thread.isAlive()) {
                    left.add(name);
                }
            }
        }
        return left;
    }

    @Test
    void a_consumer_that_cannot_be_closed_leaves_no_thread_running() throws Exception {
        ReleaseWorker worker = worker(new Group(true));
        worker.close();
        assertThat(threadsLeft()).isEmpty();
        assertThat(worker.failure())
                .hasValueSatisfying(failure -> assertThat(failure).hasMessage("cannot leave the group"));
    }

    @Test
    void an_error_stops_the_worker_and_is_reported() throws Exception {
        Group group = new Group(false);
        group.schedulePollTask(() -> {
            throw new OutOfMemoryError("test");
        });
        try (ReleaseWorker worker = worker(group)) {
            assertThat(closed.await(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .as("the consumer is closed")
                    .isTrue();
            worker.close();
            assertThat(worker.failure()).hasValueSatisfying(failure -> assertThat(failure)
                    .hasMessage("the worker has stopped: java.lang.OutOfMemoryError: test")
                    .hasCauseInstanceOf(OutOfMemoryError.class));
            assertThat(threadsLeft()).isEmpty();
        }
    }
}
