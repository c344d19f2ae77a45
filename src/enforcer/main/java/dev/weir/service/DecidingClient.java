package dev.weir.service;

import dev.weir.client.ClientDecision;
import dev.weir.client.Fallback;
import dev.weir.client.WeirClient;
import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.topics.KafkaSettings;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The client with which an instance decides the requests that it receives over HTTP: over the topics, or with leases if
 * the policies permit it. An instance that receives none starts no client, because a client reads all decisions.
 */
final class DecidingClient implements AutoCloseable {

    /** The longest time that a request can wait for its decision. */
    static final Duration MAX_TIMEOUT = Duration.ofSeconds(10);

    /** How many requests can wait at the same time. */
    private static final int MAX_IN_FLIGHT = 10_000;

    /** How long a thread of the service can block if the brokers do not answer. */
    private static final int MAX_BLOCK_MS = 500;

    private static final Logger LOG = LoggerFactory.getLogger(DecidingClient.class);

    private final Supplier<WeirClient> starter;
    private CompletableFuture<WeirClient> client; // null before the first request, and after a failed start
    private boolean closed;

    DecidingClient(WeirConfig config) {
        this(() -> start(config));
    }

    DecidingClient(Supplier<WeirClient> starter) {
        this.starter = starter;
    }

    private static WeirClient start(WeirConfig config) {
        Map<String, Object> kafka = KafkaSettings.weirClient(config);
        kafka.put("producer." + ProducerConfig.MAX_BLOCK_MS_CONFIG, MAX_BLOCK_MS);
        return WeirClient.builder(kafka)
                .prefix(config.topics().prefix())
                .applicationId(config.applicationId())
                .rules(config.requests().rules())
                .leases(config.leases().terms())
                .leased(true)
                .timeout(MAX_TIMEOUT)
                .maxInFlight(MAX_IN_FLIGHT)
                .noCircuit() // a caller with a short timeout must not affect others
                .start();
    }

    /**
     * Decides a request.
     *
     * @param within how long to wait, at most {@link #MAX_TIMEOUT}. It includes the time in which the client starts
     * @return a future that completes or fails like that of {@link WeirClient#decide(Request)}; it fails with a
     *     {@link java.util.concurrent.TimeoutException} if the client does not start in time
     */
    CompletableFuture<ClientDecision> decide(Request request, Duration within, Fallback fallback) {
        CompletableFuture<WeirClient> started = client();
        if (started.isDone() && !started.isCompletedExceptionally()) {
            return started.join().decide(request, within, fallback);
        }
        long deadlineNanos = System.nanoTime() + within.toNanos();
        return started.copy()
                .orTimeout(within.toNanos(), TimeUnit.NANOSECONDS)
                .thenCompose(ready -> ready.decide(
                        request, Duration.ofNanos(Math.max(1_000_000, deadlineNanos - System.nanoTime())), fallback));
    }

    private synchronized CompletableFuture<WeirClient> client() {
        if (client == null) {
            client = new CompletableFuture<>();
            CompletableFuture<WeirClient> starting = client;
            Thread thread = new Thread(() -> start(starting), "service-client");
            thread.setDaemon(true);
            thread.start();
        }
        return client;
    }

    private void start(CompletableFuture<WeirClient> starting) {
        try {
            WeirClient started = starter.get();
            synchronized (this) {
                if (!closed) {
                    starting.complete(started);
                    return;
                }
            }
            started.close();
        } catch (RuntimeException e) {
            LOG.warn("Requests over HTTP cannot be decided: {}", e.getMessage());
            synchronized (this) {
                client = null; // the next request tries again
            }
            starting.completeExceptionally(e);
        }
    }

    @Override
    public void close() {
        CompletableFuture<WeirClient> started;
        synchronized (this) {
            closed = true;
            started = client;
        }
        if (started != null && started.isDone() && !started.isCompletedExceptionally()) {
            started.join().close();
        }
    }
}
