package dev.weir.spring;

import java.time.Duration;
import org.aopalliance.intercept.MethodInvocation;
import org.reactivestreams.Publisher;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Calls methods that return a reactive type. Only this class of the interceptor needs Reactor. */
final class ReactiveMethodCall {

    private ReactiveMethodCall() {}

    /** Returns whether values of a type are publishers, and not futures. */
    static boolean isReactive(Class<?> type) {
        ReactiveAdapter adapter = ReactiveAdapterRegistry.getSharedInstance().getAdapter(type);
        return adapter != null && adapter.getDescriptor().isDeferred();
    }

    /** Returns a publisher that gets a decision and calls the method at each subscription. */
    static Object later(MethodInvocation call, Class<?> type, RateLimitedInterceptor interceptor) {
        ReactiveAdapter adapter = ReactiveAdapterRegistry.getSharedInstance().getAdapter(type);
        MethodInvocation later = RateLimitedInterceptor.copy(call);
        Mono<Object> allowed = Mono.fromFuture(() -> interceptor.decide(later), true)
                .publishOn(Schedulers.parallel())
                .flatMap(answer -> {
                    interceptor.check(later, answer);
                    long delayMs = RateLimitedInterceptor.delayMs(answer);
                    return delayMs == 0 ? Mono.just(answer) : Mono.delay(Duration.ofMillis(delayMs));
                });
        return adapter.fromPublisher(
                adapter.isMultiValue()
                        ? allowed.flatMapMany(unused -> Flux.from(result(later, adapter)))
                        : allowed.flatMap(unused -> Mono.from(result(later, adapter))));
    }

    private static Publisher<Object> result(MethodInvocation call, ReactiveAdapter adapter) {
        try {
            return adapter.toPublisher(RateLimitedInterceptor.copy(call).proceed());
        } catch (Throwable e) {
            return Mono.error(e);
        }
    }
}
