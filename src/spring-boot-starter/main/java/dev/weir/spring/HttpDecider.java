package dev.weir.spring;

import dev.weir.client.Fallback;
import dev.weir.client.Reservation;
import dev.weir.event.Request;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * How the filters decide requests.
 *
 * @param decider decides them
 * @param fallback what to return if there is no decision in time
 * @param holdTtl the time of the reservations that requests hold; empty if they hold none
 */
record HttpDecider(WeirDecider decider, Fallback fallback, Optional<Duration> holdTtl) {

    static HttpDecider of(WeirDecider decider, WeirProperties properties) {
        WeirProperties.FilterProperties filter = properties.filter();
        return new HttpDecider(
                decider,
                filter.fallback(properties.fallback()),
                filter.hold() ? Optional.of(properties.holdTtl()) : Optional.empty());
    }

    /**
     * Decides a request. The filter releases the reservation when the HTTP request has ended; it holds nothing unless
     * requests hold reservations.
     */
    CompletableFuture<Reservation> decide(Request request) {
        try {
            return holdTtl.isPresent()
                    ? decider.reserve(request, holdTtl.get(), fallback)
                    : decider.decide(request, fallback).thenApply(Reservation::none);
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }
}
