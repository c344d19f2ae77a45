package dev.weir.gateway.envoy;

import dev.weir.client.Fallback;
import dev.weir.client.decision.ClientDecision;
import dev.weir.event.Request;
import dev.weir.server.decide.RequestDecider;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/** A decider that records its calls. */
final class FakeDecider implements RequestDecider {

    /** A request as the decider received it. */
    record Call(Request request, Duration timeout, Fallback fallback, CompletableFuture<ClientDecision> answer) {}

    private final List<Call> calls = new CopyOnWriteArrayList<>();
    private volatile Function<Request, CompletableFuture<ClientDecision>> behaviour;

    FakeDecider(Function<Request, CompletableFuture<ClientDecision>> behaviour) {
        this.behaviour = behaviour;
    }

    void become(Function<Request, CompletableFuture<ClientDecision>> other) {
        behaviour = other;
        calls.clear();
    }

    List<Call> calls() {
        return calls;
    }

    @Override
    public CompletableFuture<ClientDecision> decide(Request request, Duration timeout, Fallback fallback) {
        CompletableFuture<ClientDecision> answer = behaviour.apply(request);
        calls.add(new Call(request, timeout, fallback, answer));
        return answer;
    }
}
