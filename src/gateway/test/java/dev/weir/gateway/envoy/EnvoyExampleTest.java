package dev.weir.gateway.envoy;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import com.google.protobuf.Any;
import com.google.protobuf.TypeRegistry;
import com.google.protobuf.util.JsonFormat;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Request;
import dev.weir.gateway.envoy.mapping.CallDescriptor;
import dev.weir.gateway.envoy.mapping.DescriptorEntry;
import dev.weir.gateway.envoy.mapping.DescriptorMapping;
import dev.weir.gateway.envoy.mapping.EnvoyMapping;
import dev.weir.gateway.envoy.mapping.MappedRequest;
import dev.weir.gateway.envoy.mapping.RateLimitCall;
import dev.weir.policy.Policy;
import io.envoyproxy.envoy.config.bootstrap.v3.Bootstrap;
import io.envoyproxy.envoy.config.cluster.v3.Cluster;
import io.envoyproxy.envoy.config.route.v3.RateLimit;
import io.envoyproxy.envoy.config.route.v3.RateLimit.Action;
import io.envoyproxy.envoy.extensions.access_loggers.stream.v3.StdoutAccessLog;
import io.envoyproxy.envoy.extensions.filters.http.router.v3.Router;
import io.envoyproxy.envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager;
import io.envoyproxy.envoy.extensions.upstreams.http.v3.HttpProtocolOptions;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Parses the example for Envoy with Envoy's own API, since Envoy itself is not available to tests. */
class EnvoyExampleTest {

    private static final Path EXAMPLE = Path.of("src/deploy/proxies/envoy-rate-limit.yaml");
    private static final Path GUIDE = Path.of("topology-docs/how-to/proxies.md");
    private static final Path REFERENCE = Path.of("topology-docs/reference/gateway.md");
    private static final Pattern YAML = Pattern.compile("(?s)```yaml\n(.*?)```");

    private static Bootstrap bootstrap() throws Exception {
        String json = new ObjectMapper().writeValueAsString(new YAMLMapper().readTree(Files.readString(EXAMPLE)));
        TypeRegistry types = TypeRegistry.newBuilder()
                .add(HttpConnectionManager.getDescriptor())
                .add(StdoutAccessLog.getDescriptor())
                .add(Router.getDescriptor())
                .add(HttpProtocolOptions.getDescriptor())
                .add(io.envoyproxy.envoy.extensions.filters.http.ratelimit.v3.RateLimit.getDescriptor())
                .build();
        Bootstrap.Builder bootstrap = Bootstrap.newBuilder();
        JsonFormat.parser().usingTypeRegistry(types).merge(json, bootstrap);
        return bootstrap.build();
    }

    private static HttpConnectionManager manager(Bootstrap bootstrap) throws Exception {
        Any filter = bootstrap
                .getStaticResources()
                .getListeners(0)
                .getFilterChains(0)
                .getFilters(0)
                .getTypedConfig();
        return filter.unpack(HttpConnectionManager.class);
    }

    private static List<RateLimit> rateLimits() throws Exception {
        return manager(bootstrap())
                .getRouteConfig()
                .getVirtualHosts(0)
                .getRoutes(0)
                .getRoute()
                .getRateLimitsList();
    }

    @Test
    void the_filter_uses_the_cluster_of_the_gateway() throws Exception {
        Bootstrap bootstrap = bootstrap();
        var filter = manager(bootstrap)
                .getHttpFilters(0)
                .getTypedConfig()
                .unpack(io.envoyproxy.envoy.extensions.filters.http.ratelimit.v3.RateLimit.class);
        String name =
                filter.getRateLimitService().getGrpcService().getEnvoyGrpc().getClusterName();
        Cluster cluster = bootstrap.getStaticResources().getClustersList().stream()
                .filter(one -> one.getName().equals(name))
                .findFirst()
                .orElseThrow();
        assertThat(cluster.getTypedExtensionProtocolOptionsOrThrow(
                                "envoy.extensions.upstreams.http.v3.HttpProtocolOptions")
                        .unpack(HttpProtocolOptions.class)
                        .getExplicitHttpConfig()
                        .hasHttp2ProtocolOptions())
                .isTrue();
        assertThat(cluster.getHealthChecks(0).getGrpcHealthCheck().getServiceName())
                .isEqualTo("envoy.service.ratelimit.v3.RateLimitService");
        Duration timeout = Duration.ofSeconds(
                filter.getTimeout().getSeconds(), filter.getTimeout().getNanos());
        assertThat(timeout.multipliedBy(9).dividedBy(10)).isGreaterThan(DescriptorMapping.DEFAULTS.timeout());
        assertThat(manager(bootstrap).getUseRemoteAddress().getValue()).isTrue();
        assertThat(filter.getDomain()).isEqualTo("edge");
    }

