package dev.weir.grpc;

import dev.weir.client.Reservation;
import dev.weir.client.WeirClient;
import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionException;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import io.grpc.Context;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * A server interceptor that gets a decision by Weir before a call is handled. It blocks no thread.
 *
 * <pre>{@code
 * Server server = Grpc.newServerBuilderForPort(8980, InsecureServerCredentials.create())
 *         .addService(articles)
 *         .intercept(new WeirServerInterceptor(weir, call -> RequestBuilder
 *                 .of(call.header("x-api-key").orElse("anonymous"))
 *                 .attribute("method", call.methodName())
 *                 .build()))
 *         .build()
 *         .start();
 * }</pre>
 *
 * <p>The handler of an allowed call is started when the decision has arrived and, if the policy throttles, its
 * {@code delayMs} has passed. The response has the fields of {@link dev.weir.client.decision.RateLimitHeaders} as metadata, in
 * lower case: in the headers or, if the handler closes the call without headers, in the trailers. A call that gRPC
 * closes, because a handler throws an exception, may have none. If a call is cancelled before its handler starts, the
 * handler is not started. Other calls end with these statuses:
 *
 * <ul>
 *   <li>{@code RESOURCE_EXHAUSTED} if Weir denies or queues the call, with the metadata {@code ratelimit-policy},
 *       {@code ratelimit}, {@code retry-after} and {@code grpc-retry-pushback-ms}. The latter delays the retries of gRPC
 *       clients; it is -1, which prevents them, if a retry cannot pass
 *   <li>{@code UNAVAILABLE} if there is no decision and the fallback does not allow the call
 *   <li>{@code INVALID_ARGUMENT} if the function throws an {@link IllegalArgumentException}, if the request is invalid,
 *       or if the decision's {@code httpStatus} is 400 or 422
 *   <li>for a shadow-banned client: {@code OK} without messages if the server streams, otherwise {@code UNAVAILABLE}
 *       without metadata, since a single response cannot be left out
 * </ul>
 *
 * <p>The events of a call are delivered to its handler by gRPC's executor, except for those that arrived before the
 * decision: these, and the start of the handler, run on the {@link #WeirServerInterceptor(WeirClient, Function,
 * Executor) executor}. Instances are thread-safe if the function is.
 */
public final class WeirServerInterceptor implements ServerInterceptor {

    private static final System.Logger LOG = System.getLogger(WeirServerInterceptor.class.getName());

    /** When a client retries, by gRFC A6. */
    static final Metadata.Key<String> PUSHBACK =
            Metadata.Key.of("grpc-retry-pushback-ms", Metadata.ASCII_STRING_MARSHALLER);

    private static final String NO_RETRY = "-1";
    private static final int BAD_REQUEST = 400;
    private static final int UNPROCESSABLE = 422;

    private final CallDecider decider;
    private final Function<GrpcCall, Request> requests;
    private final Executor executor;
    private final XRateLimitFields older;
    private final Optional<Duration> hold; // the ttl of reservations; empty if calls reserve nothing

    /** Decides requests, as {@link WeirClient} does. */
    interface CallDecider {

        CompletableFuture<ClientDecision> decide(Request request);

        CompletableFuture<Reservation> reserve(Request request, Duration ttl);
    }

    private record ClientCallDecider(WeirClient weir) implements CallDecider {

        @Override
        public CompletableFuture<ClientDecision> decide(Request request) {
            return weir.decide(request);
        }

        @Override
        public CompletableFuture<Reservation> reserve(Request request, Duration ttl) {
            return weir.reserve(request, ttl);
        }
    }

    /**
     * Creates an interceptor that starts handlers on the client's executor, or, if the policy throttles, in the common
     * pool.
     *
     * @param weir the client, which the interceptor does not close
     * @param requests returns the request for a call. Its client should be the authenticated caller
     */
    public WeirServerInterceptor(WeirClient weir, Function<GrpcCall, Request> requests) {
        this(weir, requests, Runnable::run);
    }

