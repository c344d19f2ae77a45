package dev.weir.gateway.envoy;

import dev.weir.server.http.ConnectionGuard;
import io.grpc.Attributes;
import io.grpc.Grpc;
import io.grpc.ServerTransportFilter;
import io.grpc.Status;
import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelInboundHandlerAdapter;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * Bounds the connections when they are accepted, before any handshake: this is a handler of the channel that listens.
 * Those from addresses that may not call are closed without being read.
 */
final class AcceptFilter extends ChannelInboundHandlerAdapter {

    private static final String SETTING = "gateway.grpc-port";
    private static final long PAUSE_SECONDS = 1;

    private final Predicate<InetAddress> callers;
    private final ConnectionGuard guard;
    private final ConnectionBounds bounds;
    private final EnvoyCounters counters;
    private final Map<Ends, CallerConnection> open = new ConcurrentHashMap<>();

    /** What identifies an open connection. */
    private record Ends(SocketAddress remote, SocketAddress local) {}

    /** @param callers whether connections from an address are accepted */
    AcceptFilter(
            Predicate<InetAddress> callers, ConnectionGuard guard, ConnectionBounds bounds, EnvoyCounters counters) {
        this.callers = callers;
        this.guard = guard;
        this.bounds = bounds;
        this.counters = counters;
    }

    /** Receives a connection that was accepted. */
    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        Channel accepted = (Channel) message;
        if (!(accepted.remoteAddress() instanceof InetSocketAddress remote)) { // the caller has closed it already
            accepted.unsafe().closeForcibly();
            return;
        }
        if (!callers.test(remote.getAddress())) {
            counters.untrusted.increment();
            accepted.unsafe().closeForcibly();
            return;
        }
        CallerConnection connection = new CallerConnection(accepted, remote, bounds, counters);
        if (!guard.opened(connection)) {
            accepted.unsafe().closeForcibly();
            return;
        }
        Ends ends = new Ends(remote, accepted.localAddress());
        open.put(ends, connection);
        accepted.closeFuture().addListener(closed -> {
            open.remove(ends, connection);
            guard.closed(connection);
        });
        context.fireChannelRead(accepted);
        connection.registered();
    }

    /** Waits after a failure such as that of too few descriptors, because the next attempt would fail too. */
    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable failure) {
        Channel listening = context.channel();
        if (!(failure instanceof IOException) || !listening.isOpen()) {
            context.fireExceptionCaught(failure);
            return;
        }
        guard.acceptFailed(SETTING, failure);
        listening.config().setAutoRead(false);
        listening.eventLoop().schedule(() -> listening.config().setAutoRead(true), PAUSE_SECONDS, TimeUnit.SECONDS);
    }

    /** Returns a filter that gives each call its {@link CallerConnection}. */
    ServerTransportFilter ready() {
        return new ServerTransportFilter() {
            @Override
            public Attributes transportReady(Attributes attributes) {
                CallerConnection connection = open.get(new Ends(
                        attributes.get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR),
                        attributes.get(Grpc.TRANSPORT_ATTR_LOCAL_ADDR)));
                if (connection == null) { // it was closed meanwhile
                    throw Status.UNAVAILABLE.asRuntimeException();
                }
                connection.ready();
                return attributes.toBuilder()
                        .set(CallerConnection.KEY, connection)
                        .build();
            }
        };
    }
}
