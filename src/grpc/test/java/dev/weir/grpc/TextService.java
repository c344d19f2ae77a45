package dev.weir.grpc;

import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A service whose messages are texts, with a method of each type. */
final class TextService {

    static final MethodDescriptor<String, String> UNARY = method(MethodType.UNARY, "Get");
    static final MethodDescriptor<String, String> SERVER_STREAMING = method(MethodType.SERVER_STREAMING, "List");
    static final MethodDescriptor<String, String> CLIENT_STREAMING = method(MethodType.CLIENT_STREAMING, "Join");

    /** The messages that handlers have received. */
    final List<String> received = new CopyOnWriteArrayList<>();

    ServerServiceDefinition definition() {
        return ServerServiceDefinition.builder("shop.Articles")
                .addMethod(UNARY, ServerCalls.asyncUnaryCall((String request, StreamObserver<String> response) -> {
                    received.add(request);
                    if (request.equals("fail")) {
                        throw new IllegalStateException("as requested");
                    }
                    if (request.equals("missing")) {
                        response.onError(Status.NOT_FOUND.asRuntimeException());
                        return;
                    }
                    response.onNext("article " + request);
                    response.onCompleted();
                }))
                .addMethod(
                        SERVER_STREAMING,
                        ServerCalls.asyncServerStreamingCall((String request, StreamObserver<String> response) -> {
                            received.add(request);
                            response.onNext(request + " 1");
                            response.onNext(request + " 2");
                            response.onCompleted();
                        }))
                .addMethod(
                        CLIENT_STREAMING,
                        ServerCalls.asyncClientStreamingCall((StreamObserver<String> response) -> join(response)))
                .build();
    }

    private StreamObserver<String> join(StreamObserver<String> response) {
        return new StreamObserver<>() {
            private final StringBuilder all = new StringBuilder();

            @Override
            public void onNext(String message) {
                received.add(message);
                all.append(message);
            }

            @Override
            public void onError(Throwable failure) {
                received.add("cancelled");
            }

            @Override
            public void onCompleted() {
                response.onNext(all.toString());
                response.onCompleted();
            }
        };
    }

    private static MethodDescriptor<String, String> method(MethodType type, String name) {
        return MethodDescriptor.<String, String>newBuilder()
                .setType(type)
                .setFullMethodName("shop.Articles/" + name)
                .setRequestMarshaller(new TextMarshaller())
                .setResponseMarshaller(new TextMarshaller())
                .build();
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
