package dev.weir.spring;

import dev.weir.client.CircuitSettings;
import dev.weir.client.ClientStats;
import java.util.function.Supplier;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;

/**
 * The health of a client. It is down while the circuit is open: recent requests got no decision, and the fallback
 * applies to all requests. The details are the state of the circuit and the number of waiting requests.
 */
public final class WeirHealthIndicator extends AbstractHealthIndicator {

    private final Supplier<ClientStats> stats;

    WeirHealthIndicator(Supplier<ClientStats> stats) {
        super("Weir health check failed");
        this.stats = stats;
    }

    @Override
    protected void doHealthCheck(Health.Builder health) {
        ClientStats now = stats.get();
        (now.circuit() == CircuitSettings.State.OPEN ? health.down() : health.up())
                .withDetail("circuit", now.circuit())
                .withDetail("inFlight", now.inFlight());
    }
}
