package dev.weir.gateway.envoy;

import io.grpc.netty.shaded.io.netty.buffer.ByteBuf;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelOutboundHandlerAdapter;
import io.grpc.netty.shaded.io.netty.channel.ChannelPromise;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2Error;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2FrameTypes;

/**
 * Counts the streams that the HTTP/2 handler resets because the caller violates the protocol or has too many: no call
 * begins for most of them. A caller could otherwise have the gateway do the resetting (CVE-2025-8671).
 *
 * <p>A RST_STREAM frame is written as one buffer: the length of 3 bytes, the type, the flags, the stream, the error.
 */
final class RefusalCounter extends ChannelOutboundHandlerAdapter {

    private static final int LENGTH = 13;
    private static final int TYPE_AT = 3;
    private static final int ERROR_AT = 9;

    private final CallerConnection connection;

    RefusalCounter(CallerConnection connection) {
        this.connection = connection;
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        if (message instanceof ByteBuf frame && isRefusal(frame)) {
            connection.reset();
        }
        context.write(message, promise);
    }

    private static boolean isRefusal(ByteBuf frame) {
        int at = frame.readerIndex();
        if (frame.readableBytes() != LENGTH || frame.getByte(at + TYPE_AT) != Http2FrameTypes.RST_STREAM) {
            return false;
        }
        long error = frame.getUnsignedInt(at + ERROR_AT);
        boolean endsACall = error == Http2Error.NO_ERROR.code() || error == Http2Error.CANCEL.code();
        return !endsACall; // those that end calls are counted as calls
    }
}
