package dev.weir.gateway.envoy.message;

import io.grpc.Drainable;
import io.grpc.KnownLength;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.OutputStream;

/** The bytes of a message. gRPC takes them at once, while it copies other streams with a new buffer of 8 KiB for each. */
public final class MessageStream extends ByteArrayInputStream implements Drainable, KnownLength {

    /**
     * Creates a stream.
     *
     * @param message the encoded message, which is not copied
     */
    public MessageStream(byte[] message) {
        super(message);
    }

    @Override
    public synchronized int drainTo(OutputStream target) throws IOException {
        int length = available();
        target.write(buf, pos, length);
        pos = count;
        return length;
    }
}
