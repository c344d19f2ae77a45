package dev.weir.server.http;

import static io.javalin.http.HandlerType.GET;
import static io.javalin.http.HandlerType.HEAD;

import dev.weir.kafka.UnreachableException;
import dev.weir.server.http.AccessControl.Permission;
import io.javalin.Javalin;
import io.javalin.compression.CompressionStrategy;
import io.javalin.config.JavalinConfig;
import io.javalin.http.Handler;
import io.javalin.http.HandlerType;
import io.javalin.http.HttpResponseException;
import io.javalin.util.JavalinException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.function.Consumer;
import org.eclipse.jetty.http.UriCompliance;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.SecureRequestCustomizer;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An HTTP server that authorizes its callers and bounds connections, bodies and responses. */
public final class ServiceServer implements AutoCloseable {

    private static final int MIN_THREADS = 2;
    private static final int MAX_THREADS = 16;
    private static final int THREADS_PER_SELECTOR = 4;
    private static final int MAX_HEADER_BYTES = 8 << 10;
    private static final int IDLE_MS = 30_000;
    private static final long ASYNC_TIMEOUT_MS = 15_000;
    private static final long STOP_TIMEOUT_MS = 2_000;
    private static final long CLOSE_IDLE_MS = 100;
    private static final Logger LOG = LoggerFactory.getLogger(ServiceServer.class);

    private final Javalin javalin;

    /** A path and method with its handler. */
    public record Route(HandlerType method, String path, Permission permission, Handler handler) {}

    /**
     * Where a server listens, and for whom.
     *
     * @param tls empty to disable TLS
     * @param guard bounds the connections
     */
    public record Endpoint(
            ServiceListener listener, Optional<ServiceTls> tls, AccessControl access, ConnectionGuard guard) {}

    /**
     * The limits of a server.
     *
     * @param maxThreads how many threads process requests
     * @param maxHeaderBytes how long the request line and the headers of a request can be together
     * @param isLenient whether URIs are accepted that some servers interpret differently, such as those with an encoded
     *     slash
     * @param stopTimeout how long {@link #close} waits for the requests that are being processed
     */
    public record Limits(int maxThreads, int maxHeaderBytes, boolean isLenient, Duration stopTimeout) {

        public static final Limits DEFAULTS =
                new Limits(MAX_THREADS, MAX_HEADER_BYTES, false, Duration.ofMillis(STOP_TIMEOUT_MS));

        public Limits withMaxThreads(int other) {
            return new Limits(other, maxHeaderBytes, isLenient, stopTimeout);
        }
    }

    private ServiceServer(Javalin javalin) {
        this.javalin = javalin;
    }

    /**
     * Starts a server, which listens when it can answer.
     *
     * @param more adds further handlers of exceptions
     * @throws UnreachableException if another process has bound the port
     */
    public static ServiceServer start(
            Endpoint endpoint, Limits limits, List<Route> routes, Consumer<JavalinConfig> more) {
        return start(endpoint, limits, routes, more, Optional.empty());
    }

    /**
     * Starts a server, which listens when it can answer.
     *
     * @param more adds further handlers of exceptions
     * @param first receives each request before the routes. Only the guard and the bounds of requests apply to those
     *     that it handles, not the access control, and their responses are not buffered. If it ends with a
     *     {@link ThreadPoolHandler}, it runs in the threads that read from connections
     * @throws UnreachableException if another process has bound the port
     */
    public static ServiceServer start(
            Endpoint endpoint,
            Limits limits,
            List<Route> routes,
            Consumer<JavalinConfig> more,
            Optional<org.eclipse.jetty.server.Handler.Wrapper> first) {
        Javalin javalin = Javalin.create(settings -> {
            setUp(settings, endpoint, limits, first);
            addRoutes(settings, endpoint.access(), routes);
            more.accept(settings);
        });
        try {
            return new ServiceServer(javalin.start());
        } catch (JavalinException e) {
            throw e.getCause() instanceof UnreachableException cannotListen ? cannotListen : e;
        }
    }

    public int port() {
        return javalin.port();
    }

    /** Completes the requests that are being processed, and rejects new ones. */
    @Override
    public void close() {
        try {
            javalin.stop();
        } catch (JavalinException e) { // the server has stopped without waiting for the last connections
            LOG.debug("The service closed connections that were in use", e);
        }
    }

