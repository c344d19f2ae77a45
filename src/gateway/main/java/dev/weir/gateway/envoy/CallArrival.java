package dev.weir.gateway.envoy;

import dev.weir.gateway.envoy.proto.RateLimitServiceGrpc;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The arrival of the headers of a call, whose message can follow later. The timeout of the call begins here, and from
 * here until its end it has one of the places for calls in progress. A call that finds no place must be rejected.
 */
final class CallArrival extends ServerStreamTracer {

    private static final Context.Key<CallArrival> KEY = Context.key("weir-call-arrival");

    private final long nanos = System.nanoTime();
    private final AtomicInteger inProgress;
    private final AtomicBoolean hasPlace;

    private CallArrival(AtomicInteger inProgress, int max) {
        this.inProgress = inProgress;
        hasPlace = new AtomicBoolean(inProgress.incrementAndGet() <= max);
        if (!hasPlace.get()) {
            inProgress.decrementAndGet();
        }
    }

    /**
     * Returns a factory that records the arrivals of calls of the rate limit service.
     *
     * @param inProgress counts the calls that have places
     * @param max the number of places
     */
    static ServerStreamTracer.Factory factory(AtomicInteger inProgress, int max) {
        String service = RateLimitServiceGrpc.SERVICE_NAME + "/";
        return new ServerStreamTracer.Factory() {
            @Override
            public ServerStreamTracer newServerStreamTracer(String fullMethodName, Metadata headers) {
                return fullMethodName.startsWith(service)
                        ? new CallArrival(inProgress, max)
                        : new ServerStreamTracer() {};
            }
        };
    }

    /** Returns the arrival of the call that the calling thread runs. */
    static CallArrival current() {
        return KEY.get();
    }

    @Override
    public Context filterContext(Context context) {
        return context.withValue(KEY, this);
    }

    /** Returns whether the call has a place, until it ends. */
    boolean hasPlace() {
        return hasPlace.get();
    }

    /** Returns when the call arrived, by {@link System#nanoTime}. */
    long nanos() {
        return nanos;
    }

    @Override
    public void streamClosed(Status status) {
        if (hasPlace.getAndSet(false)) {
            inProgress.decrementAndGet();
        }
    }
}
