package dev.weir.service.http;

import dev.weir.config.WeirConfig.Service;
import dev.weir.topics.UnreachableException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.channels.ServerSocketChannel;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;

/**
 * A bound port of the service.
 *
 * @param address the {@code host:port} at which other instances reach it
 * @param isLoopback whether only this machine can reach it
 * @param hostNames the host names, without port, that callers on this machine may use
 */
public record ServiceListener(ServerSocketChannel socket, String address, boolean isLoopback, Set<String> hostNames) {

    /** What Netty's native transports write before the message of the system. */
    private static final String NETTY_BIND = "^bind\\(\\.\\.\\) failed[^:]*: ";

    /**
     * Binds the port of the service.
     *
     * @throws BadSettingException if the host is invalid
     * @throws UnreachableException if the port cannot be bound
     */
    public static ServiceListener open(Service service) {
        requireAdvertised(service);
        return open(service, service.port(), "service.port", "--service-port");
    }

    /** Binds the port for health checks, like {@link #open}. */
    public static ServiceListener openForHealth(Service service) {
        requireAdvertised(service);
        return open(service, service.effectiveHealthPort(), "service.health-port", "--health-port");
    }

    private static void requireAdvertised(Service service) {
        if (resolve(service.host()).isAnyLocalAddress() && service.advertise().isEmpty()) {
            throw new BadSettingException(
                    "service.host is " + service.host()
                            + ": set service.advertise to the host:port at which other instances reach this one",
                    null);
        }
    }

    /**
     * Binds another port of the service's host.
     *
     * @param asked the port, 0 for any free one
     * @param setting the full key of the setting with the port, for messages
     * @param option the option with the port, for messages
     * @throws BadSettingException if the host is invalid
     * @throws UnreachableException if the port cannot be bound
     */
    public static ServiceListener open(Service service, int asked, String setting, String option) {
        InetAddress host = resolve(service.host());
        try {
            ServerSocketChannel socket = ServerSocketChannel.open();
            try {
                socket.bind(new InetSocketAddress(host, asked));
                int port = ((InetSocketAddress) socket.getLocalAddress()).getPort();
                String address = service.advertise().orElse(bracketed(service.host()) + ":" + port);
                return new ServiceListener(socket, address, host.isLoopbackAddress(), hostNames(service, address));
            } catch (IOException e) {
                socket.close();
                throw e;
            }
        } catch (IOException e) {
            throw cannotListen(service, asked, setting, option, e);
        }
    }

    /**
     * Returns the failure for a port of the service's host that cannot be bound.
     *
     * @param setting the full key of the setting with the port
     * @param option the option with the port
     */
    public static UnreachableException cannotListen(
            Service service, int asked, String setting, String option, IOException failure) {
        Throwable cause = failure;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        String why = String.valueOf(cause.getMessage()).replaceFirst(NETTY_BIND, "");
        return new UnreachableException(
                setting + ": cannot listen at " + bracketed(service.host()) + ":" + asked + ": " + why
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

    private static Set<String> hostNames(Service service, String address) {
        Set<String> names = new TreeSet<>(Set.of("localhost", "127.0.0.1", "[::1]"));
        names.add(bracketed(service.host()).toLowerCase(Locale.ROOT));
        names.add(address.substring(0, address.lastIndexOf(':')).toLowerCase(Locale.ROOT));
        return names;
    }

    private static String bracketed(String host) {
        return host.contains(":") && !host.startsWith("[") ? "[" + host + "]" : host;
    }
}
