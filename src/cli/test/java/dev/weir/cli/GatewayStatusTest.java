package dev.weir.cli;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.api.Caller;
import dev.weir.api.WeirService;
import dev.weir.config.WeirConfig;
import dev.weir.config.WeirConfig.Service;
import dev.weir.gateway.Gateway;
import dev.weir.gateway.GatewayConfig;
import dev.weir.kafka.KafkaSettings;
import dev.weir.runtime.Enforcer;
import dev.weir.testing.TestBroker;
import dev.weir.topics.TopicSetup;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an enforcer's service shows of the gateways that its configuration names. */
@Tag("full")
class GatewayStatusTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final Map<String, String> TOKEN = Map.of(Service.TOKEN_VARIABLE, "token-of-this-cluster");

    @TempDir
    Path directory;

    @Test
    void the_service_lists_the_gateways_with_their_counts_or_why_there_are_none() throws Exception {
        GatewayConfig anyPort = GatewayConfig.DEFAULTS.withHttpPort(0);
        WeirConfig config = WeirConfig.builder()
                .named("gateways")
                .topics("gateways.", 1)
                .kafka(TestBroker.clientSettings())
                .stateDirectory(directory)
                .build();
        try (Admin admin = Admin.create(KafkaSettings.admin(config))) {
            TopicSetup.createMissing(admin, config, TopicSetup.RequestTime.LOG_APPEND);
        }
        WeirConfig closed = config.toBuilder()
                .service(Service.DEFAULTS.withReadToken(Service.TokenRule.REQUIRED))
                .build();
        try (Enforcer enforcer = Enforcer.start(config);
                Gateway gateway = Gateway.open(config, anyPort, TOKEN);
                Gateway other = Gateway.open(closed, anyPort, Map.of(Service.TOKEN_VARIABLE, "token-of-another-one"));
                WeirService service = WeirService.open(
                        config.toBuilder()
                                .service(Service.DEFAULTS
                                        .withPort(0)
                                        .withGateways(List.of(address(gateway), address(other), "127.0.0.1:1")))
                                .build(),
                        TOKEN)) {
            enforcer.awaitRunning(PATIENCE);
            await("the gateway has reached the broker", PATIENCE, gateway::isConnected);
            Caller proxy = Caller.unchecked(gateway.httpPort());
            await(
                    "a request is decided",
                    PATIENCE,
                    () -> proxy.get("/v1/authorize/status").header("X-Weir-Fallback") == null);
            Caller operator = Caller.of(service.port(), null); // checks the response against the description
            await(
                    "the decision is shown",
                    PATIENCE,
                    () -> operator.get("/v1/gateways")
                                    .json()
                                    .at("/gateways/0/status/decidedByTopics")
                                    .asInt()
                            > 0);
            JsonNode gateways = operator.get("/v1/gateways").json().get("gateways");
            assertThat(gateways.findValuesAsText("address"))
                    .containsExactly(address(gateway), address(other), "127.0.0.1:1");
            assertThat(gateways.at("/0/status/status").asText()).isEqualTo("RUNNING");
            assertThat(gateways.at("/0/status/circuit").asText()).isEqualTo("CLOSED");
            assertThat(gateways.at("/0/status/leaseCircuit").asText()).isEqualTo("CLOSED");
            assertThat(gateways.at("/0/status/shed").asInt()).isZero();
            assertThat(gateways.at("/0/failure").isNull()).isTrue();
            assertThat(gateways.at("/1/failure").asText()).isEqualTo("it responded with status 401");
            assertThat(gateways.at("/2/failure").asText()).isEqualTo("it does not respond");
            assertThat(gateways.at("/2/status").isNull()).isTrue();
        }
    }

    private static String address(Gateway gateway) {
        return "127.0.0.1:" + gateway.httpPort();
    }
}
