package dev.weir.service;

import dev.weir.client.ClientDecision;
import dev.weir.client.Fallback;
import dev.weir.client.NoDecisionException;
import dev.weir.client.NoDecisionReason;
import dev.weir.client.WeirClient;
import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.topics.KafkaSettings;
import dev.weir.topics.UnreachableException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
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

    /** How often it is logged that the client is not ready. */
    private static final long LOG_NANOS = TimeUnit.MINUTES.toNanos(1);

    private static final Logger LOG = LoggerFactory.getLogger(DecidingClient.class);

    private final Supplier<WeirClient> starter;
    private final AtomicLong loggedNanos = new AtomicLong(System.nanoTime() - LOG_NANOS);
    private WeirClient client; // null before the first request
    private boolean closed;

    DecidingClient(WeirConfig config) {
        this(() -> start(config));
    }

    DecidingClient(Supplier<WeirClient> starter) {
        this.starter = starter;
    }

    private static WeirClient start(WeirConfig config) {
        Map<String, Object> kafka = KafkaSettings.weirClient(config);
        kafka.put("producer." + ProducerConfig.MAX_BLOCK_MS_CONFIG, 0); // threads of the service must not block
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
     * Decides a request. The first one starts the client.
     *
     * @param within how long to wait, at most {@link #MAX_TIMEOUT}. It includes the time until the client is ready
     * @return a future that completes or fails like that of {@link WeirClient#decide(Request, Duration, Fallback)}
     */
    CompletableFuture<ClientDecision> decide(Request request, Duration within, Fallback fallback) {
        Optional<WeirClient> running = client();
        if (running.isEmpty()) {
            return undecided(fallback);
        }
        WeirClient weir = running.get();
        return weir.decide(request, within, fallback).whenComplete((decision, failure) -> {
            if (isNotReady(decision, failure)) {
                logNotReady(weir);
            }
        });
    }

    private static boolean isNotReady(ClientDecision decision, Throwable failure) {
        Optional<NoDecisionReason> reason = failure == null
                ? decision.noDecisionReason()
                : failure instanceof NoDecisionException none ? Optional.of(none.reason()) : Optional.empty();
        return reason.filter(NoDecisionReason.NOT_READY::equals).isPresent();
    }

    private static CompletableFuture<ClientDecision> undecided(Fallback fallback) {
        return fallback == Fallback.FAIL
                ? CompletableFuture.failedFuture(new UnreachableException("the service is closed", null))
                : CompletableFuture.completedFuture(new ClientDecision(
                        fallback == Fallback.FAIL_OPEN, Optional.empty(), Optional.of(NoDecisionReason.CLOSED)));
    }

    private void logNotReady(WeirClient weir) {
        long nowNanos = System.nanoTime();
        long lastNanos = loggedNanos.get();
        if (nowNanos - lastNanos >= LOG_NANOS && loggedNanos.compareAndSet(lastNanos, nowNanos)) {
            LOG.warn(
                    "Requests over HTTP cannot be decided: {}",
                    weir.failure().map(UnreachableException::causeMessage).orElse("no broker has responded"));
        }
    }

    /** Returns the client, which is started if none is running; empty if this was closed before the first request. */
    private synchronized Optional<WeirClient> client() {
        if (client == null && !closed) {
            client = starter.get();
        }
        return Optional.ofNullable(client);
    }

    @Override
    public void close() {
        WeirClient started;
        synchronized (this) {
            closed = true;
            started = client;
        }
        if (started != null) {
            started.close();
        }
    }
}
