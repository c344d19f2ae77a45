package dev.weir.gateway.envoy;

import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionException;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.gateway.envoy.mapping.MappedRequest;
import dev.weir.gateway.envoy.mapping.RateLimitCall;
import dev.weir.gateway.envoy.mapping.RequestAnswer;
import dev.weir.kafka.UnreachableException;
import dev.weir.server.decide.RequestDecider;
import io.grpc.Deadline;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A call whose requests are being decided. It ends once: when all requests are decided, at its timeout, or when it is
 * cancelled.
 */
// Times of a call with a timeout of 100 ms and a gRPC deadline of 60 ms:
//
//   0                          51       54       60
//   |--------------------------|--------|--------|
//   requests are sent          |        |        the caller gives up
//                              |        the fallback decides what is still missing
//                              the decider must have answered
//
// The last tenth of the deadline is for the way back; the last twentieth of the rest lets the decider name its reason.
final class PendingCall {

    private static final Logger LOG = LoggerFactory.getLogger(PendingCall.class);

    private static final long MIN_WAIT_NANOS = RequestDecider.MIN_TIMEOUT.toNanos();
    private static final long MAX_DELAY_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final RateLimitCall rateLimit;
    private final List<MappedRequest> requests;
    private final Timing timing;
    private final BiConsumer<PendingCall, CallResult> whenEnded;
    private final List<CompletableFuture<ClientDecision>> decisions = new ArrayList<>();
    private final AtomicBoolean isDecided = new AtomicBoolean();
    private final AtomicBoolean hasEnded = new AtomicBoolean();
    private volatile Future<?> scheduled;

    /**
     * The times of a call.
     *
     * @param arrivedNanos when its timeouts began, by {@link System#nanoTime}
     * @param deadline the time at which the caller gives up, null if there is none
     * @param timer ends the call
     */
    record Timing(long arrivedNanos, Deadline deadline, ScheduledExecutorService timer) {

        /** Returns for how long a response can still arrive in time. */
        private long untilDeadlineNanos() {
            return deadline == null ? Long.MAX_VALUE : deadline.timeRemaining(TimeUnit.NANOSECONDS) / 10 * 9;
        }

        /** Returns how long a request can wait. If its time is over, leases can still decide it. */
        private long waitNanos(Duration timeout) {
            long leftNanos = RequestDecider.left(timeout, arrivedNanos).toNanos();
            return Math.max(MIN_WAIT_NANOS, Math.min(leftNanos, untilDeadlineNanos()));
        }
    }

    /** @param whenEnded receives the result, on any thread; not if the call is cancelled */
    PendingCall(
            RateLimitCall rateLimit,
            List<MappedRequest> requests,
            Timing timing,
            BiConsumer<PendingCall, CallResult> whenEnded) {
        this.rateLimit = rateLimit;
        this.requests = requests;
        this.timing = timing;
        this.whenEnded = whenEnded;
    }

    RateLimitCall rateLimit() {
        return rateLimit;
    }

    /** Returns the time since the call arrived. */
    long nanos() {
        return System.nanoTime() - timing.arrivedNanos;
    }

    /** Sends the requests. The result can arrive before this returns. */
    void start(RequestDecider decider) {
        long longestNanos = 0;
        for (MappedRequest request : requests) {
            long waitNanos = timing.waitNanos(request.mapping().timeout());
            decisions.add(
                    RequestDecider.isOver(request.mapping().timeout(), timing.arrivedNanos)
                            ? decider.decideAtOnce(
                                    request.request(), request.mapping().fallback())
                            : decision(decider, request, waitNanos));
            longestNanos = Math.max(longestNanos, waitNanos);
        }
        if (areAllDone()) {
            decided();
            return;
        }
        schedule(this::decided, longestNanos);
        var unused = CompletableFuture.allOf(decisions.toArray(CompletableFuture[]::new))
                .whenComplete((all, failure) -> decided());
    }

    private boolean areAllDone() {
        for (CompletableFuture<ClientDecision> decision : decisions) {
            if (!decision.isDone()) {
                return false;
            }
        }
        return true;
    }

