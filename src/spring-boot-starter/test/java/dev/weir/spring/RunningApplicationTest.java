package dev.weir.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.dev.EmbeddedBroker;
import dev.weir.rules.PolicyTopic;
import dev.weir.runtime.Enforcer;
import dev.weir.topics.KafkaSettings;
import dev.weir.topics.TopicSetup;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
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

/** Runs applications on Tomcat with an enforcer and a real broker. */
class RunningApplicationTest {

    private static final Duration PATIENCE = Duration.ofSeconds(90);

    private static final String POLICIES = """
            policies:
              - {id: articles, match: {endpoint: "/articles/**"}, limits: [{algorithm: sliding-window-log, limit: 2, per: 1 day}]}
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
        try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
                .web(type)
                .properties(
                        "server.port=0",
                        "spring.kafka.bootstrap-servers=" + broker.bootstrapServers(),
                        "weir.prefix=shop.",
                        "weir.timeout=90s",
                        "weir.filter.enabled=true",
                        "weir.filter.client=header:X-Api-Key",
                        "weir.filter.paths=/articles/**",
                        "management.endpoint.health.show-details=always")
                .run()) {
            String server = "http://localhost:" + context.getEnvironment().getProperty("local.server.port");
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
            Map<String, Double> results = new TreeMap<>();
            context.getBean(MeterRegistry.class)
                    .get("weir.client.requests")
                    .functionCounters()
                    .forEach(each -> results.put(each.getId().getTag("result"), each.count()));
            assertThat(results).containsEntry("ANSWERED", 6.0);
        }
    }

    private static HttpResponse<String> get(String uri, String key) throws Exception {
        HttpRequest request =
                HttpRequest.newBuilder(URI.create(uri)).header("X-Api-Key", key).build();
        return HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
    }
}
