package dev.weir.client.pipeline;

import dev.weir.client.clock.AnswerClock;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.kafka.RequestCorrelation;
import dev.weir.client.lease.LeasedDecisions;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.wire.SchemaRegistry;
import dev.weir.wire.SchemaRegistryProvider;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.header.Header;

/**
 * The path of the requests of a client. A request ends at one of the stages, and {@link RequestCompleter} completes its
 * future:
 *
 * <pre>
 *   ConnectionStage   waits until the client is connected
 *     LeaseStage      of a leased client: decides by leases, or waits for one
 *       TopicStage    sends to an enforcer, and waits for its decision
 * </pre>
 *
 * <p>Requests that wait are among the {@link PendingRequests}, by {@link RequestAdmission}. Thread-safe.
 */
public final class RequestPipeline implements AutoCloseable {

    /** How often the wall clock is checked for steps. */
    private static final Duration CLOCK_CHECK = Duration.ofMillis(200);

    private final RequestMetrics metrics = new RequestMetrics();
    private final AnswerClock decisions = new AnswerClock();
    private final PendingRequests pending;
    private final RequestCompleter completer;
    private final RequestAdmission admission;
    private final ConnectionStage stages;
    private final ClientConnector connector;
    private final CountDownLatch readyOrClosed = new CountDownLatch(1);

    /**
     * Creates a pipeline, which is then {@linkplain #start started}.
     *
     * @param settings the settings
     * @param breaker the circuit of requests over the topics
     */
    public RequestPipeline(PipelineSettings settings, CircuitBreaker breaker) {
        RequestCorrelation correlation = new RequestCorrelation(UUID.randomUUID());
        Optional<SchemaRegistry> registry =
                SchemaRegistryProvider.of(settings.kafka().consumer());
        pending = new PendingRequests(settings.maxInFlight(), settings.maxWait());
        completer = new RequestCompleter(settings, breaker, pending, metrics, decisions, this::knownFailure);
        admission = new RequestAdmission(breaker, pending, completer);
        stages = new ConnectionStage(admission, pending, completer);
        connector = new ClientConnector(
                () -> new ClientConnection(settings, registry, correlation, completer), this::useConnection);
        pending.repeat(this::checkClock, CLOCK_CHECK);
        pending.repeat(pending::mark, PendingRequests.MARK);
    }

    /**
     * Starts to connect. Does not wait for brokers.
     *
     * @throws RuntimeException if a setting is invalid
     */
    public void start() {
        connector.start();
    }

    private boolean useConnection(ClientConnection ready) {
        admission.connected();
        boolean isUsed = stages.connect(ready, stages(ready));
        if (isUsed) {
            readyOrClosed.countDown();
        }
        return isUsed;
    }

    /** Returns the stages after the first one, for a connection that is ready. */
    private RequestStage stages(ClientConnection ready) {
        RequestStage overTopic = new TopicStage(
                ready,
                TopicStage.windows(ready.requestPartitions(), pending.max()),
                admission,
                pending,
                completer,
                metrics,
                decisions);
        return ready.leases()
                .<RequestStage>map(leases -> new LeaseStage(leases, admission, pending, completer, overTopic))
                .orElse(overTopic);
    }

    private void checkClock() {
        ClientConnection current = stages.connection();
        if (current != null) {
            current.checkClock();
        }
    }

    /**
     * Gets a decision on a valid request.
     *
     * @param request the request
     * @param headers the headers of its record
     * @param within how long it may wait, 1 ms or more
     * @return a future that completes with Weir's decision, or fails with a {@link
     *     dev.weir.client.decision.NoDecisionException} or, if the request is too large, an {@link
     *     IllegalArgumentException}
     */
    public CompletableFuture<Decision> decide(Request request, List<Header> headers, Duration within) {
        PendingRequest call = new PendingRequest(request, headers, within);
        stages.accept(call);
        return call.future;
    }

    /**
     * Decides a valid request on the calling thread, by leases.
     *
     * @param request the request
     * @return the decision; empty if it would have to wait, to be sent, or is none that leases decide
     */
    public Optional<Decision> tryDecide(Request request) {
        Optional<Decision> decision = isReady() ? leases().flatMap(held -> held.tryDecide(request)) : Optional.empty();
        decision.ifPresent(decided -> metrics.recordDecidedHere());
        return decision;
    }

    /**
     * Ends a request that is not sent.
     *
     * @param reason why it is not
     * @return a future that has failed with a {@link dev.weir.client.decision.NoDecisionException}
     */
    public CompletableFuture<Decision> undecided(NoDecisionReason reason) {
        return completer.undecided(reason);
    }

    /**
     * Returns whether the client is connected and reads decisions.
     *
     * @return whether requests are sent at once
     */
    public boolean isReady() {
        ClientConnection current = stages.connection();
        return current != null && !current.hasStopped() && !pending.isClosed();
    }

