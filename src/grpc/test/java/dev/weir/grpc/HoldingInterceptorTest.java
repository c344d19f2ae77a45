package dev.weir.grpc;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.client.RequestBuilder;
import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.event.Reason;
import dev.weir.event.Request;
import dev.weir.testing.RecordedReservation;
import dev.weir.testing.SampleDecisions;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tests over HTTP/2 that a reservation is held for exactly the duration of its call. */
class HoldingInterceptorTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final TextService service = new TextService();
    private final List<Request> requests = new CopyOnWriteArrayList<>();
    private final CountDownLatch inHandler = new CountDownLatch(1);
    private final AtomicReference<RuntimeException> thrownBeforeHandler = new AtomicReference<>();
    private volatile Function<Request, CompletableFuture<ClientDecision>> answers =
            request -> CompletableFuture.completedFuture(SampleDecisions.of(SampleDecisions.allowed(request)));
    private final StubCallDecider decider = new StubCallDecider(request -> {
        requests.add(request);
        return answers.apply(request);
    });
    private Executor executor = Runnable::run;
    private Server server;
    private ManagedChannel channel;

    private void start() throws Exception {
        WeirServerInterceptor interceptor = new WeirServerInterceptor(
                        decider,
                        call -> RequestBuilder.of("alice").build(),
                        executor,
                        XRateLimitFields.NONE,
                        Optional.empty())
                .holding(Duration.ofSeconds(30));
        server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
                .addService(service.definition())
                .intercept(new HandlerGate())
                .intercept(interceptor)
                .build()
                .start();
        channel = Grpc.newChannelBuilder("localhost:" + server.getPort(), InsecureChannelCredentials.create())
                .build();
    }

    @AfterEach
    void stop() throws Exception {
        channel.shutdownNow();
        server.shutdownNow();
        server.awaitTermination();
    }

    /** Records that a handler starts, and fails if a test wants it. */
    private final class HandlerGate implements ServerInterceptor {
        @Override
        public <Q, A> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
            inHandler.countDown();
            if (thrownBeforeHandler.get() != null) {
                throw thrownBeforeHandler.get();
            }
            return next.startCall(call, headers);
        }
    }

    private String get(String id) {
        return ClientCalls.blockingUnaryCall(channel, TextService.UNARY, CallOptions.DEFAULT, id);
    }

    private RecordedReservation onlyReservation() {
        await("there is a reservation", PATIENCE, () -> decider.reservations.size() == 1);
        return decider.reservations.get(0);
    }

    /** Makes a call, so that later ones reach the server well within their deadlines. */
    private void warmUp() {
        get("0");
        awaitRelease();
        decider.reservations.clear();
        requests.clear();
    }

    private void awaitRelease() {
        await("the reservation is released", PATIENCE, () -> onlyReservation().isReleased());
        assertThat(onlyReservation().ends()).containsExactly(Reason.RELEASED);
    }

    private static StreamObserver<String> ignored() {
        return new StreamObserver<>() {
            @Override
            public void onNext(String message) {}

            @Override
            public void onError(Throwable failure) {}

            @Override
            public void onCompleted() {}
        };
    }

    /** Starts a call that lasts until its client ends it. */
    private ClientCall<String, String> open(CallOptions options, AtomicReference<StreamObserver<String>> messages)
            throws Exception {
        ClientCall<String, String> call = channel.newCall(TextService.CLIENT_STREAMING, options);
        messages.set(ClientCalls.asyncClientStreamingCall(call, ignored()));
        messages.get().onNext("a");
        await("the call is being handled", PATIENCE, () -> service.received.contains("a"));
        return call;
    }

    @Test
    void a_call_is_released_when_its_response_was_sent() throws Exception {
        start();
        AtomicReference<StreamObserver<String>> messages = new AtomicReference<>();
        open(CallOptions.DEFAULT, messages);
        assertThat(onlyReservation().ends()).isEmpty();
        messages.get().onCompleted();
        awaitRelease();
    }

    @Test
    void a_unary_and_a_server_streaming_call_are_released() throws Exception {
        start();
        assertThat(get("7")).isEqualTo("article 7");
        awaitRelease();
        decider.reservations.clear();
        Iterator<String> all = ClientCalls.blockingServerStreamingCall(
                channel, TextService.SERVER_STREAMING, CallOptions.DEFAULT, "7");
        all.forEachRemaining(message -> {});
        awaitRelease();
    }

    @Test
    void a_cancelled_call_is_released() throws Exception {
        start();
        ClientCall<String, String> call = open(CallOptions.DEFAULT, new AtomicReference<>());
        assertThat(onlyReservation().ends()).isEmpty();
        call.cancel("no longer needed", null);
        awaitRelease();
    }

    @Test
    void a_call_whose_deadline_passes_is_released() throws Exception {
        start();
        warmUp();
        CompletableFuture<ClientDecision> late = new CompletableFuture<>();
        answers = request -> late;
        assertThatThrownBy(() -> ClientCalls.blockingUnaryCall(
                        channel, TextService.UNARY, CallOptions.DEFAULT.withDeadlineAfter(5, TimeUnit.SECONDS), "7"))
                .extracting(failure -> Status.fromThrowable(failure).getCode())
                .isEqualTo(Status.Code.DEADLINE_EXCEEDED);
        await("the call was decided", PATIENCE, () -> requests.size() == 1);
        late.complete(SampleDecisions.of(SampleDecisions.allowed(requests.get(0))));
        awaitRelease();
    }

    @Test
    void a_call_whose_handler_does_not_answer_before_the_deadline_is_released() throws Exception {
        start();
        warmUp();
        open(CallOptions.DEFAULT.withDeadlineAfter(5, TimeUnit.SECONDS), new AtomicReference<>());
        awaitRelease();
        assertThat(service.received).contains("cancelled");
    }

    @Test
    void a_call_that_is_cancelled_before_its_decision_is_released_when_that_arrives() throws Exception {
        start();
        CompletableFuture<ClientDecision> late = new CompletableFuture<>();
        answers = request -> late;
        ClientCall<String, String> call = channel.newCall(TextService.UNARY, CallOptions.DEFAULT);
        ClientCalls.asyncUnaryCall(call, "7", ignored());
        await("the call is being decided", PATIENCE, () -> requests.size() == 1);
        call.cancel("no longer needed", null);
        late.complete(SampleDecisions.of(SampleDecisions.allowed(requests.get(0))));
        awaitRelease();
    }

    @Test
    void a_call_that_is_cancelled_during_its_delay_is_released() throws Exception {
        start();
        answers = request ->
                CompletableFuture.completedFuture(SampleDecisions.of(SampleDecisions.throttled(request, 3_600_000)));
        ClientCall<String, String> call = channel.newCall(TextService.UNARY, CallOptions.DEFAULT);
        ClientCalls.asyncUnaryCall(call, "7", ignored());
        assertThat(onlyReservation().ends()).isEmpty();
        call.cancel("no longer needed", null);
        awaitRelease();
        assertThat(inHandler.getCount()).isEqualTo(1);
    }

    @Test
    void a_call_whose_handler_throws_is_released() throws Exception {
        start();
        assertThatThrownBy(() -> get("fail")).isNotNull();
        awaitRelease();
        decider.reservations.clear();
        thrownBeforeHandler.set(new IllegalStateException("as requested"));
        assertThatThrownBy(() -> get("7")).isNotNull();
        awaitRelease();
    }

    @Test
    void a_call_that_ends_with_an_error_is_released() throws Exception {
        start();
        assertThatThrownBy(() -> get("missing")).isNotNull();
        awaitRelease();
    }

    @Test
    void a_call_that_the_executor_rejects_is_released() throws Exception {
        executor = task -> {
            throw new RejectedExecutionException("shut down");
        };
        start();
        assertThatThrownBy(() -> get("7"))
                .extracting(failure -> Status.fromThrowable(failure).getCode())
                .isEqualTo(Status.Code.UNAVAILABLE);
        awaitRelease();
    }

    @Test
    void a_denied_call_reserves_nothing() throws Exception {
        start();
        answers = request -> CompletableFuture.completedFuture(SampleDecisions.of(SampleDecisions.denied(request)));
        assertThatThrownBy(() -> get("7"))
                .extracting(failure -> Status.fromThrowable(failure).getCode())
                .isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
        assertThat(decider.reservations).isEmpty();
    }
}
