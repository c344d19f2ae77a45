package dev.weir.spring;

import dev.weir.event.Request;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Makes the request that decides an HTTP request of a WebFlux application. The auto-configured one follows the
 * properties {@code weir.filter.*}. A bean of this type replaces it. Implementations are thread-safe and do not block.
 */
@FunctionalInterface
public interface ExchangeRequestMapper {

    /**
     * Returns the request to decide.
     *
     * @param exchange the HTTP request, whose body must not be read
     * @return the request. Its client should be the authenticated caller. An {@link IllegalArgumentException} as the
     *     error, or no value, means that the HTTP request is invalid; it gets status 400
     */
    Mono<Request> map(ServerWebExchange exchange);
}
