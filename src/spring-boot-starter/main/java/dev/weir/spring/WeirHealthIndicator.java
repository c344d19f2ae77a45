package dev.weir.spring;

import dev.weir.client.CircuitSettings;
import dev.weir.client.ClientStats;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;

/**
 * The health of a client. It is down until the client is ready, and while a circuit is open. If it is that of requests,
 * recent ones got no decision, and the fallback applies to all. If it is that of leases, a ledger does not answer, and
 * the fallback applies to requests without a lease. The details are whether the client is ready, the states of the
 * circuits, the number of waiting requests and, if there is one, the failure that the client reports.
 */
public final class WeirHealthIndicator extends AbstractHealthIndicator {

    private final BooleanSupplier ready;
    private final Supplier<ClientStats> stats;
    private final Supplier<Optional<RuntimeException>> failure;

    WeirHealthIndicator(
            BooleanSupplier ready, Supplier<ClientStats> stats, Supplier<Optional<RuntimeException>> failure) {
        super("Weir health check failed");
        this.ready = ready;
        this.stats = stats;
        this.failure = failure;
    }

    @Override
    protected void doHealthCheck(Health.Builder health) {
        ClientStats.Now now = stats.get().now();
        boolean isReady = ready.getAsBoolean();
        boolean isOpen =
                now.circuit() == CircuitSettings.State.OPEN || now.leaseCircuit() == CircuitSettings.State.OPEN;
        (isReady && !isOpen ? health.up() : health.down())
                .withDetail("ready", isReady)
                .withDetail("circuit", now.circuit())
                .withDetail("leaseCircuit", now.leaseCircuit())
                .withDetail("inFlight", now.inFlight());
        failure.get().ifPresent(why -> health.withDetail("failure", String.valueOf(why.getMessage())));
    }
}
