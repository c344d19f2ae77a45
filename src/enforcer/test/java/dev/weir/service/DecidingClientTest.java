package dev.weir.service;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.ClientDecision;
import dev.weir.client.Fallback;
import dev.weir.client.NoDecisionReason;
import dev.weir.client.RequestBuilder;
import dev.weir.client.WeirClient;
import dev.weir.config.WeirConfig;
import dev.weir.dev.TestBroker;
import dev.weir.event.Request;
import dev.weir.service.http.ProblemDetails;
import dev.weir.service.http.ResponseWriter;
import dev.weir.topics.UnreachableException;
import io.javalin.Javalin;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.junit.jupiter.api.Test;

/** The start of the client for requests over HTTP. */
class DecidingClientTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration SHORT = Duration.ofMillis(50);
    private static final Request REQUEST = RequestBuilder.of("alice").build();

    @Test
    void a_failed_start_is_repeated_only_after_a_pause() {
        AtomicInteger starts = new AtomicInteger();
        AtomicLong nowNanos = new AtomicLong();
        try (DecidingClient client = new DecidingClient(
                () -> {
                    starts.incrementAndGet();
                    throw new IllegalStateException("no broker");
                },
                nowNanos::get)) {
            for (int i = 0; i < 100; i++) {
                assertThat(client.decide(REQUEST, PATIENCE, Fallback.FAIL))
                        .failsWithin(PATIENCE)
                        .withThrowableOfType(ExecutionException.class)
                        .withCauseInstanceOf(UnreachableException.class);
            }
            assertThat(starts).hasValue(1);
            nowNanos.addAndGet(DecidingClient.PAUSE.toNanos());
            assertThat(client.decide(REQUEST, PATIENCE, Fallback.FAIL_CLOSED).join())
                    .isEqualTo(answer(false, NoDecisionReason.NOT_WRITTEN));
            assertThat(starts).hasValue(2);
        }
    }

    private static ClientDecision answer(boolean allowed, NoDecisionReason reason) {
        return new ClientDecision(allowed, Optional.empty(), Optional.of(reason));
    }

    @Test
    void a_request_does_not_wait_longer_than_its_timeout_for_a_slow_start() {
        CountDownLatch brokersAnswer = new CountDownLatch(1);
        try (DecidingClient client = new DecidingClient(
                () -> {
                    awaitLatch(brokersAnswer);
                    throw new IllegalStateException("too late");
                },
                System::nanoTime)) {
            assertThat(client.decide(REQUEST, SHORT, Fallback.FAIL_OPEN).join())
                    .isEqualTo(answer(true, NoDecisionReason.NOT_WRITTEN));
            CompletableFuture<ClientDecision> fails = client.decide(REQUEST, SHORT, Fallback.FAIL);
            assertThat(fails)
                    .failsWithin(PATIENCE)
                    .withThrowableOfType(ExecutionException.class)
                    .withCauseInstanceOf(UnreachableException.class);
            brokersAnswer.countDown();
        }
    }

    @Test
    void a_client_that_starts_while_this_is_closed_is_closed_too() throws Exception {
        try (Admin admin = Admin.create(Map.copyOf(TestBroker.clientSettings()))) {
            admin.createTopics(List.of(
                            new NewTopic("closing.requests", 1, (short) 1),
                            new NewTopic("closing.decisions", 1, (short) 1)))
                    .all()
                    .get();
        }
        CountDownLatch closed = new CountDownLatch(1);
        AtomicReference<WeirClient> started = new AtomicReference<>();
        DecidingClient client = new DecidingClient(
                () -> {
                    awaitLatch(closed);
                    started.set(WeirClient.builder(TestBroker.clientSettings())
                            .prefix("closing.")
                            .start());
                    return started.get();
                },
                System::nanoTime);
        var unused = client.decide(REQUEST, SHORT, Fallback.FAIL_OPEN);
        client.close();
        closed.countDown();
        await(
                "the client is closed",
                PATIENCE,
                () -> started.get() != null
                        && started.get()
                                .decide(REQUEST, PATIENCE, Fallback.FAIL_CLOSED)
                                .getNow(answer(true, NoDecisionReason.TIMED_OUT))
                                .equals(answer(false, NoDecisionReason.CLOSED)));
        assertThat(client.decide(REQUEST, SHORT, Fallback.FAIL_OPEN).join().noDecisionReason())
                .isPresent();
    }

    @Test
    void requests_beyond_the_memory_for_waiting_ones_are_rejected() throws Exception {
        CountDownLatch brokersAnswer = new CountDownLatch(1);
        DecidingClient client = new DecidingClient(
                () -> {
                    awaitLatch(brokersAnswer);
                    throw new IllegalStateException("no broker");
                },
                System::nanoTime);
        ServiceMetrics metrics = new ServiceMetrics(() -> 0, () -> 0, () -> 0);
        DecideApi api = new DecideApi(WeirConfig.DEFAULTS.requests().rules(), client, metrics.deciding(), 3_000);
        Javalin server = Javalin.create(settings -> {
                    settings.startup.showJavalinBanner = false;
                    settings.routes.post("/v1/decide", api::decide);
                    settings.routes.exception(
                            ProblemDetails.ProblemException.class,
                            (e, request) -> ResponseWriter.write(request, e.problem()));
                })
                .start("127.0.0.1", 0);
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
            brokersAnswer.countDown();
            assertThat(waits.join().body()).contains("the brokers do not answer");
            assertThat(post(server.port()).join().body()).contains("the brokers do not answer");
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

    private static void awaitLatch(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }
}
