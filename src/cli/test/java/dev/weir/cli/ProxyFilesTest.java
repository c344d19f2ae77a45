package dev.weir.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import dev.weir.gateway.GatewayConfig;
import dev.weir.gateway.GatewayFile;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.SecretKeySelector;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.ServiceSpec;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.networking.v1.NetworkPolicy;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import io.fabric8.openshift.api.model.monitoring.v1.Endpoint;
import io.fabric8.openshift.api.model.monitoring.v1.ServiceMonitor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** The files for proxies that no test runs: they are valid and fit together. */
class ProxyFilesTest {

    private static final Path FILES = Path.of("src", "deploy", "proxies");
    private static final Map<String, Class<? extends HasMetadata>> KINDS = Map.of(
            "ConfigMap", ConfigMap.class,
            "Deployment", Deployment.class,
            "Service", Service.class,
            "NetworkPolicy", NetworkPolicy.class,
            "PodDisruptionBudget", PodDisruptionBudget.class);

    private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory())
            .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .setAnnotationIntrospector(new JacksonAnnotationIntrospector() {
                /** The types accept unknown properties by setters. Without these, they are errors. */
                @Override
                public Boolean hasAnySetter(Annotated annotated) {
                    return false;
                }
            });

    private static String text(String file) throws IOException {
        return Files.readString(FILES.resolve(file));
    }

    @Test
    void the_gateway_of_the_recipes_has_a_valid_configuration() throws Exception {
        GatewayConfig config =
                GatewayFile.read("gateway.yaml", text("gateway.yaml")).gateway();
        assertThat(config.httpPort()).isEqualTo(GatewayConfig.DEFAULT_HTTP_PORT);
    }

    @ParameterizedTest
    @ValueSource(strings = {"nginx.conf", "Caddyfile", "traefik.yaml"})
    void a_proxy_asks_the_port_of_the_gateway(String file) throws IOException {
        assertThat(text(file))
                .contains("127.0.0.1:" + GatewayConfig.DEFAULT_HTTP_PORT)
                .contains("/v1/authorize");
    }

    /** The statuses of requests that may not pass, besides 403, which is the default. */
    @ParameterizedTest
    @ValueSource(ints = {200, 400, 401, 413, 422, 429, 500, 503})
    void nginx_passes_on_each_status_of_the_gateway(int status) throws IOException {
        assertThat(text("nginx.conf"))
                .containsPattern(
                        "if \\(\\$weir_status = " + status + "\\) \\{\\s+return " + status + " \"[^\"]*\";\\s+}");
    }

    @Test
    void traefik_uses_the_middleware_that_it_defines() throws IOException {
        JsonNode http = YAML.readTree(text("traefik.yaml")).get("http");
        String middleware = http.at("/routers/application/middlewares/0").asText();
        assertThat(http.at("/middlewares/" + middleware + "/forwardAuth/address")
                        .asText())
                .isEqualTo("http://127.0.0.1:" + GatewayConfig.DEFAULT_HTTP_PORT + "/v1/authorize");
        assertThat(http.get("services")
                        .has(http.at("/routers/application/service").asText()))
                .isTrue();
    }

    @Test
    void envoy_uses_the_clusters_that_it_defines() throws IOException {
        JsonNode resources = YAML.readTree(text("envoy.yaml")).get("static_resources");
        List<String> clusters = resources.get("clusters").findValuesAsText("name");
        assertThat(clusters).containsExactly("weir", "application");
        assertThat(clusters).containsAll(resources.get("listeners").findValuesAsText("cluster"));
        assertThat(resources.at("/clusters/0").findValue("port_value").asInt())
                .isEqualTo(GatewayConfig.DEFAULT_HTTP_PORT);
        JsonNode filter = resources.at("/listeners/0/filter_chains/0/filters/0/typed_config/http_filters/0");
        assertThat(filter.at("/typed_config/http_service/path_prefix").asText()).isEqualTo("/v1/authorize");
    }

    @Test
    void the_manifests_are_valid_and_fit_together() throws Exception {
        List<HasMetadata> manifests = manifests();
        assertThat(manifests)
                .extracting(one -> one.getMetadata().getName())
                .containsOnly("weir-gateway", "weir-gateway-pods")
                .hasSize(KINDS.size() + 1);
        ConfigMap map = one(manifests, ConfigMap.class);
        Deployment deployment = one(manifests, Deployment.class);
        GatewayFile.Contents contents =
                GatewayFile.read("gateway.yaml", map.getData().get("gateway.yaml"));
        Container container =
                deployment.getSpec().getTemplate().getSpec().getContainers().get(0);
        int port = container.getPorts().get(0).getContainerPort();
        assertThat(contents.gateway().httpPort()).isEqualTo(port);
        assertThat(one(manifests, Service.class).getSpec().getPorts().get(0).getPort())
                .isEqualTo(port);
        assertThat(one(manifests, NetworkPolicy.class)
                        .getSpec()
                        .getIngress()
                        .get(0)
                        .getPorts()
                        .get(0)
                        .getPort()
                        .getIntVal())
                .isEqualTo(port);
        Map<String, String> labels =
                deployment.getSpec().getTemplate().getMetadata().getLabels();
        assertThat(deployment.getSpec().getSelector().getMatchLabels()).isEqualTo(labels);
        assertThat(one(manifests, Service.class).getSpec().getSelector()).isEqualTo(labels);
        assertThat(manifests)
                .filteredOn(Service.class::isInstance)
                .extracting(one -> ((Service) one).getSpec())
                .allSatisfy(spec -> assertThat(spec.getSelector()).isEqualTo(labels))
                .extracting(ServiceSpec::getClusterIP)
                .containsExactly(null, "None"); // the enforcers resolve the second to all pods
        assertThat(one(manifests, NetworkPolicy.class)
                        .getSpec()
                        .getPodSelector()
                        .getMatchLabels())
                .isEqualTo(labels);
        assertThat(contents.gateway().drain().toSeconds())
                .isLessThan(deployment.getSpec().getTemplate().getSpec().getTerminationGracePeriodSeconds() - 10);
        assertThat(new CommandLine(new Main())
                        .setCaseInsensitiveEnumValuesAllowed(true)
                        .parseArgs(container.getArgs().toArray(String[]::new))
                        .subcommand()
                        .commandSpec()
                        .name())
                .isEqualTo("gateway");
    }

    @Test
    void the_monitor_selects_the_service_of_the_manifests_and_its_token() throws Exception {
        ServiceMonitor monitor = YAML.readValue(text("gateway-monitor.yaml"), ServiceMonitor.class);
        Service service = one(manifests(), Service.class);
        assertThat(service.getMetadata().getLabels())
                .containsAllEntriesOf(monitor.getSpec().getSelector().getMatchLabels());
        Endpoint endpoint = monitor.getSpec().getEndpoints().get(0);
        assertThat(service.getSpec().getPorts())
                .anyMatch(port -> port.getName().equals(endpoint.getPort()) && port.getPort() == 8690);
        assertThat(endpoint.getRelabelings().get(0).getReplacement()).isEqualTo("weir-gateway"); // as in alerts.yaml
        SecretKeySelector token = endpoint.getAuthorization().getCredentials();
        assertThat(one(manifests(), Deployment.class)
                        .getSpec()
                        .getTemplate()
                        .getSpec()
                        .getContainers()
                        .get(0)
                        .getEnv())
                .anyMatch(variable -> variable.getName().equals("WEIR_READ_TOKEN")
                        && variable.getValueFrom().getSecretKeyRef().getName().equals(token.getName())
                        && variable.getValueFrom().getSecretKeyRef().getKey().equals(token.getKey()));
    }

    private static List<HasMetadata> manifests() throws IOException {
        List<HasMetadata> manifests = new ArrayList<>();
        try (MappingIterator<JsonNode> documents =
                YAML.readerFor(JsonNode.class).readValues(text("gateway-kubernetes.yaml"))) {
            while (documents.hasNext()) {
                JsonNode document = documents.next();
                manifests.add(YAML.treeToValue(
                        document, KINDS.get(document.get("kind").asText())));
            }
        }
        return manifests;
    }

    private static <T extends HasMetadata> T one(List<HasMetadata> manifests, Class<T> kind) {
        return manifests.stream()
                .filter(kind::isInstance)
                .map(kind::cast)
                .findFirst()
                .orElseThrow();
    }
}
