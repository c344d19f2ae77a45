package dev.weir.bench.gateway;

import dev.weir.bench.redis.PipelinedGcra;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;

/**
 * The servers of a gateway, on gRPC and HTTP, with little work of their own. They allow everything, which shows what the
 * machine can do, or what GCRA in Redis allows.
 */
final class GatewayPeer implements AutoCloseable {

    /** Decides requests. */
    interface Limiter {

        /** Allows all requests. */
        Limiter NONE = key -> CompletableFuture.completedFuture(true);

        /** Returns whether a request with a key may pass. */
        CompletableFuture<Boolean> allows(String key);
    }

    private final Limiter limiter;
    private final Server grpc;
    private final org.eclipse.jetty.server.Server http;

    private GatewayPeer(Limiter limiter) throws Exception {
        this.limiter = limiter;
        grpc = startGrpc();
        http = startHttp();
    }

    /**
     * Starts servers in a process of their own, and prints their ports.
     *
     * @param args the port of Redis, if it decides
     */
    public static void main(String[] args) throws Exception {
        Limiter limiter = args.length == 0 ? Limiter.NONE : PipelinedGcra.connect(Integer.parseInt(args[0]))::allows;
        GatewayPeer peer = start(limiter);
        System.out.println("ports " + peer.grpcPort() + " " + peer.httpPort());
        peer.grpc.awaitTermination();
    }

    /** Starts servers on any free ports. */
    static GatewayPeer start(Limiter limiter) throws Exception {
        return new GatewayPeer(limiter);
    }

    int grpcPort() {
        return grpc.getPort();
    }

    int httpPort() {
        return ((ServerConnector) http.getConnectors()[0]).getLocalPort();
    }

    private static InetSocketAddress anyPort() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    }

    private Server startGrpc() throws IOException {
        return NettyServerBuilder.forAddress(anyPort())
                .directExecutor()
                .addService(ServerServiceDefinition.builder(RateLimitMessages.SERVICE)
                        .addMethod(RateLimitMessages.METHOD, ServerCalls.asyncUnaryCall(this::decide))
                        .build())
                .build()
                .start();
    }

    /** Answers a call. The whole request is the key. */
    private void decide(byte[] request, StreamObserver<byte[]> answer) {
        var unused = limiter.allows(new String(request, StandardCharsets.ISO_8859_1))
                .whenComplete((isAllowed, failure) -> {
                    if (failure != null) {
                        answer.onError(Status.INTERNAL.withCause(failure).asException());
                        return;
                    }
                    answer.onNext(RateLimitMessages.response(isAllowed));
                    answer.onCompleted();
                });
    }

    private org.eclipse.jetty.server.Server startHttp() throws Exception {
        org.eclipse.jetty.server.Server server = new org.eclipse.jetty.server.Server();
        int selectors = Runtime.getRuntime().availableProcessors(); // as many as the gateway has
        ServerConnector connector = new ServerConnector(server, 1, selectors);
        connector.setHost(anyPort().getHostString());
        server.addConnector(connector);
        server.setHandler(new Handler.Abstract.NonBlocking() {
            @Override
            public boolean handle(Request request, Response response, Callback callback) {
                var unused = limiter.allows(request.getHeaders().get(HttpCallers.CLIENT_HEADER))
                        .whenComplete((isAllowed, failure) -> {
                            if (failure != null) {
                                callback.failed(failure);
                                return;
                            }
                            response.setStatus(isAllowed ? HttpStatus.OK_200 : HttpStatus.TOO_MANY_REQUESTS_429);
                            callback.succeeded();
                        });
                return true;
            }
        });
        server.start();
        return server;
    }

    @Override
    public void close() throws Exception {
        grpc.shutdownNow();
        http.stop();
    }
}
