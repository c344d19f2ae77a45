package dev.weir.spring;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.kafka.KafkaSettings;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.topics.TopicSetup;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.filter.OncePerRequestFilter;

/** Runs applications on Tomcat with an enforcer and a real broker. */
@Tag("full")
class RunningApplicationTest {

    private static final Duration PATIENCE = Duration.ofSeconds(90);

    private static final String POLICIES = """
            policies:
              - {id: articles, match: {endpoint: "/articles/**"}, limits: [{algorithm: sliding-window-log, limit: 2, per: 1 day}]}
              - {id: slow, match: {endpoint: /slow}, on-exceed: throttle, max-delay: 1d, limits: [{algorithm: gcra, limit: 1, per: 1h}]}
              - {id: paced, match: {endpoint: /paced}, on-exceed: throttle, max-delay: 1d, limits: [{algorithm: gcra, limit: 1, per: 500ms}]}
              - {id: sms, match: {operation: send-sms}, limits: [{algorithm: sliding-window-log, limit: 1, per: 1 day}]}
            """;

    @TempDir
    private static Path directory;

    private static EmbeddedBroker broker;
    private static Enforcer enforcer;

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import({Articles.class, SmsGateway.class})
    static class Application {
        @Bean
        MeterRegistry registry() {
            return new SimpleMeterRegistry();
        }
    }

    @RestController
    static class Articles {
        @GetMapping("/articles/{id}")
        String article(@PathVariable String id) {
            return "article " + id;
        }
    }

    static class SmsGateway {
        @RateLimited(value = "send-sms", client = "#tenant")
        public String send(String tenant) {
            return "sent";
        }
    }

    @RestController
    static class Throttled {
        @GetMapping({"/slow", "/paced", "/free"})
        String handle(HttpServletRequest http) {
            return http.getDispatcherType() + " after " + http.getAttribute("filters");
        }
    }

    /** A filter of an application, which has no order. It does not run when a request is dispatched again. */
    static class CountingFilter extends OncePerRequestFilter {
        @Override
        protected void doFilterInternal(HttpServletRequest http, HttpServletResponse response, FilterChain chain)
                throws ServletException, IOException {
            Integer before = (Integer) http.getAttribute("filters");
            http.setAttribute("filters", before == null ? 1 : before + 1);
            chain.doFilter(http, response);
        }
    }

    @BeforeAll
    static void start() throws Exception {
        broker = EmbeddedBroker.start();
        WeirConfig config = WeirConfig.builder()
                .threads(1)
                .topics("shop.", 2)
                .kafka("bootstrap.servers", broker.bootstrapServers())
                .stateDirectory(directory.resolve("state"))
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        new PolicyTopic(config).apply(PolicyFile.read("policies.yaml", POLICIES), PolicyTopic.Options.DEFAULTS, 0);
        enforcer = Enforcer.start(config);
        enforcer.awaitRunning(PATIENCE);
    }

    @AfterAll
    static void stop() {
        enforcer.close();
        broker.close();
    }

    @ParameterizedTest
    @EnumSource(
            value = WebApplicationType.class,
            names = {"SERVLET", "REACTIVE"})
    void an_application_limits_its_clients_and_methods(WebApplicationType type) throws Exception {
        try (ConfigurableApplicationContext context = run(
                type, List.of(), "weir.filter.paths=/articles/**", "management.endpoint.health.show-details=always")) {
            String server = server(context);
            List<Integer> statuses = new ArrayList<>();
            HttpResponse<String> last = null;
            for (int i = 0; i < 3; i++) {
                last = get(server + "/articles/7", "alice-" + type);
                statuses.add(last.statusCode());
            }
            assertThat(statuses).containsExactly(200, 200, 429);
            assertThat(last.headers().firstValue("Retry-After")).isPresent();
            assertThat(get(server + "/articles/7", "bob-" + type).body()).isEqualTo("article 7");

            SmsGateway sms = context.getBean(SmsGateway.class);
            assertThat(sms.send("acme-" + type)).isEqualTo("sent");
            assertThatThrownBy(() -> sms.send("acme-" + type)).isInstanceOf(RateLimitedException.class);

            assertThat(get(server + "/actuator/health/weir", "operator"))
                    .returns(200, HttpResponse::statusCode)
                    .satisfies(health -> assertThat(health.body()).contains("\"circuit\":\"CLOSED\""));
            assertThat(answered(context)).isEqualTo(6);
        }
    }

