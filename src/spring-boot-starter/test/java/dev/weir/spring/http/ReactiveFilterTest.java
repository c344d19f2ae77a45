package dev.weir.spring.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.client.decision.ClientDecision;
import dev.weir.spring.RateLimited;
import dev.weir.spring.StubDecider;
import dev.weir.spring.WeirMethodAutoConfiguration;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.autoconfigure.web.reactive.WebFluxTest;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import org.springframework.test.web.reactive.server.WebTestClient;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Tests the WebFlux filter, without Kafka. */
@WebFluxTest(
        properties = {
            "weir.x-rate-limit=delta-seconds",
            "spring.main.web-application-type=reactive",
            "weir.filter.enabled=true",
            "weir.filter.paths=/articles/**",
            "weir.filter.exclude-paths=/articles/free",
            "weir.filter.client=header:X-Api-Key,query:key,cookie:session",
            "weir.filter.attributes.endpoint=path",
        })
@ImportAutoConfiguration({
    WeirReactiveAutoConfiguration.class,
    WeirMethodAutoConfiguration.class,
    AopAutoConfiguration.class
})
@Import(ReactiveFilterTest.Articles.class)
class ReactiveFilterTest {

    @Autowired
    private WebTestClient web;

    @Autowired
    private StubDecider decider;

    @Autowired
    private WeirReactiveFilter filter;

    @SpringBootConfiguration
    static class Application {
        @Bean
        StubDecider decider() {
            return new StubDecider();
        }
    }

    @RestController
    static class Articles {
        @GetMapping("/articles/{id}")
        Mono<String> article(@PathVariable String id) {
            return Mono.just("article " + id + " " + Schedulers.isInNonBlockingThread());
        }

        @GetMapping("/other")
        Mono<String> other() {
            return Mono.just("other");
        }

        @GetMapping("/method")
        @RateLimited(value = "read", client = "'alice'")
        public Mono<String> method() {
            return Mono.just("method");
        }
    }

    @BeforeEach
    void allow() {
        decider.answer(StubDecider.allowed(null));
    }

    private WebTestClient.ResponseSpec get(String uri) {
        return web.get().uri(uri).header("X-Api-Key", "alice").exchange();
    }

    @Test
    void an_allowed_request_is_handled_and_its_response_has_the_headers() {
        get("/articles/7")
                .expectStatus()
                .isOk()
                .expectHeader()
                .valueEquals("RateLimit", "\"p\";r=9;t=6")
                .expectHeader()
                .valueEquals("X-RateLimit-Remaining", "9")
                .expectBody(String.class)
                .isEqualTo("article 7 true");
        assertThat(decider.onlyRequest().client()).isEqualTo("alice");
        assertThat(decider.onlyRequest().tier()).isNull();
        assertThat(decider.onlyRequest().attributes()).isEqualTo(Map.of("endpoint", "/articles/7"));
    }

    @Test
    void a_denied_request_gets_the_status_and_headers_and_is_not_handled() {
        decider.answer(StubDecider.denied());
        get("/articles/7")
                .expectStatus()
                .isEqualTo(429)
                .expectHeader()
                .valueEquals("Retry-After", "20")
                .expectBody()
                .isEmpty();
    }

    @Test
    void the_client_is_the_first_value_that_is_present() {
        web.get().uri("/articles/7?key=bob").exchange().expectStatus().isOk();
        assertThat(decider.onlyRequest().client()).isEqualTo("bob");
        allow();
        web.get()
                .uri("/articles/7")
                .cookie("session", "s1")
                .exchange()
                .expectStatus()
                .isOk();
        assertThat(decider.onlyRequest().client()).isEqualTo("s1");
    }

    @Test
    void an_invalid_request_gets_400() {
        web.get().uri("/articles/7").exchange().expectStatus().isBadRequest();
        assertThat(decider.requests).isEmpty();
        decider.answer(StubDecider.failed(new IllegalArgumentException("client is too long")));
        get("/articles/7").expectStatus().isBadRequest();
    }

    @Test
    void without_a_decision_the_fallback_applies() {
        decider.answer(StubDecider.fallback(false));
        get("/articles/7").expectStatus().isEqualTo(503);
        decider.answer(StubDecider.fallback(true));
        get("/articles/7").expectStatus().isOk();
    }

    @Test
    void other_paths_are_not_decided() {
        get("/other").expectStatus().isOk();
        get("/articles/free").expectStatus().isOk();
        assertThat(decider.requests).isEmpty();
    }

    @Test
    void another_spelling_of_a_path_is_the_same_path() {
        web.get()
                .uri(URI.create("/%61rticles;x=1/7"))
                .header("X-Api-Key", "alice")
                .exchange()
                .expectStatus()
                .isOk();
        assertThat(decider.onlyRequest().attributes()).containsEntry("endpoint", "/articles/7");
    }

    /** Spring WebFlux would handle the second one as an article. */
    @Test
    void a_path_that_servers_understand_in_different_ways_is_invalid() {
        for (String spelling : new String[] {"/articles%2F7", "/articles/a%2F7", "/articles/free/..;/7"}) {
            web.get()
                    .uri(URI.create(spelling))
                    .header("X-Api-Key", "alice")
                    .exchange()
                    .expectStatus()
                    .isBadRequest();
            assertThat(decider.requests).isEmpty();
        }
    }

    @Test
    void no_thread_waits_for_the_decision() {
        CompletableFuture<ClientDecision> decision = new CompletableFuture<>();
        decider.answer(request -> decision);
        MockServerWebExchange exchange = MockServerWebExchange.from(
                MockServerHttpRequest.get("/articles/7").header("X-Api-Key", "alice"));
        AtomicBoolean isHandled = new AtomicBoolean();
        CompletableFuture<Void> end = filter.filter(exchange, unused -> Mono.fromRunnable(() -> isHandled.set(true)))
                .toFuture();
        assertThat(decider.requests).hasSize(1);
        assertThat(end).isNotDone();
        assertThat(isHandled).isFalse();
        decision.complete(StubDecider.allowed(1L).apply(decider.onlyRequest()).join());
        end.join();
        assertThat(isHandled).isTrue();
    }

    @Test
    void a_denied_controller_method_gets_the_status_and_headers() {
        decider.answer(StubDecider.denied());
        get("/method")
                .expectStatus()
                .isEqualTo(429)
                .expectHeader()
                .valueEquals("Retry-After", "20")
                .expectBody(String.class)
                .value(body -> assertThat(body).contains("\"status\":429"));
    }
}
