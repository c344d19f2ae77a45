package dev.weir.service.http;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.Comparator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;

/**
 * Bounds the connections of a listener, so that slow or malicious callers cannot block others.
 *
 * <ul>
 *   <li>A request must arrive within a time limit, or its connection is closed. The time starts with the first byte of
 *       the request, and for the first request when the connection is opened. It is extended by a second for each
 *       {@value #BYTES_PER_SECOND} bytes received, which is the lowest permitted data rate of long bodies.
 *   <li>At most {@value #MAX_INCOMPLETE} connections of one address, and {@value #MAX_CONNECTIONS} in all, may have an
 *       incomplete request, unless the constructor sets other bounds. Beyond that, the one that has been incomplete for
 *       longest is closed; well-behaved callers complete their requests before that. If there are too many connections
 *       and none is incomplete, an idle one, or one whose caller does not read its response, is closed instead.
 * </ul>
 */
public final class ConnectionGuard implements AutoCloseable {

    static final int MAX_CONNECTIONS = 256;
    static final int MAX_INCOMPLETE = 64;
    static final long BYTES_PER_SECOND = 65_536;

    private static final long CHECK_INTERVAL_MS = 250;

    /** A connection and its state. */
    interface GuardedConnection {

        /** Returns whether a request has not been received completely. */
        boolean isIncomplete();

        /** Returns whether the connection is waiting for its next request. */
        boolean isIdle();

        /** Returns whether part of a response is waiting until the caller has read the part before it. */
        boolean isSending();

        /** Returns since when the connection has been in its state, by {@link System#nanoTime}. */
        long stateSinceNanos();

        /** Returns how many bytes of the request have been received. */
        long receivedBytes();

        SocketAddress remote();

        void close(Throwable why);
    }

    private final Set<GuardedConnection> open = ConcurrentHashMap.newKeySet();
    private final long timeoutNanos;
    private final int maxConnections;
    private final int maxIncomplete;
    private final ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "service-guard");
        thread.setDaemon(true);
        return thread;
    });

    /** @param timeout how long a request may take to arrive */
    public ConnectionGuard(Duration timeout) {
        this(timeout, MAX_CONNECTIONS, MAX_INCOMPLETE);
    }

    /**
     * @param timeout how long a request may take to arrive
     * @param maxConnections how many connections may be open
     * @param maxIncomplete how many connections of one address may have an incomplete request
     */
    public ConnectionGuard(Duration timeout, int maxConnections, int maxIncomplete) {
        timeoutNanos = timeout.toNanos();
        this.maxConnections = maxConnections;
        this.maxIncomplete = maxIncomplete;
        var unused = scheduler.scheduleWithFixedDelay(
                this::closeTimedOut, CHECK_INTERVAL_MS, CHECK_INTERVAL_MS, TimeUnit.MILLISECONDS);
    }

    /** Registers a connection. Closes another one if there are too many. */
    void opened(GuardedConnection connection) {
        open.add(connection);
        Object address = address(connection);
        closeOldest(
                maxIncomplete,
                one -> one.isIncomplete() && address(one).equals(address),
                "too many connections of this address");
        if (open.size() > maxConnections
                && !closeOldest(0, one -> one != connection && one.isIncomplete(), "too many connections")) {
            closeOldest(0, one -> one.isIdle() || one.isSending(), "too many connections");
        }
        if (open.size() > maxConnections) {
            connection.close(new TimeoutException("too many connections"));
        }
    }

    /** Closes the connection whose caller has not read its response for longest. */
    void closeOldestSending() {
        closeOldest(0, GuardedConnection::isSending, "too many bytes of responses are buffered");
    }

    void closed(GuardedConnection connection) {
        open.remove(connection);
    }

    /** Returns the number of open connections. */
    public int size() {
        return open.size();
    }

    /**
     * If more than the given number of connections match, closes the one that has been in its state for longest.
     * Returns whether one was closed.
     */
    private boolean closeOldest(int most, Predicate<GuardedConnection> which, String why) {
        if (open.stream().filter(which).limit(most + 1L).count() <= most) {
            return false;
        }
        long nowNanos = System.nanoTime();
        open.stream()
                .filter(which)
                .max(Comparator.comparingLong(one -> nowNanos - one.stateSinceNanos()))
                .ifPresent(one -> {
                    open.remove(one);
                    one.close(new TimeoutException(why));
                });
        return true;
    }

    private void closeTimedOut() {
        long nowNanos = System.nanoTime();
        for (GuardedConnection connection : open) {
            long allowedNanos =
                    timeoutNanos + connection.receivedBytes() * TimeUnit.SECONDS.toNanos(1) / BYTES_PER_SECOND;
            if (connection.isIncomplete() && nowNanos - connection.stateSinceNanos() > allowedNanos) {
                connection.close(new TimeoutException("the request took too long to arrive"));
            }
        }
    }

    private static Object address(GuardedConnection connection) {
        return connection.remote() instanceof InetSocketAddress inet
                ? inet.getAddress()
                : String.valueOf(connection.remote());
    }

    @Override
    public void close() {
        scheduler.shutdownNow();
    }
}
