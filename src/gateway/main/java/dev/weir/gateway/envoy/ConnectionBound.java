package dev.weir.gateway.envoy;

import io.grpc.Attributes;
import io.grpc.ServerTransportFilter;
import io.grpc.Status;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts the connections and closes those above a maximum. */
final class ConnectionBound extends ServerTransportFilter {

    private static final Attributes.Key<Boolean> IS_COUNTED = Attributes.Key.create("weir-is-counted");

    private final int max;
    private final AtomicInteger connections;

    ConnectionBound(int max, AtomicInteger connections) {
        this.max = max;
        this.connections = connections;
    }

    @Override
    public Attributes transportReady(Attributes attributes) {
        if (connections.incrementAndGet() > max) {
            connections.decrementAndGet();
            throw Status.RESOURCE_EXHAUSTED
                    .withDescription("the gateway has " + max + " connections, which is the maximum"
                            + " (envoy.max-connections)")
                    .asRuntimeException();
        }
        return attributes.toBuilder().set(IS_COUNTED, true).build();
    }

    /** @param attributes null if the connection was closed before it was ready */
    @Override
    public void transportTerminated(Attributes attributes) {
        if (attributes != null && Boolean.TRUE.equals(attributes.get(IS_COUNTED))) {
            connections.decrementAndGet();
        }
    }
}
