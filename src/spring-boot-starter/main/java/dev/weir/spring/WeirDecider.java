package dev.weir.spring;

import dev.weir.client.ClientDecision;
import dev.weir.client.Fallback;
import dev.weir.event.Request;
import java.util.concurrent.CompletableFuture;

/**
 * Decides the requests of the filters and of {@link RateLimited} methods. The auto-configured one calls the
 * {@link dev.weir.client.WeirClient}. A bean of this type replaces it, for example in tests without Kafka:
 *
 * <pre>{@code
 * @Bean
 * WeirDecider everythingAllowed() {
 *     return (request, fallback) -> CompletableFuture.completedFuture(
 *             ClientDecision.of(Decision.unmatched(request)));
 * }
 * }</pre>
 *
 * <p>Implementations are thread-safe and do not block.
 */
@FunctionalInterface
public interface WeirDecider {

    /**
     * Decides a request and charges it.
     *
     * @param request the request
     * @param fallback what to return if there is no decision in time
     * @return a future that completes or fails like that of
     *     {@link dev.weir.client.WeirClient#decide(Request, java.time.Duration, Fallback)}
     */
    CompletableFuture<ClientDecision> decide(Request request, Fallback fallback);
}
