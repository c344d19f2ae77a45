package dev.weir.gateway.envoy;

import io.grpc.netty.shaded.io.netty.channel.ChannelFactory;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.ServerChannel;
import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollServerSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.nio.NioEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioServerSocketChannel;
import io.grpc.netty.shaded.io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * The threads that serve connections, each a part of them.
 *
 * @param group the threads
 * @param channels creates the channel that listens, of the type that fits them
 */
record EventLoops(EventLoopGroup group, ChannelFactory<ServerChannel> channels) {

    private static final long STOP_SECONDS = 1;

    /** Starts threads, which use epoll where the operating system has it. */
    static EventLoops start(int threads) {
        ThreadFactory daemons = new DefaultThreadFactory("weir-envoy", true);
        return Epoll.isAvailable()
                ? new EventLoops(new EpollEventLoopGroup(threads, daemons), EpollServerSocketChannel::new)
                : new EventLoops(new NioEventLoopGroup(threads, daemons), NioServerSocketChannel::new);
    }

    /** Stops the threads, without waiting for their end. */
    void stop() {
        var unused = group.shutdownGracefully(0, STOP_SECONDS, TimeUnit.SECONDS);
    }
}
