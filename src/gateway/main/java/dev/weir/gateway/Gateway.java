package dev.weir.gateway;

import static io.javalin.http.HandlerType.GET;
import static io.javalin.http.HandlerType.POST;

import dev.weir.config.BadSettingException;
import dev.weir.config.WeirConfig;
import dev.weir.config.WeirConfig.Service.TokenRule;
import dev.weir.gateway.envoy.EnvoyMetrics;
import dev.weir.gateway.envoy.EnvoyServer;
import dev.weir.gateway.envoy.EnvoyTls;
import dev.weir.gateway.envoy.mapping.CallBounds;
import dev.weir.gateway.envoy.mapping.EntryTexts;
import dev.weir.kafka.KafkaSettings;
import dev.weir.kafka.UnreachableException;
import dev.weir.server.HealthChecks;
import dev.weir.server.HealthReport;
import dev.weir.server.ProcessMetrics;
import dev.weir.server.ServiceMetrics;
import dev.weir.server.decide.DecideApi;
import dev.weir.server.decide.DecideMetrics;
import dev.weir.server.decide.DecidingClient;
import dev.weir.server.decide.RequestDecider;
import dev.weir.server.http.AccessControl;
import dev.weir.server.http.AccessControl.Permission;
import dev.weir.server.http.AccessTokens;
import dev.weir.server.http.ConnectionGuard;
import dev.weir.server.http.ProblemDetails;
import dev.weir.server.http.ResponseWriter;
import dev.weir.server.http.ServiceListener;
import dev.weir.server.http.ServiceServer;
import dev.weir.server.http.ServiceServer.Route;
import dev.weir.server.http.ServiceTls;
import dev.weir.server.http.TokenThrottle;
import dev.weir.wire.json.Json;
import io.javalin.http.NotFoundResponse;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.config.ConfigException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A gateway: a process without state that decides the requests of proxies. It is ready when it has connected to the
 * brokers, or after 10 s without them: then the fallback of each route decides until they respond. It continues if they
 * fail.
 */
