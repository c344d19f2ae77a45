package dev.weir.spring;

import dev.weir.client.ClientDecision;
import dev.weir.client.Fallback;
import dev.weir.event.Decision;
import dev.weir.event.Request;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
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

    /** @param sleeper blocks throttled calls of methods that do not return a stage or a reactive type */
    RateLimitedInterceptor(
            WeirDecider decider, RateLimitedExpressions expressions, ThrottleSleeper sleeper, Fallback fallback) {
        this.decider = decider;
        this.expressions = expressions;
        this.sleeper = sleeper;
        this.fallback = fallback;
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
        ClientDecision answer = join(decide(call));
        check(call, answer);
        if (!sleeper.sleep(delayMs(answer))) {
            throw RateLimitedException.tooManyBlocked(expressions.operation(call), answer, sleeper.maxThreads());
        }
        return call.proceed();
    }

    CompletableFuture<ClientDecision> decide(MethodInvocation call) {
        Request request = expressions.request(call);
        return decider.decide(request, fallback);
    }

    /** Throws an exception unless the call is allowed. */
    void check(MethodInvocation call, ClientDecision answer) {
        if (!answer.allowed()) {
            throw new RateLimitedException(expressions.operation(call), answer);
        }
    }

    static long delayMs(ClientDecision answer) {
        Long delayMs = answer.decision().map(Decision::delayMs).orElse(null);
        return delayMs == null ? 0 : delayMs;
    }

    /** Returns an invocation that can proceed after {@code invoke} has returned. */
    static MethodInvocation copy(MethodInvocation call) {
        return call instanceof ProxyMethodInvocation proxied ? proxied.invocableClone() : call;
    }

    private CompletableFuture<Object> later(MethodInvocation call) {
        MethodInvocation later = copy(call);
        CompletableFuture<ClientDecision> answer;
        try {
            answer = decide(call);
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
        return answer.thenCompose(decision -> {
            check(later, decision);
            long delayMs = delayMs(decision);
            if (delayMs == 0) {
                return proceed(later);
            }
            Executor afterDelay = CompletableFuture.delayedExecutor(delayMs, TimeUnit.MILLISECONDS);
            return CompletableFuture.runAsync(() -> {}, afterDelay).thenCompose(unused -> proceed(later));
        });
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

    private static ClientDecision join(CompletableFuture<ClientDecision> answer) throws Throwable {
        try {
            return answer.join();
        } catch (CompletionException e) {
            throw e.getCause() == null ? e : e.getCause();
        }
    }
}
