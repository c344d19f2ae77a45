package dev.weir.gateway;

import dev.weir.config.Setting;
import dev.weir.config.WeirConfig.Service;
import dev.weir.gateway.envoy.ConnectionBounds;
import dev.weir.gateway.envoy.EnvoyConfig;
import dev.weir.http.PathRules;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The configuration of a gateway: the section {@code gateway} of its file. The other sections are those of an enforcer.
 *
 * @param httpPort the port for HTTP, 0 to 65535; 0 for any free port
 * @param grpcPort the port for gRPC, 0 to 65535; 0 for any free port. Empty for any free port if {@code httpPort} is 0, and
 *     otherwise for {@link #DEFAULT_GRPC_PORT}
 * @param maxConnections how many connections the port accepts, 16 to 100,000
 * @param drain how long the gateway reports that it is not ready before it stops, 0 to 1 min
 * @param proxies how the calls of proxies are read
 * @param answers how calls are answered
 * @param envoy the rate limit service for Envoy, on the port for gRPC
 */
public record GatewayConfig(
        int httpPort,
        Optional<Integer> grpcPort,
        int maxConnections,
        Duration drain,
        ProxyRules proxies,
        Answers answers,
        EnvoyConfig envoy) {

    public static final int DEFAULT_HTTP_PORT = 8690;
    public static final int DEFAULT_GRPC_PORT = 8691;

    static final int MAX_ROUTES = 1_000;
    static final int MIN_CONNECTIONS = 16;
    static final Setting<Integer> HTTP_PORT = Setting.count("gateway.http-port", 0, Service.MAX_PORT);
    static final Setting<Optional<Integer>> GRPC_PORT =
            Setting.count("gateway.grpc-port", 0, Service.MAX_PORT).optional();
    static final Setting<Integer> MAX_CONNECTIONS = Setting.count("gateway.max-connections", MIN_CONNECTIONS, 100_000);
    static final Setting<Duration> DRAIN = Setting.durationOrZero("gateway.drain", Duration.ofMinutes(1));

    public static final GatewayConfig DEFAULTS = new GatewayConfig(
            DEFAULT_HTTP_PORT,
            Optional.empty(),
            4_096,
            Duration.ZERO,
            new ProxyRules(
                    new ForwardedAddress(
                            Stream.of("127.0.0.0/8", "::1/128")
                                    .map(AddressRange::parse)
                                    .toList(),
                            64),
                    OriginalRequest.X_FORWARDED,
                    PathRules.DEFAULTS),
            new Answers(List.of(), false),
            EnvoyConfig.DEFAULTS);

    /**
     * How calls are answered.
     *
     * @param routes how requests are decided: the first matching route applies, or {@link AuthorizeRoute#DEFAULT}
     * @param fallbackOnOverload whether the fallbacks decide the requests that are shed because there are too many;
     *     otherwise they are denied
     */
    public record Answers(List<AuthorizeRoute> routes, boolean fallbackOnOverload) {

        public Answers {
            routes = List.copyOf(routes);
        }
    }

    /** @throws IllegalArgumentException if a value is out of its range; the message starts with the key */
    public GatewayConfig {
        HTTP_PORT.require(httpPort);
        GRPC_PORT.require(grpcPort);
        MAX_CONNECTIONS.require(maxConnections);
        DRAIN.require(drain);
    }

    List<AuthorizeRoute> routes() {
        return answers.routes;
    }

    /** Returns a copy with another port. */
    public GatewayConfig withHttpPort(int other) {
        return new GatewayConfig(other, grpcPort, maxConnections, drain, proxies, answers, envoy);
    }

    /** Returns a copy with another port for gRPC. */
    public GatewayConfig withGrpcPort(int other) {
        return new GatewayConfig(httpPort, Optional.of(other), maxConnections, drain, proxies, answers, envoy);
    }

    /** Returns a copy with other bounds of connections. */
    GatewayConfig with(int maxHttpConnections, ConnectionBounds ofGrpc) {
        return new GatewayConfig(httpPort, grpcPort, maxHttpConnections, drain, proxies, answers, envoy.with(ofGrpc));
    }

    /** Returns the port for gRPC, 0 for any free port. */
    int effectiveGrpcPort() {
        return grpcPort.orElse(httpPort == 0 ? 0 : DEFAULT_GRPC_PORT);
    }

    /** Returns the route of a request. */
    AuthorizeRoute route(ProxiedRequest request) {
        for (AuthorizeRoute route : answers.routes) {
            if (route.matches(request)) {
                return route;
            }
        }
        return AuthorizeRoute.DEFAULT;
    }
}
