package dev.weir.gateway;

import dev.weir.client.ClientDecision;
import dev.weir.client.Fallback;
import dev.weir.event.Request;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** Decides the requests that all protocols of the gateway receive. Implementations are thread-safe. */
public interface GatewayDecider {

    /**
     * Decides a request and charges it, or reads its quota if its kind is {@code PEEK}. The calling thread does not
     * wait for the brokers.
     *
     * @param request the request. Its source is ignored
     * @param timeout how long to wait for the decision, 1 ms to 10 s
     * @param fallback who decides if Weir does not
     * @return a future that completes within the timeout. If the fallback decides, the answer has a reason instead of a
     *     decision. The future fails with an {@link IllegalArgumentException} if the request is invalid, and with a
     *     {@link dev.weir.client.NoDecisionException} if there is no decision and the fallback is {@link Fallback#FAIL}
     */
    CompletableFuture<ClientDecision> decide(Request request, Duration timeout, Fallback fallback);
}
