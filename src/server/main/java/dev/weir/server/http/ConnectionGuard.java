package dev.weir.server.http;

import dev.weir.address.IpAddresses;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Bounds the connections of a listener, so that slow or malicious callers cannot block others. A connection must be
 * registered when it is accepted, before any handshake. Thread-safe.
 *
 * <ul>
 *   <li>A request must arrive within a time limit, or its connection is closed. The time starts with the first byte of
 *       the request, and for the first request when the connection is opened. It is extended by a second for each
 *       {@value #BYTES_PER_SECOND} bytes received, which is the lowest permitted data rate of long bodies.
 *   <li>Each address has a share of the connections with an incomplete request, and of all connections. Beyond it, one
 *       of its own is closed: the one that has been incomplete for longest. Well-behaved callers complete their requests
 *       before that. If none is incomplete, an idle one, or one whose caller does not read its response, is closed
 *       instead; if there is none either, the new one.
 *   <li>In the same way, a connection of any address is closed if there are too many in all.
 * </ul>
 */
public final class ConnectionGuard implements AutoCloseable {

    static final int MAX_CONNECTIONS = 256;
    static final long BYTES_PER_SECOND = 65_536;

    /** How many connections of an address may have an incomplete request, unless it is trusted with more. */
    public static final int MAX_INCOMPLETE = 64;

    private static final int IPV6_PREFIX_LENGTH = 64;
    private static final long CHECK_INTERVAL_MS = 250;
    private static final long LOG_INTERVAL_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final Logger LOG = LoggerFactory.getLogger(ConnectionGuard.class);

    /**
     * How many connections an address may have.
     *
     * @param incomplete those with an incomplete request, at least 1
     * @param all all connections, at least 1
     */
    public record Share(int incomplete, int all) {}

    /**
     * The bounds of a listener.
     *
     * @param timeout how long a request may take to arrive
     * @param max how many connections may be open
     * @param ipv6PrefixLength how many bits of an IPv6 address identify a caller, 1 to 128
     * @param shares returns the share of an address
     */
    public record Bounds(Duration timeout, int max, int ipv6PrefixLength, Function<InetAddress, Share> shares) {

        /** Returns bounds that give all addresses the same share. */
        public static Bounds ofService(Duration timeout) {
            Share share = new Share(MAX_INCOMPLETE, MAX_CONNECTIONS);
            return new Bounds(timeout, MAX_CONNECTIONS, IPV6_PREFIX_LENGTH, address -> share);
        }
    }

    /** Why a connection was closed or not accepted. */
    public enum Refusal {
        /** There were too many connections, in all or of its address. */
        TOO_MANY("there are too many connections"),
        /** A request took too long to arrive. */
        TOO_SLOW("the request took too long to arrive"),
        /** Its caller did not read a response, of which too many bytes were waiting. */
        NOT_READING("too many bytes of responses are buffered"),
        /** The process had no descriptor for it, or the system no memory. */
        NO_DESCRIPTORS("the process has no descriptor for the connection");

        private final String text;

        Refusal(String text) {
            this.text = text;
        }

        /** Returns the reason as a clause. */
        public String text() {
            return text;
        }
    }

    /** A connection and its state. */
    public interface GuardedConnection {

        /** Returns whether a request has not been received completely. */
        boolean isIncomplete();

        /** Returns whether the connection is waiting for its next request, so that it can be closed for another one. */
        boolean isIdle();

        /** Returns whether part of a response is waiting until the caller has read the part before it. */
        boolean isSending();

        /** Returns since when the connection has been in its state, by {@link System#nanoTime}. */
        long stateSinceNanos();

        /** Returns how many bytes of the request have been received. */
        long receivedBytes();

        /** Returns the address of the caller. */
        InetAddress caller();

        /** Closes the connection. Must not block. */
        void close(Refusal reason);
    }

    private final Bounds bounds;
    private final Map<InetAddress, Set<GuardedConnection>> open = new HashMap<>(); // by range; guarded by this
    private final Map<Refusal, LongAdder> refused = new EnumMap<>(Refusal.class);
    private final AtomicLong loggedNanos = new AtomicLong(System.nanoTime() - LOG_INTERVAL_NANOS);
    private volatile int size;
    private final ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "service-guard");
        thread.setDaemon(true);
        return thread;
    });

    public ConnectionGuard(Bounds bounds) {
        this.bounds = bounds;
        for (Refusal reason : Refusal.values()) {
            refused.put(reason, new LongAdder());
        }
        var unused = scheduler.scheduleWithFixedDelay(
                this::closeTimedOut, CHECK_INTERVAL_MS, CHECK_INTERVAL_MS, TimeUnit.MILLISECONDS);
    }

    /** Returns how long a request may take to arrive. */
    public Duration timeout() {
        return bounds.timeout();
    }

    /**
     * Registers a connection. Closes another one if there are too many.
     *
     * @return false if there are too many and no other one can be closed: then the caller must close this one
     */
    public boolean opened(GuardedConnection connection) {
        List<GuardedConnection> surplus;
        synchronized (this) {
            size++;
            Set<GuardedConnection> ofAddress = open.computeIfAbsent(range(connection), unused -> new HashSet<>());
            ofAddress.add(connection);
            surplus = new ArrayList<>(2);
            ofAddress(connection, ofAddress).ifPresent(surplus::add);
            surplus.forEach(this::remove);
            if (size > bounds.max()) {
                GuardedConnection one = oldest(connection, all());
                surplus.add(one);
                remove(one);
            }
        }
        for (GuardedConnection one : surplus) {
            count(Refusal.TOO_MANY);
            if (one != connection) {
                one.close(Refusal.TOO_MANY);
            }
        }
        return !surplus.contains(connection);
    }

    /** Returns the one to close if the address of a new connection has too many. */
    private Optional<GuardedConnection> ofAddress(GuardedConnection opened, Set<GuardedConnection> connections) {
        Share share = bounds.shares().apply(opened.caller());
        boolean isTooIncomplete = connections.size() > share.incomplete()
                && connections.stream()
                                .filter(GuardedConnection::isIncomplete)
                                .limit(share.incomplete() + 1L)
                                .count()
                        > share.incomplete();
        return isTooIncomplete || connections.size() > share.all()
                ? Optional.of(oldest(opened, connections))
                : Optional.empty();
    }

    /** Returns the one to close: incomplete, otherwise idle or not read from, otherwise the new one. */
    private static GuardedConnection oldest(GuardedConnection opened, Collection<GuardedConnection> connections) {
        return oldest(connections, one -> one != opened && one.isIncomplete())
                .or(() -> oldest(connections, one -> one != opened && (one.isIdle() || one.isSending())))
                .orElse(opened);
    }

    private static Optional<GuardedConnection> oldest(
            Collection<GuardedConnection> connections, Predicate<GuardedConnection> which) {
        long nowNanos = System.nanoTime();
        return connections.stream()
                .filter(which)
                .max(Comparator.comparingLong(one -> nowNanos - one.stateSinceNanos()));
    }

    private List<GuardedConnection> all() {
        List<GuardedConnection> all = new ArrayList<>(size);
        open.values().forEach(all::addAll);
        return all;
    }

    private boolean remove(GuardedConnection connection) {
        InetAddress range = range(connection);
        Set<GuardedConnection> ofAddress = open.get(range);
        if (ofAddress == null || !ofAddress.remove(connection)) {
            return false;
        }
        size--;
        if (ofAddress.isEmpty()) {
            open.remove(range);
        }
        return true;
    }

    private InetAddress range(GuardedConnection connection) {
        return IpAddresses.firstOfRange(connection.caller(), bounds.ipv6PrefixLength());
    }

    /** Closes the connection whose caller has not read its response for longest. */
    void closeOldestSending() {
        Optional<GuardedConnection> oldest;
        synchronized (this) {
            oldest = oldest(all(), GuardedConnection::isSending);
            oldest.ifPresent(this::remove);
        }
        oldest.ifPresent(one -> close(one, Refusal.NOT_READING));
    }

    /** Removes a connection that was closed. */
    public synchronized void closed(GuardedConnection connection) {
        remove(connection);
    }

    /** Returns the number of open connections. */
    public int size() {
        return size;
    }

    /** Returns how many connections were closed or not accepted for a reason. */
    public long refused(Refusal reason) {
        return refused.get(reason).sum();
    }

    /**
     * Counts a connection that could not be accepted, and logs it at most once a minute. The caller must wait before it
     * tries again: the connection still waits, so that it would fail again at once.
     *
     * @param listening names the setting of the port, for the message
     */
    public void acceptFailed(String listening, Throwable cause) {
        count(Refusal.NO_DESCRIPTORS);
        long nowNanos = System.nanoTime();
        long lastNanos = loggedNanos.get();
        if (nowNanos - lastNanos >= LOG_INTERVAL_NANOS && loggedNanos.compareAndSet(lastNanos, nowNanos)) {
            LOG.error(
                    "{} cannot accept connections: {}; if the process has too few descriptors, raise its limit"
                            + " (ulimit -n)",
                    listening,
                    cause.toString());
        }
    }

    private void closeTimedOut() {
        long nowNanos = System.nanoTime();
        List<GuardedConnection> timedOut = new ArrayList<>();
        synchronized (this) {
            for (GuardedConnection one : all()) {
                long allowedNanos = bounds.timeout().toNanos()
                        + one.receivedBytes() * TimeUnit.SECONDS.toNanos(1) / BYTES_PER_SECOND;
                if (one.isIncomplete() && nowNanos - one.stateSinceNanos() > allowedNanos) {
                    timedOut.add(one);
                }
            }
            timedOut.forEach(this::remove);
        }
        timedOut.forEach(one -> close(one, Refusal.TOO_SLOW));
    }

    private void close(GuardedConnection connection, Refusal reason) {
        count(reason);
        connection.close(reason);
    }

    private void count(Refusal reason) {
        refused.get(reason).increment();
    }

    @Override
    public void close() {
        scheduler.shutdownNow();
    }
}
