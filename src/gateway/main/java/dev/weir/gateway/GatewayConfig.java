package dev.weir.gateway;

import dev.weir.config.Setting;
import dev.weir.config.WeirConfig.Service;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/**
 * The configuration of a gateway: the section {@code gateway} of its file. The other sections are those of an enforcer.
 *
 * @param httpPort the port for HTTP, 0 to 65535; 0 for any free port
 * @param maxConnections how many connections the port accepts, 16 to 100,000
 * @param drain how long the gateway reports that it is not ready before it stops, 0 to 1 min
 * @param address finds the addresses of clients
 * @param original how proxies pass on the request that they have received
 * @param routes how requests are decided: the first matching route applies, or {@link AuthorizeRoute#DEFAULT}
 */
public record GatewayConfig(
        int httpPort,
        int maxConnections,
        Duration drain,
        ForwardedAddress address,
        OriginalRequest original,
        List<AuthorizeRoute> routes) {

    public static final int DEFAULT_HTTP_PORT = 8690;

    static final int MAX_ROUTES = 1_000;
    static final Setting<Integer> HTTP_PORT = Setting.count("gateway.http-port", 0, Service.MAX_PORT);
    static final Setting<Integer> MAX_CONNECTIONS = Setting.count("gateway.max-connections", 16, 100_000);
    static final Setting<Duration> DRAIN = Setting.durationOrZero("gateway.drain", Duration.ofMinutes(1));

    public static final GatewayConfig DEFAULTS = new GatewayConfig(
            DEFAULT_HTTP_PORT,
            4_096,
            Duration.ZERO,
            new ForwardedAddress(
                    Stream.of("127.0.0.0/8", "::1/128").map(AddressRange::parse).toList(), 64),
            OriginalRequest.X_FORWARDED,
            List.of());

    /** @throws IllegalArgumentException if a value is out of its range; the message starts with the key */
    public GatewayConfig {
        HTTP_PORT.require(httpPort);
        MAX_CONNECTIONS.require(maxConnections);
        DRAIN.require(drain);
        routes = List.copyOf(routes);
    }

    /** Returns a copy with another port. */
    public GatewayConfig withHttpPort(int other) {
        return new GatewayConfig(other, maxConnections, drain, address, original, routes);
    }

    /** Returns the route of a request. */
    AuthorizeRoute route(ProxiedRequest request) {
        for (AuthorizeRoute route : routes) {
            if (route.matches(request)) {
                return route;
            }
        }
        return AuthorizeRoute.DEFAULT;
    }
}
