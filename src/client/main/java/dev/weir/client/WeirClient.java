package dev.weir.client;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionException;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.pipeline.RequestPipeline;
import dev.weir.event.Acknowledgement;
import dev.weir.event.Decision;
import dev.weir.event.Release;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.header.Header;
import org.slf4j.LoggerFactory;

/**
 * A client that sends requests for quota to Weir over Kafka and returns its decisions.
 *
 * <pre>{@code
 * try (WeirClient weir = WeirClient.builder(Map.of("bootstrap.servers", "kafka-1:9092"))
 *         .timeout(Duration.ofMillis(500))
 *         .fallback(Fallback.FAIL_OPEN)
 *         .start()) {
 *     Request request = RequestBuilder.of("alice").attribute("endpoint", "/articles/7").build();
 *     ClientDecision answer = weir.decide(request).join();
 *     if (!answer.allowed()) {
 *         System.out.println(answer.httpStatus() + " " + answer.httpHeaders());
 *     }
 * }
 * }</pre>
 *
 * <p>{@link #decide} returns Weir's decision or, if none arrives in time, that of the {@link Fallback}. It charges the
 * request; {@link #peek} does not. A {@code QUEUED} decision is a decision like any other. The client does not report
 * how the wait ends: the release or the later decision is a record on a topic.
 *
 * <p><b>Time-outs.</b> A time-out does not withdraw the request. Weir may still decide and charge it later. To send a
 * request again, use the same {@code requestId}: if its policy has {@code idempotency}, it is charged once.
 *
 * <p><b>Leases.</b> A client that is {@linkplain ClientBuilder#leased leased} decides some requests in this process,
 * with quota that it has leased. These decisions are not written to a topic, and their source is
 * {@link Request.Source#NONE}.
 *
 * <p><b>Brokers that are away.</b> A client starts without brokers, and connects to them in the background. Until it
 * {@linkplain #isReady is ready}, requests wait for the connection, at most for their time-outs; then they end with
 * {@link NoDecisionReason#NOT_READY}. If brokers go away later, requests end with other reasons, the circuit opens, and
 * the client recovers when they return.
 *
 * <p><b>Too many requests.</b> Requests that arrive faster than they are decided wait in the client. Those that would
 * not be decided in time are shed ({@link NoDecisionReason#isOverload}), and refused even by
 * {@link Fallback#FAIL_OPEN}, unless {@link ClientBuilder#fallbackOnOverload} is set.
 *
 * <p><b>Log.</b> The client logs to the logger of this class: when it connects, and once a minute while requests end
 * before that; when a circuit opens, with the reasons, and when it closes; and once a minute while requests are shed.
 *
 * <p><b>Threads.</b> Instances are thread-safe. Use one per process. {@code decide} and {@code peek} return without
 * waiting for the decision or for brokers. The calling thread can block only for {@link ClientBuilder#maxWait} if too
 * many requests are waiting, or for {@code producer.max.block.ms} if you set it (the client's default is 0). Futures
 * are completed on the {@link ClientBuilder#executor}.
 */
public final class WeirClient implements AutoCloseable {

    private final ClientBuilder options;
    private final CircuitBreaker breaker;
    private final ClientMetrics metrics = new ClientMetrics();
    private final RequestPipeline pipeline;
    private final ClientReservations reservations;

    /**
     * Returns a builder for a client, with default settings.
     *
     * @param kafka the properties of Kafka's clients, at least {@code bootstrap.servers}. A property with the prefix
     *     {@code producer.} or {@code consumer.} applies only to that Kafka client and overrides the property without
     *     the prefix. If requests and decisions are written with a schema registry, the properties must include
     *     {@code apicurio.registry.url} and whatever else the registry needs. The map is copied
     * @return a builder
     */
    public static ClientBuilder builder(Map<?, ?> kafka) {
        return new ClientBuilder(kafka);
    }

    WeirClient(ClientBuilder options) {
        this.options = options;
        breaker = options.breaker();
        pipeline = new RequestPipeline(options.pipelineSettings(), breaker);
        reservations = new ClientReservations(
                options,
                (request, within) -> decide(request, List.of(), within),
                pipeline::schedule,
                pipeline::execute,
                System::nanoTime,
                metrics);
    }

