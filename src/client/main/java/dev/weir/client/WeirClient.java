package dev.weir.client;

import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.wire.DecisionAvro;
import dev.weir.wire.RequestAvro;
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
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Asks Weir over its topics, and tells the caller what it decided.
 *
 * <pre>{@code
 * try (WeirClient weir = WeirClient.builder(Map.of("bootstrap.servers", "kafka-1:9092"))
 *         .timeout(Duration.ofMillis(500))
 *         .fallback(Fallback.FAIL_OPEN)
 *         .start()) {
 *     Request request = RequestBuilder.of("alice").attribute("endpoint", "/articles/7").build();
 *     ClientDecision answer = weir.check(request).join();
 *     if (!answer.allowed()) {
 *         System.out.println(answer.httpStatus() + " " + answer.httpHeaders());
 *     }
 * }
 * }</pre>
 *
 * <p>{@link #check} always has a {@link ClientDecision}, which says whether it is Weir's; {@link #decide} has Weir's
 * decision or fails. A decision {@code QUEUED} is an answer like any other; how the wait ends is told by a release, or
 * a later decision, and not here.
 *
 * <p>A time-out says nothing about the request: it may be decided, and charged, later. Who sends it again gives the
 * same {@code requestId}, and is charged once where the policy has {@code idempotency}.
 *
 * <p>Each client reads all decisions, and unpacks its own. Threads share it; one for a process is enough.
 *
 * <p>One that is {@linkplain ClientBuilder#leased leased} decides some requests itself, by quota that is lent to it:
 * these decisions are on no topic, and their source is {@link Request.Source#NONE}.
 */
// How an answer finds its request
//
// Decisions keep the request's headers. So each request carries a header of this client's own: 16 bytes of the
// client, 8 that count its requests. Others' decisions are known by it without being unpacked, two requests of one id
// get an answer each, and so do a CONSUME and the SETTLE of the same id, which a decision does not tell apart. What
// ends a wait in a queue (EXPIRED, evicted, cancelled) has the header of the request that waited; that one was
// answered when it began to wait.
public final class WeirClient implements AutoCloseable {

    /** Who asked and for what; topology-docs/client.md has its bytes. */
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
    private final RequestAvro requestAvro;
    private final DecisionAvro decisionAvro;
    private final LeasedDecisions leases; // null: it holds none
    private volatile boolean closed;

    /** A request that waits; who takes it out of the map ends it. */
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

    /** A request that waits for a slice. */
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

        /** Its policies have changed meanwhile. */
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
     * How a client is made.
     *
     * @param kafka what Kafka's clients take, at least {@code bootstrap.servers}; what begins with {@code producer.} or
     *     {@code consumer.} is for that one alone, and stands over the others. Where requests and decisions are written with a
     *     schema registry, also {@code apicurio.registry.url} and what else that needs
     */
    public static ClientBuilder builder(Map<?, ?> kafka) {
        return new ClientBuilder(kafka);
    }

    WeirClient(ClientBuilder options) {
        this.options = options;
        breaker = options.breaker();
        Optional<SchemaRegistry> registry = SchemaRegistryProvider.of(options.consumer());
        requestAvro = new RequestAvro(registry, options.requests());
        decisionAvro = new DecisionAvro(registry);
        room = new Semaphore(options.maxInFlight());
        reader = new DecisionReader(options.consumer(), options.decisions(), this::read);
        try {
            producer = new KafkaProducer<>(options.producer(), new StringSerializer(), new ByteArraySerializer());
        } catch (KafkaException e) {
            reader.close();
            throw e;
        }
        try {
            find(options.requests());
        } catch (KafkaException e) {
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
     * Asks, and has an answer in any case: Weir's, or after the time-out the {@link Fallback}'s.
     *
     * @return fails with an IllegalArgumentException, which names the field, if it is no request that Weir would take,
     *     and with a {@link NoDecisionException} if the fallback is {@link Fallback#FAIL}
     */
    public CompletableFuture<ClientDecision> check(Request request) {
        return check(request, options.timeout());
    }

    /**
     * As {@link #check(Request)}, with less time than others have. For the {@link CircuitSettings} a time-out of this
     * call is one like any other.
     *
     * @param within 1 ms or more; at most {@link ClientBuilder#timeout}, which ends the wait in any case
     */
    public CompletableFuture<ClientDecision> check(Request request, Duration within) {
        CompletableFuture<ClientDecision> answer = new CompletableFuture<>();
        var unused = decide(request, within).whenComplete((decision, failure) -> {
            if (failure == null) {
                answer.complete(ClientDecision.of(decision));
            } else if (failure instanceof NoDecisionException none && options.fallback() != Fallback.FAIL) {
                answer.complete(fallbackDecision(none.reason()));
            } else {
                answer.completeExceptionally(failure);
            }
        });
        return answer;
    }

    /**
     * Decides in the caller's thread, by quota that is lent to this client. Nothing is waited for, and nothing is made
     * but the decision.
     *
     * @return empty if that is not at hand: the request goes over the topic, or waits for quota, which is asked for.
     *     {@link #check} does that. It is always empty where the client is not {@linkplain ClientBuilder#leased
     *     leased}, or is closed
     * @throws IllegalArgumentException names the field, if it is no request that Weir would take
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
     * Asks for Weir's decision.
     *
     * @return fails with an IllegalArgumentException, which names the field, if it is no request that Weir would take,
     *     and with a {@link NoDecisionException} if there is no decision in time
     */
    public CompletableFuture<Decision> decide(Request request) {
        return decide(request, options.timeout());
    }

    /** As {@link #decide(Request)}, with less time, as {@link #check(Request, Duration)} has it. */
    public CompletableFuture<Decision> decide(Request request, Duration within) {
        return decide(request, List.of(), within);
    }

    /** @param headers go with the request, and from there with its decisions and its release */
    CompletableFuture<Decision> decide(Request request, List<Header> headers) {
        return decide(request, headers, options.timeout());
    }

    private CompletableFuture<Decision> decide(Request request, List<Header> headers, Duration within) {
        if (within.toMillis() < 1) {
            throw new IllegalArgumentException("within is out of its range: " + within);
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
                    requestAvro.encode(request),
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

    /** Lets a request wait for so long as it may. */
    private void begin(long number, Call call, NoDecisionReason until) {
        calls.put(number, call);
        try {
            call.timeout =
                    timer.schedule(() -> giveUp(number, until, null), call.within.toNanos(), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) { // closed meanwhile
            giveUp(number, NoDecisionReason.CLOSED, null);
        }
        if (closed) { // it may have come after all others were ended
            giveUp(number, NoDecisionReason.CLOSED, null);
        }
    }

    /** What was counted since the start. */
    public ClientStats stats() {
        return tally.stats(calls.size(), leases == null ? 0 : leases.keys(), CircuitSettings.state(breaker));
    }

    /**
     * Ends all that waits, as {@link NoDecisionReason#CLOSED}; what was sent may still be decided, and charged. What is
     * held of shared quota is given back.
     */
    @Override
    public void close() {
        closed = true;
        timer.shutdownNow();
        calls.keySet().forEach(number -> giveUp(number, NoDecisionReason.CLOSED, null));
        boolean isInterrupted = Thread.interrupted(); // Kafka's clients would not close
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

    /** So that no request waits for it; at the start, brokers have more time than a request. */
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
            Decision decision = decisionAvro.decode(record.value());
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
            call.future.completeExceptionally(failure); // so that all is over when close() returns
        } else {
            complete(() -> call.future.completeExceptionally(failure));
        }
    }

    /** A request that no topic takes is the caller's fault, and no sign that Weir is away. */
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
                    "the topic " + options.requests() + " does not take the request: " + exception.getMessage(),
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

    /** Callers' own code goes on from here: it must not keep the thread that reads. */
    private void complete(Runnable completion) {
        try {
            executor.execute(completion);
        } catch (RuntimeException | Error e) { // as when there is no thread left
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
                    case TIMED_OUT -> "no decision came within " + within.toMillis() + " ms";
                    case NOT_WRITTEN -> "the request was not written to " + options.requests();
                    case TOO_MANY_WAITING -> options.maxInFlight() + " requests wait, no more may";
                    case CIRCUIT_OPEN -> "too many requests were not answered; none is sent for a while";
                    case NO_LEASE -> "no quota was lent in time";
                    case UNREADABLE -> "a decision came that cannot be read";
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

    private ClientDecision fallbackDecision(NoDecisionReason why) {
        boolean open = options.fallback() == Fallback.FAIL_OPEN;
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
