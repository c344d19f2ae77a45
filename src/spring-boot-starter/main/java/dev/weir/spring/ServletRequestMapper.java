package dev.weir.spring;

import dev.weir.event.Request;
import jakarta.servlet.http.HttpServletRequest;

/**
 * Makes the request that decides an HTTP request of a servlet application. The auto-configured one follows the
 * properties {@code weir.filter.*}. A bean of this type replaces it. Implementations are thread-safe.
 */
@FunctionalInterface
public interface ServletRequestMapper {

    /**
     * Returns the request to decide.
     *
     * @param http the HTTP request, whose body must not be read
     * @return the request. Its client should be the authenticated caller
     * @throws IllegalArgumentException if the HTTP request is invalid; it gets status 400
     */
    Request map(HttpServletRequest http);
}