    /**
     * Starts to connect.
     *
     * @throws RuntimeException if a setting is invalid
     */
    WeirClient connect() {
        OutageLog log = new OutageLog(LoggerFactory.getLogger(WeirClient.class), System.nanoTime());
        try {
            pipeline.start();
            pipeline.repeat(() -> log.update(snapshot(), System.nanoTime()), OutageLog.INTERVAL);
            return this;
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    private OutageLog.Snapshot snapshot() {
        return new OutageLog.Snapshot(
                pipeline.hasConnected(),
                CircuitSettings.state(breaker),
                leaseCircuit(),
                pipeline.metrics().undecided(),
                pipeline.failureMessage());
    }

    /**
     * Returns whether the client has found its topics and reads decisions. It stays ready if the brokers go away later.
     *
     * @return whether requests are sent at once; {@code false} if the client is closed or {@linkplain #hasStopped has
     *     stopped}
     */
    public boolean isReady() {
        return pipeline.isReady();
    }

    /**
     * Returns whether an {@link Error}, such as an {@link OutOfMemoryError}, has ended one of the client's threads. The
     * client is then never ready again, and a new one is needed.
     *
     * @return whether a thread has ended; {@link #failure} is then the reason
     */
    public boolean hasStopped() {
        return pipeline.hasStopped();
    }

    /**
     * Waits until the client {@linkplain #isReady is ready}.
     *
     * @param timeout the longest wait
     * @return whether it is ready; {@code false} if the timeout has passed or the client was closed.
     *     {@link #failure} can have the reason
     * @throws InterruptedException if the thread is interrupted
     */
    public boolean awaitReady(Duration timeout) throws InterruptedException {
        return pipeline.awaitReady(timeout);
    }

    /**
     * Returns the error that keeps the client from being ready or from reading decisions. The client tries again until
     * it succeeds or is closed.
     *
     * @return the last error; empty if the operation has succeeded since, or if the client has just been started. If
     *     no broker responds, Kafka's clients report an error after a minute; until then, the error is that no broker
     *     has answered for some seconds
     */
    public Optional<RuntimeException> failure() {
        return pipeline.failure();
    }

    /**
     * Returns a decision on a request, and charges it: Weir's decision, or that of the {@link Fallback} if Weir does not
     * decide within the client's time-out.
     *
     * @param request the request, usually made with a {@link RequestBuilder}. Its source is ignored
     * @return a future that completes with a decision. It fails with an {@link IllegalArgumentException} if the request
     *     is invalid (the message names the field) or too large for the topic, whatever the fallback is; and with a
     *     {@link NoDecisionException} if there is no decision and the fallback is {@link Fallback#FAIL}
     */
    public CompletableFuture<ClientDecision> decide(Request request) {
        return decide(request, options.timeout());
    }

    /**
     * Returns a decision like {@link #decide(Request)}, within a shorter time. A time-out below 100 ms does not
     * count for the {@link CircuitSettings circuit}.
     *
     * @param request the request
     * @param within how long to wait for Weir's decision, at least 1 ms. A value above the client's
     *     {@linkplain ClientBuilder#timeout time-out} has no effect
     * @return a future that completes or fails like that of {@link #decide(Request)}
     * @throws IllegalArgumentException if {@code within} is shorter than 1 ms
     */
    public CompletableFuture<ClientDecision> decide(Request request, Duration within) {
        return decide(request, within, options.fallback());
    }

    /**
     * Returns a decision like {@link #decide(Request, Duration)}, with a fallback for this request.
     *
     * @param request the request
     * @param within how long to wait for Weir's decision, at least 1 ms. A value above the client's
     *     {@linkplain ClientBuilder#timeout time-out} has no effect
     * @param fallback what to return if there is no decision in time
     * @return a future that completes or fails like that of {@link #decide(Request)}
     * @throws IllegalArgumentException if {@code within} is shorter than 1 ms
     */
    public CompletableFuture<ClientDecision> decide(Request request, Duration within, Fallback fallback) {
        CompletableFuture<Decision> deciding = decide(request, List.of(), within);
        if (deciding.isDone() && !deciding.isCompletedExceptionally()) {
            return CompletableFuture.completedFuture(ClientDecision.of(deciding.join()));
        }
        return withFallback(deciding, fallback);
    }

    private CompletableFuture<ClientDecision> withFallback(CompletableFuture<Decision> deciding, Fallback fallback) {
        CompletableFuture<ClientDecision> answer = new CompletableFuture<>();
        var unused = deciding.whenComplete((decision, failure) -> {
            Optional<ClientDecision> decided = failure == null
                    ? Optional.of(ClientDecision.of(decision))
                    : failure instanceof NoDecisionException none
                            ? fallback.decision(none.reason(), options.hasFallbackOnOverload())
                            : Optional.empty();
            if (decided.isPresent()) {
                metrics.decided(decided.get(), fallback);
                answer.complete(decided.get());
            } else {
                answer.completeExceptionally(failure);
            }
        });
        return answer;
    }

    /**
     * Returns a decision on a request whose time was over before this client was asked, because the caller has too many
     * requests. Leased quota can decide it. Otherwise the request ends with {@link NoDecisionReason#OVERLOADED} or,
     * during an outage, another reason. Nothing is sent.
     *
     * @param request the request
     * @param fallback what to return if there is no decision
     * @return a future that completes or fails like that of {@link #decide(Request)}
     */
    public CompletableFuture<ClientDecision> decideAtOnce(Request request, Fallback fallback) {
        Optional<Decision> decision;
        try {
            decision = tryDecide(request);
        } catch (IllegalArgumentException e) {
            pipeline.metrics().recordRejected();
            return CompletableFuture.failedFuture(e);
        }
        return decision.map(decided -> CompletableFuture.completedFuture(ClientDecision.of(decided)))
                .orElseGet(() -> withFallback(pipeline.undecided(whyNotAtOnce()), fallback));
    }

    private NoDecisionReason whyNotAtOnce() {
        if (!isReady()) {
            return pipeline.isClosed() ? NoDecisionReason.CLOSED : NoDecisionReason.NOT_READY;
        }
        return CircuitSettings.state(breaker) == CircuitSettings.State.OPEN
                ? NoDecisionReason.CIRCUIT_OPEN
                : NoDecisionReason.OVERLOADED;
    }

    /**
     * Returns what is left for a request, and charges nothing: the decision on the request with the kind
     * {@link RequestKind#PEEK}. It is allowed unless a limit is 0; {@link Decision#remaining} is what is left.
     *
     * @param request the request. Its kind and source are ignored
     * @return a future that completes or fails like that of {@link #decide(Request)}
     */
    public CompletableFuture<ClientDecision> peek(Request request) {
        return decide(request.withKind(RequestKind.PEEK));
    }

    /**
     * Decides a request on the calling thread, with quota that this client has leased. It sends nothing and does not
     * wait for quota.
     *
     * @param request the request
     * @return the decision. Empty if the client is not {@linkplain ClientBuilder#leased leased}, is not
     *     {@linkplain #isReady ready}, if the request cannot be decided by leases, or if more quota is needed. In the
     *     last case a lease is requested, so that a later request can succeed. To get a decision in any case, call
     *     {@link #decide} next
     * @throws IllegalArgumentException if the request is invalid; the message names the field
     */
    public Optional<Decision> tryDecide(Request request) {
        Optional<String> fault = RequestFaults.of(request, options.rules());
        if (fault.isPresent()) {
            throw new IllegalArgumentException(fault.get());
        }
        return pipeline.tryDecide(request);
    }

    /**
     * Returns a decision like {@link #decide(Request)}, on a request whose record has headers.
     *
     * @param request the request
     * @param headers the headers, such as that of a trace. Weir copies them to its decisions and its release
     * @return a future that completes or fails like that of {@link #decide(Request)}
     */
    public CompletableFuture<ClientDecision> decide(Request request, List<Header> headers) {
        return withFallback(decide(request, headers, options.timeout()), options.fallback());
    }

    /**
     * Acknowledges a release of a queue with {@code max-in-flight}: its attempt ends and frees its slots. A
     * {@link dev.weir.client.release.ReleaseWorker} does this by itself. To set when the next attempt begins, pass a
     * request of {@link RequestBuilder#acknowledging} to {@link #decide}.
     *
     * @param release a release with an attempt
     * @param result whether the request was processed, is to be tried again, or has failed for good
     * @param error what went wrong, up to {@value Acknowledgement#MAX_ERROR_LENGTH} Unicode code points; null if unknown
     * @return a future that completes with Weir's decision: {@link dev.weir.event.Reason#COMPLETED}, or {@link
     *     dev.weir.event.Reason#STALE_ATTEMPT} if the attempt had ended before, by its timeout or an earlier COMPLETE.
     *     Whatever the client's fallback is, it fails with a {@link NoDecisionException} if there is none in time. Send it
     *     again then
     * @throws IllegalArgumentException if the release has no attempt
     */
    public CompletableFuture<ClientDecision> complete(Release release, Acknowledgement.Result result, String error) {
        return acknowledge(RequestBuilder.acknowledging(release)
                .kind(RequestKind.COMPLETE)
                .result(result)
                .error(error));
    }

    /**
     * Acknowledges a release whose request was processed, like {@link #complete(Release, Acknowledgement.Result, String)}.
     *
     * @param release a release with an attempt
     * @return a future that completes or fails like that of {@link #complete(Release, Acknowledgement.Result, String)}
     * @throws IllegalArgumentException if the release has no attempt
     */
    public CompletableFuture<ClientDecision> complete(Release release) {
        return complete(release, Acknowledgement.Result.DONE, null);
    }

    /**
     * Claims the attempt of a release and prolongs it: it ends an {@code ack-timeout} from now on, within the queue's
     * {@code max-duration}. Only an attempt that was claimed counts as failed if it is not completed in time.
     *
     * @param release a release with an attempt
     * @return a future that completes with Weir's decision: {@link dev.weir.event.Reason#EXTENDED}, or {@link
     *     dev.weir.event.Reason#STALE_ATTEMPT} if the attempt has ended. Whatever the client's fallback is, it fails with
     *     a {@link NoDecisionException} if there is none in time
     * @throws IllegalArgumentException if the release has no attempt
     */
    public CompletableFuture<ClientDecision> extend(Release release) {
        return acknowledge(RequestBuilder.acknowledging(release).kind(RequestKind.EXTEND));
    }

    private CompletableFuture<ClientDecision> acknowledge(RequestBuilder acknowledgement) {
        return decide(acknowledgement.build(), options.timeout(), Fallback.FAIL);
    }

    /**
     * Returns a decision like {@link #decide(Request)}, and reserves what the request needs until its work is done. The
     * request's cost is an estimate, to be {@linkplain Reservation#settle settled} by what the work really cost.
     *
     * <p>The request goes over the topic, also if the client is leased. If it is denied or queued, the reservation holds
     * nothing. If there is no decision in time and the fallback does not allow the request, the client sends a CANCEL
     * after a request that Weir may yet decide.
     *
     * @param request the request, of the kind {@link RequestKind#CONSUME}. Its {@code reserveMs} is ignored
     * @param ttl how long after its start, or its last renewal, Weir ends the reservation if this client does not: 1 s to
     *     30 days. At most the shortest {@code ttl} of the concurrency limits that apply, as these end it sooner
     * @return a future that completes or fails like that of {@link #decide(Request)}. It also fails with an
     *     {@link IllegalArgumentException} if the kind or {@code ttl} is wrong, and with an {@link IllegalStateException}
     *     if 100,000 reservations of this client are open. If the caller cancels it, the reservation is cancelled
     */
    public CompletableFuture<Reservation> reserve(Request request, Duration ttl) {
        return reserve(request, ttl, options.fallback());
    }

    /**
     * Returns a reservation like {@link #reserve(Request, Duration)}, with a fallback for this request.
     *
     * @param request the request, of the kind {@link RequestKind#CONSUME}. Its {@code reserveMs} is ignored
     * @param ttl how long after its start, or its last renewal, Weir ends the reservation if this client does not: 1 s to
     *     30 days
     * @param fallback what to return if there is no decision in time
     * @return a future that completes or fails like that of {@link #reserve(Request, Duration)}
     */
    public CompletableFuture<Reservation> reserve(Request request, Duration ttl, Fallback fallback) {
        return reservations.reserve(request, ttl, fallback);
    }

    private CompletableFuture<Decision> decide(Request request, List<Header> headers, Duration within) {
        if (within.compareTo(ClientBuilder.MIN_TIMEOUT) < 0) {
            throw new IllegalArgumentException("within must be at least 1 ms, is " + within);
        }
        Optional<String> fault = RequestFaults.of(request, options.rules());
        if (fault.isPresent()) {
            pipeline.metrics().recordRejected();
            return CompletableFuture.failedFuture(new IllegalArgumentException(fault.get()));
        }
        Duration shortest = within.compareTo(options.timeout()) < 0 ? within : options.timeout();
        return pipeline.decide(request, headers, shortest);
    }

    /** Returns the partition of the topic of replies that the client reads. The client must be ready. */
    int replyPartition() {
        return pipeline.replyPartition();
    }

    /**
     * Returns the counts since the client was started. The counters are read one after the other, so concurrent
     * requests may be included in some and not in others.
     *
     * @return the counts
     */
    public ClientStats stats() {
        ClientStats.Now now = new ClientStats.Now(
                pipeline.inFlight(),
                pipeline.queued(),
                pipeline.keysHeld(),
                CircuitSettings.state(breaker),
                leaseCircuit());
        return metrics.stats(pipeline.metrics(), now, reservations.size());
    }

    private CircuitSettings.State leaseCircuit() {
        return pipeline.isLeaseCircuitOpen() ? CircuitSettings.State.OPEN : CircuitSettings.State.CLOSED;
    }

    /**
     * Closes the client. Waiting requests end with {@link NoDecisionReason#CLOSED}; requests that were sent may still
     * be decided and charged. Open reservations are {@linkplain Reservation#onLost lost}, and Weir ends them by their time.
     * Leased quota is returned to the ledgers. Blocks until buffered records are written, for a
     * few seconds at most per Kafka client. If the thread is interrupted, the client is closed first and the interrupt
     * flag is kept.
     */
    @Override
    public void close() {
        pipeline.endAll();
        reservations.close();
        pipeline.close();
    }
}
