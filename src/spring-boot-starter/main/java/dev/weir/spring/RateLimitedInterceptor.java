package dev.weir.spring;

import dev.weir.client.Fallback;
import dev.weir.client.Reservation;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.core.KotlinDetector;
import org.springframework.util.ClassUtils;

/** Gets a decision before each call of a {@link RateLimited} method. */
final class RateLimitedInterceptor implements MethodInterceptor {

    private static final boolean HAS_REACTOR =
            ClassUtils.isPresent("reactor.core.publisher.Mono", RateLimitedInterceptor.class.getClassLoader());

    private final WeirDecider decider;
    private final RateLimitedExpressions expressions;
    private final ThrottleSleeper sleeper;
    private final Fallback fallback;
    private final Duration holdTtl;

    /**
     * Creates an interceptor.
     *
     * @param sleeper blocks throttled calls of methods that do not return a stage or a reactive type
     * @param holdTtl the time of reservations
     */
    RateLimitedInterceptor(
            WeirDecider decider,
            RateLimitedExpressions expressions,
            ThrottleSleeper sleeper,
            Fallback fallback,
            Duration holdTtl) {
        this.decider = decider;
        this.expressions = expressions;
        this.sleeper = sleeper;
        this.fallback = fallback;
        this.holdTtl = holdTtl;
    }

    @Override
    public Object invoke(MethodInvocation call) throws Throwable {
        Class<?> type = call.getMethod().getReturnType();
        if (KotlinDetector.isSuspendingFunction(call.getMethod())) {
            throw new IllegalStateException("@RateLimited does not support suspending functions: " + call.getMethod());
        }
        if (CompletionStage.class.isAssignableFrom(type) && type.isAssignableFrom(CompletableFuture.class)) {
            return later(call);
        }
        if (HAS_REACTOR && ReactiveMethodCall.isReactive(type)) {
            return ReactiveMethodCall.later(call, type, this);
        }
        Reservation reservation = join(decide(call));
        try {
            check(call, reservation);
            if (!sleeper.sleep(delayMs(reservation))) {
                throw RateLimitedException.tooManyBlocked(
                        expressions.operation(call), reservation.decision(), sleeper.maxThreads());
            }
            return call.proceed();
        } finally {
            var unused = reservation.release();
        }
    }

    /** Gets the decision on a call, with a reservation that the caller releases. It holds nothing unless it should. */
    CompletableFuture<Reservation> decide(MethodInvocation call) {
        Request request = expressions.request(call);
        return expressions.isHeld(call)
                ? decider.reserve(request, holdTtl, fallback)
                : decider.decide(request, fallback).thenApply(Reservation::none);
    }

    /** Throws an exception unless the call is allowed. */
    void check(MethodInvocation call, Reservation reservation) {
        if (!reservation.isAllowed()) {
            throw new RateLimitedException(expressions.operation(call), reservation.decision());
        }
    }

    static long delayMs(Reservation reservation) {
        Long delayMs = reservation.decision().decision().map(Decision::delayMs).orElse(null);
        return delayMs == null ? 0 : delayMs;
    }

    /** Returns an invocation that can proceed after {@code invoke} has returned. */
    static MethodInvocation copy(MethodInvocation call) {
        return call instanceof ProxyMethodInvocation proxied ? proxied.invocableClone() : call;
    }

    private CompletableFuture<Object> later(MethodInvocation call) {
        MethodInvocation later = copy(call);
        CompletableFuture<Reservation> answer;
        try {
            answer = decide(call);
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
        AtomicBoolean isOver = new AtomicBoolean();
        CompletableFuture<Object> result = answer.thenCompose(reservation -> {
            check(later, reservation);
            long delayMs = delayMs(reservation);
            if (delayMs == 0) {
                return proceed(later);
            }
            Executor afterDelay = CompletableFuture.delayedExecutor(delayMs, TimeUnit.MILLISECONDS);
            return CompletableFuture.runAsync(() -> {}, afterDelay)
                    .thenCompose(unused -> isOver.get()
                            ? CompletableFuture.failedFuture(new CancellationException())
                            : proceed(later));
        });
        var unused = result.whenComplete((value, failure) -> {
            isOver.set(true);
            release(answer);
        });
        return result;
    }

    /** Releases a reservation now, or when it arrives. */
    static void release(CompletableFuture<Reservation> reserving) {
        var unused = reserving.thenAccept(Reservation::release);
    }

    private static CompletionStage<Object> proceed(MethodInvocation call) {
        try {
            @SuppressWarnings("unchecked") // the type of the method is CompletionStage or CompletableFuture
            CompletionStage<Object> result = (CompletionStage<Object>) call.proceed();
            return result == null ? CompletableFuture.completedFuture(null) : result;
        } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private static Reservation join(CompletableFuture<Reservation> answer) throws Throwable {
        try {
            return answer.join();
        } catch (CompletionException e) {
            throw e.getCause() == null ? e : e.getCause();
        }
    }
}
