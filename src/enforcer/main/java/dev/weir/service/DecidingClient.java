package dev.weir.service;

import dev.weir.client.CircuitSettings;
import dev.weir.client.ClientBuilder;
import dev.weir.client.ClientDecision;
import dev.weir.client.Fallback;
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
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The client with which a process decides the requests that it receives over the network: over the topics, or with
 * leases if the policies permit it. An enforcer that receives none starts no client, because a client reads all
 * decisions. A gateway starts it at once.
 */
public final class DecidingClient implements RequestDecider, AutoCloseable {

    /** How long requests get no decision after the client could not be started, before the next attempt. */
    static final Duration PAUSE = Duration.ofSeconds(2);

    /** How many requests can wait at the same time. */
    private static final int MAX_IN_FLIGHT = 10_000;

    /** How long a thread of the service can block if the brokers do not answer. */
    private static final int MAX_BLOCK_MS = 500;

    private static final Logger LOG = LoggerFactory.getLogger(DecidingClient.class);

    private final Supplier<WeirClient> starter;
    private final LongSupplier nanoTime;
    private final Consumer<WeirClient> whenStarted;
    private final boolean restarts; // by itself, not only for the next request
    private CompletableFuture<WeirClient> client; // null before the first request
    private long failedAtNanos; // meaningful if the client has failed
    private boolean closed;

    DecidingClient(WeirConfig config) {
        this(() -> start(config, Duration.ofMillis(MAX_BLOCK_MS), ClientBuilder::noCircuit), System::nanoTime);
    }

    /** @param nanoTime a monotonic clock */
    DecidingClient(Supplier<WeirClient> starter, LongSupplier nanoTime) {
        this(starter, nanoTime, started -> {}, false);
    }

    private DecidingClient(
            Supplier<WeirClient> starter, LongSupplier nanoTime, Consumer<WeirClient> whenStarted, boolean restarts) {
        this.starter = starter;
        this.nanoTime = nanoTime;
        this.whenStarted = whenStarted;
        this.restarts = restarts;
    }

    /**
     * Returns the client of a gateway. It starts at once, and again until the brokers respond. If most of its requests
     * get no decision, its circuit opens, and the fallback answers without a wait.
     *
     * @param maxBlock how long a thread can block if the brokers do not respond, at most the shortest timeout
     * @param whenStarted receives the client
     */
    public static DecidingClient ofGateway(WeirConfig config, Duration maxBlock, Consumer<WeirClient> whenStarted) {
        DecidingClient deciding = new DecidingClient(
                () -> start(config, maxBlock, builder -> builder.circuit(CircuitSettings.DEFAULT)),
                System::nanoTime,
                whenStarted,
                true);
        var unused = deciding.client();
        return deciding;
    }

    private static WeirClient start(WeirConfig config, Duration maxBlock, UnaryOperator<ClientBuilder> circuit) {
        Map<String, Object> kafka = KafkaSettings.weirClient(config);
        kafka.put("producer." + ProducerConfig.MAX_BLOCK_MS_CONFIG, maxBlock.toMillis());
        ClientBuilder builder = WeirClient.builder(kafka)
                .prefix(config.topics().prefix())
                .applicationId(config.applicationId())
                .rules(config.requests().rules())
                .leases(config.leases().terms())
                .leased(true)
                .timeout(MAX_TIMEOUT)
                .maxInFlight(MAX_IN_FLIGHT);
        return circuit.apply(builder).start();
    }

    /** Returns whether the client has started. */
    public synchronized boolean isStarted() {
        return client != null && isRunning(client);
    }

    /**
     * Decides a request.
     *
     * @param within how long to wait, at most {@link RequestDecider#MAX_TIMEOUT}. It includes the time in which the client starts
     * @return a future that completes or fails like that of {@link WeirClient#decide(Request, Duration, Fallback)}. If
     *     the client does not start in time, the fallback answers, or the future fails with an
     *     {@link UnreachableException}
     */
    @Override
    public CompletableFuture<ClientDecision> decide(Request request, Duration within, Fallback fallback) {
        CompletableFuture<WeirClient> started = client();
        if (isRunning(started)) {
            return started.join().decide(request, within, fallback);
        }
        long deadlineNanos = nanoTime.getAsLong() + within.toNanos();
        return started.copy()
                .orTimeout(within.toNanos(), TimeUnit.NANOSECONDS)
                .<Function<Duration, CompletableFuture<ClientDecision>>>handle((ready, failure) -> failure == null
                        ? left -> ready.decide(request, left, fallback)
                        : left -> notStarted(fallback, failure))
                .thenCompose(next ->
                        next.apply(Duration.ofNanos(Math.max(1_000_000, deadlineNanos - nanoTime.getAsLong()))));
    }

    private static CompletableFuture<ClientDecision> notStarted(Fallback fallback, Throwable failure) {
        return fallback == Fallback.FAIL
                ? CompletableFuture.failedFuture(new UnreachableException("the client has not started", failure))
                : CompletableFuture.completedFuture(new ClientDecision(
                        fallback == Fallback.FAIL_OPEN, Optional.empty(), Optional.of(NoDecisionReason.NOT_WRITTEN)));
    }

    private static boolean isRunning(CompletableFuture<WeirClient> started) {
        return started.isDone() && !started.isCompletedExceptionally();
    }

    /** Returns the client, which is started if none is running or starting. */
    private synchronized CompletableFuture<WeirClient> client() {
        boolean mayRetry = client != null
                && client.isCompletedExceptionally()
                && nanoTime.getAsLong() - failedAtNanos >= PAUSE.toNanos();
        if (!closed && (client == null || mayRetry)) {
            CompletableFuture<WeirClient> starting = new CompletableFuture<>();
            client = starting;
            Thread thread = new Thread(() -> start(starting), "service-client");
            thread.setDaemon(true);
            thread.start();
        }
        return client == null ? CompletableFuture.failedFuture(new IllegalStateException("closed")) : client;
    }

    private void start(CompletableFuture<WeirClient> starting) {
        try {
            WeirClient started = starter.get();
            starting.complete(started);
            whenStarted.accept(started);
            if (isClosed()) { // close() may have seen a client that had not started
                started.close();
            }
        } catch (RuntimeException e) {
            LOG.warn("Requests cannot be decided: {}", e.getMessage());
            synchronized (this) {
                failedAtNanos = nanoTime.getAsLong();
            }
            starting.completeExceptionally(e);
            if (restarts) {
                CompletableFuture.delayedExecutor(PAUSE.toNanos(), TimeUnit.NANOSECONDS)
                        .execute(this::client);
            }
        }
    }

    private synchronized boolean isClosed() {
        return closed;
    }

    @Override
    public void close() {
        CompletableFuture<WeirClient> started;
        synchronized (this) {
            closed = true;
            started = client;
        }
        if (started != null && isRunning(started)) {
            started.join().close();
        }
    }
}