    /**
     * Creates an interceptor that starts handlers on an executor, usually that of the server. Handlers of streaming
     * calls can block it.
     *
     * @param weir the client, which the interceptor does not close
     * @param requests returns the request for a call. Its client should be the authenticated caller
     * @param executor where handlers are started
     */
    public WeirServerInterceptor(WeirClient weir, Function<GrpcCall, Request> requests, Executor executor) {
        this(weir, requests, executor, XRateLimitFields.NONE);
    }

    /**
     * Creates an interceptor whose responses also have the older fields {@code x-ratelimit-…}.
     *
     * @param weir the client, which the interceptor does not close
     * @param requests returns the request for a call. Its client should be the authenticated caller
     * @param executor where handlers are started
     * @param older which older fields are added
     */
    public WeirServerInterceptor(
            WeirClient weir, Function<GrpcCall, Request> requests, Executor executor, XRateLimitFields older) {
        this(new ClientCallDecider(weir), requests, executor, older, Optional.empty());
    }

    WeirServerInterceptor(
            CallDecider decider,
            Function<GrpcCall, Request> requests,
            Executor executor,
            XRateLimitFields older,
            Optional<Duration> hold) {
        this.decider = decider;
        this.requests = requests;
        this.executor = executor;
        this.older = older;
        this.hold = hold;
    }

