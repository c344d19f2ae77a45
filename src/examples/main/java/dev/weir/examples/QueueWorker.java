package dev.weir.examples;

import dev.weir.client.ReleaseTask;
import dev.weir.client.ReleaseWorker;
import dev.weir.event.Release;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;

/**
 * Sends the messages that Weir's queues release, each at its time, and tries each up to five times. Releases arrive at
 * least once: {@link ReleaseTask#firstRequestId} is the same for each attempt, so it can serve as an idempotency key.
 */
public final class QueueWorker {

    private QueueWorker() {}

    /**
     * Starts a worker, which runs until it is closed.
     *
     * @param kafka properties of Kafka's clients, {@code bootstrap.servers} and {@code group.id} among them
     * @param send sends a message; a message for which it throws an exception is tried again later
     */
    public static ReleaseWorker start(Map<String, Object> kafka, Consumer<Release> send) {
        return ReleaseWorker.builder(kafka, task -> send.accept(task.release()))
                .threads(8)
                .attempts(5)
                .start();
    }

    /** Works until the process is stopped. Argument: the brokers, such as {@code localhost:9092}. */
    public static void main(String[] args) throws Exception {
        Map<String, Object> kafka = Map.of("bootstrap.servers", args[0], "group.id", "queue-worker");
        CountDownLatch stopped = new CountDownLatch(1);
        try (ReleaseWorker worker = start(kafka, release -> System.out.println("Sent " + release.requestId()))) {
            Runtime.getRuntime().addShutdownHook(new Thread(stopped::countDown));
            stopped.await();
            System.out.println("Handled " + worker.stats().handled());
        }
    }
}
