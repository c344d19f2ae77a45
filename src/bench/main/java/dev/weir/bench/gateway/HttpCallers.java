package dev.weir.bench.gateway;

import dev.weir.testing.HttpConnection;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.stream.IntStream;

/** Callers of {@code /v1/authorize} as a proxy calls it, each with its own connection. */
final class HttpCallers implements GatewayCaller.Factory {

    static final String CLIENT_HEADER = "x-api-key";

    private final int port;
    private final byte[][] requests;

    /**
     * Creates callers.
     *
     * @param path the path of the request that the proxy has received
     * @param clients the number of clients, which have the numbers from 0
     */
    HttpCallers(int port, String path, int clients) {
        this.port = port;
        requests = IntStream.range(0, clients)
                .mapToObj(client -> request(path, "client-" + client))
                .toArray(byte[][]::new);
    }

    private static byte[] request(String path, String client) {
        return ("GET /v1/authorize HTTP/1.1\r\nHost: localhost\r\n" + CLIENT_HEADER + ": " + client
                        + "\r\nX-Forwarded-Method: GET\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: example.org"
                        + "\r\nX-Forwarded-Uri: " + path + "\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n")
                .getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public GatewayCaller create() throws IOException {
        HttpConnection connection = new HttpConnection(port);
        return new GatewayCaller() {
            @Override
            public void call(int client) throws IOException {
                connection.exchange(requests[client]).requireOk();
            }

            @Override
            public void close() throws IOException {
                connection.close();
            }
        };
    }
}
