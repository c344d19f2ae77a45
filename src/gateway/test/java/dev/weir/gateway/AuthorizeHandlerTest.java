package dev.weir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.api.Caller;
import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.config.WeirConfig;
import dev.weir.server.decide.RequestDecider;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.junit.jupiter.api.Test;

/** Calls the endpoint with a decider that is not Weir. */
class AuthorizeHandlerTest {

    @Test
    void the_timeout_begins_when_the_request_was_received() throws Exception {
        AtomicReference<Duration> left = new AtomicReference<>();
        RequestDecider decider = (request, timeout, fallback) -> {
            left.set(timeout);
            return CompletableFuture.completedFuture(
                    new ClientDecision(true, Optional.empty(), Optional.of(NoDecisionReason.TIMED_OUT)));
        };
        GatewayConfig config = GatewayConfig.DEFAULTS;
        Server server = new Server(0);
        server.setHandler(new AuthorizeHandler(
                config,
                WeirConfig.DEFAULTS.requests().rules(),
                XRateLimitFields.NONE,
                decider,
                new AuthorizeMetrics(new PrometheusRegistry(), AuthorizeHandler.routeIds(config)),
                () -> false));
        server.start();
        try {
            int port = ((ServerConnector) server.getConnectors()[0]).getLocalPort();
            assertThat(Caller.unchecked(port).get("/v1/authorize/any").status()).isEqualTo(200);
        } finally {
            server.stop();
        }
        assertThat(left.get()).isLessThan(AuthorizeRoute.DEFAULT_TIMEOUT);
    }
}
