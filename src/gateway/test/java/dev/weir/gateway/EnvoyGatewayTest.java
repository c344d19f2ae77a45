package dev.weir.gateway;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.api.Caller;
import dev.weir.config.ConfigFile;
import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.gateway.envoy.EnvoyCalls;
import dev.weir.gateway.envoy.proto.RateLimitResponse;
import dev.weir.gateway.envoy.proto.RateLimitResponse.Code;
import dev.weir.gateway.envoy.proto.RateLimitServiceGrpc;
import dev.weir.kafka.UnreachableException;
import dev.weir.rules.PolicyTopic;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Calls Envoy's rate limit service of a gateway, with a real broker and an enforcer. */
@Tag("full")
class EnvoyGatewayTest {

    private static GatewayConfig section(String yaml) throws Exception {
        return GatewayFile.read("gateway.yaml", yaml).gateway();
    }

    private static RateLimitResponse ask(Gateway gateway, String... pairs) throws InterruptedException {
        ManagedChannel channel = EnvoyCalls.channel(gateway.grpcPort());
        try {
            return RateLimitServiceGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(30, TimeUnit.SECONDS)
                    .shouldRateLimit(EnvoyCalls.request(EnvoyCalls.descriptor(pairs)));
        } finally {
            channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
        }
    }

    @Test
    void calls_are_decided_by_weir_and_counted() throws Exception {
        try (Gateway gateway = SharedWeir.get().open(section("gateway: {envoy: {timeout: 10s}}"))) {
            for (int remaining = 2; remaining >= 0; remaining--) {
                RateLimitResponse allowed = ask(gateway, "path", "/three/envoy", "user_id", "envoy-1");
                assertThat(allowed.getOverallCode()).isEqualTo(Code.OK);
                assertThat(allowed.getStatuses(0).getLimitRemaining()).isEqualTo(remaining);
            }
            assertThat(ask(gateway, "path", "/three/envoy", "user_id", "envoy-1")
                            .getOverallCode())
                    .isEqualTo(Code.OVER_LIMIT);
            assertThat(Caller.unchecked(gateway.httpPort()).get("/metrics").text())
                    .contains("weir_envoy_calls_total{result=\"OK\"} 3.0")
                    .contains("weir_envoy_calls_total{result=\"OVER_LIMIT\"} 1.0")
                    .contains("weir_envoy_duration_seconds_count 4")
                    .contains("weir_envoy_in_flight 0.0");
        }
    }

    private static List<String> series(Caller caller) throws Exception {
        return caller.get("/metrics")
                .text()
                .lines()
                .filter(line -> line.startsWith("weir_"))
                .map(line -> line.substring(0, line.lastIndexOf(' ')))
                .toList();
    }

    /** Whatever callers send, by HTTP or gRPC, is no label of a metric. */
    @Test
    void invented_names_are_no_labels() throws Exception {
        try (Gateway gateway = SharedWeir.get().open(section("gateway: {envoy: {timeout: 10s}}"))) {
            Caller caller = Caller.unchecked(gateway.httpPort());
            List<String> before = List.of();
            for (int i = 0; i < 60; i++) {
                String name = "invented" + i;
                ask(gateway, name, name, "path", "/" + name, "user_id", name);
                caller.get(
                        "/v1/authorize/" + name + "?" + name + "=1",
                        "X-Api-Key: " + name,
                        "X-Forwarded-Method: " + name.toUpperCase(Locale.ROOT),
                        "X-Forwarded-Uri: /" + name,
                        "X-Forwarded-Host: " + name + ".example");
                caller.post(
                        "/v1/decide?timeout=10s",
                        "{\"client\":\"" + name + "\",\"tier\":\"" + name + "\",\"attributes\":{\"" + name
                                + "\":\"x\"}}");
                caller.get("/" + name);
                before = i == 2 ? series(caller) : before;
            }
            assertThat(series(caller))
                    .containsExactlyInAnyOrderElementsOf(before)
                    .noneMatch(line -> line.contains("invented"));
        }
    }

