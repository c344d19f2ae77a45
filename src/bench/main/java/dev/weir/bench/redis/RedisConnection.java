package dev.weir.bench.redis;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** A connection to Redis with RESP2. Commands are buffered until {@link #send}; replies arrive in the same order. */
final class RedisConnection implements Closeable {

    private final InputStream in;
    private final OutputStream out;
    private final Closeable socket;
    private final ByteArrayOutputStream gathered = new ByteArrayOutputStream();
    private final byte[] buffer = new byte[1 << 14];
    private int next;
    private int end;

    RedisConnection(InputStream in, OutputStream out, Closeable socket) {
        this.in = in;
        this.out = out;
        this.socket = socket;
    }

    /** Connects to a server on this machine. */
    static RedisConnection open(int port) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        return new RedisConnection(socket.getInputStream(), socket.getOutputStream(), socket);
    }

    /** Encodes a command as an array of strings. */
    static byte[] command(String... words) {
        StringBuilder text = new StringBuilder("*" + words.length + "\r\n");
        for (String word : words) {
            int length = word.getBytes(StandardCharsets.UTF_8).length;
            text.append('$').append(length).append("\r\n").append(word).append("\r\n");
        }
        return text.toString().getBytes(StandardCharsets.UTF_8);
    }

    /** Sends the buffered commands and one more. Returns the next reply, so no other reply may be outstanding. */
    Object ask(String... words) throws IOException {
        add(command(words));
        send();
        return reply();
    }

    /** Adds an encoded command to the buffer. */
    void add(byte[] command) {
        gathered.writeBytes(command);
    }

    /** Sends the buffered commands. */
    void send() throws IOException {
        gathered.writeTo(out);
        gathered.reset();
    }

    /**
     * Returns the next reply: a {@link Long}, a {@link String}, a {@link List} of these, or null.
     *
     * @throws IOException if the reply is an error, with its message
     */
    Object reply() throws IOException {
        String line = line();
        String rest = line.substring(1);
        return switch (line.charAt(0)) {
            case '+' -> rest;
            case ':' -> Long.valueOf(rest);
            case '$' -> string(Integer.parseInt(rest));
            case '*' -> list(Integer.parseInt(rest));
            case '-' -> throw new IOException("Redis returned an error: " + rest);
            default -> throw new IOException("Redis returned an invalid reply: " + line);
        };
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (byte read = read(); read != '\n'; read = read()) {
            if (read != '\r') {
                line.append((char) read);
            }
        }
        return line.toString();
    }

    private String string(int length) throws IOException {
        if (length < 0) {
            return null;
        }
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = read();
        }
        line();
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private List<Object> list(int length) throws IOException {
        if (length < 0) {
            return null;
        }
        List<Object> list = new ArrayList<>(length);
        for (int i = 0; i < length; i++) {
            list.add(reply());
        }
        return list;
    }

    private byte read() throws IOException {
        if (next == end) {
            next = 0;
            end = in.read(buffer);
            if (end < 0) {
                throw new EOFException("Redis closed the connection");
            }
        }
        return buffer[next++];
    }
}
