package dev.weir.api;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** An HTTP client that sends requests byte for byte, and checks each response against the service's own description. */
public final class Caller {

    private static final int PATIENCE_MS = 60_000;

    private final String address;
    private final String token;
    private final ApiDocument document;

    private Caller(String address, String token, ApiDocument document) {
        this.address = address;
        this.token = token;
        this.document = document;
    }

    /**
     * Returns a client for a port of this machine.
     *
     * @param token the token to send with each request, null for none
     */
    public static Caller of(int port, String token) throws IOException {
        return at("127.0.0.1:" + port, token);
    }

    /**
     * Returns a client for an address.
     *
     * @param address host and port
     * @param token the token to send with each request, null for none
     */
    public static Caller at(String address, String token) throws IOException {
        Caller first = new Caller(address, token, null);
        return new Caller(
                address, token, new ApiDocument(first.get("/v1/openapi.json").json()));
    }

    /**
     * Returns a client for a port of this machine whose responses are not checked, because the server has no
     * description.
     */
    public static Caller unchecked(int port) {
        return new Caller("127.0.0.1:" + port, null, null);
    }

    public Caller withToken(String other) {
        return new Caller(address, other, document);
    }

    ApiDocument document() {
        return document;
    }

    public Reply get(String path, String... headers) throws IOException {
        return send("GET", path, "", headers);
    }

    public Reply put(String path, String json, String... headers) throws IOException {
        return send("PUT", path, json, with(headers, "Content-Type: application/json"));
    }

    public Reply delete(String path, String... headers) throws IOException {
        return send("DELETE", path, "", headers);
    }

    public Reply post(String path, String json, String... headers) throws IOException {
        return send("POST", path, json, with(headers, "Content-Type: application/json"));
    }

    public Reply send(String method, String path, String body, String... headers) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        return raw(method, path, bytes, with(headers, "Content-Length: " + bytes.length));
    }

    /**
     * Sends a request.
     *
     * @param after the bytes after the headers
     */
    public Reply raw(String method, String path, byte[] after, String... headers) throws IOException {
        Reply reply = exchange(method, path, after, false, headers);
        if (document != null) {
            document.check(reply);
        }
        return reply;
    }

    /**
     * Sends bytes that may not be valid HTTP, like {@link #raw}, and then closes the output. The response is
     * not checked.
     */
    public Reply rawAndNoMore(String method, String path, byte[] after, String... headers) throws IOException {
        return exchange(method, path, after, true, headers);
    }

    private Reply exchange(String method, String path, byte[] after, boolean noMore, String... headers)
            throws IOException {
        try (OpenCall call = open(method, path, headers)) {
            try {
                call.send(after);
                if (noMore) {
                    call.socket.shutdownOutput();
                }
            } catch (IOException e) {
                // the service rejected the request before all of it was sent; its response can be read
            }
            return call.reply();
        }
    }

    /** Sends the headers of a request, so that the body can follow in parts. The response is not checked. */
    public OpenCall open(String method, String path, String... headers) throws IOException {
        List<String> lines = new ArrayList<>(List.of(headers));
        if (lines.stream().noneMatch(line -> line.startsWith("Host:"))) {
            lines.add("Host: " + address);
        }
        if (token != null) {
            lines.add("Authorization: Bearer " + token);
        }
        String head =
                method + " " + path + " HTTP/1.1\r\n" + String.join("\r\n", lines) + "\r\nConnection: close\r\n\r\n";
        int colon = address.lastIndexOf(':');
        Socket socket = new Socket(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
        socket.setSoTimeout(PATIENCE_MS);
        OpenCall call = new OpenCall(method, path, socket);
        call.send(head.getBytes(StandardCharsets.UTF_8));
        return call;
    }

    /** A request of which the headers have been sent. */
    public static final class OpenCall implements AutoCloseable {
        private final String method;
        private final String path;
        private final Socket socket;

        private OpenCall(String method, String path, Socket socket) {
            this.method = method;
            this.path = path;
            this.socket = socket;
        }

        public void send(byte[] part) throws IOException {
            socket.getOutputStream().write(part);
        }

        /** Waits for the response. */
        public Reply reply() throws IOException {
            return read(method, path, socket.getInputStream());
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private static Reply read(String method, String path, InputStream in) throws IOException {
        List<String> lines = until("\r\n\r\n", in).lines().toList();
        while (lines.get(0).startsWith("HTTP/1.1 100")) { // Continue
            lines = until("\r\n\r\n", in).lines().toList();
        }
        Map<String, String> headers = new TreeMap<>();
        for (String line : lines.subList(1, lines.size())) {
            int colon = line.indexOf(':');
            if (colon > 0) {
                headers.put(
                        line.substring(0, colon).toLowerCase(Locale.ROOT),
                        line.substring(colon + 1).strip());
            }
        }
        int status = Integer.parseInt(lines.get(0).substring("HTTP/1.1 ".length(), "HTTP/1.1 200".length()));
        byte[] body = method.equals("HEAD")
                ? new byte[0]
                : headers.containsKey("transfer-encoding")
                        ? chunks(in)
                        : headers.containsKey("content-length")
                                ? in.readNBytes(Integer.parseInt(headers.get("content-length")))
                                : in.readAllBytes();
        String text = new String(body, StandardCharsets.UTF_8);
        return new Reply(method, path, status, headers, text);
    }

    private static byte[] chunks(InputStream in) throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        int length = Integer.parseInt(until("\r\n", in), 16);
        while (length > 0) {
            body.write(in.readNBytes(length));
            until("\r\n", in);
            length = Integer.parseInt(until("\r\n", in), 16);
        }
        return body.toByteArray();
    }

    private static String until(String end, InputStream in) throws IOException {
        StringBuilder text = new StringBuilder();
        while (!text.toString().endsWith(end)) {
            int next = in.read();
            if (next < 0) {
                throw new IOException("the response ended after: " + text);
            }
            text.append((char) next);
        }
        return text.substring(0, text.length() - end.length());
    }

    private static String[] with(String[] headers, String one) {
        String name = one.substring(0, one.indexOf(':') + 1);
        List<String> all = new ArrayList<>(List.of(headers));
        if (all.stream().noneMatch(header -> header.startsWith(name))) {
            all.add(one);
        }
        return all.toArray(String[]::new);
    }
}
