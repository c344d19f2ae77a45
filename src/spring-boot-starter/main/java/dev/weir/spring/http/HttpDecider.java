package dev.weir.spring.http;

import dev.weir.client.Fallback;
import dev.weir.client.Reservation;
import dev.weir.event.Request;
import dev.weir.spring.WeirDecider;
import dev.weir.spring.WeirProperties;
import dev.weir.spring.WeirProperties.OnNoDecision;
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
                fallback(filter.onNoDecision(), properties.fallback()),
                filter.hold() ? Optional.of(properties.holdTtl()) : Optional.empty());
    }

    /** @param configured what to do without a decision; null to do what the client does */
    private static Fallback fallback(OnNoDecision configured, Fallback ofClient) {
        OnNoDecision action = configured != null
                ? configured
                : ofClient == Fallback.FAIL_OPEN ? OnNoDecision.ALLOW : OnNoDecision.DENY;
        return action == OnNoDecision.ALLOW ? Fallback.FAIL_OPEN : Fallback.FAIL_CLOSED;
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
