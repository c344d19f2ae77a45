package dev.weir.spring;

import dev.weir.client.ClientDecision;
import dev.weir.client.Fallback;
import dev.weir.client.NoDecisionReason;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import dev.weir.testing.SampleDecisions;
import java.util.List;
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

    /** @param delayMs how long a policy throttles requests; null if none does */
    static Function<Request, CompletableFuture<ClientDecision>> allowed(Long delayMs) {
        return request ->
                done(delayMs == null ? SampleDecisions.allowed(request) : SampleDecisions.throttled(request, delayMs));
    }

    static Function<Request, CompletableFuture<ClientDecision>> denied() {
        return request -> done(SampleDecisions.denied(request));
    }

    static Function<Request, CompletableFuture<ClientDecision>> shadowBanned() {
        return request -> done(SampleDecisions.shadowBanned(request));
    }

    static Function<Request, CompletableFuture<ClientDecision>> fallback(boolean allowed) {
        return request ->
                CompletableFuture.completedFuture(SampleDecisions.fallback(allowed, NoDecisionReason.TIMED_OUT));
    }

    static Function<Request, CompletableFuture<ClientDecision>> failed(RuntimeException failure) {
        return request -> CompletableFuture.failedFuture(failure);
    }

    private static CompletableFuture<ClientDecision> done(Decision decision) {
        return CompletableFuture.completedFuture(SampleDecisions.of(decision));
    }
}
