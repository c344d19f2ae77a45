package dev.weir.testing;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A connection that sends requests and reads the responses, with little work of its own. */
public final class HttpConnection implements AutoCloseable {

    private static final String LENGTH = "content-length:";

    private final Socket socket;
    private final InputStream in;

    /**
     * A response.
     *
     * @param status the first line
     * @param fields the lines of the header, in lower case
     * @param body the body, empty if the header has no length
     */
    public record HttpReply(String status, List<String> fields, String body) {

        public boolean isOk() {
            return status.contains(" 200 ");
        }

        /** Returns whether the header has a field, whose name is in lower case. */
        public boolean has(String field) {
            return fields.stream().anyMatch(line -> line.startsWith(field + ":"));
        }

        /** @throws IOException if the status is not 200 */
        public HttpReply requireOk() throws IOException {
            if (!isOk()) {
                throw new IOException(status + ": " + body);
            }
            return this;
        }
    }

    /** Connects to a server on this machine. */
    public HttpConnection(int port) throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        in = new BufferedInputStream(socket.getInputStream());
    }

    /** Returns the bytes of a request that posts JSON. */
    public static byte[] post(String path, String json) {
        int length = json.getBytes(StandardCharsets.UTF_8).length;
        return ("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
                        + length + "\r\n\r\n" + json)
                .getBytes(StandardCharsets.UTF_8);
    }

    /** Sends a request, and returns its response, whatever its status. */
    public HttpReply exchange(byte[] request) throws IOException {
        socket.getOutputStream().write(request);
        String status = line();
        List<String> fields = new ArrayList<>();
        int length = 0;
        for (String line = line(); !line.isEmpty(); line = line()) {
            String field = line.toLowerCase(Locale.ROOT);
            fields.add(field);
            if (field.startsWith(LENGTH)) {
                length = Integer.parseInt(field.substring(LENGTH.length()).strip());
            }
        }
        return new HttpReply(status, fields, new String(in.readNBytes(length), StandardCharsets.UTF_8));
    }

    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) {
                throw new EOFException("the connection was closed");
            }
            if (c != '\r') {
                line.append((char) c);
            }
        }
        return line.toString();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
