package dev.weir.gateway.envoy;

import dev.weir.gateway.envoy.message.EncodedResponse;
import dev.weir.gateway.envoy.message.MessageReader;
import dev.weir.gateway.envoy.message.ReceivedMessage;
import dev.weir.gateway.envoy.proto.RateLimitServiceGrpc;
import dev.weir.server.decide.RequestDecider;
import dev.weir.server.http.ConnectionGuard;
import dev.weir.server.http.ConnectionGuard.Refusal;
import io.grpc.BindableService;
import io.grpc.InsecureServerCredentials;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCredentials;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.AdaptiveRecvByteBufAllocator;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import io.grpc.netty.shaded.io.netty.channel.RecvByteBufAllocator;
import io.grpc.netty.shaded.io.netty.channel.ServerChannel;
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
    private static final long MAX_IDLE_MINUTES = 5;
    private static final long FORCED_CLOSE_SECONDS = 5;
    private static final long CHECK_INTERVAL_MS = 250;

    /** How many connections can wait until they are accepted. The operating system may have a lower bound. */
    private static final int BACKLOG = 1_024;

    /**
     * How much is read from a connection before it is the turn of the next one of the thread: so many bytes, in one read.
     * Otherwise a connection that sends much would delay the calls of the others: with gRPC's 16 reads of 64 KiB, by the
     * time of tens of thousands of frames.
     */
    private static final RecvByteBufAllocator SHORT_TURNS =
            new AdaptiveRecvByteBufAllocator(512, 2 << 10, 2 << 10).maxMessagesPerRead(1);

    private final EnvoyConfig config;
    private final EnvoyCounters counters;
    private final HealthStatusManager health = new HealthStatusManager();
    private final ScheduledThreadPoolExecutor timer;
    private final EventLoops loops;
    private final ConnectionGuard guard;
    private final Server server;
    private final AtomicBoolean isStopping = new AtomicBoolean();

    /**
     * Where a server listens, and for whom.
     *
     * @param address the address; port 0 for any free port
     * @param callers whether connections from an address are accepted
     * @param connections the bounds of connections. Their timeout applies to the handshakes of a connection, and to the
     *     time from the headers of a call to its message
     * @param durationsNanos receives the time from each call to its response, on any thread
     */
    public record Endpoint(
            InetSocketAddress address,
            Predicate<InetAddress> callers,
            ConnectionGuard.Bounds connections,
            LongConsumer durationsNanos) {}

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
        guard = new ConnectionGuard(endpoint.connections());
        ServerCredentials credentials;
        try {
            credentials = config.tls().isPresent()
                    ? config.tls().get().credentials(timer)
                    : InsecureServerCredentials.create();
        } catch (RuntimeException e) {
            stopThreads();
            throw e;
        }
        AcceptFilter accepting = new AcceptFilter(endpoint.callers(), guard, config.connections(), counters);
        IncompleteCalls incomplete = new IncompleteCalls(guard.timeout(), counters);
        var unused = timer.scheduleWithFixedDelay(
                incomplete::closeTimedOut, CHECK_INTERVAL_MS, CHECK_INTERVAL_MS, TimeUnit.MILLISECONDS);
        server = NettyServerBuilder.forAddress(endpoint.address(), credentials)
                .bossEventLoopGroup(loops.group())
                .workerEventLoopGroup(loops.group())
                .channelFactory(() -> {
                    ServerChannel listening = loops.channels().newChannel();
                    listening.pipeline().addFirst(accepting);
                    return listening;
                })
                .withOption(ChannelOption.SO_BACKLOG, BACKLOG)
                .withChildOption(ChannelOption.RCVBUF_ALLOCATOR, SHORT_TURNS)
                .directExecutor() // calls do not block, and most are answered before they would reach another thread
                .maxInboundMessageSize(config.bounds().maxMessageBytes())
                .maxInboundMetadataSize(MAX_HEADER_BYTES)
                .maxConcurrentCallsPerConnection(config.connections().maxCalls())
                .permitKeepAliveTime(MIN_KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
                .permitKeepAliveWithoutCalls(true)
                .maxConnectionIdle(MAX_IDLE_MINUTES, TimeUnit.MINUTES)
                .addStreamTracerFactory(CallArrival.factory())
                .addTransportFilter(accepting.ready())
                .intercept(new CallGate(config.bounds().maxCalls(), incomplete, counters))
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
     * Returns the counts of calls since the start.
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
     * Returns the counts of connections since the start.
     *
     * @return the counts, which are read one after the other
     */
    public ConnectionStats connections() {
        return new ConnectionStats(
                guard.size(),
                counters.untrusted.sum(),
                guard.refused(Refusal.TOO_MANY),
                guard.refused(Refusal.TOO_SLOW),
                counters.resets.sum(),
                guard.refused(Refusal.NO_DESCRIPTORS));
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
        guard.close();
        loops.stop();
    }
}
