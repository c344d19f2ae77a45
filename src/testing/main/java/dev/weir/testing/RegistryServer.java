package dev.weir.testing;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A server that replaces Apicurio Registry in tests. It implements the few calls that the client of the serdes makes.
 * Ids are consecutive, from a large one in which each byte differs.
 */
public final class RegistryServer implements AutoCloseable {

    static final int FIRST_ID = 0x01020304;

    private static final ObjectMapper JSON = new ObjectMapper();

    /** A schema and its references. Its position in the list determines its id. */
    private record Content(String text, JsonNode references) {}

    private final List<Content> contents = new ArrayList<>();

    /** The content of each artifact, by group and artifact id. */
    private final Map<String, Content> artifacts = new HashMap<>();

    private final AtomicInteger calls = new AtomicInteger();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final HttpServer server;
    private String authorization;
    private int outOfOrder;

    public RegistryServer() {
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.createContext("/apis/registry/v3", this::answer);
        server.setExecutor(threads);
        server.start();
    }

    public String url() {
        return "http://localhost:" + server.getAddress().getPort() + "/apis/registry/v3";
    }

    public int calls() {
        return calls.get();
    }

    /**
     * Lets a proxy in front of the registry answer all requests.
     *
     * @param status the status of its responses; 0 ends this
     */
    public synchronized void goAway(int status) {
        outOfOrder = status;
    }

    /** Returns the Authorization header of the last call. */
    public synchronized String authorization() {
        return authorization;
    }

    private int register(String group, JsonNode artifact) {
        JsonNode content = artifact.at("/firstVersion/content");
        JsonNode references = content.path("references");
        Content one = new Content(
                content.get("content").asText(), references.isArray() ? references : JSON.createArrayNode());
        if (!contents.contains(one)) {
            contents.add(one);
        }
        artifacts.put(group + "/" + artifact.get("artifactId").asText(), one);
        return FIRST_ID + contents.indexOf(one);
    }

    private synchronized void answer(HttpExchange exchange) throws IOException {
        calls.incrementAndGet();
        authorization = exchange.getRequestHeaders().getFirst("Authorization");
        if (outOfOrder != 0) {
            send(exchange, outOfOrder, "text/html", "<h1>Sorry</h1>".getBytes(StandardCharsets.UTF_8));
            return;
        }
        String path = exchange.getRequestURI().getPath().substring("/apis/registry/v3".length());
        String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        String[] parts = path.split("/", -1);
        if (exchange.getRequestMethod().equals("POST") && parts[1].equals("groups")) {
            JsonNode artifact = JSON.readTree(body);
            int id = register(parts[2], artifact);
            ObjectNode version =
                    version(id, parts[2], artifact.get("artifactId").asText());
            reply(exchange, 200, JSON.createObjectNode().set("version", version));
        } else if (parts[1].equals("groups")) {
            content(exchange, contents.indexOf(artifacts.get(parts[2] + "/" + parts[4])), path);
        } else if (parts[1].equals("search")) {
            search(exchange, body);
        } else {
            content(exchange, Integer.parseInt(parts[3]) - FIRST_ID, path);
        }
    }

    private void search(HttpExchange exchange, String body) throws IOException {
        Map<String, String> parameters = new HashMap<>();
        for (String pair : exchange.getRequestURI().getQuery().split("&", -1)) {
            String[] parts = pair.split("=", 2);
            parameters.put(parts[0], parts[1]);
        }
        Content content = artifacts.get(parameters.get("groupId") + "/" + parameters.get("artifactId"));
        boolean isThere = content != null && content.text.equals(body);
        ObjectNode found = JSON.createObjectNode().put("count", isThere ? 1 : 0);
        ArrayNode versions = found.putArray("versions");
        if (isThere) {
            versions.add(version(
                    FIRST_ID + contents.indexOf(content), parameters.get("groupId"), parameters.get("artifactId")));
        }
        reply(exchange, 200, found);
    }

    private void content(HttpExchange exchange, int index, String path) throws IOException {
        if (index < 0 || index >= contents.size()) {
            reply(
                    exchange,
                    404,
                    JSON.createObjectNode()
                            .put("title", "No content was found.")
                            .put("status", 404)
                            .put("name", "ContentNotFoundException"));
        } else if (path.endsWith("/references")) {
            reply(exchange, 200, contents.get(index).references);
        } else {
            byte[] text = contents.get(index).text.getBytes(StandardCharsets.UTF_8);
            send(exchange, 200, "application/octet-stream", text);
        }
    }

    private static ObjectNode version(int id, String group, String artifact) {
        return JSON.createObjectNode()
                .put("version", "1")
                .put("artifactId", artifact)
                .put("groupId", group)
                .put("globalId", 7L)
                .put("contentId", (long) id)
                .put("artifactType", "AVRO")
                .put("state", "ENABLED");
    }

    private static void reply(HttpExchange exchange, int status, JsonNode json) throws IOException {
        send(exchange, status, "application/json", JSON.writeValueAsBytes(json));
    }

    private static void send(HttpExchange exchange, int status, String type, byte[] body) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.sendResponseHeaders(status, body.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(body);
        }
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
