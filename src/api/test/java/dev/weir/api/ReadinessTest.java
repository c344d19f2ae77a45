package dev.weir.api;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.config.WeirConfig;
import dev.weir.processor.policy.PolicyRegistry;
import dev.weir.runtime.Enforcer;
import dev.weir.runtime.Health;
import dev.weir.testing.TestBroker;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When an instance is ready, and what it lacks until then. */
@Tag("full")
class ReadinessTest {

    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final String REQUEST = "{\"client\":\"first\"}";

    @TempDir
    static Path directory;

    private static JsonNode ready(Caller caller, int status) throws Exception {
        Reply reply = caller.get("/health/ready");
        assertThat(reply.status()).isEqualTo(status);
        return reply.json();
    }

    @Test
    void an_instance_without_brokers_is_not_ready_if_somebody_may_decide_over_http() throws Exception {
        WeirConfig closed = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", "127.0.0.1:1").toBuilder()
                .service(WeirConfig.DEFAULTS.service().withPort(0))
                .build();
        for (boolean decides : new boolean[] {true, false}) {
            Map<String, String> tokens = decides ? Map.of("WEIR_DECIDE_TOKEN", "token-of-a-gateway") : Map.of();
            try (WeirService service = WeirService.open(closed, tokens)) {
                service.setHealth(() -> Health.RUNNING);
                Caller caller = Caller.of(service.port(), null);
                assertThat(ready(caller, 503).get("missing").get(0).asText())
                        .isEqualTo("the HTTP API waits for the enforcer");
                service.attachEnforcer(new PolicyRegistry(), new FixedAnswers());
                if (decides) {
                    JsonNode problem = ready(caller, 503);
                    assertThat(problem.get("detail").asText()).isEqualTo("the enforcer is starting");
                    assertThat(problem.get("missing").toString())
                            .isEqualTo("[\"POST /v1/decide has no connection to the brokers yet\"]");
                    assertThat(service.awaitDeciding(Duration.ofMillis(1))).isFalse();
                } else {
                    assertThat(ready(caller, 200).toString()).isEqualTo("{\"status\":\"RUNNING\"}");
                    assertThat(service.awaitDeciding(Duration.ofMillis(1))).isTrue();
                }
                assertThat(caller.get("/health/live").text()).doesNotContain("missing");
            }
        }
    }

    @Test
    void a_ready_instance_has_a_connection_and_decides_the_first_request() throws Exception {
        WeirConfig config = DecidingInstance.config(WeirConfig.builder()
                .named("ready")
                .topics("ready.", 2)
                .kafka(TestBroker.clientSettings())
                .build()
                .withStateDirectory(directory));
        try (WeirService service = WeirService.open(config, Map.of())) {
            Caller caller = Caller.of(service.port(), null);
            Enforcer enforcer = Enforcer.create(config, Optional.of(service.address()));
            try (enforcer) {
                service.setHealth(enforcer::health, enforcer::missing);
                service.setMetrics(() -> "");
                assertThat(ready(caller, 503).get("missing"))
                        .map(JsonNode::asText)
                        .contains(
                                "deciding (" + config.applicationId() + ") is CREATED",
                                "shaping (" + config.applicationId() + "-shaping) is CREATED");
                enforcer.begin();
                enforcer.awaitRunning(PATIENCE);
                service.attachEnforcer(enforcer.policies(), enforcer.queries());
                await("/v1/decide is connected", PATIENCE, () -> service.awaitDeciding(Duration.ofSeconds(1)));
                await(
                        "the instance is ready",
                        PATIENCE,
                        () -> caller.get("/health/ready").status() == 200);
                assertThat(caller.post("/v1/decide?timeout=10s", REQUEST)
                                .json()
                                .get("outcome")
                                .asText())
                        .isEqualTo("ALLOWED");
            }
        }
    }
}
