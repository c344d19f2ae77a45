package dev.weir.spring;

import dev.weir.client.Fallback;
import dev.weir.client.Reservation;
import dev.weir.client.decision.ClientDecision;
import dev.weir.event.Request;
import java.time.Duration;
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

    /**
     * Decides a request, charges it, and reserves what it needs until the filter or the {@link RateLimited} method
     * releases the reservation. By default it calls {@link #decide}, and reserves nothing.
     *
     * @param request the request
     * @param ttl how long after its start, or its last renewal, Weir ends the reservation if nobody releases it
     * @param fallback what to return if there is no decision in time
     * @return a future that completes or fails like that of
     *     {@link dev.weir.client.WeirClient#reserve(Request, Duration, Fallback)}
     */
    default CompletableFuture<Reservation> reserve(Request request, Duration ttl, Fallback fallback) {
        return decide(request, fallback).thenApply(Reservation::none);
    }
}
