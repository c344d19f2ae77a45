package dev.weir.api;

import static io.javalin.http.HandlerType.DELETE;
import static io.javalin.http.HandlerType.GET;
import static io.javalin.http.HandlerType.POST;
import static io.javalin.http.HandlerType.PUT;

import dev.weir.backtest.ResultTooLargeException;
import dev.weir.config.BadSettingException;
import dev.weir.config.WeirConfig;
import dev.weir.config.WeirConfig.Service.TokenRule;
import dev.weir.fault.FaultsException;
import dev.weir.kafka.UnreachableException;
import dev.weir.live.Sampler;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.query.InstanceQueries;
import dev.weir.rules.PolicyTopic;
import dev.weir.rules.RefusedChangeException;
import dev.weir.runtime.Health;
import dev.weir.server.HealthChecks;
import dev.weir.server.HealthReport;
import dev.weir.server.ServiceMetrics;
import dev.weir.server.decide.DecideApi;
import dev.weir.server.decide.DecideMetrics;
import dev.weir.server.decide.DecidingClient;
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
import dev.weir.takeover.PeerWatch;
import dev.weir.takeover.TakeoverSource;
import dev.weir.wire.PolicyAvro.Kind;
import io.javalin.config.JavalinConfig;
import io.javalin.http.Context;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The HTTP service of an instance: definitions, queries, metrics, health checks and the live page. {@code openapi.yaml}
 * describes it.
 */
