package dev.weir.client.pipeline;

import dev.weir.client.kafka.KafkaClients;
import dev.weir.client.kafka.ThreadEnd;
import dev.weir.policy.DurationsAndSizes;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Connects a client to the brokers in the background. It tries until it succeeds or is closed, so it survives brokers
 * that are away, host names that cannot be resolved, and topics that do not exist yet.
 */
final class ClientConnector implements AutoCloseable {

    /**
     * How long {@link #start} waits until Kafka's clients are created. This fails fast if a setting is invalid; only
     * the lookup of host names can take long.
     */
    private static final Duration OPEN = Duration.ofSeconds(5);

    /** After this time without an answer, {@link #failure} reports it. Kafka's clients wait for a minute. */
    private static final Duration SILENCE = Duration.ofSeconds(3);

    private static final Duration CLOSE = Duration.ofSeconds(5);
    private static final long PAUSE_MS = 1_000;
    private final Supplier<ClientConnection> opener;
    private final Predicate<ClientConnection> whenConnected;
    private final CompletableFuture<Void> opened = new CompletableFuture<>();
    private final Thread thread = new Thread(this::run, "weir-client-start");
    private volatile boolean closing;
    private volatile boolean connected;
    private volatile boolean stopped;
    private volatile RuntimeException failure;
    private volatile long startNanos;
    private volatile ClientConnection connecting; // null until Kafka's clients are created

    /**
     * Creates a connector.
     *
     * @param whenConnected takes the connection. If it returns false, the connection is closed
     */
    ClientConnector(Supplier<ClientConnection> opener, Predicate<ClientConnection> whenConnected) {
        this.opener = opener;
        this.whenConnected = whenConnected;
        thread.setDaemon(true);
    }

    /**
     * Starts the thread. Waits for up to 5 s until Kafka's clients are created, but not for brokers.
     *
     * @throws RuntimeException if a setting is invalid
     */
    void start() {
        startNanos = System.nanoTime();
        thread.start();
        try {
            opened.get(OPEN.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            // the lookup of host names goes on in the background
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof RuntimeException invalid ? invalid : new IllegalStateException(e.getCause());
        }
    }

    /** Returns why there is no connection yet; empty if there is one, or if the first attempt has just begun. */
    Optional<RuntimeException> failure() {
        RuntimeException last = failure;
        long waitedNanos = System.nanoTime() - startNanos;
        if (last != null || connected || waitedNanos < SILENCE.toNanos()) {
            return Optional.ofNullable(last);
        }
        ClientConnection current = connecting;
        String silent = current == null
                ? "no name server"
                : current.isWaitingForRegistry() ? "no schema registry" : "no broker";
        return Optional.of(new org.apache.kafka.common.errors.TimeoutException(
                silent + " has answered for " + DurationsAndSizes.rounded(TimeUnit.NANOSECONDS.toMillis(waitedNanos))));
    }

    /** Returns whether the thread has ended without a connection, and was not closed; {@link #failure} is the reason. */
    boolean hasStopped() {
        return stopped && !closing;
    }

    /**
     * Returns the message of the innermost cause, since Kafka's own is often only "Failed to construct …". That of an
     * error names its type, without which it can be empty.
     */
    static String message(RuntimeException failure) {
        Throwable cause = failure;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause instanceof Error ? cause.toString() : String.valueOf(cause.getMessage());
    }

    private void run() {
        ClientConnection connection = open();
        if (connection == null) {
            return;
        }
        boolean isUsed = false;
        try {
            isUsed = connect(connection) && whenConnected.test(connection);
        } catch (Throwable e) {
            failure = ThreadEnd.report(thread, e);
            stopped = true;
        } finally {
            if (!isUsed) {
                var unused = Thread.interrupted(); // an interrupted thread cannot close Kafka's clients
                connection.discard();
            }
        }
    }

    /** Returns a connection, or null if a setting is invalid or the connector was closed. */
    private ClientConnection open() {
        while (!closing) {
            try {
                ClientConnection connection = opener.get();
                opened.complete(null);
                return connection;
            } catch (RuntimeException | Error e) {
                if (!(e instanceof RuntimeException unresolved) || !KafkaClients.isUnresolved(e)) {
                    failure = e instanceof RuntimeException invalid ? invalid : new IllegalStateException(e);
                    stopped = true;
                    opened.completeExceptionally(e);
                    return null;
                }
                failure = unresolved;
                opened.complete(null);
                pause();
            }
        }
        return null;
    }

    private boolean connect(ClientConnection connection) {
        connecting = connection;
        while (!closing) {
            try {
                connection.connect();
                connected = true;
                failure = null;
                return true;
            } catch (RuntimeException e) { // can be temporary, such as a missing topic or permission
                if (!closing) {
                    failure = e;
                    pause();
                }
            }
        }
        return false;
    }

    private void pause() {
        try {
            Thread.sleep(PAUSE_MS);
        } catch (InterruptedException e) {
            closing = true; // only close() interrupts the thread
        }
    }

    /** Stops connecting and closes a connection that was not passed on. Waits for this for up to 5 s. */
    @Override
    public void close() {
        closing = true;
        thread.interrupt();
        if (Thread.currentThread() == thread) {
            return; // a callback of a request closes the client
        }
        try {
            thread.join(CLOSE.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
