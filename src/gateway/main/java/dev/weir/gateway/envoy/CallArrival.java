package dev.weir.gateway.envoy;

import dev.weir.gateway.envoy.proto.RateLimitServiceGrpc;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The arrival of the headers of a call, whose message can follow later. The timeout of the call begins here, and from
 * here until its end it has its places among the calls in progress.
 */
final class CallArrival extends ServerStreamTracer {

    private static final Context.Key<CallArrival> KEY = Context.key("weir-call-arrival");
    private static final String SERVICE = RateLimitServiceGrpc.SERVICE_NAME + "/";
    private static final Runnable NO_PLACES = () -> {};

    private final long nanos = System.nanoTime();
    private final boolean isRateLimit;
    private final AtomicReference<Runnable> places = new AtomicReference<>(NO_PLACES);
    private volatile CallerConnection connection; // null before admission

    private CallArrival(boolean isRateLimit) {
        this.isRateLimit = isRateLimit;
    }

    /** Returns a factory that records the arrivals of calls. */
    static ServerStreamTracer.Factory factory() {
        return new ServerStreamTracer.Factory() {
            @Override
            public ServerStreamTracer newServerStreamTracer(String fullMethodName, Metadata headers) {
                return new CallArrival(fullMethodName.startsWith(SERVICE));
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

    /** Returns whether it is a call of the rate limit service. */
    boolean isRateLimit() {
        return isRateLimit;
    }

    /** Returns when the call arrived, by {@link System#nanoTime}. */
    long nanos() {
        return nanos;
    }

    /**
     * Records that the call was admitted.
     *
     * @param its the connection of the call
     * @param returnPlaces returns the places of the call; runs once, on any thread
     */
    void admitted(CallerConnection its, Runnable returnPlaces) {
        connection = its;
        places.set(returnPlaces);
    }

    /** Returns the places of the call, unless they were returned already. */
    void leave() {
        places.getAndSet(NO_PLACES).run();
    }

    @Override
    public void streamClosed(Status status) {
        leave();
        boolean isReset =
                status.getCode() == Status.Code.CANCELLED || status.getCode() == Status.Code.DEADLINE_EXCEEDED;
        CallerConnection its = connection;
        if (its != null && isReset) {
            its.reset();
        } else if (its != null && isRateLimit && status.isOk()) {
            its.answered();
        }
    }
}
