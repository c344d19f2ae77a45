package dev.weir.spring;

import dev.weir.client.Reservation;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
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
        return adapter.fromPublisher(
                adapter.isMultiValue()
                        ? Flux.defer(() -> {
                            CompletableFuture<Reservation> reserving = interceptor.decide(later);
                            return allowed(later, reserving, interceptor)
                                    .flatMapMany(unused -> Flux.from(result(later, adapter)))
                                    .doFinally(signal -> RateLimitedInterceptor.release(reserving));
                        })
                        : Mono.defer(() -> {
                            CompletableFuture<Reservation> reserving = interceptor.decide(later);
                            return allowed(later, reserving, interceptor)
                                    .flatMap(unused -> Mono.from(result(later, adapter)))
                                    .doFinally(signal -> RateLimitedInterceptor.release(reserving));
                        }));
    }

    private static Mono<Object> allowed(
            MethodInvocation call, CompletableFuture<Reservation> reserving, RateLimitedInterceptor interceptor) {
        return Mono.fromFuture(reserving, true).publishOn(Schedulers.parallel()).flatMap(reservation -> {
            interceptor.check(call, reservation);
            long delayMs = RateLimitedInterceptor.delayMs(reservation);
            return delayMs == 0 ? Mono.just(reservation) : Mono.delay(Duration.ofMillis(delayMs));
        });
    }

    private static Publisher<Object> result(MethodInvocation call, ReactiveAdapter adapter) {
        try {
            return adapter.toPublisher(RateLimitedInterceptor.copy(call).proceed());
        } catch (Throwable e) {
            return Mono.error(e);
        }
    }
}
