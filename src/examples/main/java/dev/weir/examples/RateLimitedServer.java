package dev.weir.examples;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.weir.client.Fallback;
import dev.weir.client.RequestBuilder;
import dev.weir.client.WeirClient;
import dev.weir.client.WeirFilter;
import dev.weir.event.Request;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * An HTTP server that gets a decision by Weir before it serves a request. A client that exceeds its limit gets status
 * 429 with {@code Retry-After} and the {@code RateLimit} fields.
 *
 * <p>The header {@code X-Api-Key} names the client, and the attribute {@code endpoint} is the path. A real server uses
 * the client that it has authenticated.
 */
public final class RateLimitedServer implements AutoCloseable {

    private static final int MAX_WAITING = 200;

    private final WeirClient weir;
    private final HttpServer server;
    private final ExecutorService threads = Executors.newFixedThreadPool(MAX_WAITING);

    /**
     * Starts a server.
     *
     * @param kafka properties of Kafka's clients, at least {@code bootstrap.servers}
     * @param port the port to listen on; 0 for any free port
     * @throws IOException if the server cannot listen on the port
     */
    public RateLimitedServer(Map<String, Object> kafka, int port) throws IOException {
        server = HttpServer.create(new InetSocketAddress(port), 0);
        weir = WeirClient.builder(kafka)
                .timeout(Duration.ofSeconds(2))
                .fallback(Fallback.FAIL_OPEN)
                .start();
        server.createContext("/", RateLimitedServer::serve)
                .getFilters()
                .add(new WeirFilter(weir, RateLimitedServer::request));
        server.setExecutor(threads);
        server.start();
    }

    private static Request request(HttpExchange exchange) {
        String key = exchange.getRequestHeaders().getFirst("X-Api-Key");
        return RequestBuilder.of(key == null ? "anonymous" : key)
                .attribute("endpoint", exchange.getRequestURI().getPath())
                .build();
    }

    private static void serve(HttpExchange exchange) throws IOException {
        byte[] body = "Hello\n".getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    /**
     * Returns the port that the server listens on.
     *
     * @return the port
     */
    public int port() {
        return server.getAddress().getPort();
    }

    /**
     * Waits until requests are decided by Weir. Before that, and without brokers, all are served.
     *
     * @param timeout the longest wait
     * @return whether Weir decides
     * @throws InterruptedException if the thread is interrupted
     */
    public boolean awaitReady(Duration timeout) throws InterruptedException {
        return weir.awaitReady(timeout);
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdown();
        weir.close();
    }

    /**
     * Serves until the process is stopped.
     *
     * @param args the brokers, such as {@code localhost:9092}, and a port
     * @throws Exception if the server cannot start
     */
    public static void main(String[] args) throws Exception {
        RateLimitedServer server =
                new RateLimitedServer(Map.of("bootstrap.servers", args[0]), Integer.parseInt(args[1]));
        Runtime.getRuntime().addShutdownHook(new Thread(server::close));
        System.out.println("Listening on http://localhost:" + server.port());
    }
}
