package dev.weir.spring.http;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.decision.ClientDecision;
import dev.weir.spring.StubDecider;
import java.io.InputStream;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.MediaType;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.context.request.async.DeferredResult;
import org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Tests on Tomcat that a filter holds a reservation for exactly the duration of an HTTP request. */
@Tag("slow")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class HeldHttpRequestTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** The results of requests that are being handled, which the tests complete. */
    private static final BlockingQueue<CompletableFuture<String>> HANDLED = new LinkedBlockingQueue<>();

    private final Map<Server, ConfigurableApplicationContext> contexts = new EnumMap<>(Server.class);

    enum Server {
        SERVLET(WebApplicationType.SERVLET, ServletPaths.class),
        REACTIVE(WebApplicationType.REACTIVE, ReactivePaths.class);

        private final WebApplicationType type;
        private final Class<?> paths;

        Server(WebApplicationType type, Class<?> paths) {
            this.type = type;
            this.paths = paths;
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {
        @Bean
        StubDecider decider() {
            return new StubDecider();
        }
    }

    private static CompletableFuture<String> handle() {
        CompletableFuture<String> result = new CompletableFuture<>();
        HANDLED.add(result);
        return result;
    }

    @RestController
    static class ServletPaths {
        @GetMapping("/sync")
        String sync() {
            return handle().join();
        }

        @GetMapping("/async")
        CompletableFuture<String> async() {
            return handle();
        }

        @GetMapping("/callable")
        Callable<String> callable() {
            CompletableFuture<String> result = handle();
            return result::join;
        }

        @GetMapping("/timeout")
        DeferredResult<String> timeout() {
            handle();
            return new DeferredResult<>(200L);
        }

        @GetMapping("/stream")
        StreamingResponseBody stream() {
            handle();
            return out -> {
                while (true) { // until the connection is broken
                    out.write(new byte[1_024]);
                    out.flush();
                }
            };
        }
    }

    @RestController
    static class ReactivePaths {
        @GetMapping("/async")
        Mono<String> async() {
            return Mono.fromFuture(handle());
        }

        @GetMapping("/timeout")
        Mono<String> timeout() {
            return Mono.fromFuture(handle()).timeout(Duration.ofMillis(200));
        }

        @GetMapping(path = "/stream", produces = MediaType.TEXT_EVENT_STREAM_VALUE)
        Flux<String> stream() {
            handle();
            return Flux.interval(Duration.ofMillis(10))
                    .map(i -> "x".repeat(1_024))
                    .onBackpressureDrop();
        }
    }

    @BeforeAll
    void start() {
        for (Server server : Server.values()) {
            contexts.put(
                    server,
                    new SpringApplicationBuilder(Application.class)
                            .sources(server.paths)
                            .web(server.type)
                            .properties(
                                    "server.port=0",
                                    "server.shutdown=immediate",
                                    "weir.enabled=false",
                                    "weir.hold-ttl=45s",
                                    "weir.filter.enabled=true",
                                    "weir.filter.hold=true",
                                    "weir.filter.client=literal:alice")
                            .run());
        }
    }

    @AfterAll
    void stop() {
        contexts.values().forEach(ConfigurableApplicationContext::close);
    }

    @BeforeEach
    void allow() {
        HANDLED.clear();
        for (Server server : Server.values()) {
            decider(server).answer(StubDecider.allowed(null));
        }
    }

    private StubDecider decider(Server server) {
        return contexts.get(server).getBean(StubDecider.class);
    }

    private int port(Server server) {
        return Integer.parseInt(contexts.get(server).getEnvironment().getProperty("local.server.port"));
    }

    private CompletableFuture<HttpResponse<String>> get(Server server, String path) {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://localhost:" + port(server) + path))
                .build();
        return HttpClient.newHttpClient().sendAsync(request, BodyHandlers.ofString());
    }

    private static CompletableFuture<String> handled() throws Exception {
        await("the request is being handled", PATIENCE, () -> !HANDLED.isEmpty());
        return HANDLED.take();
    }

    @ParameterizedTest
    @CsvSource({"SERVLET, /sync", "SERVLET, /async", "SERVLET, /callable", "REACTIVE, /async"})
    void a_request_is_released_when_it_is_complete(Server server, String path) throws Exception {
        CompletableFuture<HttpResponse<String>> response = get(server, path);
        CompletableFuture<String> handler = handled();
        assertThat(decider(server).ttls).containsExactly(Duration.ofSeconds(45));
        assertThat(decider(server).onlyReservation().ends()).isEmpty();
        handler.complete("done");
        assertThat(response.get().body()).isEqualTo("done");
        decider(server).awaitRelease();
    }

    @ParameterizedTest
    @CsvSource({"SERVLET, /sync", "SERVLET, /async", "SERVLET, /callable", "REACTIVE, /async"})
    void a_request_whose_handler_fails_is_released(Server server, String path) throws Exception {
        CompletableFuture<HttpResponse<String>> response = get(server, path);
        CompletableFuture<String> handler = handled();
        assertThat(decider(server).onlyReservation().ends()).isEmpty();
        handler.completeExceptionally(new IllegalStateException("as requested"));
        assertThat(response.get().statusCode()).isEqualTo(500);
        decider(server).awaitRelease();
    }

    @ParameterizedTest
    @EnumSource
    void a_request_that_times_out_is_released(Server server) throws Exception {
        assertThat(get(server, "/timeout").get().statusCode()).isIn(500, 503);
        decider(server).awaitRelease();
    }

    @ParameterizedTest
    @EnumSource
    void a_request_that_its_caller_breaks_off_is_released(Server server) throws Exception {
        try (Socket socket = new Socket("localhost", port(server))) {
            socket.getOutputStream()
                    .write("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            InputStream in = socket.getInputStream();
            assertThat(in.readNBytes(4_096)).hasSize(4_096);
            assertThat(decider(server).onlyReservation().ends()).isEmpty();
            socket.setSoLinger(true, 0); // resets the connection
        }
        decider(server).awaitRelease();
    }

    @ParameterizedTest
    @CsvSource({"SERVLET, /sync", "SERVLET, /async", "SERVLET, /callable", "REACTIVE, /async"})
    void a_throttled_request_is_held_during_its_delay_and_its_work(Server server, String path) throws Exception {
        decider(server).answer(StubDecider.allowed(100L));
        CompletableFuture<HttpResponse<String>> response = get(server, path);
        CompletableFuture<String> handler = handled();
        assertThat(decider(server).onlyReservation().ends()).isEmpty();
        handler.complete("done");
        assertThat(response.get().body()).isEqualTo("done");
        decider(server).awaitRelease();
    }

    @ParameterizedTest
    @EnumSource
    void a_denied_request_reserves_nothing(Server server) throws Exception {
        decider(server).answer(StubDecider.denied());
        assertThat(get(server, "/async").get().statusCode()).isEqualTo(429);
        assertThat(decider(server).reservations).isEmpty();
        assertThat(HANDLED).isEmpty();
    }

    @Test
    void a_reactive_request_that_is_cancelled_before_its_decision_is_released_when_that_arrives() {
        StubDecider decider = decider(Server.REACTIVE);
        CompletableFuture<ClientDecision> decision = new CompletableFuture<>();
        decider.answer(request -> decision);
        WeirReactiveFilter filter = contexts.get(Server.REACTIVE).getBean(WeirReactiveFilter.class);
        MockServerWebExchange exchange = MockServerWebExchange.from(MockServerHttpRequest.get("/async"));
        filter.filter(exchange, unused -> Mono.never()).subscribe().dispose();
        assertThat(decider.reservations).isEmpty();
        decision.complete(StubDecider.allowed(null).apply(decider.onlyRequest()).join());
        decider.awaitRelease();
    }
}
