package dev.weir.examples;

import dev.weir.client.release.ReleaseTask;
import dev.weir.client.release.ReleaseWorker;
import dev.weir.event.Release;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;

/**
 * A worker that sends the messages that Weir's queues release, each at its time and with up to five attempts. A release
 * can be handled more than once: {@link ReleaseTask#firstRequestId} is the same for all attempts, so it can serve as an
 * idempotency key.
 */
public final class QueueWorker {

    private QueueWorker() {}

    /**
     * Starts a worker, which runs until it is closed.
     *
     * @param kafka properties of Kafka's clients, at least {@code bootstrap.servers} and {@code group.id}
     * @param send sends a message; if it throws, the message is tried again later
     * @return a running worker
     */
    public static ReleaseWorker start(Map<String, Object> kafka, Consumer<Release> send) {
        return ReleaseWorker.builder(kafka, task -> send.accept(task.release()))
                .threads(8)
                .attempts(5)
                .start();
    }

    /**
     * Works until the process is stopped.
     *
     * @param args the brokers, such as {@code localhost:9092}
     * @throws Exception if the worker cannot start
     */
    public static void main(String[] args) throws Exception {
        Map<String, Object> kafka = Map.of("bootstrap.servers", args[0], "group.id", "queue-worker");
        ReleaseWorker worker = start(kafka, release -> System.out.println("Sent " + release.requestId()));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            worker.close(); // the process ends when all hooks have ended, so they must wait for what is in progress
            System.out.println("Handled " + worker.stats().attempts().handled());
        }));
        new CountDownLatch(1).await();
    }
}
