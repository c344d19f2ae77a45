package dev.weir.server.decide;

import static dev.weir.testing.Await.await;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.api.Scrape;
import dev.weir.client.Fallback;
import dev.weir.client.RequestBuilder;
import dev.weir.client.WeirClient;
import dev.weir.client.decision.ClientDecision;
import dev.weir.client.decision.NoDecisionReason;
import dev.weir.client.decision.XRateLimitFields;
import dev.weir.config.WeirConfig;
import dev.weir.event.Request;
import dev.weir.kafka.UnreachableException;
import dev.weir.server.ServiceMetrics;
import dev.weir.server.http.ConnectionGuard;
import dev.weir.server.http.ProblemDetails;
import dev.weir.server.http.ResponseWriter;
import dev.weir.testing.SampleDecisions;
import io.javalin.Javalin;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** The start of the client for requests over HTTP. */
class DecidingClientTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final Duration SHORT = Duration.ofMillis(50);
    private static final Request REQUEST = RequestBuilder.of("alice").build();

    /** Returns a client without brokers. */
    private static WeirClient unconnected() {
        return WeirClient.builder(Map.of("bootstrap.servers", "127.0.0.1:1"))
                .timeout(DecidingClient.MAX_TIMEOUT)
                .start();
    }

    /** Returns a server that answers a handshake of TLS with something else, which Kafka reports as a refusal. */
    private static ServerSocket withoutTls() throws IOException {
        ServerSocket server = new ServerSocket(0, 0, InetAddress.getLoopbackAddress());
        Thread thread = new Thread(() -> {
            while (!server.isClosed()) {
                try (Socket caller = server.accept()) {
                    caller.getOutputStream().write("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(US_ASCII));
                    var unused = caller.getInputStream().readAllBytes();
                } catch (IOException e) {
                    // the next one, unless the server is closed
                }
            }
        });
        thread.setDaemon(true);
        thread.start();
        return server;
    }

    private static WeirClient refusedBy(ServerSocket broker) {
        Map<String, String> kafka =
                Map.of("bootstrap.servers", "127.0.0.1:" + broker.getLocalPort(), "security.protocol", "SSL");
        return WeirClient.builder(kafka).timeout(DecidingClient.MAX_TIMEOUT).start();
    }

    @Test
    void the_first_request_starts_one_client() {
        AtomicInteger starts = new AtomicInteger();
        try (DecidingClient client = new DecidingClient(() -> {
            starts.incrementAndGet();
            return unconnected();
        })) {
            assertThat(starts).hasValue(0);
            for (int i = 0; i < 3; i++) {
                assertThat(client.decide(REQUEST, SHORT, Fallback.FAIL_OPEN).join())
                        .isEqualTo(SampleDecisions.fallback(true, NoDecisionReason.NOT_READY));
            }
            assertThat(starts).hasValue(1);
        }
    }

    @Test
    void a_closed_client_starts_none() {
        DecidingClient client = new DecidingClient(() -> {
            throw new AssertionError("started");
        });
        client.close();
        assertThat(client.decide(REQUEST, SHORT, Fallback.FAIL_CLOSED).join())
                .isEqualTo(SampleDecisions.fallback(false, NoDecisionReason.CLOSED));
        assertThat(client.decide(REQUEST, SHORT, Fallback.FAIL))
                .failsWithin(PATIENCE)
                .withThrowableOfType(ExecutionException.class)
                .withCauseInstanceOf(UnreachableException.class);
    }

    @Test
    void closing_ends_waiting_requests() {
        DecidingClient client = new DecidingClient(DecidingClientTest::unconnected);
        CompletableFuture<ClientDecision> waiting =
                client.decide(REQUEST, DecidingClient.MAX_TIMEOUT, Fallback.FAIL_OPEN);
        assertThat(waiting).isNotDone();
        client.close();
        assertThat(waiting).isCompletedWithValue(SampleDecisions.fallback(true, NoDecisionReason.CLOSED));
    }

    @Test
    void a_request_that_starts_a_refused_client_again_does_not_make_the_instance_unready() throws IOException {
        AtomicInteger starts = new AtomicInteger();
        try (ServerSocket broker = withoutTls();
                DecidingClient client = new DecidingClient(() -> {
                    starts.incrementAndGet();
                    return refusedBy(broker);
                })) {
            client.start();
            await("the client is refused", PATIENCE, () -> client.closeIfRefused()
                    .isPresent());
            assertThat(client.isRefused()).isTrue();
            for (int restarts = 1; restarts <= 2; restarts++) {
                int expected = 1 + restarts;
                await("the client is started again, and refused", PATIENCE, () -> {
                    client.decide(REQUEST, SHORT, Fallback.FAIL_OPEN).join();
                    return starts.get() >= expected;
                });
                assertThat(client.isRefused()).isTrue();
            }
        }
    }

    @Test
    void a_timeout_begins_when_the_request_was_received() {
        List<Duration> timeouts = new ArrayList<>();
        RequestDecider decider = (request, timeout, fallback) -> {
            timeouts.add(timeout);
            return CompletableFuture.completedFuture(SampleDecisions.fallback(true, NoDecisionReason.TIMED_OUT));
        };
        long receivedNanos = System.nanoTime() - Duration.ofSeconds(3).toNanos();
        for (Duration timeout : List.of(Duration.ofSeconds(10), Duration.ofSeconds(2))) {
            decider.decide(REQUEST, receivedNanos, timeout, Fallback.FAIL_OPEN).join();
        }
        assertThat(timeouts.get(0)).isLessThanOrEqualTo(Duration.ofSeconds(7));
        assertThat(timeouts.get(1)).isEqualTo(RequestDecider.MIN_TIMEOUT);
    }

    @Test
    void a_body_is_read_within_the_timeout() throws Exception {
        AtomicReference<Duration> left = new AtomicReference<>();
        RequestDecider decider = (request, timeout, fallback) -> {
            left.set(timeout);
            return CompletableFuture.completedFuture(SampleDecisions.fallback(true, NoDecisionReason.TIMED_OUT));
        };
        ServiceMetrics metrics = metrics();
        Javalin server = serve(new DecideApi(
                WeirConfig.DEFAULTS,
                decider,
                new DecideMetrics(metrics.registry().getPrometheusRegistry())));
        try {
            post(server.port()).join();
        } finally {
            server.stop();
        }
        assertThat(left.get()).isLessThan(Duration.ofSeconds(10));
    }

    private static ServiceMetrics metrics() {
        ConnectionGuard guard = new ConnectionGuard(ConnectionGuard.Bounds.ofService(Duration.ofSeconds(1)));
        guard.close();
        return new ServiceMetrics(guard, () -> 0, () -> 0);
    }

    private static Javalin serve(DecideApi api) {
        return Javalin.create(settings -> {
                    settings.startup.showJavalinBanner = false;
                    settings.routes.post("/v1/decide", api::decide);
                    settings.routes.exception(
                            ProblemDetails.ProblemException.class,
                            (e, request) -> ResponseWriter.write(request, e.problem()));
                })
                .start("127.0.0.1", 0);
    }

    @Test
    void requests_beyond_the_memory_for_waiting_ones_are_rejected() throws Exception {
        DecidingClient client = new DecidingClient(DecidingClientTest::unconnected);
        ServiceMetrics metrics = metrics();
        DecideApi api = new DecideApi(
                WeirConfig.DEFAULTS.requests().rules(),
                XRateLimitFields.NONE,
                client,
                new DecideMetrics(metrics.registry().getPrometheusRegistry()),
                3_000);
        Javalin server = serve(api);
        try (client) {
            List<CompletableFuture<HttpResponse<String>>> two = List.of(post(server.port()), post(server.port()));
            await("one is rejected", PATIENCE, () -> two.stream().anyMatch(CompletableFuture::isDone));
            assertThat(two.stream().filter(CompletableFuture::isDone))
                    .singleElement()
                    .satisfies(one ->
                            assertThat(one.join().body()).contains("too many requests are waiting for decisions"));
            Scrape scrape = Scrape.of(metrics.scrape());
            assertThat(scrape.lines("weir_decide_refused_total"))
                    .containsExactly("{reason=\"INVALID\"} 0.0", "{reason=\"OVERLOADED\"} 1.0");
            assertThat(scrape.sum("weir_decide_in_flight")).isEqualTo(1);
            CompletableFuture<HttpResponse<String>> waits =
                    two.stream().filter(one -> !one.isDone()).findFirst().orElseThrow();
            client.close();
            assertThat(waits.join().body()).contains("the client is closed");
            assertThat(scrape.lines("weir_decide_requests_total")).contains("{result=\"NOT_READY\"} 0.0");
        } finally {
            server.stop();
        }
    }

    private static CompletableFuture<HttpResponse<String>> post(int port) {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/v1/decide?timeout=10s"))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{\"client\":\"alice\"}"))
                .build();
        return HttpClient.newHttpClient().sendAsync(request, HttpResponse.BodyHandlers.ofString());
    }
}
