package dev.weir.gateway;

import dev.weir.gateway.envoy.ConnectionBounds;
import dev.weir.server.http.ConnectionGuard;
import dev.weir.server.http.ConnectionGuard.Share;
import java.time.Duration;

/**
 * The bounds of the connections to the ports of a gateway. Trusted proxies have the large share, since all requests come
 * through them; other addresses only call for health checks, metrics and decisions with a token.
 */
final class ConnectionShares {

    /** All connections of an untrusted address may be this part of the maximum. */
    private static final int UNTRUSTED_PART = 4;

    private ConnectionShares() {}

    /** Returns the bounds of the port for HTTP. */
    static ConnectionGuard.Bounds ofHttp(GatewayConfig config, Duration timeout) {
        ForwardedAddress address = config.proxies().address();
        int max = config.maxConnections();
        Share trusted = new Share(max, max);
        int few = Math.min(max, ConnectionGuard.MAX_INCOMPLETE);
        Share untrusted = new Share(few, Math.max(few, max / UNTRUSTED_PART));
        return new ConnectionGuard.Bounds(
                timeout, max, address.ipv6PrefixLength(), caller -> address.isTrusted(caller) ? trusted : untrusted);
    }

    /** Returns the bounds of the port for gRPC, of addresses that may connect to it. */
    static ConnectionGuard.Bounds ofGrpc(GatewayConfig config, Duration timeout) {
        ForwardedAddress address = config.proxies().address();
        ConnectionBounds bounds = config.envoy().connections();
        int most = Math.min(bounds.maxConnections(), bounds.maxPerAddress());
        Share trusted = new Share(most, most);
        Share withCertificate = new Share(Math.min(most, ConnectionGuard.MAX_INCOMPLETE), most);
        return new ConnectionGuard.Bounds(
                timeout,
                bounds.maxConnections(),
                address.ipv6PrefixLength(),
                caller -> address.isTrusted(caller) ? trusted : withCertificate);
    }
}
