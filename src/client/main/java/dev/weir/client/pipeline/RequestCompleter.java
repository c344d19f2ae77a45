package dev.weir.client.pipeline;

import dev.weir.client.clock.AnswerClock;
import dev.weir.client.decision.NoDecisionException;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.kafka.ReplyReader;
import dev.weir.client.kafka.SendWindow;
import dev.weir.event.Decision;
import dev.weir.policy.DurationsAndSizes;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.kafka.clients.producer.BufferExhaustedException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.SerializationException;

/**
 * Ends requests, with a decision or without one, and reports how they end to the circuit breaker and the metrics.
 * Futures are completed on the executor, since callbacks of the caller must not block the thread that reads decisions.
 */
final class RequestCompleter implements ReplyReader.Replies, AutoCloseable {

    private final PipelineSettings settings;
    private final CircuitBreaker breaker;
    private final PendingRequests pending;
    private final RequestMetrics metrics;
    private final AnswerClock decisions;
    private final Function<NoDecisionReason, Optional<RuntimeException>> knownFailure;
    private final Optional<ForkJoinPool> ownExecutor;
    private final Executor executor;

    /**
     * Creates a completer.
     *
     * @param decisions the time without decisions over the topics
     * @param knownFailure returns the last failure of what requests with this end depended on
     */
    RequestCompleter(
            PipelineSettings settings,
            CircuitBreaker breaker,
            PendingRequests pending,
            RequestMetrics metrics,
            AnswerClock decisions,
            Function<NoDecisionReason, Optional<RuntimeException>> knownFailure) {
        this.settings = settings;
        this.breaker = breaker;
        this.pending = pending;
        this.metrics = metrics;
        this.decisions = decisions;
        this.knownFailure = knownFailure;
        ownExecutor = settings.executor().isPresent()
                ? Optional.empty()
                : Optional.of(new ForkJoinPool(
                        Runtime.getRuntime().availableProcessors(),
                        ForkJoinPool.defaultForkJoinWorkerThreadFactory,
                        null,
                        true));
        executor = settings.executor().or(() -> ownExecutor).orElseThrow();
    }

    /** Ends a request with the decision of an enforcer. */
    @Override
    public void decided(long number, Decision decision) {
        PendingRequest request = pending.remove(number);
        if (request == null) {
            metrics.recordLate();
            if (pending.isRecent(number)) {
                decisions.answered(System.nanoTime());
            }
            return;
        }
        long nanos = request.waitedNanos();
        if (request.takePermission()) {
            breaker.onSuccess(nanos, TimeUnit.NANOSECONDS);
        }
        decisions.answered(System.nanoTime());
        request.waitsFor().end(SendWindow.End.DECIDED);
        metrics.recordDecidedOverTopic(nanos);
        execute(() -> request.future.complete(decision));
        runSending(request.waitsFor()::letOthersGoOn);
    }

    /** Ends a request with a decision by leases. */
    void decidedHere(PendingRequest request, Decision decision) {
        if (!request.isWaiting()) {
            metrics.recordDecidedHere();
            request.future.complete(decision);
        } else if (pending.remove(request.number()) != null) {
            request.releasePermission(breaker);
            metrics.recordDecidedHereAfterWait();
            execute(() -> request.future.complete(decision));
        }
    }

    /** Ends a request that has no decision, whether it waits or not. */
    void fail(PendingRequest request, NoDecisionReason reason) {
        if (request.isWaiting()) {
            giveUp(request.number(), reason, null);
        } else {
            request.future.completeExceptionally(noDecision(reason, request.within(), null));
        }
    }

    /** Returns the result of a request that ends without a decision before it has waited. */
    CompletableFuture<Decision> undecided(NoDecisionReason reason) {
        return CompletableFuture.failedFuture(noDecision(reason, Duration.ZERO, null));
    }

    /** Ends a waiting request without a decision. It has no effect if the request has ended. */
    void giveUp(long number, NoDecisionReason reason, Throwable cause) {
        PendingRequest request = pending.remove(number);
        if (request != null) {
            end(request, reason, cause);
            runSending(request.waitsFor()::letOthersGoOn);
        }
    }

    /** Ends a request whose time has passed. */
    void timeOut(long number) {
        PendingRequest request = pending.remove(number);
        if (request != null) { // nothing sends it from here on, so what it says about that holds
            end(request, request.waitsFor().atTimeout(), null);
            runSending(request.waitsFor()::letOthersGoOn);
        }
    }

    /** Ends a request whose decision cannot be read. */
    @Override
    public void unreadable(long number, Exception failure) {
        giveUp(number, NoDecisionReason.UNREADABLE, failure);
    }

    /** Ends a request that would not be decided in time. The caller then sends the others of its window. */
    void shed(long number) {
        end(number, NoDecisionReason.OVERLOADED, null);
    }

