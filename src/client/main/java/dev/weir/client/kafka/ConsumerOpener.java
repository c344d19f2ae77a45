package dev.weir.client.kafka;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InterruptException;

/**
 * Creates a Kafka consumer. Kafka's constructor fails if no host name of the brokers can be resolved, for example
 * because DNS is not available yet; then the opener tries again once a second. Not thread-safe, except for
 * {@link #consumer}.
 */
public final class ConsumerOpener {

    private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Supplier<Consumer<byte[], byte[]>> opener;
    private volatile Consumer<byte[], byte[]> consumer; // null until a host name is resolved
    private KafkaException failure; // null if there is none
    private long lastAttemptNanos;

    /**
     * Creates an opener, which tries for the first time.
     *
     * @param opener creates the consumer
     * @throws KafkaException if the settings are invalid
     */
    public ConsumerOpener(Supplier<Consumer<byte[], byte[]>> opener) {
        this.opener = opener;
        tryOpen();
    }

    /**
     * Returns the consumer.
     *
     * @return the consumer; empty if it could not be created yet
     */
    public Optional<Consumer<byte[], byte[]>> consumer() {
        return Optional.ofNullable(consumer);
    }

    /**
     * Returns why there is no consumer yet.
     *
     * @return the failure of the last attempt; empty if there is a consumer
     */
    public Optional<RuntimeException> failure() {
        return Optional.ofNullable(failure);
    }

    /**
     * Returns the consumer, and tries to create it if it is time for that. Waits for this for at most the timeout, and
     * for as long as the lookup of a host name takes.
     *
     * @param timeout the longest wait
     * @return the consumer; empty if it could not be created
     * @throws InterruptException if the thread is interrupted
     */
    public Optional<Consumer<byte[], byte[]>> await(Duration timeout) {
        if (consumer == null) {
            long leftNanos = PAUSE_NANOS - (System.nanoTime() - lastAttemptNanos);
            long waitNanos = Math.min(leftNanos, TimeUnit.NANOSECONDS.convert(timeout));
            if (waitNanos > 0) {
                sleep(waitNanos);
            }
            if (waitNanos >= leftNanos) {
                tryOpen();
            }
        }
        return consumer();
    }

    private void tryOpen() {
        try {
            consumer = opener.get();
            failure = null;
        } catch (KafkaException e) {
            if (!KafkaClients.isUnresolved(e)) {
                throw e;
            }
            failure = e;
        }
        lastAttemptNanos = System.nanoTime();
    }

    private static void sleep(long nanos) {
        try {
            TimeUnit.NANOSECONDS.sleep(nanos);
        } catch (InterruptedException e) {
            throw new InterruptException(e);
        }
    }
}
