package dev.weir.kafka;

import dev.weir.wire.RegistryException;
import dev.weir.wire.SchemaRegistry;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A schema registry with unlimited retries. A record whose schema is unavailable can be neither accepted nor rejected,
 * so its stream thread waits, and {@code /health/ready} reports the stalled thread.
 */
public record RetryingRegistry(SchemaRegistry registry) implements SchemaRegistry {

    private static final Logger LOG = LoggerFactory.getLogger(RetryingRegistry.class);

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long LOG_EVERY_NANOS = TimeUnit.MINUTES.toNanos(1);

    /** Registers a schema without retries, because this is done only at the start. */
    @Override
    public int id(String topic, String schema) {
        return registry.id(topic, schema);
    }

    @Override
    public Optional<List<String>> schema(int id) {
        long toldNanos = System.nanoTime() - LOG_EVERY_NANOS;
        while (true) {
            try {
                return registry.schema(id);
            } catch (RegistryException e) {
                if (Thread.currentThread().isInterrupted()) {
                    throw e;
                }
                if (System.nanoTime() - toldNanos >= LOG_EVERY_NANOS) {
                    LOG.warn("Waiting for schema {} from the registry: {}", id, e.getMessage());
                    toldNanos = System.nanoTime();
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }
}
