package dev.weir.spring;

import dev.weir.client.CircuitSettings;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;

/**
 * The health of a client. It is down until the client is ready, and while the circuit is open: recent requests got no
 * decision. The fallback applies then to all requests. The details are whether the client is ready, the state of the
 * circuit, the number of waiting requests and, if there is one, the failure that the client reports.
 */
public final class WeirHealthIndicator extends AbstractHealthIndicator {

    private final BooleanSupplier ready;
    private final Supplier<CircuitSettings.State> circuit;
    private final IntSupplier inFlight;
    private final Supplier<Optional<RuntimeException>> failure;

    WeirHealthIndicator(
            BooleanSupplier ready,
            Supplier<CircuitSettings.State> circuit,
            IntSupplier inFlight,
            Supplier<Optional<RuntimeException>> failure) {
        super("Weir health check failed");
        this.ready = ready;
        this.circuit = circuit;
        this.inFlight = inFlight;
        this.failure = failure;
    }

    @Override
    protected void doHealthCheck(Health.Builder health) {
        CircuitSettings.State state = circuit.get();
        boolean isReady = ready.getAsBoolean();
        (isReady && state != CircuitSettings.State.OPEN ? health.up() : health.down())
                .withDetail("ready", isReady)
                .withDetail("circuit", state)
                .withDetail("inFlight", inFlight.getAsInt());
        failure.get().ifPresent(why -> health.withDetail("failure", String.valueOf(why.getMessage())));
    }
}
