package dev.weir.gateway.envoy;

import dev.weir.server.http.ConnectionGuard;
import dev.weir.server.http.ConnectionGuard.Share;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.function.LongConsumer;
import java.util.function.Predicate;

/** Endpoints of tests: any free port of the loopback address. */
final class LoopbackEndpoint {

    static final Duration TIMEOUT = Duration.ofSeconds(10);

    private LoopbackEndpoint() {}

    static EnvoyServer.Endpoint of(
            EnvoyConfig config, Predicate<InetAddress> callers, Duration timeout, LongConsumer durationsNanos) {
        ConnectionBounds bounds = config.connections();
        int most = Math.min(bounds.maxConnections(), bounds.maxPerAddress());
        return new EnvoyServer.Endpoint(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                callers,
                new ConnectionGuard.Bounds(timeout, bounds.maxConnections(), 64, address -> new Share(most, most)),
                durationsNanos);
    }
}
