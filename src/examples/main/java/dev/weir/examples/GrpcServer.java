package dev.weir.examples;

import dev.weir.client.Fallback;
import dev.weir.client.RequestBuilder;
import dev.weir.client.WeirClient;
import dev.weir.event.Request;
import dev.weir.grpc.GrpcCall;
import dev.weir.grpc.WeirServerInterceptor;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;

/**
 * A gRPC server that gets a decision by Weir before it handles a call. A client that exceeds its limit gets
 * {@code RESOURCE_EXHAUSTED} with the time to retry. The metadata {@code x-api-key} names the client; a real server uses
 * the client that it has authenticated.
 */
public final class GrpcServer implements AutoCloseable {

    /** Returns an article. The messages are texts; a real service has messages that are generated from a schema. */
    public static final MethodDescriptor<String, String> GET = MethodDescriptor.<String, String>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("shop.Articles/Get")
            .setRequestMarshaller(new TextMarshaller())
            .setResponseMarshaller(new TextMarshaller())
            .build();

    private final WeirClient weir;
    private final Server server;

    /**
     * Starts a server.
     *
     * @param kafka properties of Kafka's clients, at least {@code bootstrap.servers}
     * @param port the port to listen on; 0 for any free port
     * @throws IOException if the server cannot listen on the port
     */
    public GrpcServer(Map<String, Object> kafka, int port) throws IOException {
        weir = WeirClient.builder(kafka)
                .timeout(Duration.ofSeconds(2))
                .fallback(Fallback.FAIL_OPEN)
                .start();
        try {
            server = Grpc.newServerBuilderForPort(port, InsecureServerCredentials.create())
                    .addService(ServerServiceDefinition.builder("shop.Articles")
                            .addMethod(GET, ServerCalls.asyncUnaryCall(GrpcServer::get))
                            .build())
                    .intercept(new WeirServerInterceptor(weir, GrpcServer::request))
                    .build()
                    .start();
        } catch (IOException e) {
            weir.close();
            throw e;
        }
    }

    private static Request request(GrpcCall call) {
        return RequestBuilder.of(call.header("x-api-key").orElse("anonymous"))
                .attribute("method", call.methodName())
                .build();
    }

    private static void get(String id, StreamObserver<String> response) {
        response.onNext("article " + id);
        response.onCompleted();
    }

    /**
     * Waits until calls are decided by Weir. Before that, and without brokers, all are handled.
     *
     * @param timeout the longest wait
     * @return whether Weir decides
     * @throws InterruptedException if the thread is interrupted
     */
    public boolean awaitReady(Duration timeout) throws InterruptedException {
        return weir.awaitReady(timeout);
    }

    /**
     * Returns the port that the server listens on.
     *
     * @return the port
     */
    public int port() {
        return server.getPort();
    }

    @Override
    public void close() {
        server.shutdownNow();
        weir.close();
    }

    /**
     * Serves until the process is stopped.
     *
     * @param args the brokers, such as {@code localhost:9092}, and a port
     * @throws Exception if the server cannot start
     */
    public static void main(String[] args) throws Exception {
        try (GrpcServer server = new GrpcServer(Map.of("bootstrap.servers", args[0]), Integer.parseInt(args[1]))) {
            System.out.println("Listening on port " + server.port());
            server.server.awaitTermination();
        }
    }

    private static final class TextMarshaller implements MethodDescriptor.Marshaller<String> {
        @Override
        public InputStream stream(String value) {
            return new ByteArrayInputStream(value.getBytes(StandardCharsets.UTF_8));
        }

        @Override
        public String parse(InputStream stream) {
            try {
                return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