    private void end(long number, NoDecisionReason reason, Throwable cause) {
        PendingRequest request = pending.remove(number);
        if (request != null) {
            end(request, reason, cause);
        }
    }

    private void end(PendingRequest request, NoDecisionReason reason, Throwable cause) {
        request.waitsFor().end(end(reason));
        NoDecisionException failure = noDecision(reason, request.within(), cause);
        if (!counts(reason, request)) {
            request.releasePermission(breaker);
        } else if (request.takePermission()) {
            breaker.onError(request.waitedNanos(), TimeUnit.NANOSECONDS, failure);
        }
        if (reason == NoDecisionReason.CLOSED) {
            request.future.completeExceptionally(failure); // all requests have ended when the client is closed
        } else {
            execute(() -> request.future.completeExceptionally(failure));
        }
    }

    /** Runs a task that sends requests, so that a thread such as that of time-outs does not wait for the producer. */
    void runSending(Runnable task) {
        if (settings.kafka().mayBlock()) {
            execute(task);
        } else {
            task.run();
        }
    }

    private static SendWindow.End end(NoDecisionReason reason) {
        return switch (reason) {
            case TIMED_OUT -> SendWindow.End.TIMED_OUT;
            case UNREADABLE -> SendWindow.End.DECIDED;
            default -> SendWindow.End.FAILED;
        };
    }

    /**
     * Returns whether the circuit breaker counts the end of a request as a failure of brokers or enforcers. A time-out
     * counts only if no request is decided any more: if others are, the request was late.
     */
    private boolean counts(NoDecisionReason reason, PendingRequest request) {
        return switch (reason) {
            case NOT_READY, NOT_WRITTEN -> true;
            case TIMED_OUT ->
                request.within().compareTo(SendWindow.MIN_COUNTED_TIMEOUT) >= 0
                        && decisions.isSilentFor(0, System.nanoTime());
            default -> false;
        };
    }

    /**
     * Ends a request that was not written. The caller then sends the others of its window. If the request is too large
     * or cannot be serialized, that is the caller's error and does not count for the circuit. If the producer's buffer
     * is full although others are decided, there are too many requests.
     */
    void notWritten(long number, Exception exception) {
        if (exception instanceof BufferExhaustedException && !decisions.isSilentFor(0, System.nanoTime())) {
            end(number, NoDecisionReason.OVERLOADED, exception);
        } else if (!(exception instanceof RecordTooLargeException || exception instanceof SerializationException)) {
            end(number, pending.isClosed() ? NoDecisionReason.CLOSED : NoDecisionReason.NOT_WRITTEN, exception);
        } else {
            rejected(number, exception);
        }
    }

    private void rejected(long number, Exception exception) {
        PendingRequest request = pending.remove(number);
        if (request != null) {
            request.waitsFor().end(SendWindow.End.FAILED);
            request.releasePermission(breaker);
            metrics.recordRejected();
            IllegalArgumentException failure = new IllegalArgumentException(
                    "the request cannot be written to " + settings.kafka().requests() + ": " + exception.getMessage(),
                    exception);
            execute(() -> request.future.completeExceptionally(failure));
        }
    }

    /** Ends all waiting requests. */
    void closeAll() {
        pending.numbers().forEach(number -> giveUp(number, NoDecisionReason.CLOSED, null));
    }

    /** Runs a completion on the executor. */
    void execute(Runnable completion) {
        try {
            executor.execute(completion);
        } catch (RuntimeException | Error e) { // for example, the executor cannot create a thread
            completion.run();
        }
    }

    private NoDecisionException noDecision(NoDecisionReason reason, Duration within, Throwable cause) {
        metrics.recordUndecided(reason);
        Optional<RuntimeException> known = knownFailure.apply(reason);
        String message =
                switch (reason) {
                    case NOT_READY ->
                        "the client is not ready: "
                                + known.map(ClientConnector::message).orElse("no broker has responded yet");
                    case TIMED_OUT -> "no decision arrived within " + DurationsAndSizes.duration(within.toMillis());
                    case NOT_WRITTEN ->
                        "the broker did not confirm the write to "
                                + settings.kafka().requests();
                    case TOO_MANY_WAITING ->
                        settings.maxInFlight() + " requests are waiting, which is the maximum (maxInFlight)";
                    case OVERLOADED ->
                        "requests arrive faster than they are decided, so this one would not be decided in time";
                    case CIRCUIT_OPEN -> "the circuit is open: too many recent requests got no decision";
                    case NO_LEASE -> "no lease arrived in time";
                    case NO_LEDGER -> "the client holds no lease, and the ledger does not answer";
                    case UNREADABLE -> "the decision cannot be read";
                    case CLOSED -> "the client is closed";
                };
        return new NoDecisionException(reason, message, cause == null ? known.orElse(null) : cause);
    }

    /** Stops the executor, unless it is that of the caller. */
    @Override
    public void close() {
        ownExecutor.ifPresent(ForkJoinPool::shutdown);
    }
}