    /** The descriptors of the example, with values, match the policies of the guide. */
    @Test
    void each_descriptor_matches_a_policy_of_the_guide() throws Exception {
        List<Policy> policies = policies();
        List<CallDescriptor> descriptors = new ArrayList<>();
        for (RateLimit limit : rateLimits()) {
            List<DescriptorEntry> entries = new ArrayList<>();
            for (Action action : limit.getActionsList()) {
                entries.add(
                        action.hasRemoteAddress()
                                ? new DescriptorEntry("remote_address", "10.0.0.7")
                                : new DescriptorEntry(action.getRequestHeaders().getDescriptorKey(), "/search?q=1"));
            }
            descriptors.add(new CallDescriptor(entries, 1, false));
        }
        List<MappedRequest> requests = EnvoyMapping.DEFAULTS.map(new RateLimitCall("edge", descriptors), () -> "id");
        List<String> matched = new ArrayList<>();
        for (MappedRequest mapped : requests) {
            Request request = mapped.request();
            policies.stream()
                    .filter(policy -> policy.match().matches(request))
                    .forEach(policy -> matched.add(policy.id()));
        }
        assertThat(matched).containsExactly("per-address", "per-key-search");
    }

    private static List<Policy> policies() throws Exception {
        String policies = blocks(GUIDE, "policies:").stream()
                .filter(block -> block.contains("domain: edge"))
                .findFirst()
                .orElseThrow();
        return PolicyFile.read("proxies.md", policies).policies().stream()
                .map(PolicyFile.Definition.PolicyDefinition::policy)
                .toList();
    }

    /** The headers and the metadata of the reference name the policies of the guide and their limits. */
    @Test
    void the_reference_shows_responses_of_the_policies_of_the_guide() throws Exception {
        List<String> headers = new ArrayList<>();
        List<String> labels = new ArrayList<>();
        for (Policy policy : policies()) {
            Policy.Term term = policy.terms().get(0);
            long windowSeconds = term.limit().ratePeriodMs(0) / 1_000;
            headers.add("\"" + policy.id() + "\";q=" + term.limit().rateTokens() + ";w=" + windowSeconds);
            labels.add(policy.id() + " " + term.label());
        }
        String page = Files.readString(REFERENCE);
        assertThat(page).contains("\nratelimit-policy: " + String.join(", ", headers) + "\n");
        int start = page.indexOf("```json\n") + "```json\n".length();
        JsonNode metadata = new ObjectMapper().readTree(page.substring(start, page.indexOf("```", start)));
        List<String> shown = new ArrayList<>();
        metadata.get("descriptors")
                .forEach(descriptor -> shown.add(descriptor.get("policy").asText() + " "
                        + descriptor.get("limit").asText()));
        assertThat(shown).isEqualTo(labels);
    }

    @Test
    void the_guide_shows_the_descriptors_of_the_example() throws Exception {
        String shown = blocks(GUIDE, "rate_limits:").get(0);
        String json = new ObjectMapper()
                .writeValueAsString(new YAMLMapper().readTree(shown).get("rate_limits"));
        var route = io.envoyproxy.envoy.config.route.v3.RouteAction.newBuilder();
        JsonFormat.parser().merge("{\"rate_limits\":" + json + "}", route);
        assertThat(route.getRateLimitsList()).isEqualTo(rateLimits());
    }

    @Test
    void the_reference_shows_the_defaults_of_the_configuration() throws Exception {
        List<String> sections = blocks(REFERENCE, "gateway:");
        assertThat(sections).hasSize(2);
        for (String section : sections) {
            String keys = new YAMLMapper()
                    .writeValueAsString(
                            new YAMLMapper().readTree(section).get("gateway").get("envoy"));
            EnvoyConfig config = SectionText.read(keys);
            if (section.equals(sections.get(0))) {
                assertThat(config).isEqualTo(EnvoyConfig.DEFAULTS);
            } else {
                assertThat(config.mapping().rules()).hasSize(2);
            }
        }
    }

    private static List<String> blocks(Path page, String start) throws Exception {
        return YAML.matcher(Files.readString(page))
                .results()
                .map((MatchResult block) -> block.group(1))
                .filter(block -> block.startsWith(start))
                .toList();
    }
}