    @Test
    void throttled_requests_occupy_no_thread_of_the_server() throws Exception {
        try (ConfigurableApplicationContext context = run(
                WebApplicationType.SERVLET,
                List.of(Throttled.class, CountingFilter.class),
                "weir.filter.paths=/slow,/paced",
                "server.tomcat.threads.max=2")) {
            String server = server(context);
            List<CompletableFuture<HttpResponse<String>>> slow = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                slow.add(HttpClient.newHttpClient().sendAsync(request(server + "/slow", "a"), BodyHandlers.ofString()));
            }
            await("all are decided", PATIENCE, () -> answered(context) == 8);
            assertThat(get(server + "/free", "a").body()).isEqualTo("REQUEST after 1");
            assertThat(get(server + "/paced", "a").body()).isEqualTo("REQUEST after 1");
            assertThat(get(server + "/paced", "a"))
                    .returns("ASYNC after 1", HttpResponse::body)
                    .satisfies(response -> assertThat(response.headers().firstValue("RateLimit"))
                            .isPresent());
            assertThat(slow).filteredOn(CompletableFuture::isDone).hasSizeLessThan(2);
        }
    }

    @Test
    void without_asynchronous_delays_a_bounded_number_of_threads_is_blocked() throws Exception {
        try (ConfigurableApplicationContext context = run(
                WebApplicationType.SERVLET,
                List.of(Throttled.class),
                "weir.filter.paths=/slow",
                "weir.filter.async-delay=false",
                "server.tomcat.threads.max=4")) {
            String server = server(context);
            assertThat(get(server + "/slow", "b").statusCode()).isEqualTo(200);
            var unused = HttpClient.newHttpClient().sendAsync(request(server + "/slow", "b"), BodyHandlers.ofString());
            await("both are decided", PATIENCE, () -> answered(context) == 2);
            HttpResponse<String> refused = get(server + "/slow", "b");
            assertThat(refused.statusCode()).isEqualTo(429);
            assertThat(refused.headers().firstValueAsLong("Retry-After").orElseThrow())
                    .isBetween(3_601L, 7_200L);
        }
    }

    private static ConfigurableApplicationContext run(
            WebApplicationType type, List<Class<?>> beans, String... properties) {
        SpringApplicationBuilder application = new SpringApplicationBuilder(Application.class);
        return application
                .sources(beans.toArray(Class<?>[]::new))
                .web(type)
                .properties(
                        "server.port=0",
                        "server.shutdown=immediate",
                        "spring.kafka.bootstrap-servers=" + broker.bootstrapServers(),
                        "weir.prefix=shop.",
                        "weir.timeout=90s",
                        "weir.filter.enabled=true",
                        "weir.filter.client=header:X-Api-Key")
                .properties(properties)
                .run();
    }

    private static String server(ConfigurableApplicationContext context) {
        return "http://localhost:" + context.getEnvironment().getProperty("local.server.port");
    }

    private static int answered(ConfigurableApplicationContext context) {
        return (int) context.getBean(MeterRegistry.class)
                .get("weir.client.requests")
                .tag("result", "ANSWERED")
                .functionCounter()
                .count();
    }

    private static HttpResponse<String> get(String uri, String key) throws Exception {
        return HttpClient.newHttpClient().send(request(uri, key), BodyHandlers.ofString());
    }

    private static HttpRequest request(String uri, String key) {
        return HttpRequest.newBuilder(URI.create(uri)).header("X-Api-Key", key).build();
    }
}
