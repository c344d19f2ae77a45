package dev.weir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.config.WeirConfig;
import dev.weir.definition.PolicyFile;
import dev.weir.event.Request;
import dev.weir.http.PathRules;
import dev.weir.policy.Policy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The recipe for limits by key and by address: its route makes requests that its policies match. */
class ProxyGuideTest {

    private static final Path GUIDE = Path.of("topology-docs/how-to/proxies.md");

    private static String block(String section, String key) throws Exception {
        String page = Files.readString(GUIDE);
        return Pattern.compile("(?s)```yaml\n(" + key + ":.*?)```")
                .matcher(page.substring(page.indexOf("## " + section)))
                .results()
                .findFirst()
                .orElseThrow()
                .group(1);
    }

    @Test
    void keys_and_addresses_are_limited_both() throws Exception {
        String section = "Limit keys and addresses";
        GatewayConfig gateway =
                GatewayFile.read("proxies.md", block(section, "gateway")).gateway();
        List<Policy> policies = PolicyFile.read("proxies.md", block(section, "policies")).policies().stream()
                .map(PolicyFile.Definition.PolicyDefinition::policy)
                .toList();
        for (Map<String, String> headers : List.of(Map.of("x-api-key", "k1"), Map.<String, String>of())) {
            ProxiedRequest proxied = ProxiedRequest.of(
                    "GET",
                    "/api/articles?page=2",
                    "api.example",
                    PathRules.DEFAULTS,
                    () -> "192.0.2.1",
                    name -> headers.containsKey(name) ? List.of(headers.get(name)) : List.of());
            Request request = gateway.route(proxied)
                    .templates()
                    .toRequest(proxied, WeirConfig.DEFAULTS.requests().rules(), () -> "new");
            assertThat(request.client()).isEqualTo(headers.getOrDefault("x-api-key", "192.0.2.1"));
            assertThat(request.attributes()).containsEntry("address", "192.0.2.1");
            assertThat(policies).allMatch(policy -> policy.match().matches(request));
        }
        assertThat(policies).extracting(Policy::layer).doesNotHaveDuplicates().hasSize(2);
        assertThat(policies.get(1).key()).containsExactly("address");
    }
}
