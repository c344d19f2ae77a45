package dev.weir.gateway.envoy;

import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Bounds the calls in progress, and the time from the headers of a call to its message. The calls in progress include
 * those whose message has not arrived, but such a call makes way for another one. HTTP/2 bounds those of a connection.
 */
final class CallGate implements ServerInterceptor {

    /** How many calls of other services a connection can have: health checks, watches of the health, reflection. */
    static final int MAX_OTHER_CALLS = 16;

    private final int maxCalls;
    private final IncompleteCalls incomplete;
    private final EnvoyCounters counters;

    /** @param maxCalls the most calls of the rate limit service in progress */
    CallGate(int maxCalls, IncompleteCalls incomplete, EnvoyCounters counters) {
        this.maxCalls = maxCalls;
        this.incomplete = incomplete;
        this.counters = counters;
    }

    @Override
    public <Q, P> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, P> call, Metadata headers, ServerCallHandler<Q, P> next) {
        CallArrival arrival = CallArrival.current();
        CallerConnection connection = call.getAttributes().get(CallerConnection.KEY);
        Optional<Status> refusal = arrival.isRateLimit() ? admit(arrival, connection) : admitOther(arrival, connection);
        if (refusal.isPresent()) {
            if (arrival.isRateLimit()) {
                counters.failed(refusal.get());
            }
            call.close(refusal.get(), new Metadata());
            return new ServerCall.Listener<>() {};
        }
        ServerCall.Listener<Q> listener = next.startCall(call, headers);
        return new GatedListener<>(
                listener,
                incomplete.add(call, arrival),
                call.getMethodDescriptor().getType().clientSendsOneMessage());
    }

    /** Returns the status of a call that finds no place. */
    private Optional<Status> admit(CallArrival arrival, CallerConnection connection) {
        while (!enter(counters.inProgress, maxCalls)) {
            if (!incomplete.closeOldest()) {
                return Optional.of(Status.RESOURCE_EXHAUSTED.withDescription("the gateway has " + maxCalls
                        + " calls in progress, which is the maximum (gateway.envoy.max-calls)"));
            }
        }
        arrival.admitted(connection, counters.inProgress::decrementAndGet);
        return Optional.empty();
    }

    private static Optional<Status> admitOther(CallArrival arrival, CallerConnection connection) {
        AtomicInteger ofConnection = connection.otherCalls();
        if (!enter(ofConnection, MAX_OTHER_CALLS)) {
            connection.reset();
            return Optional.of(Status.RESOURCE_EXHAUSTED.withDescription("the connection has " + MAX_OTHER_CALLS
                    + " calls of health checks and reflection in progress, which is the maximum"));
        }
        arrival.admitted(connection, ofConnection::decrementAndGet);
        return Optional.empty();
    }

    private static boolean enter(AtomicInteger count, int max) {
        if (count.incrementAndGet() <= max) {
            return true;
        }
        count.decrementAndGet();
        return false;
    }

    /** Passes on the events of a call until it is closed as incomplete. */
    private static final class GatedListener<Q> extends SimpleForwardingServerCallListener<Q> {

        private final IncompleteCalls.Incomplete call;
        private final boolean isUnary;
        private boolean isComplete;

        /** @param isUnary whether the call is complete when its caller has sent all, and not after the first message */
        GatedListener(ServerCall.Listener<Q> listener, IncompleteCalls.Incomplete call, boolean isUnary) {
            super(listener);
            this.call = call;
            this.isUnary = isUnary;
        }

        private boolean complete() {
            isComplete = isComplete || call.complete();
            return isComplete;
        }

        @Override
        public void onMessage(Q message) {
            if (isUnary || complete()) {
                super.onMessage(message);
            }
        }

        @Override
        public void onHalfClose() {
            if (complete()) {
                super.onHalfClose();
            }
        }

        @Override
        public void onCancel() {
            call.complete();
            super.onCancel();
        }

        @Override
        public void onComplete() {
            call.complete();
            super.onComplete();
        }
    }
}
