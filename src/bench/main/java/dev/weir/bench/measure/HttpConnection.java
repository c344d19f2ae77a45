package dev.weir.bench.measure;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** A connection that sends requests and reads the responses, with little work of its own. */
public final class HttpConnection implements AutoCloseable {

    private static final String LENGTH = "content-length:";

    private final Socket socket;
    private final InputStream in;

    /** Connects to a server on this machine. */
    public HttpConnection(int port) throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        in = new BufferedInputStream(socket.getInputStream());
    }

    /**
     * Posts a body.
     *
     * @return the body of the response
     * @throws IOException if the status is not 200
     */
    public String post(String path, String json) throws IOException {
        byte[] body = json.getBytes(StandardCharsets.UTF_8);
        String head =
                "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
                        + body.length + "\r\n\r\n";
        return exchange((head + json).getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Sends a request.
     *
     * @return the body of the response, empty if it has no length
     * @throws IOException if the status is not 200
     */
    public String exchange(byte[] request) throws IOException {
        socket.getOutputStream().write(request);
        String status = line();
        int length = 0;
        for (String field = line(); !field.isEmpty(); field = line()) {
            if (field.toLowerCase(Locale.ROOT).startsWith(LENGTH)) {
                length = Integer.parseInt(field.substring(LENGTH.length()).strip());
            }
        }
        String answer = new String(in.readNBytes(length), StandardCharsets.UTF_8);
        if (!status.contains(" 200 ")) {
            throw new IOException(status + ": " + answer);
        }
        return answer;
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
