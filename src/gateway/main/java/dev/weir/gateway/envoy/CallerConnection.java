package dev.weir.gateway.envoy;

import dev.weir.server.http.ConnectionGuard.GuardedConnection;
import dev.weir.server.http.ConnectionGuard.Refusal;
import io.grpc.Attributes;
import io.grpc.netty.shaded.io.netty.buffer.ByteBufUtil;
import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2Error;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A connection from its acceptance to its end. It is incomplete until the handshakes of TLS and HTTP/2 are done.
 * Thread-safe.
 */
final class CallerConnection implements GuardedConnection {

    /** The connection of a call. */
    static final Attributes.Key<CallerConnection> KEY = Attributes.Key.create("weir-caller-connection");

    private final Channel channel;
    private final InetAddress caller;
    private final EnvoyCounters counters;
    private final long acceptedNanos = System.nanoTime();
    private final AtomicInteger otherCalls = new AtomicInteger();
    private final ResetBudget resets;
    private final AtomicBoolean isCut = new AtomicBoolean();
    private volatile boolean isReady;
    private volatile boolean isRegistered;
    private volatile boolean isClosed;

    CallerConnection(Channel channel, InetSocketAddress remote, ConnectionBounds bounds, EnvoyCounters counters) {
        this.channel = channel;
        caller = remote.getAddress();
        resets = new ResetBudget(bounds.maxResets(), acceptedNanos);
        this.counters = counters;
    }

    /** Records that the channel has an event loop, which closes it. */
    void registered() {
        isRegistered = true;
        if (isClosed) {
            closeInEventLoop(() -> {});
        }
    }

    /** Records that the handshakes are done. Must be called in the event loop. */
    void ready() {
        isReady = true;
        ChannelHandlerContext http2 = channel.pipeline().context(Http2ConnectionHandler.class);
        channel.pipeline().addBefore(http2.name(), null, new RefusalCounter(this));
    }

    /** Returns the number of calls of other services in progress. */
    AtomicInteger otherCalls() {
        return otherCalls;
    }

    /** Records that a call was answered. */
    void answered() {
        resets.answered();
    }

    /** Records that a stream ended without a response because of the caller. Closes the connection if it has too many. */
    void reset() {
        if (!resets.reset(System.nanoTime()) && isCut.compareAndSet(false, true)) {
            counters.resets.increment();
            close(this::goAway);
        }
    }

    /** Names the reason to the caller. */
    private void goAway() {
        ChannelHandlerContext context = channel.pipeline().context(Http2ConnectionHandler.class);
        if (context != null) {
            Http2ConnectionHandler http2 = (Http2ConnectionHandler) context.handler();
            var unused = http2.goAway(
                    context,
                    http2.connection().remote().lastStreamCreated(),
                    Http2Error.ENHANCE_YOUR_CALM.code(),
                    ByteBufUtil.writeAscii(context.alloc(), "too_many_resets"),
                    context.newPromise());
            context.flush();
        }
    }

    @Override
    public boolean isIncomplete() {
        return !isReady;
    }

    @Override
    public boolean isIdle() {
        return false; // the caller can send a call at any time
    }

    @Override
    public boolean isSending() {
        return false;
    }

    @Override
    public long stateSinceNanos() {
        return acceptedNanos;
    }

    @Override
    public long receivedBytes() {
        return 0; // handshakes are short
    }

    @Override
    public InetAddress caller() {
        return caller;
    }

    @Override
    public void close(Refusal reason) {
        close(() -> {});
    }

    private void close(Runnable first) {
        isClosed = true;
        if (isRegistered) {
            closeInEventLoop(first);
        }
    }

    /** Closes the channel at once. Its handlers would wait until calls in progress are completed. */
    private void closeInEventLoop(Runnable first) {
        try {
            channel.eventLoop().execute(() -> {
                first.run();
                channel.unsafe().close(channel.voidPromise());
            });
        } catch (RejectedExecutionException e) { // the server stops, and closes the channel
            return;
        }
    }
}
