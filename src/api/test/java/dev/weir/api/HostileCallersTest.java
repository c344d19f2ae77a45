package dev.weir.api;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.server.http.BodyLoader;
import dev.weir.server.http.CallerConnections;
import dev.weir.testing.TestCertificate;
import io.javalin.Javalin;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Callers that are slow, numerous, or incomplete. */
@Tag("full")
class HostileCallersTest {

    /** How long a well-behaved caller waits for a response. The hostile callers block for longer. */
    private static final int PATIENCE_MS = 8_000;

    private static final Duration LONG = Duration.ofMinutes(5);
    private static final String GET = "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n";

    private final List<Socket> sockets = new ArrayList<>();
    private WeirService service;

    private void open(Duration requestTimeout) {
        open(WeirConfig.Service.DEFAULTS.withPort(0).withRequestTimeout(requestTimeout));
    }

    private void open(WeirConfig.Service settings) {
        service = WeirService.open(
                WeirConfig.DEFAULTS.toBuilder().service(settings).build(), Map.of());
    }

    @AfterEach
    void close() throws IOException {
        for (Socket socket : sockets) {
            socket.close();
        }
        service.close();
    }

    private Socket connect(int port, String sends) throws IOException {
        Socket socket = new Socket();
        sockets.add(socket);
        socket.setSoTimeout(PATIENCE_MS);
        socket.connect(new InetSocketAddress("127.0.0.1", port), PATIENCE_MS);
        socket.getOutputStream().write(sends.getBytes(US_ASCII));
        return socket;
    }