    /** The policies of the guide are what {@code weir policies import-envoy} writes, as another test checks. */
    @Test
    void imported_policies_apply_without_a_configuration_of_the_gateway() throws Exception {
        String policies = Pattern.compile("(?s)```yaml\n(policies:.*?)```")
                .matcher(Files.readString(Path.of("topology-docs/how-to/migrate.md")))
                .results()
                .findFirst()
                .orElseThrow()
                .group(1);
        new PolicyTopic(SharedWeir.get().config())
                .apply(PolicyFile.read("imported.yaml", policies), PolicyTopic.Options.DEFAULTS, 0);
        try (Gateway gateway = SharedWeir.get().open(GatewayConfig.DEFAULTS)) {
            await("the policies are in force", SharedWeir.PATIENCE, () -> limit(gateway, "none")
                    .hasCurrentLimit());
            for (int i = 0; i < 5; i++) {
                assertThat(limit(gateway, "2061234567").getCode()).isEqualTo(Code.OK);
            }
            assertThat(limit(gateway, "2061234567").getCode()).isEqualTo(Code.OVER_LIMIT);
            assertThat(limit(gateway, "2069876543").getCode()).isEqualTo(Code.OK);
            assertThat(limit(gateway, "2061234567", "country", "us").hasCurrentLimit())
                    .as("a descriptor with a further key")
                    .isFalse();
        }
    }

    /** Returns the status of a message to a number, and of further entries. */
    private static RateLimitResponse.DescriptorStatus limit(Gateway gateway, String number, String... more)
            throws InterruptedException {
        List<String> pairs = new ArrayList<>(List.of("message_type", "marketing", "to_number", number));
        pairs.addAll(List.of(more));
        return ask(gateway, pairs.toArray(String[]::new)).getStatuses(0);
    }

    @Test
    void leased_policies_are_decided_in_the_gateway() throws Exception {
        try (Gateway gateway = SharedWeir.get().open(section("gateway: {envoy: {timeout: 10s}}"))) {
            for (int i = 0; i < 5; i++) {
                assertThat(ask(gateway, "path", "/leased/envoy", "user_id", "envoy-2")
                                .getOverallCode())
                        .isEqualTo(Code.OK);
            }
            assertThat(Caller.unchecked(gateway.httpPort()).get("/metrics").text())
                    .containsPattern("weir_client_requests_total\\{result=\"DECIDED_HERE\"\\} [1-9]");
        }
    }

    @Test
    void without_brokers_the_fallback_answers() throws Exception {
        GatewayConfig config = section("gateway: {http-port: 0, envoy: {timeout: 50ms, on-timeout: deny}}");
        try (Gateway gateway = Gateway.open(
                SharedWeir.get().config().toBuilder()
                        .kafka(Map.of("bootstrap.servers", "localhost:1"))
                        .build(),
                config,
                Map.of())) {
            RateLimitResponse response = ask(gateway, "path", "/three/envoy");
            assertThat(response.getOverallCode()).isEqualTo(Code.OVER_LIMIT);
            assertThat(response.getResponseHeadersToAdd(0).getKey()).isEqualTo("x-weir-fallback");
        }
    }

    /** Envoy passes a request whose call fails, and its path is chosen by its sender. */
    @Test
    void a_value_above_the_configured_length_does_not_make_the_call_fail() throws Exception {
        WeirConfig weir = ConfigFile.read(
                "weir.yaml",
                "{kafka: {bootstrap.servers: 'localhost:1'}, requests: {max-attribute-length: 256}}",
                Map.of());
        GatewayConfig config = section("gateway: {http-port: 0, envoy: {timeout: 50ms, on-timeout: deny}}");
        try (Gateway gateway = Gateway.open(weir, config, Map.of())) {
            assertThat(ask(gateway, "path", "/three/" + "a".repeat(300)).getOverallCode())
                    .isEqualTo(Code.OVER_LIMIT);
        }
    }

    @Test
    void only_trusted_proxies_are_accepted() throws Exception {
        try (Gateway gateway = SharedWeir.get().open(section("gateway: {trusted-proxies: [10.0.0.0/8]}"))) {
            assertThatThrownBy(() -> ask(gateway, "path", "/three/envoy"))
                    .isInstanceOfSatisfying(
                            StatusRuntimeException.class,
                            e -> assertThat(e.getStatus().getCode()).isNotEqualTo(Status.Code.DEADLINE_EXCEEDED));
        }
    }

    @Test
    void a_port_that_is_taken_is_named() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            GatewayConfig config = GatewayConfig.DEFAULTS.withHttpPort(0).withGrpcPort(taken.getLocalPort());
            assertThatThrownBy(() -> Gateway.open(SharedWeir.get().config(), config, Map.of()))
                    .isInstanceOf(UnreachableException.class)
                    .hasMessage("gateway.grpc-port: cannot listen at 127.0.0.1:" + taken.getLocalPort()
                            + ": Address already in use (another instance may be running; set another port with"
                            + " --grpc-port)");
        }
    }
}