    private static void setUp(
            JavalinConfig settings,
            Endpoint endpoint,
            Limits limits,
            Optional<org.eclipse.jetty.server.Handler.Wrapper> first) {
        settings.startup.showJavalinBanner = false;
        settings.startup.showOldJavalinVersionWarning = false;
        settings.startup.startupWatcherEnabled = false;
        settings.http.prefer405over404 = true;
        settings.router.ignoreTrailingSlashes = false;
        settings.http.compressionStrategy = CompressionStrategy.NONE;
        settings.http.asyncTimeout = ASYNC_TIMEOUT_MS;
        settings.jetty.threadPool = threads(limits.maxThreads());
        settings.jetty.modifyServer(server -> configureServer(server, endpoint, limits, first));
        int selectors = first.isPresent() ? selectors(limits) : 1;
        settings.jetty.addConnector((server, http) -> connector(server, http, endpoint, limits, selectors));
    }

    /** Returns the number of threads that read from connections, for requests that are handled in them. */
    private static int selectors(Limits limits) {
        int processors = Runtime.getRuntime().availableProcessors();
        return Math.max(1, Math.min(processors, limits.maxThreads() / THREADS_PER_SELECTOR));
    }

    private static void addRoutes(JavalinConfig settings, AccessControl access, List<Route> routes) {
        settings.routes.before(
                request -> request.header("Cache-Control", "no-store").header("X-Content-Type-Options", "nosniff"));
        settings.routes.before(AccessControl::checkOrigin);
        settings.routes.before(access::checkRead);
        settings.routes.before(BodyFormat::requireUtf8);
        settings.routes.beforeMatched(access::checkPermission);
        for (Route route : routes) {
            settings.routes.addHttpHandler(route.method(), route.path(), route.handler(), route.permission());
            if (route.method().equals(GET)) {
                settings.routes.addHttpHandler(HEAD, route.path(), route.handler(), route.permission());
            }
        }
        settings.routes.exception(
                ProblemDetails.ProblemException.class, (e, request) -> ResponseWriter.write(request, e.problem()));
        settings.routes.exception(HttpResponseException.class, (e, request) -> ResponseWriter.write(request, e));
        settings.routes.exception(UnreachableException.class, (e, request) -> ResponseWriter.write(request, e));
        settings.routes.exception(
                CancellationException.class,
                (e, request) -> ResponseWriter.write(request, ProblemDetails.unavailable(e.getMessage())));
        settings.routes.exception(Exception.class, (e, request) -> ResponseWriter.writeUnexpected(request, e));
    }

    private static QueuedThreadPool threads(int most) {
        QueuedThreadPool threads = new QueuedThreadPool(most, MIN_THREADS, IDLE_MS);
        threads.setName("service");
        threads.setDaemon(true);
        return threads;
    }

    private static void configureServer(
            Server server, Endpoint endpoint, Limits limits, Optional<org.eclipse.jetty.server.Handler.Wrapper> first) {
        server.setOpenEarly(false); // listen when the handlers have started
        server.setErrorHandler(new JettyErrorHandler());
        BodyLoader bodies = new BodyLoader();
        ResponseSender routes = new ResponseSender(endpoint.guard());
        first.ifPresentOrElse(
                handler -> {
                    bodies.setHandler(handler);
                    handler.getTail().setHandler(routes);
                },
                () -> bodies.setHandler(routes));
        server.setHandler(bodies);
        server.setStopTimeout(limits.stopTimeout().toMillis());
    }

    private static ServerConnector connector(
            Server server, HttpConfiguration http, Endpoint endpoint, Limits limits, int selectors) {
        if (endpoint.tls().isPresent()) {
            http.addCustomizer(
                    new SecureRequestCustomizer(false)); // probes use an IP address; AccessControl checks names
        }
        http.setRequestHeaderSize(limits.maxHeaderBytes());
        if (limits.isLenient()) {
            http.setUriCompliance(UriCompliance.UNSAFE);
        }
        GuardedConnectionFactory plain = new GuardedConnectionFactory(http, endpoint.guard());
        ConnectionFactory[] factories = endpoint.tls()
                .map(one ->
                        new ConnectionFactory[] {new SslConnectionFactory(one.server(), plain.getProtocol()), plain})
                .orElse(new ConnectionFactory[] {plain});
        ServerConnector connector =
                new GuardedConnector(server, selectors, endpoint.listener(), endpoint.guard(), factories);
        connector.setIdleTimeout(IDLE_MS);
        connector.setShutdownIdleTimeout(CLOSE_IDLE_MS);
        return connector;
    }
}
