package dev.weir.gateway.envoy;

import io.grpc.Attributes;
import io.grpc.Grpc;
import io.grpc.ServerTransportFilter;
import io.grpc.Status;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.function.Predicate;

/** Counts the connections. Closes those above a maximum, and those from addresses that are not accepted. */
final class ConnectionBound extends ServerTransportFilter {

    private static final Attributes.Key<Boolean> IS_COUNTED = Attributes.Key.create("weir-is-counted");

    private final int max;
    private final EnvoyCounters counters;
    private final Predicate<InetAddress> callers;

    /** @param callers whether connections from an address are accepted */
    ConnectionBound(int max, EnvoyCounters counters, Predicate<InetAddress> callers) {
        this.max = max;
        this.counters = counters;
        this.callers = callers;
    }

    @Override
    public Attributes transportReady(Attributes attributes) {
        boolean isAccepted = attributes.get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR) instanceof InetSocketAddress caller
                && callers.test(caller.getAddress());
        if (!isAccepted) {
            counters.untrusted.increment();
            throw Status.PERMISSION_DENIED
                    .withDescription("the address is not in gateway.trusted-proxies")
                    .asRuntimeException();
        }
        if (counters.connections.incrementAndGet() > max) {
            counters.connections.decrementAndGet();
            counters.tooMany.increment();
            throw Status.RESOURCE_EXHAUSTED
                    .withDescription("the gateway has " + max + " connections, which is the maximum"
                            + " (gateway.envoy.max-connections)")
                    .asRuntimeException();
        }
        return attributes.toBuilder().set(IS_COUNTED, true).build();
    }

    /** @param attributes null if the connection was closed before it was ready */
    @Override
    public void transportTerminated(Attributes attributes) {
        if (attributes != null && Boolean.TRUE.equals(attributes.get(IS_COUNTED))) {
            counters.connections.decrementAndGet();
        }
    }
}
