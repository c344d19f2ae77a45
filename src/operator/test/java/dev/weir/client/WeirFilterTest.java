package dev.weir.client;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.event.Request;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.TestBroker;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the filter over HTTP from the viewpoint of a gateway's clients. */
@Tag("full")
class WeirFilterTest {

    private static final String POLICIES = """
            policies:
              - {id: articles, match: {endpoint: "/articles/**"}, limits: [{algorithm: sliding-window-log, limit: 2, per: 1 day}]}
              - id: banned
                match: {endpoint: /banned}
                limits: [{algorithm: fixed-window, limit: 0, per: 1 day}]
                on-exceed: shadow-ban
              - {id: sms, match: {endpoint: /sms}, queue: sms}
            queues:
              - {id: sms, limit: 1, per: 1s}
            """;

    @TempDir
    static Path directory;

    private static final ExecutorService THREADS = Executors.newCachedThreadPool();
    private static EmbeddedBroker broker;
    private static LiveWeir up;
    private static LiveWeir down;
    private static Enforcer enforcer;

    private final HttpClient http = HttpClient.newHttpClient();

    @BeforeAll
    static void start() throws Exception {
        broker = TestBroker.shared();
        up = LiveWeir.create(broker, directory, "filter.", POLICIES);
        down = LiveWeir.create(broker, directory, "filter-down.", POLICIES);
        enforcer = up.enforce();
    }

    @AfterAll
    static void stop() {
        enforcer.close();
        THREADS.shutdownNow();
    }

    @Test
    void a_denied_request_is_429_with_retry_after() throws Exception {
        try (WeirClient weir = up.client().start();
                Gateway gateway = new Gateway(weir)) {
            List<HttpResponse<String>> answers = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                answers.add(gateway.get("alice", "/articles/7"));
            }
            assertThat(answers).extracting(HttpResponse::statusCode).containsExactly(200, 200, 429);
            assertThat(answers).extracting(HttpResponse::body).containsExactly("served", "served", "");
            assertThat(answers)
                    .extracting(answer -> header(answer, "RateLimit-Policy"))
                    .containsOnly("\"articles\";q=2;w=86400");
            assertThat(answers)
                    .extracting(answer -> header(answer, "RateLimit").replaceAll(";t=.*", ""))
                    .containsExactly("\"articles\";r=1", "\"articles\";r=0", "\"articles\";r=0");
            assertThat(answers.get(1).headers().firstValue("Retry-After")).isEmpty();
            assertThat(Long.parseLong(header(answers.get(2), "Retry-After"))).isBetween(86_000L, 86_400L);
        }
    }

    @Test
    void a_shadow_banned_client_gets_a_success_and_is_not_served() throws Exception {
        try (WeirClient weir = up.client().start();
                Gateway gateway = new Gateway(weir)) {
            HttpResponse<String> answer = gateway.get("mallory", "/banned");
            assertThat(answer.statusCode()).isEqualTo(200);
            assertThat(answer.body()).isEmpty();
        }
    }

    @Test
    void a_queued_request_is_202_and_not_served() throws Exception {
        try (WeirClient weir = up.client().start();
                Gateway gateway = new Gateway(weir)) {
            HttpResponse<String> answer = gateway.get("alice", "/sms");
            assertThat(answer.statusCode()).isEqualTo(202);
            assertThat(answer.body()).isEmpty();
        }
    }

    @Test
    void a_request_without_a_client_is_400() throws Exception {
        try (WeirClient weir = up.client().fallback(Fallback.FAIL_OPEN).start();
                Gateway gateway = new Gateway(weir)) {
            assertThat(gateway.get("", "/articles/7").statusCode()).isEqualTo(400);
        }
    }

    @Test
    void a_failure_of_the_function_is_answered() throws Exception {
        try (WeirClient weir = up.client().fallback(Fallback.FAIL_OPEN).start();
                Gateway gateway = new Gateway(weir)) {
            assertThat(gateway.get("alice", "/not-a-number").statusCode()).isEqualTo(400);
            assertThat(gateway.get("alice", "/broken").statusCode()).isEqualTo(500);
            assertThat(gateway.get("alice", "/nothing").statusCode()).isEqualTo(500);
        }
    }

    @Test
    void without_an_enforcer_the_fallback_decides() throws Exception {
        assertThat(unanswered(Fallback.FAIL_OPEN).body()).isEqualTo("served");
        assertThat(unanswered(Fallback.FAIL_CLOSED).statusCode()).isEqualTo(503);
        assertThat(unanswered(Fallback.FAIL).statusCode()).isEqualTo(503);
    }

    private HttpResponse<String> unanswered(Fallback fallback) throws Exception {
        try (WeirClient weir = down.client()
                        .timeout(Duration.ofMillis(200))
                        .fallback(fallback)
                        .start();
                Gateway gateway = new Gateway(weir)) {
            return gateway.get("alice", "/articles/7");
        }
    }

    private static String header(HttpResponse<String> answer, String name) {
        return answer.headers().firstValue(name).orElseThrow();
    }

    /** A gateway that serves all requests that Weir allows. */
    private final class Gateway implements AutoCloseable {

        private final HttpServer server;

        Gateway(WeirClient weir) throws IOException {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            server.createContext("/", Gateway::serve).getFilters().add(new WeirFilter(weir, Gateway::request));
            server.setExecutor(THREADS);
            server.start();
        }

        HttpResponse<String> get(String client, String path) throws Exception {
            URI uri = new URI("http", null, "127.0.0.1", server.getAddress().getPort(), path, null, null);
            return http.send(
                    HttpRequest.newBuilder(uri).header("X-Api-Key", client).build(), BodyHandlers.ofString());
        }

        private static Request request(HttpExchange exchange) {
            switch (exchange.getRequestURI().getPath()) {
                case "/not-a-number" -> throw new NumberFormatException("a parameter of the caller");
                case "/broken" -> throw new IllegalStateException("a fault of the function");
                case "/nothing" -> {
                    return null;
                }
                default -> {}
            }
            return RequestBuilder.of(exchange.getRequestHeaders().getFirst("X-Api-Key"))
                    .attribute("endpoint", exchange.getRequestURI().getPath())
                    .build();
        }

        private static void serve(HttpExchange exchange) throws IOException {
            byte[] body = "served".getBytes(StandardCharsets.UTF_8);
            try (exchange) {
                exchange.sendResponseHeaders(200, body.length);
                exchange.getResponseBody().write(body);
            }
        }

        @Override
        public void close() {
            server.stop(0);
        }
    }
}