    /** Returns the first line of the response; null if the connection was closed before. */
    private static String answer(Socket socket) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream(), US_ASCII));
        try {
            String first = in.readLine();
            int length = 0;
            for (String line = in.readLine(); line != null && !line.isEmpty(); line = in.readLine()) {
                if (line.toLowerCase().startsWith("content-length: ")) {
                    length = Integer.parseInt(line.substring("content-length: ".length()));
                }
            }
            for (int i = 0; i < length; i++) {
                in.read();
            }
            return first;
        } catch (SocketException e) {
            return null;
        }
    }

    private void assertAnswers() throws IOException {
        for (String path : List.of("/v1/openapi.json", "/health/live")) {
            assertThat(answer(connect(service.port(), GET.formatted(path))))
                    .as(path)
                    .isEqualTo("HTTP/1.1 200 OK");
        }
        assertThat(answer(connect(service.healthPort(), GET.formatted("/health/live"))))
                .isEqualTo("HTTP/1.1 200 OK");
    }

    @Test
    void slow_headers_block_no_other_caller() throws IOException {
        open(LONG);
        for (int i = 0; i < 400; i++) {
            connect(service.port(), "GET /v1/openapi.json HTTP/1.1\r\nX-Slow: ");
        }
        for (int i = 0; i < 100; i++) {
            connect(service.healthPort(), "GET /health/live HTTP/1.1\r\nX-Slow: ");
        }
        assertAnswers();
    }

    @Test
    void silent_connections_block_no_other_caller() throws IOException {
        open(LONG);
        for (int i = 0; i < 400; i++) {
            connect(service.port(), "");
        }
        assertAnswers();
    }

    @Test
    void slow_bodies_occupy_no_thread() throws IOException {
        open(LONG);
        for (int i = 0; i < 60; i++) {
            connect(service.port(), "POST /v1/validate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{");
        }
        assertAnswers();
    }

    /** Each caller requests about 100 MB, more than the buffers of the socket hold. */
    @Test
    void unread_responses_block_no_other_caller() throws IOException {
        open(LONG);
        String many = GET.formatted("/v1/openapi.json").repeat(1_000);
        for (int i = 0; i < 40; i++) {
            connect(service.port(), many);
        }
        assertAnswers();
    }

    @Test
    void a_long_body_does_not_block_a_short_one() throws Exception {
        open(LONG);
        Server server = new Server(0);
        server.setHandler(new BodyLoader(10_000));
        ((Handler.Wrapper) server.getHandler()).setHandler(new Handler.Abstract() {
            @Override
            public boolean handle(Request request, Response response, Callback callback) throws Exception {
                String body = Content.Source.asString(request);
                Content.Sink.write(response, true, body, callback);
                return true;
            }
        });
        server.start();
        try {
            int port = ((ServerConnector) server.getConnectors()[0]).getLocalPort();
            String post = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s";
            for (int i = 0; i < 3; i++) {
                connect(port, post.formatted(1_000_000, "x".repeat(3_300)));
            }
            for (int i = 0; i < 5; i++) {
                assertThat(answer(connect(port, post.formatted(1_000, "x".repeat(1_000)))))
                        .isEqualTo("HTTP/1.1 200 OK");
            }
        } finally {
            server.stop();
        }
    }

    @Test
    void a_request_is_aborted_at_the_timeout() throws IOException {
        open(Duration.ofSeconds(1));
        for (String begun : List.of(
                "",
                "GET /v1/openapi.json HTTP/1.1\r\nX-Slow: ",
                "POST /v1/validate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
                GET.formatted("/health/live") + "GET /hea")) {
            Socket socket = connect(service.port(), begun);
            if (begun.endsWith("GET /hea")) {
                assertThat(answer(socket)).isEqualTo("HTTP/1.1 200 OK");
            }
            assertThat(answer(socket)).as(begun).isNull();
        }
    }

    @Test
    void a_tls_handshake_is_aborted_at_the_timeout(@TempDir Path directory) throws Exception {
        TestCertificate files = TestCertificate.make(directory, "service", "EC");
        open(WeirConfig.Service.DEFAULTS
                .withPort(0)
                .withRequestTimeout(Duration.ofSeconds(1))
                .withTls(new WeirConfig.Service.Tls(files.certificate(), files.key(), Optional.empty())));
        assertThat(answer(connect(service.port(), ""))).isNull();
        assertThat(answer(connect(service.healthPort(), ""))).isNull();
    }

    @Test
    void a_gateway_reuses_many_connections() throws IOException {
        open(LONG);
        List<Socket> gateway = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            gateway.add(connect(service.port(), GET.formatted("/health/live")));
            assertThat(answer(gateway.get(i))).isEqualTo("HTTP/1.1 200 OK");
        }
        for (int i = 0; i < 100; i++) {
            connect(service.port(), "GET /v1/openapi.json HTTP/1.1\r\nX-Slow: ");
        }
        for (Socket socket : gateway) {
            socket.getOutputStream().write(GET.formatted("/health/live").getBytes(US_ASCII));
            assertThat(answer(socket)).isEqualTo("HTTP/1.1 200 OK");
        }
    }

    @Test
    void idle_connections_are_closed_for_new_ones() throws IOException {
        open(LONG);
        for (int i = 0; i < 400; i++) {
            assertThat(answer(connect(service.port(), GET.formatted("/health/live"))))
                    .isEqualTo("HTTP/1.1 200 OK");
        }
        assertAnswers();
    }

    @Test
    void a_body_that_is_too_long_is_rejected_with_any_framing() throws IOException {
        open(LONG);
        String post = "POST /v1/validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
        Socket announced = connect(service.port(), post + "Content-Length: 2097153\r\n\r\n");
        assertThat(answer(announced)).startsWith("HTTP/1.1 413");
        Socket chunked = connect(service.port(), post + "Transfer-Encoding: chunked\r\n\r\n");
        byte[] chunk = ("10000\r\n" + "x".repeat(0x10000) + "\r\n").getBytes(US_ASCII);
        try {
            for (int i = 0; i < 33; i++) {
                chunked.getOutputStream().write(chunk);
            }
        } catch (SocketException e) { // the request was rejected before it was sent completely
        }
        assertThat(answer(chunked)).isIn("HTTP/1.1 413 Payload Too Large", "HTTP/1.1 413 Content Too Large", null);
        assertAnswers();
    }

    @Test
    void a_last_response_has_connection_close() throws IOException {
        open(LONG);
        for (String path : List.of("/v1/policies/%zz", "/v1/policies/%", "//..//%00", "/v1/pol icies")) {
            Socket socket = connect(service.port(), GET.formatted(path));
            List<String> lines = new BufferedReader(new InputStreamReader(socket.getInputStream(), US_ASCII))
                    .lines()
                    .toList(); // until the connection is closed
            assertThat(lines).as(path).anyMatch(line -> line.equalsIgnoreCase("Connection: close"));
        }
    }

    @Test
    void a_body_with_a_duplicate_key_or_an_expensive_line_is_rejected() throws IOException {
        open(LONG);
        Caller caller = Caller.of(service.port(), null);
        assertThat(caller.post("/v1/peek", "{\"client\":\"a\",\"client\":\"b\"}")
                        .detail())
                .isEqualTo("the body: client appears twice");
        assertThat(caller.post("/v1/peek", "{\"client\":\"a\",\"attributes\":{\"x\":\"1\",\"x\":\"2\"}}")
                        .detail())
                .isEqualTo("the body: attributes.x appears twice");
        Reply twice = caller.send("POST", "/v1/peek", "client: a\nclient: b\n", "Content-Type: application/yaml");
        assertThat(twice.detail()).isEqualTo("the body has a duplicate key: line 2");
        Reply longLine =
                caller.send("POST", "/v1/peek", "client: " + "x".repeat(1 << 20), "Content-Type: application/yaml");
        assertThat(longLine.status()).isEqualTo(400);
        assertThat(longLine.detail()).contains("has a line with more than");
    }

    @Test
    void a_disconnected_caller_is_detected() throws Exception {
        open(LONG);
        CountDownLatch works = new CountDownLatch(1);
        CountDownLatch noticed = new CountDownLatch(1);
        Javalin server = Javalin.create(settings -> {
                    settings.startup.showJavalinBanner = false;
                    settings.routes.get("/work", request -> {
                        for (int i = 0; CallerConnections.isConnected(request); i++) {
                            if (i == 5) {
                                works.countDown();
                            }
                            TimeUnit.MILLISECONDS.sleep(10);
                        }
                        noticed.countDown();
                    });
                })
                .start(0);
        try {
            Socket socket = connect(server.port(), GET.formatted("/work"));
            assertThat(works.await(PATIENCE_MS, TimeUnit.MILLISECONDS)).isTrue();
            assertThat(noticed.getCount()).isOne();
            socket.close();
            assertThat(noticed.await(PATIENCE_MS, TimeUnit.MILLISECONDS)).isTrue();
        } finally {
            server.stop();
        }
    }
}
