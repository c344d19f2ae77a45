package dev.weir.server.http;

import dev.weir.config.BadSettingException;
import dev.weir.config.WeirConfig.Service;
import dev.weir.kafka.UnreachableException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.net.UnknownHostException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;

/**
 * A port of the service. It is bound at once, so that a port in use is found early, but accepts no connections before
 * {@link #listen}: until the process can answer, callers are refused and do not wait. Thread-safe.
 */
public final class ServiceListener implements AutoCloseable {

    /** What Netty's native transports write before the message of the system. */
    private static final String NETTY_BIND = "^bind\\(\\.\\.\\) failed[^:]*: ";

    /** How many connections can wait until they are accepted. The operating system may have a lower bound. */
    private static final int BACKLOG = 1_024;

    private final Service service;
    private final Port port;
    private final InetSocketAddress bound;
    private final String address;
    private final SocketChannel reservation; // a socket that is bound and does not listen
    private ServerSocketChannel listening; // null before it listens

    /** A port as configured, 0 for any free one, with the names of its setting and option. */
    private record Port(int requested, String setting, String option) {}

    private ServiceListener(Service service, Port port, SocketChannel reservation) throws IOException {
        this.service = service;
        this.port = port;
        this.reservation = reservation;
        bound = (InetSocketAddress) reservation.getLocalAddress();
        address = service.listener()
                .advertise()
                .orElse(bracketed(service.listener().host()) + ":" + bound.getPort());
    }

    /**
     * Binds the port of the service.
     *
     * @throws BadSettingException if the host is invalid
     * @throws UnreachableException if the port cannot be bound
     */
    public static ServiceListener open(Service service) {
        requireAdvertised(service);
        return open(service, service.listener().port(), "service.port", "--service-port");
    }

    /** Binds the port for health checks, like {@link #open}. */
    public static ServiceListener openForHealth(Service service) {
        requireAdvertised(service);
        return open(service, service.listener().effectiveHealthPort(), "service.health-port", "--health-port");
    }

    private static void requireAdvertised(Service service) {
        if (resolve(service.listener().host()).isAnyLocalAddress()
                && service.listener().advertise().isEmpty()) {
            throw new BadSettingException(
                    "service.host is " + service.listener().host()
                            + ": set service.advertise to the host:port at which other instances reach this one",
                    null);
        }
    }

    /**
     * Binds another port of the service's host.
     *
     * @param requested the port, 0 for any free one
     * @param setting the full key of the setting with the port, for messages
     * @param option the option with the port, for messages
     * @throws BadSettingException if the host is invalid
     * @throws UnreachableException if the port cannot be bound
     */
    public static ServiceListener open(Service service, int requested, String setting, String option) {
        InetAddress host = resolve(service.listener().host());
        try {
            SocketChannel reservation = SocketChannel.open();
            try {
                reservation.setOption(StandardSocketOptions.SO_REUSEADDR, true); // as sockets that listen have
                reservation.bind(new InetSocketAddress(host, requested));
                return new ServiceListener(service, new Port(requested, setting, option), reservation);
            } catch (IOException e) {
                reservation.close();
                throw e;
            }
        } catch (IOException e) {
            throw cannotListen(service, requested, setting, option, e);
        }
    }

    /**
     * Accepts connections from now on.
     *
     * @throws IOException if this was closed
     * @throws UnreachableException if another process has bound the port
     */
    public synchronized ServerSocketChannel listen() throws IOException {
        if (!reservation.isOpen()) {
            throw new ClosedChannelException();
        }
        ServerSocketChannel socket = ServerSocketChannel.open();
        try {
            bind(socket);
        } catch (IOException e) {
            socket.close();
            throw cannotListen(service, port.requested, port.setting, port.option, e);
        } finally {
            reservation.close();
        }
        listening = socket;
        return socket;
    }

    private void bind(ServerSocketChannel socket) throws IOException {
        try {
            socket.bind(bound, BACKLOG);
        } catch (BindException e) { // systems other than Linux do not permit it while the reservation is open
            reservation.close();
            socket.bind(bound, BACKLOG);
        }
    }

    /** Accepts no more connections. */
    @Override
    public synchronized void close() {
        try {
            reservation.close();
            if (listening != null) {
                listening.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the full key of the setting with the port. */
    String setting() {
        return port.setting;
    }

    /** Returns the address that is bound, with its port. */
    public InetSocketAddress bound() {
        return bound;
    }

    /** Returns the {@code host:port} at which other instances reach this one. */
    public String address() {
        return address;
    }

    /** Returns whether only this machine can reach it. */
    public boolean isLoopback() {
        return bound.getAddress().isLoopbackAddress();
    }

    /** Returns the host names, without port, that callers on this machine may use. */
    public Set<String> hostNames() {
        Set<String> names = new TreeSet<>(Set.of("localhost", "127.0.0.1", "[::1]"));
        names.add(bracketed(service.listener().host()).toLowerCase(Locale.ROOT));
        names.add(address.substring(0, address.lastIndexOf(':')).toLowerCase(Locale.ROOT));
        return names;
    }

    /**
     * Returns the failure for a port of the service's host that cannot be bound.
     *
     * @param setting the full key of the setting with the port
     * @param option the option with the port
     */
    public static UnreachableException cannotListen(
            Service service, int requested, String setting, String option, IOException failure) {
        Throwable cause = failure;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        String why = String.valueOf(cause.getMessage()).replaceFirst(NETTY_BIND, "");
        return new UnreachableException(
                setting + ": cannot listen at " + bracketed(service.listener().host()) + ":" + requested + ": " + why
                        + " (another instance may be running; set another port with " + option + ")",
                failure);
    }

    private static InetAddress resolve(String host) {
        try {
            return InetAddress.getByName(host);
        } catch (UnknownHostException e) {
            throw new BadSettingException("service.host: unknown host " + host, e);
        }
    }

    private static String bracketed(String host) {
        return host.contains(":") && !host.startsWith("[") ? "[" + host + "]" : host;
    }
}
