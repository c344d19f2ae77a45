package dev.weir.client;

import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.event.RequestKind;
import dev.weir.lease.ClockStepDetector;
import dev.weir.wire.DecisionCodec;
import dev.weir.wire.SchemaRegistry;
import dev.weir.wire.SchemaRegistryProvider;
import dev.weir.wire.UnreadableException;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

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
 * <p><b>Threads.</b> Instances are thread-safe. Use one per process. {@code decide} and {@code peek} return without waiting for the decision or for brokers. The calling thread can
 * block only for {@link ClientBuilder#maxWait} if too many requests are waiting, or for {@code producer.max.block.ms} if
 * you set it (the client's default is 0). Futures are completed on the {@link ClientBuilder#executor}.
 */
// How a decision is matched to its request
//
// The client reads one partition of the topic of replies, which it selects at random, and each of its requests names
// that
// partition in a header. Enforcers write a copy of the decision there. So a client receives the decisions on its own
// requests and on those of the clients that share its partition, and not those on all requests.
//
// Decisions keep the headers of their request. The client therefore adds another header to each request: 16 bytes that
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

    /** The header that names the partition of the topic of replies that the client reads, as a decimal number. */
    static final String REPLY_PARTITION = "weir.reply-partition";

    private static final int CORRELATION_BYTES = 24;

    /** How often the wall clock is checked for steps. */
    private static final long CLOCK_CHECK_MS = 200;

    /** The ends of requests that the circuit breaker counts as failures. */
    private static final Set<NoDecisionReason> COUNTED =
            Set.of(NoDecisionReason.NOT_READY, NoDecisionReason.TIMED_OUT, NoDecisionReason.NOT_WRITTEN);

    private final ClientBuilder options;
    private final CircuitBreaker breaker;
    private final UUID self = UUID.randomUUID();
    private final AtomicLong numbers = new AtomicLong();
    private final Map<Long, Call> calls = new ConcurrentHashMap<>();
    private final Semaphore room;
    private final ClientMetrics tally = new ClientMetrics();
    private final ScheduledThreadPoolExecutor timer;
    private final ForkJoinPool ownExecutor;
    private final Executor executor;
    private final DecisionCodec decisionCodec;
    private final ClientConnector connector;
    private final ClockStepDetector clock = new ClockStepDetector();
    private long setBack; // only for the timer's thread
    private final CountDownLatch readyOrClosed = new CountDownLatch(1);

    /** The requests that wait for the connection, in their order. Its lock is not held while they are sent. */
    private final Map<Long, Call> parked = new LinkedHashMap<>();

    private volatile ClientConnection connection; // null until the client is ready
    private volatile boolean closed;

    /**
     * A request. It can wait for the connection, for a lease or for a decision of an enforcer, and is then among
     * {@link #calls}; the thread that removes it from there completes it.
     */
    private final class Call implements LeasedDecisions.Waiter {
        private final Request request;
        private final List<Header> headers;
        private final Duration within;
        private final CompletableFuture<Decision> future = new CompletableFuture<>();
        private ClientConnection by; // null until it is decided; guarded by the locks of its leases after that
        private boolean hasPermission; // of the circuit breaker; guarded by this
        private volatile long number; // 0 until it waits
        private volatile long startNanos;
        private volatile NoDecisionReason atTimeout;
        private volatile Future<?> timeout;

        Call(Request request, List<Header> headers, Duration within) {
            this.request = request;
            this.headers = headers;
            this.within = within;
        }

        boolean isWaiting() {
            return number != 0;
        }

        /** Requests a permission of the circuit breaker, if it has none. Returns whether it has one. */
        synchronized boolean acquirePermission() {
            hasPermission = hasPermission || breaker.tryAcquirePermission();
            return hasPermission;
        }

        /** Returns whether it had a permission. It has none afterwards. */
        synchronized boolean takePermission() {
            boolean had = hasPermission;
            hasPermission = false;
            return had;
        }

        void releasePermission() {
            if (takePermission()) {
                breaker.releasePermission();
            }
        }

        @Override
        public Request request() {
            return request;
        }

        @Override
        public boolean enter() {
            if (isWaiting()) { // it has waited for the connection
                atTimeout = NoDecisionReason.NO_LEASE;
                releasePermission();
                return true;
            }
            if (!room.tryAcquire()) {
                return false;
            }
            begin(this, NoDecisionReason.NO_LEASE);
            return true;
        }

        @Override
        public boolean isOver() {
            return !calls.containsKey(number);
        }

        @Override
        public void end(LeasedDecisions.Reply reply) {
            if (reply.undecided() == LeasedDecisions.Undecided.OVER_TOPIC) {
                complete(() -> send(by, this)); // its policies changed while it waited
            } else {
                apply(this, reply);
            }
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
        decisionCodec = new DecisionCodec(registry);
        room = new Semaphore(options.maxInFlight());
        timer = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "weir-client-timeouts");
            thread.setDaemon(true);
            return thread;
        });
        timer.setRemoveOnCancelPolicy(true);
        var unused = timer.scheduleWithFixedDelay(this::checkClock, 0, CLOCK_CHECK_MS, TimeUnit.MILLISECONDS);
        int processors = Runtime.getRuntime().availableProcessors();
        ownExecutor = options.executor().isPresent()
                ? null
                : new ForkJoinPool(processors, ForkJoinPool.defaultForkJoinWorkerThreadFactory, null, true);
        executor = options.executor().orElse(ownExecutor);
        connector = new ClientConnector(
                () -> new ClientConnection(options, registry, self, this::read), this::useConnection);
    }

    /**
     * Starts to connect.
     *
     * @throws RuntimeException if a setting is invalid
     */
    WeirClient connect() {
        try {
            connector.start();
            return this;
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    private void checkClock() {
        var unused = clock.observe(System::nanoTime, System::currentTimeMillis);
        ClientConnection current = connection;
        if (clock.backwardCount() > setBack && current != null) {
            current.flush();
        }
        setBack = clock.backwardCount();
    }

    /** Sends the requests that wait for the connection, in their order. Returns false if the client was closed. */
    private boolean useConnection(ClientConnection ready) {
        if (CircuitSettings.state(breaker) != CircuitSettings.State.CLOSED) {
            breaker.transitionToClosedState(); // the outage that opened it is over
        }
        for (Call next = nextParked(ready); next != null; next = nextParked(ready)) {
            decideBy(ready, next);
        }
        if (connection == null) {
            return false;
        }
        readyOrClosed.countDown();
        return true;
    }

    /**
     * Returns the next request that waits for the connection. If none does, returns null, and further requests use the
     * connection unless the client was closed.
     */
    private Call nextParked(ClientConnection ready) {
        synchronized (parked) {
            Iterator<Call> all = parked.values().iterator();
            if (all.hasNext()) {
                Call first = all.next();
                all.remove();
                return first;
            }
            if (!closed) {
                connection = ready;
            }
            return null;
        }
    }

    private void unpark(long number) {
        synchronized (parked) {
            parked.remove(number);
        }
    }

    /**
     * Returns whether the client has found its topics and reads decisions. It stays ready if the brokers go away later.
     *
     * @return whether requests are sent at once; {@code false} if the client is closed
     */
    public boolean isReady() {
        return connection != null && !closed;
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
        var unused = readyOrClosed.await(TimeUnit.NANOSECONDS.convert(timeout), TimeUnit.NANOSECONDS);
        return isReady();
    }

    /**
     * Returns the error that keeps the client from being ready or from reading decisions. The client tries again until
     * it succeeds or is closed.
     *
     * @return the last error; empty if the operation has succeeded since, or no attempt has ended yet. An attempt can
     *     take a minute if the brokers do not respond
     */
    public Optional<RuntimeException> failure() {
        ClientConnection current = connection;
        return current == null ? connector.failure() : current.failure();
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
     * @return the decision. Empty if the client is not {@linkplain ClientBuilder#leased leased}, is not
     *     {@linkplain #isReady ready}, if the request cannot be decided by leases, or if more quota is needed. In the last case a lease is requested, so
     *     that a later request can succeed. To get a decision in any case, call {@link #decide} next
     * @throws IllegalArgumentException if the request is invalid; the message names the field
     */
    public Optional<Decision> tryDecide(Request request) {
        Optional<String> fault = RequestFaults.of(request, options.rules());
        if (fault.isPresent()) {
            throw new IllegalArgumentException(fault.get());
        }
        ClientConnection current = connection;
        LeasedDecisions leases = current == null || closed ? null : current.leases();
        Decision decision = leases == null ? null : leases.tryDecide(request);
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
        Duration shortest = within.compareTo(options.timeout()) < 0 ? within : options.timeout();
        Call call = new Call(request, headers, shortest);
        ClientConnection current = connection;
        if (closed) {
            fail(call, NoDecisionReason.CLOSED);
        } else if (current == null) {
            decideWhenReady(call);
        } else {
            decideBy(current, call);
        }
        return call.future;
    }

    /** Lets a request wait for the connection. */
    private void decideWhenReady(Call call) {
        if (!admit(call)) {
            return;
        }
        begin(call, NoDecisionReason.NOT_READY);
        ClientConnection ready;
        synchronized (parked) {
            ready = connection;
            if (ready == null) {
                parked.put(call.number, call);
            }
        }
        if (ready != null) {
            decideBy(ready, call);
        } else if (!calls.containsKey(call.number)) { // it has ended before it was added
            unpark(call.number);
        }
    }

    private void decideBy(ClientConnection by, Call call) {
        call.by = by;
        if (by.leases() == null) {
            send(by, call);
        } else {
            apply(call, by.leases().decide(call.request, call));
        }
    }

    private void apply(Call call, LeasedDecisions.Reply reply) {
        if (reply.decision() != null) {
            decidedHere(call, reply.decision());
            return;
        }
        switch (reply.undecided()) {
            case WAITS -> {}
            case NO_ROOM -> fail(call, NoDecisionReason.TOO_MANY_WAITING);
            case NO_LEASE -> fail(call, NoDecisionReason.NO_LEASE);
            case OVER_TOPIC -> send(call.by, call);
        }
    }

    private void decidedHere(Call call, Decision decision) {
        if (!call.isWaiting()) {
            tally.decidedHere.increment();
            call.future.complete(decision);
        } else if (end(call.number) != null) {
            call.releasePermission();
            tally.decidedHere.increment();
            complete(() -> call.future.complete(decision));
        }
    }

    /** Takes a permission of the circuit breaker and room for a request, or ends the request. */
    private boolean admit(Call call) {
        if (!call.acquirePermission()) {
            fail(call, NoDecisionReason.CIRCUIT_OPEN);
            return false;
        }
        if (!call.isWaiting() && !hasRoom()) {
            call.releasePermission();
            fail(call, NoDecisionReason.TOO_MANY_WAITING);
            return false;
        }
        return true;
    }

    private void send(ClientConnection to, Call call) {
        if (!admit(call)) {
            return;
        }
        if (call.isWaiting()) {
            call.atTimeout = NoDecisionReason.TIMED_OUT;
        } else {
            begin(call, NoDecisionReason.TIMED_OUT);
        }
        if (!calls.containsKey(call.number)) {
            call.releasePermission();
            return;
        }
        tally.sent.increment();
        try {
            Header correlation = new RecordHeader(CORRELATION, correlation(call.number));
            to.send(call.request, call.headers, correlation, (metadata, exception) -> {
                if (exception != null) {
                    notWritten(call.number, exception);
                }
            });
        } catch (RuntimeException e) {
            notWritten(call.number, e);
        }
    }

    /** Adds a request to the waiting ones, and schedules its time-out, which fails it with the given reason. */
    private void begin(Call call, NoDecisionReason atTimeout) {
        call.atTimeout = atTimeout;
        call.startNanos = System.nanoTime();
        call.number = numbers.incrementAndGet();
        calls.put(call.number, call);
        try {
            call.timeout = timer.schedule(
                    () -> giveUp(call.number, call.atTimeout, null), call.within.toNanos(), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) { // the client was closed
            giveUp(call.number, NoDecisionReason.CLOSED, null);
        }
        if (closed) { // close() may have completed the waiting requests before this one was added
            giveUp(call.number, NoDecisionReason.CLOSED, null);
        }
    }

    /** Ends a request that has no decision, whether it waits or not. */
    private void fail(Call call, NoDecisionReason why) {
        if (call.isWaiting()) {
            giveUp(call.number, why, null);
        } else {
            call.future.completeExceptionally(none(why, call.within, null));
        }
    }

    /** Returns the partition of the topic of replies that the client reads. The client must be ready. */
    int replyPartition() {
        return connection.replyPartition();
    }

    /**
     * Returns the counts since the client was started. The counters are read one after the other, so concurrent
     * requests may be included in some and not in others.
     *
     * @return the counts
     */
    public ClientStats stats() {
        ClientConnection current = connection;
        int keys = current == null || current.leases() == null
                ? 0
                : current.leases().keys();
        return tally.stats(calls.size(), keys, CircuitSettings.state(breaker));
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
        readyOrClosed.countDown();
        boolean isInterrupted = Thread.interrupted(); // an interrupted thread cannot close Kafka's clients
        connector.close();
        isInterrupted |= Thread.interrupted();
        ClientConnection current = connection;
        if (current != null) {
            current.close();
        }
        if (ownExecutor != null) {
            ownExecutor.shutdown();
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
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
        if (call.takePermission()) {
            breaker.onSuccess(nanos, TimeUnit.NANOSECONDS);
        }
        tally.answered(nanos);
        complete(() -> call.future.complete(decision));
    }

    private void giveUp(long number, NoDecisionReason why, Throwable cause) {
        Call call = end(number);
        if (call == null) {
            return;
        }
        NoDecisionException failure = none(why, call.within, cause);
        if (!COUNTED.contains(why)) {
            call.releasePermission();
        } else if (call.takePermission()) {
            breaker.onError(System.nanoTime() - call.startNanos, TimeUnit.NANOSECONDS, failure);
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
            call.releasePermission();
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
            if (connection == null) {
                unpark(number);
            }
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

    private NoDecisionException none(NoDecisionReason why, Duration within, Throwable cause) {
        tally.unanswered(why);
        String message =
                switch (why) {
                    case NOT_READY -> notReady();
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

    private String notReady() {
        return "the client is not ready: "
                + connector.failure().map(ClientConnector::message).orElse("no broker has responded yet");
    }

    private Throwable known(NoDecisionReason why) {
        ClientConnection current = connection;
        return switch (why) {
            case NOT_READY -> connector.failure().orElse(null);
            case TIMED_OUT -> current == null ? null : current.readerFailure().orElse(null);
            case NO_LEASE -> current == null ? null : current.leases().failure().orElse(null);
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