    /**
     * Waits until this is {@linkplain #isReady ready} or closed.
     *
     * @param timeout the longest wait
     * @return whether it is ready
     * @throws InterruptedException if the thread is interrupted
     */
    public boolean awaitReady(Duration timeout) throws InterruptedException {
        var unused = readyOrClosed.await(TimeUnit.NANOSECONDS.convert(timeout), TimeUnit.NANOSECONDS);
        return isReady();
    }

    /**
     * Returns whether the client has reached the brokers since its start.
     *
     * @return whether it has
     */
    public boolean hasConnected() {
        return stages.connection() != null;
    }

    /**
     * Returns whether an {@link Error} has ended a thread.
     *
     * @return whether a thread has ended; {@link #failure} is then the reason
     */
    public boolean hasStopped() {
        ClientConnection current = stages.connection();
        return current == null ? connector.hasStopped() : current.hasStopped();
    }

    /**
     * Returns what keeps the client from being ready or from reading decisions.
     *
     * @return the last error; empty if the operation has succeeded since
     */
    public Optional<RuntimeException> failure() {
        ClientConnection current = stages.connection();
        return current == null ? connector.failure() : current.failure();
    }

    /**
     * Returns the message of the {@linkplain #failure failure} that helps most.
     *
     * @return that of the innermost cause; empty if there is no failure
     */
    public Optional<String> failureMessage() {
        return failure().map(ClientConnector::message);
    }

    /** Returns the last failure of what a request depends on that ends for a reason. */
    private Optional<RuntimeException> knownFailure(NoDecisionReason reason) {
        ClientConnection current = stages.connection();
        return switch (reason) {
            case NOT_READY -> failure();
            case TIMED_OUT -> current == null ? Optional.empty() : current.readerFailure();
            case NO_LEASE, NO_LEDGER -> leases().flatMap(LeasedDecisions::failure);
            default -> Optional.empty();
        };
    }

    /** Returns the decisions by leases; empty if the client is not leased or has never been ready. */
    private Optional<LeasedDecisions> leases() {
        return Optional.ofNullable(stages.connection()).flatMap(ClientConnection::leases);
    }

    /**
     * Returns the counts of requests.
     *
     * @return the counts since the start
     */
    public RequestMetrics metrics() {
        return metrics;
    }

    /**
     * Returns how many requests wait.
     *
     * @return the number of requests that have not ended
     */
    public int inFlight() {
        return pending.size();
    }

    /**
     * Returns how many requests wait to be sent.
     *
     * @return the number of requests among those {@linkplain #inFlight in flight}
     */
    public int queued() {
        return stages.queued();
    }

    /**
     * Returns of how many keys the client holds quota, or did recently.
     *
     * @return the number of keys
     */
    public int keysHeld() {
        return leases().map(LeasedDecisions::keys).orElse(0);
    }

    /**
     * Returns whether a ledger does not answer, so that requests do not wait for leases.
     *
     * @return whether the circuit of leases is open
     */
    public boolean isLeaseCircuitOpen() {
        return leases().filter(LeasedDecisions::isCircuitOpen).isPresent();
    }

    /**
     * Returns the partition of the topic of replies that the client reads. The client must be ready.
     *
     * @return the number of the partition
     */
    public int replyPartition() {
        return stages.connection().replyPartition();
    }

    /**
     * Runs a task at intervals in the thread of time-outs, which it must not block, until this is closed.
     *
     * @param task what runs
     * @param every the interval
     */
    public void repeat(Runnable task, Duration every) {
        pending.repeat(task, every);
    }

    /**
     * Runs a task once, after a time, in the thread of time-outs, which it must not block.
     *
     * @param task what runs
     * @param afterNanos the time
     * @return the task; empty if this was closed, so that it will not run
     */
    public Optional<Future<?>> schedule(Runnable task, long afterNanos) {
        return pending.schedule(task, afterNanos);
    }

    /**
     * Runs a task on the executor on which futures are completed.
     *
     * @param task what runs
     */
    public void execute(Runnable task) {
        completer.execute(task);
    }

    /**
     * Returns whether requests end at once, since this was closed or stopped.
     *
     * @return whether they do
     */
    public boolean isClosed() {
        return pending.isClosed();
    }

    /** Ends all requests, and those that follow, with {@link NoDecisionReason#CLOSED}. Stops the time-outs. */
    public void endAll() {
        pending.close();
        completer.closeAll();
        readyOrClosed.countDown();
    }

    /**
     * Ends all requests, returns leased quota, and writes what was passed to the producer, for a few seconds at most. If
     * the thread is interrupted, it closes first and keeps the interrupt flag.
     */
    @Override
    public void close() {
        endAll();
        boolean isInterrupted = Thread.interrupted(); // an interrupted thread cannot close Kafka's clients
        connector.close();
        isInterrupted |= Thread.interrupted();
        ClientConnection current = stages.connection();
        if (current != null) {
            current.close();
        }
        completer.close();
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
