package dev.weir.spring.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.event.Request;
import dev.weir.spring.RateLimited;
import dev.weir.spring.StubDecider;
import dev.weir.spring.WeirMethodAutoConfiguration;
import jakarta.servlet.http.Cookie;
import java.net.URI;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.autoconfigure.web.servlet.WebMvcTest;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

/** Tests the servlet filter with Spring MVC, without Kafka. */
@WebMvcTest(
        properties = {
            "weir.filter.enabled=true",
            "weir.filter.paths=/articles/**,/limited",
            "weir.filter.exclude-paths=/articles/free",
            "weir.filter.client=header:X-Api-Key,query:key,principal,cookie:session",
            "weir.filter.tier=header:X-Plan,literal:free",
            "weir.filter.attributes.endpoint=path",
            "weir.filter.attributes.method=method",
            "weir.filter.attributes.tenant=header:X-Tenant",
            "weir.filter.attributes.address=remote-address",
            "weir.x-rate-limit=delta-seconds",
        })
@ImportAutoConfiguration({
    WeirServletAutoConfiguration.class,
    WeirMethodAutoConfiguration.class,
    AopAutoConfiguration.class
})
@Import(ServletFilterTest.Articles.class)
class ServletFilterTest {

    @Autowired
    private MockMvcTester mvc;

    @Autowired
    private StubDecider decider;

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
        String article(@PathVariable String id) {
            return "article " + id;
        }

        @GetMapping("/other")
        String other() {
            return "other";
        }

        @GetMapping("/method")
        @RateLimited(value = "read", client = "'alice'")
        public String method() {
            return "method";
        }
    }

    @BeforeEach
    void allow() {
        decider.answer(StubDecider.allowed(null));
    }

    @Test
    void an_allowed_request_is_handled_and_its_response_has_the_headers() {
        assertThat(mvc.get().uri("/articles/7").header("X-Api-Key", "alice").header("X-Tenant", "acme"))
                .hasStatus(200)
                .hasHeader("RateLimit-Policy", "\"p\";q=10;w=60")
                .hasHeader("RateLimit", "\"p\";r=9;t=6")
                .hasHeader("X-RateLimit-Limit", "10")
                .hasHeader("X-RateLimit-Remaining", "9")
                .hasHeader("X-RateLimit-Reset", "6")
                .bodyText()
                .isEqualTo("article 7");
        Request request = decider.onlyRequest();
        assertThat(request.client()).isEqualTo("alice");
        assertThat(request.tier()).isEqualTo("free");
        assertThat(request.attributes())
                .isEqualTo(
                        Map.of("endpoint", "/articles/7", "method", "GET", "tenant", "acme", "address", "127.0.0.1"));
    }

    @Test
    void a_denied_request_gets_the_status_and_headers_and_is_not_handled() {
        decider.answer(StubDecider.denied());
        assertThat(mvc.get().uri("/articles/7").header("X-Api-Key", "alice"))
                .hasStatus(429)
                .hasHeader("Retry-After", "20")
                .hasHeader("RateLimit", "\"p\";r=0;t=20")
                .bodyText()
                .isEmpty();
    }

    @Test
    void a_shadow_banned_client_gets_an_empty_response() {
        decider.answer(StubDecider.shadowBanned());
        assertThat(mvc.get().uri("/articles/7").header("X-Api-Key", "alice"))
                .hasStatus(200)
                .doesNotContainHeader("Retry-After")
                .bodyText()
                .isEmpty();
    }

    @Test
    void the_client_is_the_first_value_that_is_present() {
        assertThat(mvc.get().uri(URI.create("/articles/7?a=b&key=bob%20s"))).hasStatus(200);
        assertThat(decider.onlyRequest().client()).isEqualTo("bob s");
        decider.answer(StubDecider.allowed(null));
        assertThat(mvc.get().uri("/articles/7").principal(() -> "carol")).hasStatus(200);
        assertThat(decider.onlyRequest().client()).isEqualTo("carol");
        decider.answer(StubDecider.allowed(null));
        assertThat(mvc.get().uri("/articles/7").cookie(new Cookie("session", "s1")))
                .hasStatus(200);
        assertThat(decider.onlyRequest().client()).isEqualTo("s1");
    }

    @Test
    void a_request_without_a_client_is_invalid() {
        assertThat(mvc.get().uri("/articles/7")).hasStatus(400);
        assertThat(decider.requests).isEmpty();
    }

    @Test
    void a_request_that_weir_rejects_is_invalid() {
        decider.answer(StubDecider.failed(new IllegalArgumentException("client is too long")));
        assertThat(mvc.get().uri("/articles/7").header("X-Api-Key", "alice")).hasStatus(400);
    }

    @Test
    void without_a_decision_the_fallback_applies() {
        decider.answer(StubDecider.fallback(false));
        assertThat(mvc.get().uri("/articles/7").header("X-Api-Key", "alice")).hasStatus(503);
        decider.answer(StubDecider.fallback(true));
        assertThat(mvc.get().uri("/articles/7").header("X-Api-Key", "alice")).hasStatus(200);
    }

    @Test
    void other_paths_are_not_decided() {
        assertThat(mvc.get().uri("/other")).hasStatus(200);
        assertThat(mvc.get().uri("/articles/free")).hasStatus(200);
        assertThat(decider.requests).isEmpty();
    }

    /** Spring MVC handles these as /articles/7. */
    @Test
    void another_spelling_of_a_path_is_the_same_path() {
        for (String spelling : new String[] {"/%61rticles/7", "/articles;x=1/7;y=2"}) {
            decider.answer(StubDecider.allowed(null));
            assertThat(mvc.get().uri(URI.create(spelling)).header("X-Api-Key", "alice"))
                    .hasStatus(200)
                    .bodyText()
                    .isEqualTo("article 7");
            assertThat(decider.onlyRequest().attributes()).containsEntry("endpoint", "/articles/7");
        }
    }

    /** A server in front, or a servlet with another router, may handle these as /articles/7. */
    @Test
    void a_path_that_servers_understand_in_different_ways_is_invalid() {
        for (String spelling : new String[] {
            "/articles%2F7", "/articles/free/../7", "/articles/free/..;/7", "/other/%2e%2e/articles/7", "/;x/articles/7"
        }) {
            decider.answer(StubDecider.allowed(null));
            assertThat(mvc.get().uri(URI.create(spelling)).header("X-Api-Key", "alice"))
                    .as(spelling)
                    .hasStatus(400);
            assertThat(decider.requests).isEmpty();
        }
    }

    @Test
    void an_excluded_path_is_compared_in_its_normal_form() {
        for (String spelling : new String[] {"/articles/%66ree", "//articles;v=1//free"}) {
            mvc.get().uri(URI.create(spelling)).header("X-Api-Key", "alice").exchange();
            assertThat(decider.requests).as(spelling).isEmpty();
        }
    }

    @Test
    void a_denied_controller_method_gets_the_status_and_headers() {
        decider.answer(StubDecider.denied());
        assertThat(mvc.get().uri("/method"))
                .hasStatus(429)
                .hasHeader("Retry-After", "20")
                .hasContentType("application/problem+json")
                .bodyText()
                .contains("\"status\":429");
        decider.answer(StubDecider.shadowBanned());
        assertThat(mvc.get().uri("/method")).hasStatus(200).bodyText().isEmpty();
    }

    @Test
    void a_denied_controller_method_without_a_decision_is_unavailable() {
        decider.answer(StubDecider.fallback(false));
        assertThat(mvc.get().uri("/method")).hasStatus(503);
    }
}
