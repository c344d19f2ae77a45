package dev.weir.bench;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

/**
 * The main class of an HTTP server that reads a body and allows everything. It shows what the machine can do. It prints
 * its port.
 */
final class AllowingServer {

    private static final byte[] ANSWER = "{\"outcome\":\"ALLOWED\"}".getBytes(StandardCharsets.UTF_8);

    private AllowingServer() {}

    public static void main(String[] args) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(200, ANSWER.length);
            exchange.getResponseBody().write(ANSWER);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(Integer.parseInt(args[0])));
        server.start();
        System.out.println("port " + server.getAddress().getPort());
    }
}