public final class WeirService implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(WeirService.class);

    private static final int MAX_HEALTH_THREADS = 4; // two of them accept and read from connections

    /** How many of these threads wrong tokens may delay at the same time. */
    private static final int MAX_DELAYED_HEALTH_THREADS = 1;

    private final WeirConfig config;
    private final ServiceListener listener;
    private final Optional<ServiceTls> tls;
    private final PeerInstances peers;
    private final DecidingClient client;
    private final PolicyTopic topic;
    private final LiveFeed feed;
    private final TakeoverApi takeover;
    private final ConnectionGuard guard;
    private final ConnectionGuard healthGuard;
    private final ServiceMetrics ownMetrics;
    private final DecideMetrics decideMetrics;
    private final ServiceServer server;
    private final ServiceServer healthServer; // has its own port and threads
    private volatile ServedInstance instance;
    private final boolean decides; // whether a token or the configuration permits /v1/decide
    private volatile Supplier<Health> health = () -> Health.STARTING;
    private volatile Supplier<List<String>> missing = List::of;
    private volatile Supplier<String> metrics;
    private boolean closed;

    private WeirService(
            WeirConfig config,
            AccessTokens tokens,
            Optional<ServiceTls> tls,
            ServiceListener listener,
            ServiceListener healthListener) {
        this.config = config;
        this.tls = tls;
        this.listener = listener;
        boolean isOpenToRead = listener.isLoopback() && !config.service().requiresReadToken();
        boolean isOpenToDecide = isOpenToRead && config.service().tokens().decide() == TokenRule.LOOPBACK;
        TokenThrottle wrongTokens = new TokenThrottle(TokenThrottle.MAX_WAITING);
        TokenThrottle wrongHealthTokens = new TokenThrottle(MAX_DELAYED_HEALTH_THREADS);
        Function<TokenThrottle, AccessControl> access =
                throttle -> new AccessControl(tokens, isOpenToRead, isOpenToDecide, listener.hostNames(), throttle);
        decides = isOpenToDecide || tokens.permitDeciding();
        client = new DecidingClient(config);
        topic = PolicyTopic.keepingContents(config);
        peers = new PeerInstances(tokens.peerToken(), tls);
        feed = new LiveFeed(peers);
        takeover = new TakeoverApi(peers, System::nanoTime, PeerWatch.ANSWERED);
        ConnectionGuard.Bounds bounds =
                ConnectionGuard.Bounds.ofService(config.service().timeouts().request());
        guard = new ConnectionGuard(bounds);
        healthGuard = new ConnectionGuard(bounds);
        ownMetrics = new ServiceMetrics(guard, () -> wrongTokens.total() + wrongHealthTokens.total(), () -> tls.map(
                        one -> one.validUntil().getEpochSecond())
                .orElse(0L));
        decideMetrics = new DecideMetrics(ownMetrics.registry().getPrometheusRegistry());
        healthServer = ServiceServer.start(
                new ServiceServer.Endpoint(healthListener, tls, access.apply(wrongHealthTokens), healthGuard),
                ServiceServer.Limits.DEFAULTS.withMaxThreads(MAX_HEALTH_THREADS),
                healthRoutes(),
                WeirService::addFailures);
        server = ServiceServer.start(
                new ServiceServer.Endpoint(listener, tls, access.apply(wrongTokens), guard),
                ServiceServer.Limits.DEFAULTS,
                routes(),
                WeirService::addFailures);
    }

    /**
     * Starts to listen. The service responds with 503 until {@link #attachEnforcer} is called.
     *
     * @param environment the environment variables of the process
     * @throws BadSettingException if the settings are invalid
     * @throws UnreachableException if a port cannot be bound
     */
    public static WeirService open(WeirConfig config, Map<String, String> environment) {
        AccessTokens tokens = AccessTokens.read(config.service(), environment);
        Optional<ServiceTls> tls = config.service().tls().map(ServiceTls::open);
        try {
            return open(config, tokens, tls);
        } catch (BadSettingException | UnreachableException e) {
            tls.ifPresent(ServiceTls::close);
            throw e;
        }
    }

    private static WeirService open(WeirConfig config, AccessTokens tokens, Optional<ServiceTls> tls) {
        ServiceListener listener = ServiceListener.open(config.service());
        try {
            requireTokens(config.service(), tokens, listener);
            ServiceListener health = ServiceListener.openForHealth(config.service());
            return new WeirService(config, tokens, tls, listener, health);
        } catch (BadSettingException | UnreachableException e) {
            listener.close();
            throw e;
        }
    }

    private static void requireTokens(WeirConfig.Service service, AccessTokens tokens, ServiceListener listener) {
        boolean isOpen = service.tokens().read().equals(Optional.of(TokenRule.LOOPBACK));
        if (isOpen && !listener.isLoopback()) {
            throw new BadSettingException(
                    "service.read-token: loopback requires a loopback address as service.host, which "
                            + service.listener().host() + " is not",
                    null);
        }
        if (service.tokens().decide() == TokenRule.LOOPBACK && !listener.isLoopback()) {
            throw new BadSettingException(
                    "service.decide-token: loopback requires a loopback address as service.host, which "
                            + service.listener().host() + " is not",
                    null);
        }
        if (!tokens.changeTokens().isEmpty()) {
            return;
        }
        String how = ": set a token with service.token-file or the environment variable WEIR_TOKEN";
        if (!listener.isLoopback()) {
            throw new BadSettingException(
                    "service.host is " + service.listener().host() + ", which is not a loopback address" + how, null);
        }
        if (service.requiresReadToken()) {
            throw new BadSettingException(
                    "service.read-token is required"
                            + (service.tokens().read().isPresent()
                                    ? ""
                                    : ", because service.host or service.advertise is set")
                            + how,
                    null);
        }
    }

    /** Returns the address at which other instances reach the service: {@code host:port}. */
    public String address() {
        return listener.address();
    }

    /** Returns the URL of the service: {@code http://host:port} or {@code https://host:port}. */
    public String url() {
        return scheme() + listener.address();
    }

    /** Returns the URL of the port that serves only health checks and metrics. */
    public String healthUrl() {
        String host = listener.address().substring(0, listener.address().lastIndexOf(':'));
        return scheme() + host + ":" + healthPort();
    }

    private String scheme() {
        return tls.isPresent() ? "https://" : "http://";
    }

    public int port() {
        return server.port();
    }

    public int healthPort() {
        return healthServer.port();
    }

    /**
     * Connects to the brokers for {@code /v1/decide}, in the background, if callers may use it. The topics must exist.
     */
    public void startDeciding() {
        if (decides) {
            client.start();
        }
    }

    /**
     * Waits until {@code /v1/decide} can answer within the timeouts of its callers, after {@link #startDeciding}.
     * Returns whether it can, or waiting would not help because this user lacks permissions for it.
     */
    public boolean awaitDeciding(Duration timeout) throws InterruptedException {
        if (!decides || client.isRefused() || client.awaitReady(timeout)) {
            return true;
        }
        Optional<String> refusal = client.closeIfRefused();
        refusal.ifPresent(why -> LOG.info("POST /v1/decide lacks permissions: {}", why));
        return refusal.isPresent();
    }

    /**
     * Starts to serve an enforcer, and to connect as by {@link #startDeciding}.
     *
     * @param live the policies and queues by which the enforcer decides
     */
    public void attachEnforcer(PolicyRegistry live, InstanceQueries queries) {
        if (decides) {
            client.start();
            DecideWarmUp.run(config, queries);
        }
        instance = new ServedInstance(new RuleService(config, live, topic), queries);
    }

    /** Responds with 503 again until {@link #attachEnforcer} is called with the next enforcer. */
    public void detachEnforcer() {
        instance = null;
    }

    /** Sets the source of the health. Before that, the health is {@link Health#STARTING}. */
    public void setHealth(Supplier<Health> current) {
        setHealth(current, List::of);
    }

    /** @param missingNow what is missing until the enforcer is running, in words */
    public void setHealth(Supplier<Health> current, Supplier<List<String>> missingNow) {
        missing = missingNow;
        health = current;
    }

    /** Sets the source of the metrics. The enforcer may still be starting. */
    public void setMetrics(Supplier<String> current) {
        metrics = current;
    }

    /**
     * Starts the live feed. The enforcer may still be starting.
     *
     * @param others the addresses of the other instances
     */
    public void startLiveFeed(Sampler own, Supplier<Set<String>> others) {
        feed.start(own, others);
    }

    /** Starts to take over from other instances that die, and to let them take over from this one. */
    public void startTakeover(TakeoverSource source) {
        if (config.takeover().enabled()) {
            takeover.start(source);
        }
    }

    /** An enforcer that runs, but whose requests cannot be served yet, is starting. */
    private HealthReport health() {
        if (client.hasStopped()) {
            return HealthReport.ofStoppedClient();
        }
        Health current = health.get();
        List<String> lacking = new ArrayList<>(missing.get());
        boolean isServed = instance != null;
        if (!isServed) {
            lacking.add("the HTTP API waits for the enforcer");
        }
        if (decides && !client.isReady()) {
            isServed &= client.isRefused();
            lacking.add(
                    client.isRefused()
                            ? "POST /v1/decide lacks permissions of the role leased"
                            : "POST /v1/decide has no connection to the brokers yet");
        }
        boolean isStarting = current == Health.RUNNING && !isServed;
        return (isStarting ? Health.STARTING : current).report(lacking);
    }

    /** Completes the requests that are being processed, and rejects new ones. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            takeover.close();
            feed.close(); // otherwise the stop would wait for the viewers
            server.close();
            healthServer.close();
            guard.close();
            healthGuard.close();
            client.close();
            topic.close();
            peers.close();
            tls.ifPresent(ServiceTls::close);
        }
    }

    private void metrics(Context request) {
        Supplier<String> current = metrics;
        if (current == null) {
            throw ProblemDetails.unavailable("the enforcer is starting").exception();
        }
        request.contentType(ServiceMetrics.FORMAT).result(current.get() + ownMetrics.scrape());
    }

    private ServedInstance instance() {
        ServedInstance current = instance;
        if (current == null) {
            throw ProblemDetails.unavailable("the enforcer is starting").exception();
        }
        return current;
    }

    List<Route> routes() {
        DefinitionApi policies =
                new DefinitionApi(Kind.POLICY, "policies", () -> instance().rules());
        DefinitionApi queues =
                new DefinitionApi(Kind.QUEUE, "queues", () -> instance().rules());
        QueryApi asking = new QueryApi(config, this::instance, peers, listener.address());
        DecideApi deciding = new DecideApi(config, client, decideMetrics);
        DryRun trial = new DryRun(() -> instance().rules());
        QueueCommandApi commands = new QueueCommandApi(this::instance, peers);
        DeadLetterApi deadLetters = new DeadLetterApi(() -> instance().rules());
        GatewayFeed gateways = new GatewayFeed(config.service(), peers);
        OpenApiDocument openApi = new OpenApiDocument();
        HealthChecks checks = new HealthChecks(this::health);
        return List.of(
                new Route(GET, AccessControl.LIVENESS_PATH, Permission.HEALTH, checks::live),
                new Route(GET, AccessControl.READINESS_PATH, Permission.HEALTH, checks::ready),
                new Route(GET, "/metrics", Permission.READ, this::metrics),
                new Route(GET, "/", Permission.PAGE, LivePage::redirect),
                new Route(GET, AccessControl.LIVE_PAGE_PATH, Permission.PAGE, LivePage::page),
                new Route(GET, AccessControl.LIVE_PAGE_PATH + "/{file}", Permission.PAGE, LivePage::file),
                new Route(GET, "/v1/live", Permission.READ, feed::watch),
                new Route(GET, "/v1/live/history", Permission.READ, feed::history),
                new Route(GET, LiveFeed.LIMITED_PATH, Permission.READ, feed::limited),
                new Route(GET, LiveFeed.REPORT_PATH, Permission.READ, feed::report),
                new Route(GET, TakeoverApi.PATH, Permission.READ, takeover::announce),
                new Route(GET, "/v1/gateways", Permission.READ, gateways::list),
                new Route(GET, "/v1/policies", Permission.READ, policies::list),
                new Route(GET, "/v1/policies/{id}", Permission.READ, policies::get),
                new Route(PUT, "/v1/policies/{id}", Permission.CHANGE, policies::put),
                new Route(DELETE, "/v1/policies/{id}", Permission.CHANGE, policies::delete),
                new Route(GET, "/v1/policies/{id}/history", Permission.READ, policies::history),
                new Route(GET, "/v1/queues", Permission.READ, asking::queues),
                new Route(GET, "/v1/queues/{id}", Permission.READ, asking::queue),
                new Route(GET, "/v1/queues/{id}/keys/{key}", Permission.READ, asking::key),
                new Route(PUT, "/v1/queues/{id}", Permission.CHANGE, queues::put),
                new Route(DELETE, "/v1/queues/{id}", Permission.CHANGE, queues::delete),
                new Route(GET, "/v1/queues/{id}/history", Permission.READ, queues::history),
                new Route(GET, "/v1/queues/{id}/commands", Permission.READ, commands::list),
                new Route(POST, "/v1/queues/{id}/commands", Permission.CHANGE, commands::send),
                new Route(POST, "/v1/validate", Permission.READ, trial::validate),
                new Route(POST, "/v1/backtest", Permission.READ, trial::backtest),
                new Route(GET, "/v1/usage/{client}", Permission.READ, asking::usage),
                new Route(GET, "/v1/shared/{id}", Permission.READ, asking::sharedUsage),
                new Route(GET, "/v1/reservations/{client}", Permission.READ, asking::reservations),
                new Route(GET, "/v1/decisions/{client}", Permission.READ, asking::decisions),
                new Route(GET, "/v1/dead-letters", Permission.READ, deadLetters::list),
                new Route(POST, "/v1/dead-letters/replay", Permission.CHANGE, deadLetters::replay),
                new Route(POST, AccessControl.DECIDE_PATH, Permission.DECIDE, deciding::decide),
                new Route(POST, AccessControl.COMPLETE_PATH, Permission.DECIDE, deciding::complete),
                new Route(POST, AccessControl.EXTEND_PATH, Permission.DECIDE, deciding::extend),
                new Route(POST, AccessControl.PEEK_PATH, Permission.READ, asking::peek),
                new Route(GET, "/v1/openapi.json", Permission.READ, openApi::json),
                new Route(GET, "/v1/openapi.yaml", Permission.READ, openApi::yaml));
    }

    /** The routes of the port for health checks. */
    private List<Route> healthRoutes() {
        HealthChecks checks = new HealthChecks(this::health);
        return List.of(
                new Route(GET, AccessControl.LIVENESS_PATH, Permission.HEALTH, checks::live),
                new Route(GET, AccessControl.READINESS_PATH, Permission.HEALTH, checks::ready),
                new Route(GET, "/metrics", Permission.READ, this::metrics));
    }

    /** Writes the responses to the failures of the enforcer's routes. */
    private static void addFailures(JavalinConfig settings) {
        settings.routes.exception(
                FaultsException.class,
                (e, request) -> ResponseWriter.write(request, ProblemDetails.invalid(e.faults())));
        settings.routes.exception(
                RefusedChangeException.class,
                (e, request) -> ResponseWriter.write(request, ProblemDetails.conflict(e.getMessage())));
        settings.routes.exception(
                ResultTooLargeException.class,
                (e, request) -> ResponseWriter.write(request, ProblemDetails.of(413, e.getMessage())));
    }
}