public final class Gateway implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Gateway.class);

    /** How long a gateway waits for brokers before it is ready without them. */
    private static final Duration CONNECTING = Duration.ofSeconds(10);

    private static final int MAX_THREADS = 16;

    private static final int MAX_HEADER_BYTES = 64 << 10;

    private static final List<String> UNCONNECTED =
            List.of("a connection to the brokers; until then, the fallbacks decide");

    private final Duration drain;
    private final ServiceListener listener;
    private final Optional<ServiceTls> tls;
    private final ConnectionGuard guard;
    private final ServiceMetrics metrics;
    private final ProcessMetrics processMetrics;
    private final DecidingClient client;
    private final InFlightRequests inFlight;
    private final EnvoyServer envoy;
    private final ServiceServer server;
    private final Thread connecting = new Thread(this::connect, "gateway-start");
    private final CountDownLatch ready = new CountDownLatch(1);
    private final CountDownLatch stopped = new CountDownLatch(1);
    private volatile boolean isDraining;
    private boolean closed;

    private Gateway(
            WeirConfig weir,
            GatewayConfig config,
            AccessTokens tokens,
            Optional<ServiceTls> tls,
            ServiceListener listener) {
        drain = config.drain();
        this.listener = listener;
        this.tls = tls;
        boolean isOpenToRead = listener.isLoopback() && !weir.service().requiresReadToken();
        boolean isOpenToDecide = isOpenToRead && weir.service().tokens().decide() == TokenRule.LOOPBACK;
        TokenThrottle wrongTokens = new TokenThrottle(TokenThrottle.MAX_WAITING);
        AccessControl access =
                new AccessControl(tokens, isOpenToRead, isOpenToDecide, listener.hostNames(), wrongTokens);
        guard = new ConnectionGuard(
                ConnectionShares.ofHttp(config, weir.service().timeouts().request()));
        metrics = new ServiceMetrics(
                guard, wrongTokens::total, () -> tls.map(one -> one.validUntil().getEpochSecond())
                        .orElse(0L));
        processMetrics = new ProcessMetrics(metrics.registry());
        client = DecidingClient.ofGateway(weir, config.answers().fallbackOnOverload());
        client.bindTo(metrics.registry());
        addMetrics(config);
        AuthorizeHandler authorize = new AuthorizeHandler(
                config,
                weir.requests().rules(),
                weir.service().xRateLimit(),
                client,
                new AuthorizeMetrics(metrics.registry().getPrometheusRegistry(), AuthorizeHandler.routeIds(config)),
                () -> isDraining);
        inFlight = new InFlightRequests(authorize);
        envoy = startEnvoy(weir, config);
        List<Route> routes = routes(weir);
        server = ServiceServer.start(
                new ServiceServer.Endpoint(listener, tls, access, guard),
                new ServiceServer.Limits(
                        MAX_THREADS, MAX_HEADER_BYTES, true, ServiceServer.Limits.DEFAULTS.stopTimeout()),
                routes,
                settings -> settings.routes.exception(
                        NotFoundResponse.class, (e, request) -> ResponseWriter.write(request, notFound(routes))),
                Optional.of(inFlight));
        connecting.setDaemon(true);
        connecting.start();
    }

    private void connect() {
        try {
            var unused = client.awaitReady(CONNECTING);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the gateway is closed
        } finally {
            envoy.reportServing();
            ready.countDown();
        }
    }

    private static ProblemDetails notFound(List<Route> routes) {
        String paths = Stream.concat(
                        Stream.of(AuthorizeHandler.PATH), routes.stream().map(Route::path))
                .sorted()
                .collect(Collectors.joining(", "));
        return ProblemDetails.of(404, "there is no such path; those of gateway.http-port are " + paths);
    }

    private void addMetrics(GatewayConfig config) {
        PrometheusRegistry registry = metrics.registry().getPrometheusRegistry();
        GaugeWithCallback.builder()
                .name("weir_gateway_connected")
                .help("1 if the gateway has reached the brokers since its start, 0 if not")
                .callback(value -> value.call(client.isReady() ? 1 : 0))
                .register(registry);
        CallBounds calls = config.envoy().bounds();
        GaugeWithCallback.builder()
                .name("weir_gateway_bound")
                .help("How many the gateway can have at the same time")
                .labelNames("of")
                .callback(value -> {
                    value.call(DecidingClient.MAX_IN_FLIGHT, "requests");
                    value.call(config.maxConnections(), "connections");
                    value.call(calls.maxCalls(), "envoy_calls");
                    value.call(config.envoy().connections().maxConnections(), "envoy_connections");
                })
                .register(registry);
    }

    /** A caller must be a trusted proxy or have a certificate. */
    private EnvoyServer startEnvoy(WeirConfig weir, GatewayConfig config) {
        boolean hasCertificates =
                config.envoy().tls().flatMap(EnvoyTls::clientCa).isPresent();
        EnvoyMetrics envoyMetrics = new EnvoyMetrics(
                metrics.registry().getPrometheusRegistry(), () -> envoy.stats(), () -> envoy.connections());
        int port = config.effectiveGrpcPort();
        UntrustedCallers untrusted = new UntrustedCallers("the gRPC port");
        Predicate<InetAddress> callers = caller -> {
            boolean isAccepted = hasCertificates || config.proxies().address().isTrusted(caller);
            if (!isAccepted) {
                untrusted.log(caller);
            }
            return isAccepted;
        };
        try {
            InetAddress host = listener.bound().getAddress();
            return EnvoyServer.start(
                    config.envoy()
                            .with(new EntryTexts(
                                    weir.requests().rules().maxAttributeLength(),
                                    config.proxies().address().ipv6PrefixLength()))
                            .with(weir.service().xRateLimit()),
                    new EnvoyServer.Endpoint(
                            new InetSocketAddress(host, port),
                            callers,
                            ConnectionShares.ofGrpc(
                                    config, weir.service().timeouts().request()),
                            envoyMetrics),
                    client);
        } catch (IOException e) {
            client.close();
            throw ServiceListener.cannotListen(weir.service(), port, "gateway.grpc-port", "--grpc-port", e);
        } catch (IllegalArgumentException e) {
            client.close();
            throw new BadSettingException(e.getMessage(), e);
        }
    }

    /**
     * Starts a gateway. It does not wait for the brokers.
     *
     * @param weir the sections that an enforcer has too; of its HTTP service, all but the ports
     * @param environment the environment variables of the process
     * @throws BadSettingException if the settings are invalid
     * @throws ConfigException if the properties of Kafka's clients are invalid
     * @throws UnreachableException if a port cannot be bound
     */
    public static Gateway open(WeirConfig weir, GatewayConfig config, Map<String, String> environment) {
        KafkaSettings.requireValid(weir);
        requireDifferentPorts(config);
        requireTlsFiles(config);
        AccessTokens tokens = AccessTokens.read(weir.service(), environment);
        Optional<ServiceTls> tls = weir.service().tls().map(ServiceTls::open);
        try {
            ServiceListener listener =
                    ServiceListener.open(weir.service(), config.httpPort(), "gateway.http-port", "--http-port");
            try {
                return new Gateway(weir, DescriptorShare.fit(config), tokens, tls, listener);
            } catch (RuntimeException e) {
                listener.close();
                throw e;
            }
        } catch (RuntimeException e) {
            tls.ifPresent(ServiceTls::close);
            throw e;
        }
    }

    private static void requireDifferentPorts(GatewayConfig config) {
        if (config.httpPort() != 0 && config.httpPort() == config.effectiveGrpcPort()) {
            throw new BadSettingException(
                    "gateway.http-port and gateway.grpc-port must differ, both are " + config.httpPort(), null);
        }
    }

    /** Checks them before anything starts. */
    private static void requireTlsFiles(GatewayConfig config) {
        try {
            config.envoy().tls().ifPresent(EnvoyTls::requireReadable);
        } catch (IllegalArgumentException e) {
            throw new BadSettingException(e.getMessage(), e);
        }
    }

    private List<Route> routes(WeirConfig weir) {
        HealthChecks checks = new HealthChecks(this::health);
        DecideApi deciding =
                new DecideApi(weir, client, new DecideMetrics(metrics.registry().getPrometheusRegistry()));
        return List.of(
                new Route(GET, AccessControl.LIVENESS_PATH, Permission.HEALTH, checks::live),
                new Route(GET, AccessControl.READINESS_PATH, Permission.HEALTH, checks::ready),
                new Route(GET, "/metrics", Permission.READ, request -> request.contentType(ServiceMetrics.FORMAT)
                        .result(metrics.scrape())),
                new Route(GET, WeirConfig.Service.GATEWAY_STATUS_PATH, Permission.READ, request -> request.contentType(
                                "application/json")
                        .result(Json.write(status()))),
                new Route(POST, AccessControl.DECIDE_PATH, Permission.DECIDE, deciding::decide),
                new Route(POST, AccessControl.COMPLETE_PATH, Permission.DECIDE, deciding::complete),
                new Route(POST, AccessControl.EXTEND_PATH, Permission.DECIDE, deciding::extend));
    }

    private GatewayStatus status() {
        return GatewayStatus.of(health().status(), client.stats().orElseThrow(), System.currentTimeMillis());
    }

    private HealthReport health() {
        if (isDraining) {
            return new HealthReport("STOPPING", "the gateway is stopping", true, false, List.of());
        }
        if (client.isReady()) {
            return new HealthReport("RUNNING", "the gateway is running", true, true, List.of());
        }
        if (client.hasStopped()) {
            return HealthReport.ofStoppedClient();
        }
        boolean isReady = ready.getCount() == 0;
        return isReady
                ? new HealthReport("NO_BROKERS", "no broker responds, so the fallbacks decide", true, true, UNCONNECTED)
                : new HealthReport("CONNECTING", "the gateway is connecting", true, false, UNCONNECTED);
    }

    /**
     * Waits until the gateway has reached the brokers, 10 s have passed, so that the fallbacks decide, or it is closed.
     * Returns whether that is so within the timeout.
     */
    public boolean awaitReady(Duration timeout) throws InterruptedException {
        return ready.await(timeout.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** Returns whether the gateway has reached the brokers since its start. */
    public boolean isConnected() {
        return client.isReady();
    }

    /** Returns the URL of the HTTP port. */
    public String url() {
        return (tls.isPresent() ? "https://" : "http://") + listener.address();
    }

    public int httpPort() {
        return server.port();
    }

    public int grpcPort() {
        return envoy.port();
    }

    /** Waits until the gateway is closed. */
    public void awaitClose() throws InterruptedException {
        stopped.await();
    }

    /**
     * Stops the gateway: it reports that it is not ready, serves for the configured time, completes the requests that
     * it has received, and returns its leases.
     */
    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        envoy.reportStopping();
        isDraining = true; // from now on, connections are closed after their next response
        connecting.interrupt();
        try {
            TimeUnit.MILLISECONDS.sleep(drain.toMillis());
            listener.close();
            if (!inFlight.awaitNone(RequestDecider.MAX_TIMEOUT)) {
                LOG.warn("The gateway stops although requests are in progress");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        envoy.close();
        server.close();
        guard.close();
        client.close();
        tls.ifPresent(ServiceTls::close);
        processMetrics.close();
        metrics.registry().close();
        stopped.countDown();
    }
}
