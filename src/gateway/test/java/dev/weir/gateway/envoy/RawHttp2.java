package dev.weir.gateway.envoy;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * An HTTP/2 connection that sends the given frames and nothing else: it does not acknowledge settings either, so
 * that its caller has not agreed to any limit.
 */
final class RawHttp2 implements AutoCloseable {

    static final int DATA = 0;
    static final int HEADERS = 1;
    static final int RST_STREAM = 3;
    static final int SETTINGS = 4;
    static final int GOAWAY = 7;
    static final int ENHANCE_YOUR_CALM = 11;
    static final int CANCEL = 8;

    private static final int PATIENCE_MS = 20_000;
    private static final int END_HEADERS = 4;

    private final Socket socket = new Socket();
    private final ByteArrayOutputStream unsent = new ByteArrayOutputStream();
    private int stream = -1;

    /** A frame that was received. */
    record Frame(int type, int stream, byte[] payload) {

        int errorOfGoAway() {
            return ByteBuffer.wrap(payload).getInt(Integer.BYTES);
        }
    }

    /** Connects, and sends nothing. */
    static RawHttp2 silent(int port) throws IOException {
        RawHttp2 connection = new RawHttp2();
        connection.socket.setSoTimeout(PATIENCE_MS);
        connection.socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), PATIENCE_MS);
        return connection;
    }

    /** Connects, and starts HTTP/2. */
    static RawHttp2 open(int port) throws IOException {
        RawHttp2 connection = silent(port);
        connection.unsent.writeBytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(US_ASCII));
        connection.frame(SETTINGS, 0, 0, new byte[0]);
        connection.flush();
        return connection;
    }

    private void frame(int type, int flags, int ofStream, byte[] payload) {
        unsent.writeBytes(new byte[] {
            (byte) (payload.length >> 16),
            (byte) (payload.length >> 8),
            (byte) payload.length,
            (byte) type,
            (byte) flags
        });
        unsent.writeBytes(ByteBuffer.allocate(Integer.BYTES).putInt(ofStream).array());
        unsent.writeBytes(payload);
    }

    /** Begins a call, whose message does not follow. */
    void headers(String path) {
        stream += 2;
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        String[] fields = {
            ":method",
            "POST",
            ":scheme",
            "http",
            ":path",
            path,
            ":authority",
            "x",
            "content-type",
            "application/grpc",
            "te",
            "trailers"
        };
        for (int i = 0; i < fields.length; i += 2) {
            block.write(0); // a literal, which is not indexed
            for (String text : new String[] {fields[i], fields[i + 1]}) {
                block.write(text.length());
                block.writeBytes(text.getBytes(US_ASCII));
            }
        }
        frame(HEADERS, END_HEADERS, stream, block.toByteArray());
    }

    /** Resets the last call. */
    void reset() {
        frame(
                RST_STREAM,
                0,
                stream,
                ByteBuffer.allocate(Integer.BYTES).putInt(CANCEL).array());
    }

    void flush() throws IOException {
        unsent.writeTo(socket.getOutputStream());
        unsent.reset();
    }

    /** Returns the next frame of a type; empty if the connection was closed before. */
    Optional<Frame> next(int type) throws IOException {
        DataInputStream in = new DataInputStream(socket.getInputStream());
        try {
            while (true) {
                int length = in.readUnsignedByte() << 16 | in.readUnsignedShort();
                int received = in.readUnsignedByte();
                in.readUnsignedByte();
                int ofStream = in.readInt();
                byte[] payload = new byte[length];
                in.readFully(payload);
                if (received == type) {
                    return Optional.of(new Frame(type, ofStream, payload));
                }
            }
        } catch (EOFException | SocketException e) {
            return Optional.empty();
        }
    }

    /** Returns whether the other end closes the connection. */
    boolean isClosed() throws IOException {
        return next(-1).isEmpty();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
