package dev.weir.spring;

import dev.weir.client.CircuitSettings;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;

/**
 * The health of a client. It is down until the client is ready, and while the circuit is open: recent requests got no
 * decision. The fallback applies then to all requests. The details are whether the client is ready, the state of the
 * circuit and the number of waiting requests.
 */
public final class WeirHealthIndicator extends AbstractHealthIndicator {

    private final BooleanSupplier ready;
    private final Supplier<CircuitSettings.State> circuit;
    private final IntSupplier inFlight;

    WeirHealthIndicator(BooleanSupplier ready, Supplier<CircuitSettings.State> circuit, IntSupplier inFlight) {
        super("Weir health check failed");
        this.ready = ready;
        this.circuit = circuit;
        this.inFlight = inFlight;
    }

    @Override
    protected void doHealthCheck(Health.Builder health) {
        CircuitSettings.State state = circuit.get();
        boolean isReady = ready.getAsBoolean();
        (isReady && state != CircuitSettings.State.OPEN ? health.up() : health.down())
                .withDetail("ready", isReady)
                .withDetail("circuit", state)
                .withDetail("inFlight", inFlight.getAsInt());
    }
}
