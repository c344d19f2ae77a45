package dev.weir.client;

import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.RequestCodec;
import dev.weir.wire.SchemaRegistry;
import dev.weir.wire.SchemaRegistryProvider;
import dev.weir.wire.UnreadableException;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

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
 * <p><b>Threads.</b> Instances are thread-safe. Use one per process: each client reads all decisions and decodes its
 * own. {@code decide} and {@code peek} return without waiting for the decision. The calling thread can block only for
 * {@link ClientBuilder#maxWait} if too many requests are waiting, and for the client's time-out if the producer's
 * buffer is full or the topic's metadata must be fetched. Futures are completed on the {@link ClientBuilder#executor}.
 */
// How a decision is matched to its request
//
// Decisions keep the headers of their request. The client therefore adds a header to each request: 16 bytes that
// identify this client and 8 bytes that count its requests. With it the client skips decisions of other clients without
// decoding them, and tells apart two requests with the same id, and a CONSUME and a SETTLE with the same id, which a
// decision alone does not distinguish. A decision that ends a wait in a queue (EXPIRED, evicted, cancelled) carries the
// header of the request that waited. It is ignored, because that request was answered when it began to wait.
public final class WeirClient implements AutoCloseable {

    /**
     * The header that identifies the client and the request. Its bytes are described
     * in topology-docs/reference/topics.md.
     */
    static final String CORRELATION = "weir.correlation";

    private static final int CORRELATION_BYTES = 24;
    private static final Duration START = Duration.ofSeconds(30);
    private static final Duration CLOSE = Duration.ofSeconds(5);

    private final ClientBuilder options;
    private final CircuitBreaker breaker;
    private final KafkaProducer<String, byte[]> producer;
    private final DecisionReader reader;
    private final UUID self = UUID.randomUUID();
    private final AtomicLong numbers = new AtomicLong();
    private final Map<Long, Call> calls = new ConcurrentHashMap<>();
    private final Semaphore room;
    private final ClientMetrics tally = new ClientMetrics();
    private final ScheduledThreadPoolExecutor timer;
    private final ForkJoinPool ownExecutor;
    private final Executor executor;
    private final RequestCodec requestCodec;
    private final DecisionCodec decisionCodec;
    private final LeasedDecisions leases; // null if the client is not leased
    private volatile boolean closed;

    /** A request that waits for a decision. The thread that removes it from {@link #calls} completes it. */
    private static final class Call {
        private final CompletableFuture<Decision> future = new CompletableFuture<>();
        private final long startNanos = System.nanoTime();
        private final Duration within;
        private final boolean isLeased;
        private volatile Future<?> timeout;

        Call(Duration within, boolean isLeased) {
            this.within = within;
            this.isLeased = isLeased;
        }
    }

    /** A request that waits for a lease. */
    private final class LeasedCall implements LeasedDecisions.Waiter {
        private final Request request;
        private final List<Header> headers;
        private final Call call;
        private volatile long number;

        LeasedCall(Request request, List<Header> headers, Duration within) {
            this.request = request;
            this.headers = headers;
            call = new Call(within, true);
        }

        @Override
        public Request request() {
            return request;
        }

        @Override
        public boolean enter() {
            if (!room.tryAcquire()) {
                return false;
            }
            number = numbers.incrementAndGet();
            begin(number, call, NoDecisionReason.NO_LEASE);
            return true;
        }

        @Override
        public boolean isOver() {
            return !calls.containsKey(number);
        }

        @Override
        public void end(LeasedDecisions.Reply reply) {
            if (reply.undecided() == LeasedDecisions.Undecided.NO_LEASE) {
                giveUp(number, NoDecisionReason.NO_LEASE, null);
                return;
            }
            if (WeirClient.this.end(number) == null) {
                return;
            }
            if (reply.decision() != null) {
                tally.decidedHere.increment();
                complete(() -> call.future.complete(reply.decision()));
            } else {
                complete(this::askOverTopic);
            }
        }

        /** Sends the request over the topic, because its policies changed while it waited. */
        private void askOverTopic() {
            long leftNanos = call.within.toNanos() - (System.nanoTime() - call.startNanos);
            Duration left = Duration.ofNanos(Math.max(1, leftNanos));
            var unused = decideOverTopic(request, headers, left).whenComplete((decision, failure) -> {
                if (failure == null) {
                    call.future.complete(decision);
                } else {
                    call.future.completeExceptionally(failure);
                }
            });
        }
    }

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
        Optional<SchemaRegistry> registry = SchemaRegistryProvider.of(options.consumer());
        requestCodec = new RequestCodec(registry, options.requests());
        decisionCodec = new DecisionCodec(registry);
        room = new Semaphore(options.maxInFlight());
        reader = new DecisionReader(options.consumer(), options.decisions(), this::read);
        try {
            producer = new KafkaProducer<>(options.producer(), new StringSerializer(), new ByteArraySerializer());
        } catch (RuntimeException e) {
            reader.close();
            throw e;
        }
        try {
            find(options.requests());
        } catch (RuntimeException e) {
            reader.close();
            producer.close(Duration.ZERO);
            throw e;
        }
        try {
            leases = options.leased() ? new LeasedDecisions(options, registry) : null;
        } catch (RuntimeException e) {
            reader.close();
            producer.close(Duration.ZERO);
            throw e;
        }
        timer = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "weir-client-timeouts");
            thread.setDaemon(true);
            return thread;
        });
        timer.setRemoveOnCancelPolicy(true);
        int processors = Runtime.getRuntime().availableProcessors();
        ownExecutor = options.executor().isPresent()
                ? null
                : new ForkJoinPool(processors, ForkJoinPool.defaultForkJoinWorkerThreadFactory, null, true);
        executor = options.executor().orElse(ownExecutor);
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
     * Returns a decision like {@link #decide(Request)}, within a shorter time. The {@link CircuitSettings} count a
     * time-out of this call like any other.
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
        CompletableFuture<ClientDecision> answer = new CompletableFuture<>();
        var unused = decide(request, List.of(), within).whenComplete((decision, failure) -> {
            if (failure == null) {
                answer.complete(ClientDecision.of(decision));
            } else if (failure instanceof NoDecisionException none && fallback != Fallback.FAIL) {
                answer.complete(fallbackDecision(fallback, none.reason()));
            } else {
                answer.completeExceptionally(failure);
            }
        });
        return answer;
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
     * @return the decision. Empty if the client is not {@linkplain ClientBuilder#leased leased} or is closed, if the
     *     request cannot be decided by leases, or if more quota is needed. In the last case a lease is requested, so
     *     that a later request can succeed. To get a decision in any case, call {@link #decide} next
     * @throws IllegalArgumentException if the request is invalid; the message names the field
     */
    public Optional<Decision> tryDecide(Request request) {
        Optional<String> fault = RequestFaults.of(request, options.rules());
        if (fault.isPresent()) {
            throw new IllegalArgumentException(fault.get());
        }
        Decision decision = leases == null || closed ? null : leases.tryDecide(request);
        if (decision == null) {
            return Optional.empty();
        }
        tally.decidedHere.increment();
        return Optional.of(decision);
    }

    /**
     * Returns Weir's decision, or fails with a {@link NoDecisionException}, whatever the fallback is.
     *
     * @param headers headers of the request's record; Weir copies them to its decisions and its release
     */
    CompletableFuture<Decision> decide(Request request, List<Header> headers) {
        return decide(request, headers, options.timeout());
    }

    private CompletableFuture<Decision> decide(Request request, List<Header> headers, Duration within) {
        if (within.toMillis() < 1) {
            throw new IllegalArgumentException("within must be at least 1 ms, is " + within);
        }
        Optional<String> fault = RequestFaults.of(request, options.rules());
        if (fault.isPresent()) {
            tally.rejected.increment();
            return CompletableFuture.failedFuture(new IllegalArgumentException(fault.get()));
        }
        if (closed) {
            return notSent(NoDecisionReason.CLOSED);
        }
        Duration shortest = within.compareTo(options.timeout()) < 0 ? within : options.timeout();
        return leases == null
                ? decideOverTopic(request, headers, shortest)
                : decideByLeases(request, headers, shortest);
    }

    private CompletableFuture<Decision> decideByLeases(Request request, List<Header> headers, Duration within) {
        LeasedCall waiter = new LeasedCall(request, headers, within);
        LeasedDecisions.Reply reply = leases.decide(request, waiter);
        if (reply.decision() != null) {
            tally.decidedHere.increment();
            return CompletableFuture.completedFuture(reply.decision());
        }
        return switch (reply.undecided()) {
            case WAITS -> waiter.call.future;
            case NO_ROOM -> notSent(NoDecisionReason.TOO_MANY_WAITING);
            case NO_LEASE -> notSent(NoDecisionReason.NO_LEASE);
            case OVER_TOPIC -> decideOverTopic(request, headers, within);
        };
    }

    private CompletableFuture<Decision> decideOverTopic(Request request, List<Header> headers, Duration within) {
        if (closed) {
            return notSent(NoDecisionReason.CLOSED);
        }
        if (!breaker.tryAcquirePermission()) {
            return notSent(NoDecisionReason.CIRCUIT_OPEN);
        }
        if (!hasRoom()) {
            breaker.releasePermission();
            return notSent(NoDecisionReason.TOO_MANY_WAITING);
        }
        return sendRequest(request, headers, within);
    }

    private CompletableFuture<Decision> sendRequest(Request request, List<Header> headers, Duration within) {
        long number = numbers.incrementAndGet();
        Call call = new Call(within, false);
        begin(number, call, NoDecisionReason.TIMED_OUT);
        if (!calls.containsKey(number)) {
            return call.future;
        }
        try {
            ProducerRecord<String, byte[]> record = new ProducerRecord<>(
                    options.requests(),
                    null,
                    request.timestampMs(),
                    request.client(),
                    requestCodec.encode(request),
                    headers);
            record.headers().add(new RecordHeader(CORRELATION, correlation(number)));
            tally.sent.increment();
            var unused = producer.send(record, (metadata, exception) -> {
                if (exception != null) {
                    notWritten(number, exception);
                }
            });
        } catch (RuntimeException e) {
            notWritten(number, e);
        }
        return call.future;
    }

    /** Registers a waiting request and schedules its time-out, which fails it with the given reason. */
    private void begin(long number, Call call, NoDecisionReason until) {
        calls.put(number, call);
        try {
            call.timeout =
                    timer.schedule(() -> giveUp(number, until, null), call.within.toNanos(), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) { // the client was closed
            giveUp(number, NoDecisionReason.CLOSED, null);
        }
        if (closed) { // close() may have completed the waiting requests before this one was added
            giveUp(number, NoDecisionReason.CLOSED, null);
        }
    }

    /**
     * Returns the counts since the client was started. The counters are read one after the other, so concurrent
     * requests may be included in some and not in others.
     *
     * @return the counts
     */
    public ClientStats stats() {
        return tally.stats(calls.size(), leases == null ? 0 : leases.keys(), CircuitSettings.state(breaker));
    }

    /**
     * Closes the client. Waiting requests end with {@link NoDecisionReason#CLOSED}; requests that were sent may still
     * be decided and charged. Leased quota is returned to the ledgers. Blocks until buffered records are written, for a
     * few seconds at most per Kafka client. If the thread is interrupted, the client is closed first and the interrupt
     * flag is kept.
     */
    @Override
    public void close() {
        closed = true;
        timer.shutdownNow();
        calls.keySet().forEach(number -> giveUp(number, NoDecisionReason.CLOSED, null));
        boolean isInterrupted = Thread.interrupted(); // an interrupted thread cannot close Kafka's clients
        if (leases != null) {
            leases.close();
        }
        isInterrupted |= Thread.interrupted();
        reader.close();
        producer.close(CLOSE);
        if (ownExecutor != null) {
            ownExecutor.shutdown();
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Fetches the metadata of the topic, so that no request has to wait for it. At the start, brokers get more time
     * than a request has.
     */
    private void find(String topic) {
        long startNanos = System.nanoTime();
        boolean found = false;
        while (!found) {
            try {
                found = !producer.partitionsFor(topic).isEmpty();
            } catch (TimeoutException e) {
                if (System.nanoTime() - startNanos > START.toNanos()) {
                    throw e;
                }
            }
        }
    }

    private boolean hasRoom() {
        try {
            return room.tryAcquire() || room.tryAcquire(options.maxWait().toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private void read(ConsumerRecord<byte[], byte[]> record) {
        Header header = record.headers().lastHeader(CORRELATION);
        if (header == null || !isOwn(header.value())) {
            return;
        }
        long number = ByteBuffer.wrap(header.value()).getLong(2 * Long.BYTES);
        try {
            Decision decision = decisionCodec.decode(record.value());
            if (!decision.endsWait()) {
                answer(number, decision);
            }
        } catch (UnreadableException | RuntimeException e) {
            giveUp(number, NoDecisionReason.UNREADABLE, e);
        }
    }

    private void answer(long number, Decision decision) {
        Call call = end(number);
        if (call == null) {
            tally.late.increment();
            return;
        }
        long nanos = System.nanoTime() - call.startNanos;
        breaker.onSuccess(nanos, TimeUnit.NANOSECONDS);
        tally.answered(nanos);
        complete(() -> call.future.complete(decision));
    }

    private void giveUp(long number, NoDecisionReason why, Throwable cause) {
        Call call = end(number);
        if (call == null) {
            return;
        }
        NoDecisionException failure = none(why, call.within, cause);
        if (why == NoDecisionReason.TIMED_OUT || why == NoDecisionReason.NOT_WRITTEN) {
            breaker.onError(System.nanoTime() - call.startNanos, TimeUnit.NANOSECONDS, failure);
        } else if (!call.isLeased) {
            breaker.releasePermission();
        }
        if (why == NoDecisionReason.CLOSED) {
            call.future.completeExceptionally(failure); // all requests have ended when close() returns
        } else {
            complete(() -> call.future.completeExceptionally(failure));
        }
    }

    /**
     * Ends a request that was not written. If the request is too large or cannot be serialized, that is the caller's
     * error and does not count for the circuit.
     */
    private void notWritten(long number, Exception exception) {
        if (!(exception instanceof RecordTooLargeException || exception instanceof SerializationException)) {
            giveUp(number, closed ? NoDecisionReason.CLOSED : NoDecisionReason.NOT_WRITTEN, exception);
            return;
        }
        Call call = end(number);
        if (call != null) {
            breaker.releasePermission();
            tally.rejected.increment();
            IllegalArgumentException failure = new IllegalArgumentException(
                    "the request cannot be written to " + options.requests() + ": " + exception.getMessage(),
                    exception);
            complete(() -> call.future.completeExceptionally(failure));
        }
    }

    private Call end(long number) {
        Call call = calls.remove(number);
        if (call != null) {
            room.release();
            Future<?> timeout = call.timeout;
            if (timeout != null) {
                timeout.cancel(false);
            }
        }
        return call;
    }

    /**
     * Runs a completion on the executor, since callbacks of the caller must not block the thread that reads decisions.
     */
    private void complete(Runnable completion) {
        try {
            executor.execute(completion);
        } catch (RuntimeException | Error e) { // for example, the executor cannot create a thread
            completion.run();
        }
    }

    private CompletableFuture<Decision> notSent(NoDecisionReason why) {
        return CompletableFuture.failedFuture(none(why, options.timeout(), null));
    }

    private NoDecisionException none(NoDecisionReason why, Duration within, Throwable cause) {
        tally.unanswered(why);
        String message =
                switch (why) {
                    case TIMED_OUT -> "no decision arrived within " + within.toMillis() + " ms";
                    case NOT_WRITTEN -> "the broker did not confirm the write to " + options.requests();
                    case TOO_MANY_WAITING ->
                        options.maxInFlight() + " requests are waiting, which is the maximum (maxInFlight)";
                    case CIRCUIT_OPEN -> "the circuit is open: too many recent requests got no decision";
                    case NO_LEASE -> "no lease arrived in time";
                    case UNREADABLE -> "the decision cannot be read";
                    case CLOSED -> "the client is closed";
                };
        return new NoDecisionException(why, message, cause == null ? known(why) : cause);
    }

    private Throwable known(NoDecisionReason why) {
        return switch (why) {
            case TIMED_OUT -> reader.failure().orElse(null);
            case NO_LEASE -> leases.failure().orElse(null);
            default -> null;
        };
    }

    private ClientDecision fallbackDecision(Fallback fallback, NoDecisionReason why) {
        boolean open = fallback == Fallback.FAIL_OPEN;
        (open ? tally.failedOpen : tally.failedClosed).increment();
        return ClientDecision.fallback(open, why);
    }

    private byte[] correlation(long number) {
        return ByteBuffer.allocate(CORRELATION_BYTES)
                .putLong(self.getMostSignificantBits())
                .putLong(self.getLeastSignificantBits())
                .putLong(number)
                .array();
    }

    private boolean isOwn(byte[] value) {
        if (value == null || value.length != CORRELATION_BYTES) {
            return false;
        }
        ByteBuffer bytes = ByteBuffer.wrap(value);
        return bytes.getLong() == self.getMostSignificantBits() && bytes.getLong() == self.getLeastSignificantBits();
    }
}
