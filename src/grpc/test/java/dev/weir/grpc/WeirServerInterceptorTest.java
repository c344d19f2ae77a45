package dev.weir.grpc;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.weir.client.RequestBuilder;
import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.event.Decision;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.testing.SampleDecisions;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptors;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the interceptor with in-process calls and over HTTP/2, without Kafka. */
class WeirServerInterceptorTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Context.Key<String> USER = Context.key("user");
    private static final Metadata.Key<String> API_KEY = Metadata.Key.of("x-api-key", Metadata.ASCII_STRING_MARSHALLER);

    private final TextService service = new TextService();
    private final List<Request> requests = new CopyOnWriteArrayList<>();
    private final List<GrpcCall> calls = new CopyOnWriteArrayList<>();
    private final List<String> users = new CopyOnWriteArrayList<>();
    private final AtomicInteger cancelled = new AtomicInteger();
    private volatile Function<Request, CompletableFuture<ClientDecision>> answers =
            request -> done(SampleDecisions.allowed(request));
    private volatile Runnable beforeHandler = () -> {};
    private Executor executor = Runnable::run;
    private XRateLimitFields older = XRateLimitFields.NONE;
    private Server server;
    private ManagedChannel channel;

    enum Transport {
        IN_PROCESS,
        NETTY
    }

    private void start(Transport transport) throws Exception {
        WeirServerInterceptor interceptor = new WeirServerInterceptor(
                new StubCallDecider(request -> {
                    requests.add(request);
                    return answers.apply(request);
                }),
                call -> {
                    calls.add(call);
                    return RequestBuilder.of(call.header("x-api-key")
                                    .orElseThrow(() -> new IllegalArgumentException("x-api-key is required")))
                            .attribute("method", call.methodName())
                            .build();
                },
                executor,
                older,
                Optional.empty());
        String name = "interceptor-test";
        ServerBuilder<?> builder = transport == Transport.IN_PROCESS
                ? InProcessServerBuilder.forName(name)
                : Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create());
        // The interceptor that was added last is called first.
        server = builder.addService(service.definition())
                .intercept(new UserReader())
                .intercept(interceptor)
                .intercept(new UserSetter())
                .build()
                .start();
        channel = transport == Transport.IN_PROCESS
                ? InProcessChannelBuilder.forName(name).build()
                : Grpc.newChannelBuilder("localhost:" + server.getPort(), InsecureChannelCredentials.create())
                        .build();
    }

    @AfterEach
    void stop() throws Exception {
        channel.shutdownNow();
        server.shutdownNow();
        server.awaitTermination();
    }

    /** Authenticates, as far as this test is concerned. */
    private final class UserSetter implements ServerInterceptor {
        @Override
        public <Q, A> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
            Context context = Context.current().withValue(USER, "user of " + headers.get(API_KEY));
            return new SimpleForwardingServerCallListener<>(Contexts.interceptCall(context, call, headers, next)) {
                @Override
                public void onCancel() {
                    super.onCancel();
                    cancelled.incrementAndGet();
                }
            };
        }
    }

    private final class UserReader implements ServerInterceptor {
        @Override
        public <Q, A> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
            users.add(USER.get());
            beforeHandler.run();
            return next.startCall(call, headers);
        }
    }

    private Channel as(String key) {
        Metadata metadata = new Metadata();
        metadata.put(API_KEY, key);
        return ClientInterceptors.intercept(channel, MetadataUtils.newAttachHeadersInterceptor(metadata));
    }

    private static String get(Channel channel, String id) {
        return ClientCalls.blockingUnaryCall(channel, TextService.UNARY, CallOptions.DEFAULT, id);
    }

    private static StatusRuntimeException failure(Channel channel, String id) {
        return catchThrowableOfType(StatusRuntimeException.class, () -> get(channel, id));
    }

    private static CompletableFuture<ClientDecision> done(Decision decision) {
        return CompletableFuture.completedFuture(SampleDecisions.of(decision));
    }

    private static String text(Metadata metadata, String name) {
        return metadata.get(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER));
    }

    @ParameterizedTest
    @EnumSource
    void an_allowed_call_is_handled_and_its_response_has_the_fields(Transport transport) throws Exception {
        start(transport);
        AtomicReference<Metadata> headers = new AtomicReference<>();
        AtomicReference<Metadata> trailers = new AtomicReference<>();
        Channel watched = ClientInterceptors.intercept(
                as("alice"), MetadataUtils.newCaptureMetadataInterceptor(headers, trailers));
        assertThat(get(watched, "7")).isEqualTo("article 7");
        assertThat(text(headers.get(), "ratelimit")).isEqualTo("\"p\";r=9;t=6");
        assertThat(text(headers.get(), "ratelimit-policy")).isEqualTo("\"p\";q=10;w=60");
        assertThat(text(trailers.get(), "ratelimit")).isNull();
        assertThat(requests).hasSize(1);
        assertThat(requests.get(0).client()).isEqualTo("alice");
        assertThat(requests.get(0).attributes()).containsEntry("method", "shop.Articles/Get");
        assertThat(calls.get(0).peer()).isPresent();
        if (transport == Transport.NETTY) {
            assertThat(calls.get(0).peer().orElseThrow()).matches("127.0.0.1|0:0:0:0:0:0:0:1");
        }
    }

    @ParameterizedTest
    @EnumSource
    void older_fields_are_added_if_they_are_selected(Transport transport) throws Exception {
        older = XRateLimitFields.DELTA_SECONDS;
        start(transport);
        AtomicReference<Metadata> headers = new AtomicReference<>();
        Channel watched = ClientInterceptors.intercept(
                as("alice"), MetadataUtils.newCaptureMetadataInterceptor(headers, new AtomicReference<>()));
        assertThat(get(watched, "7")).isEqualTo("article 7");
        assertThat(text(headers.get(), "x-ratelimit-limit")).isEqualTo("10");
        assertThat(text(headers.get(), "x-ratelimit-remaining")).isEqualTo("9");
        assertThat(text(headers.get(), "x-ratelimit-reset")).isEqualTo("6");
    }

    @ParameterizedTest
    @EnumSource
    void a_denied_call_is_not_handled_and_has_the_retry_time(Transport transport) throws Exception {
        start(transport);
        answers = request -> done(SampleDecisions.denied(request));
        StatusRuntimeException failure = failure(as("alice"), "7");
        assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
        assertThat(failure.getStatus().getDescription()).isEqualTo("DENIED by policy p: LIMIT_EXCEEDED");
        assertThat(text(failure.getTrailers(), "grpc-retry-pushback-ms")).isEqualTo("19200");
        assertThat(text(failure.getTrailers(), "retry-after")).isEqualTo("20");
        assertThat(text(failure.getTrailers(), "ratelimit")).isEqualTo("\"p\";r=0;t=20");
        assertThat(service.received).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void a_call_waits_for_its_decision_and_no_message_is_lost(Transport transport) throws Exception {
        start(transport);
        CompletableFuture<ClientDecision> decision = new CompletableFuture<>();
        answers = request -> decision;
        CompletableFuture<String> result = new CompletableFuture<>();
        StreamObserver<String> messages = ClientCalls.asyncClientStreamingCall(
                as("alice").newCall(TextService.CLIENT_STREAMING, CallOptions.DEFAULT), first(result));
        for (String message : List.of("a", "b", "c")) {
            messages.onNext(message);
        }
        messages.onCompleted();
        await("the call is being decided", PATIENCE, () -> requests.size() == 1);
        assertThat(get(withDecision("bob"), "7")).isEqualTo("article 7");
        assertThat(service.received).containsExactly("7");
        decision.complete(SampleDecisions.of(SampleDecisions.allowed(requests.get(0))));
        assertThat(result.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isEqualTo("abc");
        assertThat(users).containsExactly("user of bob", "user of alice");
    }

    /** Later calls are allowed at once. */
    private Channel withDecision(String key) {
        answers = request -> done(SampleDecisions.allowed(request));
        return as(key);
    }

    private static StreamObserver<String> first(CompletableFuture<String> result) {
        return new StreamObserver<>() {
            @Override
            public void onNext(String message) {
                result.complete(message);
            }

            @Override
            public void onError(Throwable failure) {
                result.completeExceptionally(failure);
            }

            @Override
            public void onCompleted() {}
        };
    }

    @ParameterizedTest
    @EnumSource
    void a_call_that_ends_before_its_decision_is_not_handled(Transport transport) throws Exception {
        start(transport);
        CompletableFuture<ClientDecision> decision = new CompletableFuture<>();
        answers = request -> decision;
        ClientCall<String, String> call = as("alice").newCall(TextService.UNARY, CallOptions.DEFAULT);
        ClientCalls.asyncUnaryCall(call, "7", first(new CompletableFuture<>()));
        await("the call is being decided", PATIENCE, () -> requests.size() == 1);
        call.cancel("no longer needed", null);
        await("the call is cancelled", PATIENCE, () -> cancelled.get() == 1);
        decision.complete(SampleDecisions.of(SampleDecisions.allowed(requests.get(0))));
        assertThat(users).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void a_throttled_call_is_handled_after_its_delay(Transport transport) throws Exception {
        start(transport);
        answers = request -> done(SampleDecisions.throttled(request, 50));
        long startNanos = System.nanoTime();
        assertThat(get(as("alice"), "7")).isEqualTo("article 7");
        assertThat(System.nanoTime() - startNanos).isGreaterThanOrEqualTo(50_000_000L);
        assertThat(users).containsExactly("user of alice");
    }

    @ParameterizedTest
    @EnumSource
    void throttled_calls_do_not_wait_for_the_start_of_others(Transport transport) throws Exception {
        start(transport);
        answers = request -> done(SampleDecisions.throttled(request, 1));
        CountDownLatch started = new CountDownLatch(2);
        AtomicInteger timedOut = new AtomicInteger();
        beforeHandler = () -> {
            started.countDown();
            if (!isZeroInTime(started)) {
                timedOut.incrementAndGet();
            }
        };
        FutureTask<String> first = new FutureTask<>(() -> get(as("alice"), "7"));
        new Thread(first).start();
        assertThat(get(as("bob"), "8")).isEqualTo("article 8");
        assertThat(first.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isEqualTo("article 7");
        assertThat(timedOut).hasValue(0);
    }

    private static boolean isZeroInTime(CountDownLatch latch) {
        try {
            return latch.await(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1})
    void a_call_ends_if_the_executor_rejects_it(long delayMs) throws Exception {
        executor = task -> {
            throw new RejectedExecutionException("shut down");
        };
        start(Transport.IN_PROCESS);
        answers = request ->
                done(delayMs == 0 ? SampleDecisions.allowed(request) : SampleDecisions.throttled(request, delayMs));
        CallOptions withDeadline = CallOptions.DEFAULT.withDeadlineAfter(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        assertThatThrownBy(() -> ClientCalls.blockingUnaryCall(as("alice"), TextService.UNARY, withDeadline, "7"))
                .extracting(failure -> Status.fromThrowable(failure).getCode())
                .isEqualTo(Status.Code.UNAVAILABLE);
        assertThat(users).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void a_handler_that_fails_ends_the_call(Transport transport) throws Exception {
        start(transport);
        assertThat(failure(as("alice"), "fail").getStatus().getCode()).isEqualTo(Status.Code.UNKNOWN);
    }

    @ParameterizedTest
    @EnumSource
    void a_response_without_headers_has_the_fields_in_its_trailers(Transport transport) throws Exception {
        start(transport);
        StatusRuntimeException closed = failure(as("alice"), "missing");
        assertThat(closed.getStatus().getCode()).isEqualTo(Status.Code.NOT_FOUND);
        assertThat(text(closed.getTrailers(), "ratelimit")).isEqualTo("\"p\";r=9;t=6");
        assertThat(text(closed.getTrailers(), "ratelimit-policy")).isEqualTo("\"p\";q=10;w=60");
        beforeHandler = () -> {
            throw new IllegalStateException("as requested");
        };
        StatusRuntimeException failed = failure(as("alice"), "7");
        assertThat(failed.getStatus().getCode()).isEqualTo(Status.Code.UNKNOWN);
        assertThat(text(failed.getTrailers(), "ratelimit")).isEqualTo("\"p\";r=9;t=6");
    }

    @ParameterizedTest
    @EnumSource
    void an_invalid_call_is_not_decided(Transport transport) throws Exception {
        start(transport);
        StatusRuntimeException failure = failure(channel, "7");
        assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
        assertThat(failure.getStatus().getDescription()).isEqualTo("x-api-key is required");
        assertThat(requests).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"429, RESOURCE_EXHAUSTED", "503, RESOURCE_EXHAUSTED", "413, RESOURCE_EXHAUSTED", "422, INVALID_ARGUMENT"
    })
    void a_denial_that_no_retry_can_change_prevents_retries(int httpStatus, Status.Code code) throws Exception {
        start(Transport.IN_PROCESS);
        answers = request -> done(Decision.denied(request, Reason.COST_NEVER_FITS, httpStatus, request.timestampMs()));
        StatusRuntimeException failure = failure(as("alice"), "7");
        assertThat(failure.getStatus().getCode()).isEqualTo(code);
        assertThat(text(failure.getTrailers(), "grpc-retry-pushback-ms")).isEqualTo("-1");
    }

    @ParameterizedTest
    @EnumSource
    void without_a_decision_the_fallback_applies(Transport transport) throws Exception {
        start(transport);
        answers = request ->
                CompletableFuture.completedFuture(SampleDecisions.fallback(false, NoDecisionReason.TIMED_OUT));
        assertThat(failure(as("alice"), "7").getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
        answers = request ->
                CompletableFuture.completedFuture(SampleDecisions.fallback(true, NoDecisionReason.TIMED_OUT));
        assertThat(get(as("alice"), "7")).isEqualTo("article 7");
        answers = request -> CompletableFuture.failedFuture(new IllegalArgumentException("client is too long"));
        assertThat(failure(as("alice"), "7").getStatus().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    }

    @ParameterizedTest
    @EnumSource
    void a_shadow_banned_client_gets_no_sign_of_a_limit(Transport transport) throws Exception {
        start(transport);
        answers = request -> done(SampleDecisions.shadowBanned(request));
        Iterator<String> messages = ClientCalls.blockingServerStreamingCall(
                as("alice"), TextService.SERVER_STREAMING, CallOptions.DEFAULT, "7");
        List<String> received = new ArrayList<>();
        messages.forEachRemaining(received::add);
        assertThat(received).isEmpty();
        StatusRuntimeException failure = failure(as("alice"), "7");
        assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
        assertThat(text(failure.getTrailers(), "grpc-retry-pushback-ms")).isNull();
    }
}
