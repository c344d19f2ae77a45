package dev.weir.gateway;

import dev.weir.service.RequestDecider;

/** Decides the requests that all protocols of the gateway receive. Implementations are thread-safe. */
@FunctionalInterface
public interface GatewayDecider extends RequestDecider {}
