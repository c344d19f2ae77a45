package dev.weir.spring;

import dev.weir.client.ClientDecision;
import dev.weir.client.Fallback;
import dev.weir.client.NoDecisionReason;
import dev.weir.event.Decision;
import dev.weir.event.LimitStatus;
import dev.weir.event.Outcome;
import dev.weir.event.PolicyVersion;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/** A decider for tests without Kafka, which records the requests. */
final class StubDecider implements WeirDecider {

    final List<Request> requests = new CopyOnWriteArrayList<>();
    private volatile Function<Request, CompletableFuture<ClientDecision>> answers = allowed(null);

    @Override
    public CompletableFuture<ClientDecision> decide(Request request, Fallback fallback) {
        requests.add(request);
        return answers.apply(request);
    }

    /** Sets how later requests are decided, and forgets earlier ones. */
    void answer(Function<Request, CompletableFuture<ClientDecision>> function) {
        requests.clear();
        answers = function;
    }

    Request onlyRequest() {
        if (requests.size() != 1) {
            throw new AssertionError("not one request: " + requests);
        }
        return requests.get(0);
    }

    static Function<Request, CompletableFuture<ClientDecision>> allowed(Long delayMs) {
        return request -> done(new Decision(
                        Decision.Identity.of(request),
                        Decision.Status.allowed(Reason.WITHIN_LIMITS),
                        new Decision.Timing(request.timestampMs(), 0L, delayMs))
                .withLimit(new PolicyVersion("p", 1), new LimitStatus("gcra", 10L, 60_000L, 9L, 6_000L)));
    }

    static Function<Request, CompletableFuture<ClientDecision>> denied() {
        return request -> done(Decision.denied(request, Reason.LIMIT_EXCEEDED, 429, request.timestampMs())
                .withRetryAfterMs(19_200L)
                .withLimit(new PolicyVersion("p", 1), new LimitStatus("gcra", 10L, 60_000L, 0L, 60_000L)));
    }

    static Function<Request, CompletableFuture<ClientDecision>> shadowBanned() {
        return request -> done(denied().apply(request)
                .join()
                .decision()
                .orElseThrow()
                .withStatus(new Decision.Status(Outcome.DENIED, Reason.LIMIT_EXCEEDED, 200, false, true, false)));
    }

    static Function<Request, CompletableFuture<ClientDecision>> fallback(boolean allowed) {
        return request -> CompletableFuture.completedFuture(
                new ClientDecision(allowed, Optional.empty(), Optional.of(NoDecisionReason.TIMED_OUT)));
    }

    static Function<Request, CompletableFuture<ClientDecision>> failed(RuntimeException failure) {
        return request -> CompletableFuture.failedFuture(failure);
    }

    private static CompletableFuture<ClientDecision> done(Decision decision) {
        boolean allowed = decision.outcome() == Outcome.ALLOWED;
        return CompletableFuture.completedFuture(new ClientDecision(allowed, Optional.of(decision), Optional.empty()));
    }
}