    /**
     * Returns a copy of this interceptor that makes a reservation for each call and releases it when the call ends. A
     * call ends when the response was sent, the call was cancelled, its deadline has passed, or its handler has failed.
     * So a call occupies slots of concurrency limits for its duration. A handler that goes on after gRPC has ended its
     * call occupies none.
     *
     * @param ttl how long after its start, or its last renewal, a reservation ends if this process does not release it;
     *     as in {@link WeirClient#reserve(Request, Duration)}, 1 s to 30 days
     * @return a new interceptor
     */
    public WeirServerInterceptor holding(Duration ttl) {
        return new WeirServerInterceptor(decider, requests, executor, older, Optional.of(ttl));
    }

    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
        CompletableFuture<Reservation> answer;
        try {
            Request request = requests.apply(new GrpcCall(call.getMethodDescriptor(), headers, call.getAttributes()));
            answer = decide(Objects.requireNonNull(request, "the function returned no request"));
        } catch (IllegalArgumentException e) {
            call.close(Status.INVALID_ARGUMENT.withDescription(e.getMessage()), new Metadata());
            return new ServerCall.Listener<>() {};
        }
        PendingCall<Q, A> pending = new PendingCall<>(call, headers, next, answer);
        var unused = answer.whenComplete(pending::decided);
        return pending.listener;
    }

    private CompletableFuture<Reservation> decide(Request request) {
        return hold.isPresent()
                ? decider.reserve(request, hold.get())
                : decider.decide(request).thenApply(Reservation::none);
    }

    /** A call that waits for its decision. */
    private final class PendingCall<Q, A> {
        private final ServerCall<Q, A> call;
        private final Metadata headers;
        private final ServerCallHandler<Q, A> next;
        private final Context context = Context.current();
        private final DelayedListener<Q> listener;

        /** @param reserving is released at the end of the call, or when it completes if that is later */
        PendingCall(
                ServerCall<Q, A> call,
                Metadata headers,
                ServerCallHandler<Q, A> next,
                CompletableFuture<Reservation> reserving) {
            this.call = call;
            this.headers = headers;
            this.next = next;
            listener = new DelayedListener<>(
                    () -> call.close(
                            Status.INTERNAL.withDescription("too many messages before the rate limit was decided"),
                            new Metadata()),
                    () -> {
                        var unused = reserving.thenAccept(Reservation::release);
                    });
        }

        void decided(Reservation reservation, Throwable failure) {
            if (failure != null) {
                close(status(failure), new Metadata());
            } else if (!reservation.isAllowed()) {
                refuse(reservation.decision());
            } else {
                ClientDecision answer = reservation.decision();
                Long delayMs = answer.decision().map(Decision::delayMs).orElse(null);
                if (delayMs == null || delayMs == 0) {
                    allow(answer);
                } else {
                    // the JDK's thread of delays passes it to the common pool, and must not start handlers itself
                    CompletableFuture.delayedExecutor(delayMs, TimeUnit.MILLISECONDS)
                            .execute(() -> allow(answer));
                }
            }
        }

        private void allow(ClientDecision answer) {
            try {
                executor.execute(context.wrap(() -> start(answer.httpHeaders(older))));
            } catch (RuntimeException e) { // the executor was shut down
                close(Status.UNAVAILABLE.withCause(e), new Metadata());
            }
        }

        private void start(Map<String, String> fields) {
            if (listener.isCancelled()) {
                return;
            }
            ServerCall<Q, A> answered = new AnsweredCall<>(call, fields);
            try {
                listener.start(next.startCall(answered, headers));
            } catch (RuntimeException | Error e) {
                LOG.log(
                        System.Logger.Level.WARNING,
                        "The handler of " + call.getMethodDescriptor().getFullMethodName() + " failed",
                        e);
                abort(answered, e);
            }
        }

        private void refuse(ClientDecision answer) {
            if (answer.decision().isEmpty()) {
                close(Status.UNAVAILABLE.withDescription("the rate limit was not decided"), new Metadata());
                return;
            }
            Decision decision = answer.decision().get();
            if (decision.shadowBanned()) {
                boolean canBeEmpty = !call.getMethodDescriptor().getType().serverSendsOneMessage();
                close(canBeEmpty ? Status.OK : Status.UNAVAILABLE, new Metadata());
                return;
            }
            Metadata trailers = new Metadata();
            put(answer.httpHeaders(older), trailers);
            Long retryAfterMs = decision.retryAfterMs();
            trailers.put(PUSHBACK, retryAfterMs == null || retryAfterMs == 0 ? NO_RETRY : retryAfterMs.toString());
            int http = decision.httpStatus();
            Status status =
                    http == BAD_REQUEST || http == UNPROCESSABLE ? Status.INVALID_ARGUMENT : Status.RESOURCE_EXHAUSTED;
            close(
                    status.withDescription(
                            decision.outcome() + " by policy " + decision.policyId() + ": " + decision.reason()),
                    trailers);
        }

        private void abort(ServerCall<Q, A> answered, Throwable failure) {
            try {
                if (listener.discard()) {
                    answered.close(
                            Status.UNKNOWN.withDescription("the handler failed").withCause(failure), new Metadata());
                }
            } catch (IllegalStateException e) { // the handler has closed the call
                LOG.log(System.Logger.Level.DEBUG, "The call is closed already", e);
            }
        }

        private void close(Status status, Metadata trailers) {
            if (listener.discard()) {
                call.close(status, trailers);
            }
        }
    }

    /** A call whose response has the rate-limit fields, in its headers or, if it has none, in its trailers. */
    private static final class AnsweredCall<Q, A> extends SimpleForwardingServerCall<Q, A> {
        private final Map<String, String> fields;
        private boolean hasSentHeaders;

        AnsweredCall(ServerCall<Q, A> call, Map<String, String> fields) {
            super(call);
            this.fields = fields;
        }

        @Override
        public void sendHeaders(Metadata headers) {
            hasSentHeaders = true;
            put(fields, headers);
            super.sendHeaders(headers);
        }

        @Override
        public void close(Status status, Metadata trailers) {
            if (hasSentHeaders) {
                super.close(status, trailers);
                return;
            }
            Metadata all = new Metadata();
            all.merge(trailers); // which can be those of an exception that handlers share
            put(fields, all);
            super.close(status, all);
        }
    }

    private static void put(Map<String, String> fields, Metadata metadata) {
        fields.forEach((name, value) ->
                metadata.put(Metadata.Key.of(name.toLowerCase(Locale.ROOT), Metadata.ASCII_STRING_MARSHALLER), value));
    }

    private static Status status(Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        if (cause instanceof IllegalArgumentException) {
            return Status.INVALID_ARGUMENT.withDescription(cause.getMessage());
        }
        return cause instanceof NoDecisionException
                ? Status.UNAVAILABLE
                        .withDescription("the rate limit was not decided")
                        .withCause(cause)
                : Status.INTERNAL.withDescription("the rate limit failed").withCause(cause);
    }
}
