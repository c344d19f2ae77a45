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
 * Bounds what connections take from a listener, so that callers which are slow, or mean to be, keep nobody out.
 *
 * <ul>
 *   <li>A request arrives within a time, or its connection is closed. The time counts from its first byte, and for the first request from when
 *       the connection was opened; it grows by a second for each {@value #BYTES_PER_SECOND} bytes, which is the lowest data rate of long
 *       bodies.
 *   <li>At most {@value #MAX_INCOMPLETE} connections of one address, and {@value #MAX_CONNECTIONS} in all, may be without a complete
 *       request. Of more, the one is closed that has been so for longest: a caller that means well is done before its turn comes. Those that
 *       wait for their next request, or do not read their response, are closed likewise if there are more than {@value #MAX_CONNECTIONS}.
 * </ul>
 */
public final class ConnectionGuard implements AutoCloseable {

    static final int MAX_CONNECTIONS = 256;
    static final int MAX_INCOMPLETE = 64;
    static final long BYTES_PER_SECOND = 65_536;

    private static final long CHECK_INTERVAL_MS = 250;

    /** A connection, as far as it is guarded. */
    interface GuardedConnection {

        /** Whether a request has not arrived yet as a whole. */
        boolean isIncomplete();

        /** Whether it waits for its next request. */
        boolean isIdle();

        /** Whether some of a response waits until the caller has read what was sent before. */
        boolean isSending();

        /** Since when it has been so, by {@link System#nanoTime}. */
        long stateSinceNanos();

        /** How much of the request has arrived. */
        long receivedBytes();

        SocketAddress remote();

        void close(Throwable why);
    }

    private final Set<GuardedConnection> open = ConcurrentHashMap.newKeySet();
    private final long timeoutNanos;
    private final ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "service-guard");
        thread.setDaemon(true);
        return thread;
    });

    /** @param timeout how long a request may take to arrive */
    public ConnectionGuard(Duration timeout) {
        timeoutNanos = timeout.toNanos();
        var unused = scheduler.scheduleWithFixedDelay(
                this::closeTimedOut, CHECK_INTERVAL_MS, CHECK_INTERVAL_MS, TimeUnit.MILLISECONDS);
    }

    /** Takes note of a connection, for which another one may be closed. */
    void opened(GuardedConnection connection) {
        open.add(connection);
        Object address = address(connection);
        closeOldest(
                MAX_INCOMPLETE, one -> one.isIncomplete() && address(one).equals(address), "too many of its address");
        if (open.size() > MAX_CONNECTIONS
                && !closeOldest(0, one -> one != connection && one.isIncomplete(), "too many connections")) {
            closeOldest(0, one -> one.isIdle() || one.isSending(), "too many connections");
        }
        if (open.size() > MAX_CONNECTIONS) {
            connection.close(new TimeoutException("too many connections"));
        }
    }

    /** Closes the connection whose caller has not read its response for longest. */
    void closeOldestSending() {
        closeOldest(0, GuardedConnection::isSending, "too much is to be sent");
    }

    void closed(GuardedConnection connection) {
        open.remove(connection);
    }

    /** How many connections are open. */
    public int size() {
        return open.size();
    }

    /** Of more than so many, closes the one that has been as it is for longest; returns whether one was closed. */
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
