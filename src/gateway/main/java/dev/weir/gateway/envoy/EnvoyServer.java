package dev.weir.gateway.envoy;

import dev.weir.gateway.envoy.proto.RateLimitServiceGrpc;
import dev.weir.service.RequestDecider;
import io.grpc.BindableService;
import io.grpc.InsecureServerCredentials;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCredentials;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionService;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongConsumer;
import java.util.function.Predicate;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * A gRPC server with Envoy's rate limit service, and the services for health and reflection. It decides nothing itself,
 * and closes nothing that it was given.
 */
public final class EnvoyServer implements AutoCloseable {

    /** The names under which health is reported: of the whole server, of the service, and of envoyproxy/ratelimit. */
    private static final List<String> SERVICES =
            List.of(HealthStatusManager.SERVICE_NAME_ALL_SERVICES, RateLimitServiceGrpc.SERVICE_NAME, "ratelimit");

    /** Logs bad messages and connections with stack traces; callers get a status, and {@link #stats} counts them. */
    private static final Logger TRANSPORT_LOG = Logger.getLogger("io.grpc.netty.shaded.io.grpc.netty");

    private static final int MAX_HEADER_BYTES = 16 << 10;
    private static final long MIN_KEEP_ALIVE_SECONDS = 5;
    private static final long FORCED_CLOSE_SECONDS = 5;

    private final EnvoyConfig config;
    private final EnvoyCounters counters;
    private final HealthStatusManager health = new HealthStatusManager();
    private final ScheduledThreadPoolExecutor timer;
    private final EventLoops loops;
    private final Server server;
    private final AtomicBoolean isStopping = new AtomicBoolean();

    /**
     * Where a server listens, and for whom.
     *
     * @param address the address; port 0 for any free port
     * @param callers whether connections from an address are accepted
     * @param durationsNanos receives the time from each call to its response, on any thread
     */
    public record Endpoint(InetSocketAddress address, Predicate<InetAddress> callers, LongConsumer durationsNanos) {}

    private EnvoyServer(EnvoyConfig config, Endpoint endpoint, RequestDecider decider) throws IOException {
        this.config = config;
        counters = new EnvoyCounters(endpoint.durationsNanos());
        TRANSPORT_LOG.setLevel(Level.SEVERE);
        timer = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "weir-envoy-timer");
            thread.setDaemon(true);
            return thread;
        });
        timer.setRemoveOnCancelPolicy(true);
        loops = EventLoops.start(config.threads());
        ServerCredentials credentials;
        try {
            credentials = config.tls().isPresent()
                    ? config.tls().get().credentials(timer)
                    : InsecureServerCredentials.create();
        } catch (RuntimeException e) {
            stopThreads();
            throw e;
        }
        CallBounds bounds = config.bounds();
        server = NettyServerBuilder.forAddress(endpoint.address(), credentials)
                .bossEventLoopGroup(loops.group())
                .workerEventLoopGroup(loops.group())
                .channelType(loops.channelType())
                .directExecutor() // calls do not block, and most are answered before they would reach another thread
                .maxInboundMessageSize(bounds.maxMessageBytes())
                .maxInboundMetadataSize(MAX_HEADER_BYTES)
                .maxConcurrentCallsPerConnection(bounds.maxCalls())
                .permitKeepAliveTime(MIN_KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
                .permitKeepAliveWithoutCalls(true)
                .addStreamTracerFactory(CallArrival.factory(counters.inProgress, bounds.maxCalls()))
                .addTransportFilter(new ConnectionBound(bounds.maxConnections(), counters, endpoint.callers()))
                .addService(service(new RateLimitHandler(config, decider, timer, counters)))
                .addService(health.getHealthService())
                .addService(ProtoReflectionServiceV1.newInstance())
                .addService(reflectionForOlderClients())
                .build();
        for (String service : SERVICES) {
            health.setStatus(service, ServingStatus.NOT_SERVING);
        }
        try {
            server.start();
        } catch (IOException | RuntimeException e) {
            stopThreads();
            throw e;
        }
    }

    /**
     * Starts a server.
     *
     * @param config the configuration
     * @param endpoint where to listen
     * @param decider decides the requests
     * @return a server that accepts calls; its health is that it is not serving until {@link #reportServing}
     * @throws IOException if the address cannot be bound
     * @throws IllegalArgumentException if a file for TLS cannot be read
     */
    public static EnvoyServer start(EnvoyConfig config, Endpoint endpoint, RequestDecider decider) throws IOException {
        return new EnvoyServer(config, endpoint, decider);
    }

    /** Returns the service for reflection in version v1alpha, the only one that older versions of grpcurl use. */
    @SuppressWarnings("deprecation")
    private static BindableService reflectionForOlderClients() {
        return ProtoReflectionService.newInstance();
    }

    private static ServerServiceDefinition service(RateLimitHandler handler) {
        ServiceDescriptor generated = RateLimitServiceGrpc.getServiceDescriptor();
        MethodDescriptor<ReceivedMessage, EncodedResponse> method =
                RateLimitServiceGrpc.getShouldRateLimitMethod().toBuilder(
                                new MessageReader(), new EncodedResponse.Marshaller())
                        .build();
        ServiceDescriptor service = ServiceDescriptor.newBuilder(generated.getName())
                .setSchemaDescriptor(generated.getSchemaDescriptor())
                .addMethod(method)
                .build();
        return ServerServiceDefinition.builder(service)
                .addMethod(method, handler)
                .build();
    }

    /**
     * Returns the port on which the server listens.
     *
     * @return the port, also after the server was closed
     */
    public int port() {
        return server.getPort();
    }

    /**
     * Returns the counts since the start.
     *
     * @return the counts, which are read one after the other
     */
    public EnvoyStats stats() {
        return counters.stats();
    }

    /** Reports that the server is serving. Before that, it decides calls, but reports that it is not serving. */
    public void reportServing() {
        for (String service : SERVICES) {
            health.setStatus(service, ServingStatus.SERVING); // has no effect after enterTerminalState
        }
    }

    /**
     * Reports that the server is not serving, so that health checks send callers to other gateways. Calls are still
     * decided.
     */
    public void reportStopping() {
        if (isStopping.compareAndSet(false, true)) {
            health.enterTerminalState();
        }
    }

    /**
     * Stops the server: it reports that it is not serving, accepts no more calls, and completes those in progress within
     * the configured time. Calls that are still in progress then are cancelled.
     */
    @Override
    public void close() {
        reportStopping();
        server.shutdown();
        try {
            if (!server.awaitTermination(config.drain().toMillis(), TimeUnit.MILLISECONDS)) {
                server.shutdownNow();
                server.awaitTermination(FORCED_CLOSE_SECONDS, TimeUnit.SECONDS);
            }
        } catch (InterruptedException e) {
            server.shutdownNow();
            Thread.currentThread().interrupt();
        }
        stopThreads();
    }

    private void stopThreads() {
        timer.shutdownNow();
        loops.stop();
    }
}
