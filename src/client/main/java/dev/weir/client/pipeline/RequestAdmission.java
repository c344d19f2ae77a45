package dev.weir.client.pipeline;

import dev.weir.client.decision.NoDecisionReason;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;

/** Lets requests wait if the circuit and the number of waiting requests permit it. Thread-safe. */
final class RequestAdmission {

    private final CircuitBreaker breaker;
    private final PendingRequests pending;
    private final RequestCompleter completer;

    RequestAdmission(CircuitBreaker breaker, PendingRequests pending, RequestCompleter completer) {
        this.breaker = breaker;
        this.pending = pending;
        this.completer = completer;
    }

    /** Closes the circuit, since the outage that opened it is over. */
    void connected() {
        switch (breaker.getState()) {
            case OPEN, FORCED_OPEN, HALF_OPEN -> breaker.transitionToClosedState();
            case CLOSED, DISABLED, METRICS_ONLY -> {}
        }
    }

    /**
     * Takes a permission of the circuit and room for a request, unless it has them. Otherwise ends the request and
     * returns false.
     */
    boolean admit(PendingRequest request) {
        if (!request.acquirePermission(breaker)) {
            completer.fail(request, NoDecisionReason.CIRCUIT_OPEN);
            return false;
        }
        if (!request.isWaiting() && !pending.reserve()) {
            request.releasePermission(breaker);
            completer.fail(request, NoDecisionReason.TOO_MANY_WAITING);
            return false;
        }
        return true;
    }

    /** Lets an {@linkplain #admit admitted} request wait for something. Ends it if the client is closed. */
    void begin(PendingRequest request, PendingRequest.Wait wait) {
        request.setWaitsFor(wait);
        if (request.isWaiting()) {
            return;
        }
        boolean isOpen = pending.add(request, () -> completer.timeOut(request.number()));
        if (!isOpen) {
            completer.giveUp(request.number(), NoDecisionReason.CLOSED, null);
        }
    }

    /** Lets a request wait for something that the circuit does not protect. Returns false if too many wait. */
    boolean beginWithoutCircuit(PendingRequest request, PendingRequest.Wait wait) {
        if (!request.isWaiting() && !pending.tryReserve()) {
            return false;
        }
        request.releasePermission(breaker);
        begin(request, wait);
        return true;
    }

    /** Returns the permission of a request that has ended meanwhile. */
    void release(PendingRequest request) {
        request.releasePermission(breaker);
    }
}
