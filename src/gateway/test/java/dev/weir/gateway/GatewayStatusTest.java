package dev.weir.gateway;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.weir.api.Caller;
import dev.weir.api.WeirService;
import dev.weir.config.WeirConfig;
import dev.weir.config.WeirConfig.Service;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What an enforcer's service shows of the gateways that its configuration names. */
@Tag("slow")
class GatewayStatusTest {

    private static final Map<String, String> TOKEN = Map.of(Service.TOKEN_VARIABLE, "token-of-this-cluster");

    @Test
    void the_service_lists_the_gateways_with_their_counts_or_why_there_are_none() throws Exception {
        GatewayConfig anyPort = GatewayConfig.DEFAULTS.withHttpPort(0);
        WeirConfig config = SharedWeir.get().config();
        WeirConfig closed = config.toBuilder()
                .service(Service.DEFAULTS.withReadToken(Service.TokenRule.REQUIRED))
                .build();
        try (Gateway gateway = Gateway.open(config, anyPort, TOKEN);
                Gateway other = Gateway.open(closed, anyPort, Map.of(Service.TOKEN_VARIABLE, "token-of-another-one"));
                WeirService service = WeirService.open(
                        config.toBuilder()
                                .service(Service.DEFAULTS
                                        .withPort(0)
                                        .withGateways(List.of(address(gateway), address(other), "127.0.0.1:1")))
                                .build(),
                        TOKEN)) {
            await("the gateway has reached the broker", SharedWeir.PATIENCE, gateway::isConnected);
            Caller proxy = Caller.unchecked(gateway.httpPort());
            await(
                    "a request is decided",
                    SharedWeir.PATIENCE,
                    () -> proxy.get("/v1/authorize/status").header("X-Weir-Fallback") == null);
            Caller operator = Caller.of(service.port(), null); // checks the response against the description
            await(
                    "the decision is shown",
                    SharedWeir.PATIENCE,
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