    private static CompletableFuture<ClientDecision> decision(
            RequestDecider decider, MappedRequest request, long waitNanos) {
        Duration timeout = Duration.ofNanos(Math.max(MIN_WAIT_NANOS, waitNanos - waitNanos / 20));
        try {
            return decider.decide(request.request(), timeout, request.mapping().fallback());
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private void schedule(Runnable task, long nanos) {
        scheduled = timing.timer.schedule(task, nanos, TimeUnit.NANOSECONDS);
        if (hasEnded.get()) {
            scheduled.cancel(false);
        }
    }

    /** Ends the call, after the delay that throttling policies impose. */
    private void decided() {
        if (!isDecided.compareAndSet(false, true)) {
            return;
        }
        cancelSchedule();
        CallResult result = result();
        long delayNanos =
                result instanceof CallResult.Answered answered ? TimeUnit.MILLISECONDS.toNanos(delayMs(answered)) : 0;
        if (delayNanos > 0) {
            schedule(() -> end(result), delayNanos);
        } else {
            end(result);
        }
    }

    /** Returns how long a call must be delayed: not at all if it is over a limit. */
    private static long delayMs(CallResult.Answered answered) {
        long longestMs = 0;
        for (RequestAnswer answer : answered.answers()) {
            if (answer.isOverLimit()) {
                return 0;
            }
            longestMs = Math.max(longestMs, RequestAnswer.delayMs(answer.decision()));
        }
        return longestMs;
    }

    private void end(CallResult result) {
        if (hasEnded.compareAndSet(false, true)) {
            whenEnded.accept(this, result);
        }
    }

    private CallResult result() {
        long waitableMs = TimeUnit.NANOSECONDS.toMillis(Math.min(MAX_DELAY_NANOS, timing.untilDeadlineNanos()));
        List<RequestAnswer> answers = new ArrayList<>(requests.size());
        for (int i = 0; i < requests.size(); i++) {
            MappedRequest request = requests.get(i);
            CompletableFuture<ClientDecision> future = decisions.get(i);
            Optional<ClientDecision> decision;
            try {
                decision = future.isDone() ? Optional.of(future.get()) : withoutDecision(request, future);
            } catch (ExecutionException | CompletionException e) {
                return new CallResult.Failed(status(request, e.getCause()));
            } catch (InterruptedException | RuntimeException e) {
                return new CallResult.Failed(status(request, e));
            }
            if (decision.isEmpty()) {
                return new CallResult.Failed(noDecision(request, NoDecisionReason.TIMED_OUT));
            }
            ClientDecision decided = decision.get();
            answers.add(RequestAnswer.of(request, decided, RequestAnswer.delayMs(decided) <= waitableMs));
        }
        return new CallResult.Answered(answers);
    }

    /** Returns the decision of the fallback; empty if that is an error. */
    private static Optional<ClientDecision> withoutDecision(
            MappedRequest request, CompletableFuture<ClientDecision> future) {
        future.cancel(false);
        return request.mapping().fallback().decision(NoDecisionReason.TIMED_OUT);
    }

    private static Status status(MappedRequest request, Throwable failure) {
        if (failure instanceof NoDecisionException none) {
            return noDecision(request, none.reason());
        }
        if (failure instanceof UnreachableException) { // the client has not started
            return noDecision(request, NoDecisionReason.NOT_WRITTEN);
        }
        if (failure instanceof IllegalArgumentException) {
            return Status.INVALID_ARGUMENT.withDescription(request.place() + ": " + failure.getMessage());
        }
        LOG.warn("A request of Envoy could not be decided", failure);
        return Status.INTERNAL.withDescription(request.place() + ": the gateway failed; see its log");
    }

    private static Status noDecision(MappedRequest request, NoDecisionReason reason) {
        return Status.UNAVAILABLE.withDescription(request.place() + ": no decision, " + reason);
    }

    /** Ends the call without a result. Requests that were sent may still be charged. Returns false if it has ended. */
    boolean cancel() {
        if (!hasEnded.compareAndSet(false, true)) {
            return false;
        }
        isDecided.set(true);
        cancelSchedule();
        decisions.forEach(decision -> decision.cancel(false));
        return true;
    }

    private void cancelSchedule() {
        Future<?> task = scheduled;
        if (task != null) {
            task.cancel(false);
        }
    }
}
