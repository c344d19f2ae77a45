package dev.weir.server.decide;

import dev.weir.client.CircuitSettings;
import dev.weir.client.ClientBuilder;
import dev.weir.client.ClientMetricsBinder;
import dev.weir.client.ClientStats;
import dev.weir.client.Fallback;
import dev.weir.client.WeirClient;
import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.UnreachableException;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;

/**
 * The client with which a process decides the requests that it receives over the network: over the topics, or with
 * leases if the policies permit it. It has connections and threads of its own, so it is started only where callers may
 * use it. It is started before its process is ready, since a request that waits for connections could time out, and be
 * charged.
 */
public final class DecidingClient implements RequestDecider, AutoCloseable {

    /** How many requests can wait at the same time. */
    public static final int MAX_IN_FLIGHT = 10_000;

    private final Supplier<WeirClient> starter;
    private volatile WeirClient client; // null until it is started; written under the lock
    private volatile boolean isRefused;
    private boolean closed;

    public DecidingClient(WeirConfig config) {
        this(() -> start(config, ClientBuilder::noCircuit)); // short timeouts of a caller must not affect others
    }

    DecidingClient(Supplier<WeirClient> starter) {
        this.starter = starter;
    }

    /**
     * Returns the client of a gateway, which starts at once. If most of its requests get no decision, its circuit opens,
     * and the fallback answers without a wait.
     *
     * @param fallbackOnOverload whether the fallback decides requests that are shed; otherwise they are denied
     */
    public static DecidingClient ofGateway(WeirConfig config, boolean fallbackOnOverload) {
        DecidingClient deciding = new DecidingClient(() -> start(
                config, builder -> builder.circuit(CircuitSettings.DEFAULT).fallbackOnOverload(fallbackOnOverload)));
        deciding.start();
        return deciding;
    }

    /** Starts the client, unless it is started or closed. It connects in the background; see {@link #awaitReady}. */
    public void start() {
        var unused = client();
    }

    /** Waits until the client {@linkplain #isReady is ready}. Returns false if it was not started, or is not in time. */
    public boolean awaitReady(Duration timeout) throws InterruptedException {
        WeirClient running = client;
        return running != null && running.awaitReady(timeout);
    }

    /**
     * Returns why the brokers refuse this user what the client needs; empty if they do not. Waiting would not help, and
     * further attempts would fill the logs, so the client is closed, in the background, until the next request starts it
     * again.
     */
    public Optional<String> closeIfRefused() {
        WeirClient refused;
        Optional<RuntimeException> why;
        synchronized (this) {
            refused = client;
            why = Optional.ofNullable(refused)
                    .flatMap(WeirClient::failure)
                    .filter(failure ->
                            failure instanceof AuthorizationException || failure instanceof AuthenticationException);
            if (why.isEmpty() || refused.isReady()) {
                return Optional.empty();
            }
            isRefused = true;
            client = null;
        }
        Thread closing = new Thread(refused::close, "refused-client-close"); // it can take seconds
        closing.setDaemon(true);
        closing.start();
        return why.map(UnreachableException::causeMessage);
    }

    /** Returns whether the client was {@linkplain #closeIfRefused closed}, and has not become ready since. */
    public boolean isRefused() {
        return isRefused && !isReady();
    }

    private static WeirClient start(WeirConfig config, UnaryOperator<ClientBuilder> circuit) {
        Map<String, Object> kafka = KafkaSettings.weirClient(config);
        kafka.put("producer." + ProducerConfig.MAX_BLOCK_MS_CONFIG, 0); // threads of the service must not block
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

    /** Returns whether the client has started and {@linkplain WeirClient#isReady is ready}. */
    public boolean isReady() {
        WeirClient running = client;
        boolean isReady = running != null && running.isReady();
        if (isReady && isRefused) {
            isRefused = false;
        }
        return isReady;
    }

    /** Returns whether the client {@linkplain WeirClient#hasStopped has stopped}, so that a restart is needed. */
    public boolean hasStopped() {
        WeirClient running = client;
        return running != null && running.hasStopped();
    }

    /** Returns the counts of the client; empty if it has not started. */
    public Optional<ClientStats> stats() {
        return Optional.ofNullable(client).map(WeirClient::stats);
    }

    /** Returns why the client is not ready or cannot read decisions; empty if it is not known, or if nothing is wrong. */
    public Optional<String> failure() {
        return Optional.ofNullable(client).flatMap(WeirClient::failure).map(UnreachableException::causeMessage);
    }

    /** Binds the counts of the client, if it has started, to a registry. */
    public void bindTo(MeterRegistry registry) {
        WeirClient running = client;
        if (running != null) {
            ClientMetricsBinder.of(running).bindTo(registry);
        }
    }

    /**
     * Decides a request. The first one starts the client if {@link #start} was not called.
     *
     * @param within how long to wait, at most {@link RequestDecider#MAX_TIMEOUT}. It includes the time until the client is ready
     * @return a future that completes or fails like that of {@link WeirClient#decide(Request, Duration, Fallback)}
     */
    @Override
    public CompletableFuture<ClientDecision> decide(Request request, Duration within, Fallback fallback) {
        WeirClient running = client;
        if (running != null && !isRefused) {
            return running.decide(request, within, fallback);
        }
        long beganNanos = System.nanoTime();
        Optional<WeirClient> started = client();
        if (started.isEmpty()) {
            return undecided(fallback);
        }
        CompletableFuture<ClientDecision> deciding =
                started.get().decide(request, RequestDecider.left(within, beganNanos), fallback);
        return isRefused() ? deciding.whenComplete((decision, failure) -> closeIfRefused()) : deciding;
    }

    @Override
    public CompletableFuture<ClientDecision> decideAtOnce(Request request, Fallback fallback) {
        WeirClient running = client;
        return running == null
                ? decide(request, RequestDecider.MIN_TIMEOUT, fallback)
                : running.decideAtOnce(request, fallback);
    }

    private static CompletableFuture<ClientDecision> undecided(Fallback fallback) {
        return fallback.decision(NoDecisionReason.CLOSED)
                .map(CompletableFuture::completedFuture)
                .orElseGet(
                        () -> CompletableFuture.failedFuture(new UnreachableException("the service is closed", null)));
    }

    /** Returns the client, which is started if none is running; empty if this was closed before it was started. */
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
