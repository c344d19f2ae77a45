package dev.weir.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.client.Fallback;
import dev.weir.config.ConfigFile;
import dev.weir.event.Request;
import dev.weir.fault.FaultsException;
import dev.weir.http.PathRules;
import dev.weir.policy.RequestRules;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The configuration file of a gateway, its faults, and the requests that its routes make. */
class GatewayFileTest {

    private static final RequestRules RULES = new RequestRules(1_000, 64, 10, 1_000);

    private static final String FILE = """
            application-id: limits
            topics: {prefix: limits.}
            kafka: {bootstrap.servers: "kafka-1:9092"}
            service: {host: 0.0.0.0}
            gateway:
              http-port: 9000
              max-connections: 100
              drain: 5s
              trusted-proxies: [10.0.0.0/8, "::1"]
              ipv6-prefix: 56
              original-request: x-original
              paths: {encoded-slash: keep, double-slash: reject, fold-case: true}
              on-overload: fallback
              routes:
                - id: uploads
                  match: {host: ["*.example.com"], path: /uploads/**, method: [PUT, POST]}
                  client: "{header.x-user}"
                  tier: "{header.x-plan|'free'}"
                  attributes: {endpoint: "{path}", long: "0123456789abc", none: "{query.none}"}
                  cost: "{header.x-cost}"
                  request-id: "{header.x-request-id}"
                  timeout: 50ms
                  on-timeout: deny
                - id: rest
                  match: {path: "/**"}
            """;

    private static ProxiedRequest request(String method, String target, Map<String, String> headers) {
        return ProxiedRequest.of(method, target, "files.example.com", PathRules.DEFAULTS, () -> "192.0.2.1", name -> {
            String value = headers.get(name.toLowerCase(Locale.ROOT));
            return value == null ? List.of() : List.of(value);
        });
    }

    @Test
    void each_setting_is_read() throws Exception {
        GatewayFile.Contents contents = GatewayFile.read("gateway.yaml", FILE);
        assertThat(contents.weir().applicationId()).isEqualTo("limits");
        assertThat(contents.weir().kafka()).containsEntry("bootstrap.servers", "kafka-1:9092");
        GatewayConfig gateway = contents.gateway();
        assertThat(gateway.httpPort()).isEqualTo(9000);
        assertThat(gateway.maxConnections()).isEqualTo(100);
        assertThat(gateway.drain()).isEqualTo(Duration.ofSeconds(5));
        assertThat(gateway.proxies().address().ipv6PrefixLength()).isEqualTo(56);
        assertThat(gateway.proxies().address().trusted())
                .containsExactly(AddressRange.parse("10.0.0.0/8"), AddressRange.parse("::1/128"));
        assertThat(gateway.proxies().original()).isEqualTo(OriginalRequest.X_ORIGINAL);
        assertThat(gateway.proxies().paths())
                .isEqualTo(new PathRules(PathRules.EncodedSlash.KEEP, PathRules.DoubleSlash.REJECT, true));
        assertThat(gateway.answers().fallbackOnOverload()).isTrue();
        assertThat(gateway.routes()).extracting(AuthorizeRoute::id).containsExactly("uploads", "rest");
        assertThat(gateway.routes().get(0).timeout()).isEqualTo(Duration.ofMillis(50));
        assertThat(gateway.routes().get(0).onTimeout()).isEqualTo(Fallback.FAIL_CLOSED);
        assertThat(gateway.routes().get(1).templates()).isEqualTo(RequestTemplates.DEFAULTS);
        assertThat(gateway.routes().get(1).onTimeout()).isEqualTo(Fallback.FAIL_OPEN);
    }

    @Test
    void a_file_without_the_section_has_the_defaults() throws Exception {
        assertThat(GatewayFile.read("gateway.yaml", "threads: 2").gateway()).isEqualTo(GatewayConfig.DEFAULTS);
        assertThat(GatewayFile.read("gateway.yaml", "gateway:").gateway()).isEqualTo(GatewayConfig.DEFAULTS);
    }

    @Test
    void an_enforcer_accepts_the_same_file() throws Exception {
        assertThat(ConfigFile.read("weir.yaml", FILE).applicationId()).isEqualTo("limits");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
            http-port: 70000                          | gateway.http-port: must be a whole number from 0 to 65535, is '70000'
            http-prt: 1                               | gateway.http-prt: unknown key; did you mean "http-port"?
            drain: 2m                                 | gateway.drain: must be 0s to 1m, is 2m
            drain: x                                  | gateway.drain: must be a duration such as 500ms, 10s, 1m, 2h or 1d, is 'x'
            ipv6-prefix: 0                            | gateway.ipv6-prefix: must be a whole number from 1 to 128, is '0'
            on-overload: allow                        | gateway.on-overload: must be one of deny, fallback, is 'allow'
            original-request: path                    | gateway.original-request: must be x-forwarded, x-original or call, is 'path'
            paths: {encoded-slash: allow}             | gateway.paths.encoded-slash: must be one of decode, keep, reject, is 'allow'
            paths: {double-slash: keep}               | gateway.paths.double-slash: must be one of merge, reject, is 'keep'
            paths: {fold-case: yes}                   | gateway.paths.fold-case: must be true or false, is 'yes'
            paths: {foldcase: true}                   | gateway.paths.foldcase: unknown key; did you mean "fold-case"?
            {paths: {fold-case: true}, routes: [{id: a, match: {path: /A/**}}]} | gateway.routes[0].match.path: no path has upper-case letters with gateway.paths.fold-case; write '/a/**'
            trusted-proxies: [10.1.0.0/8]             | gateway.trusted-proxies[0]: '10.1.0.0/8' has bits behind its prefix; the range that contains it is 10.0.0.0/8
            trusted-proxies: 10.0.0.0/8               | gateway.trusted-proxies: must be a list, is '10.0.0.0/8'
            routes: {}                                | gateway.routes: must be a list, is a mapping
            routes: [{path: /}]                       | gateway.routes[0].path: unknown key; did you mean "match"?
            routes: [{match: {path: /}}]              | gateway.routes[0].id: is required
            routes: [{id: a b}]                       | gateway.routes[0].id: must be 1 to 64 letters, digits or . _ -, is 'a b'
            routes: [{id: default}]                   | gateway.routes[0].id: must not be 'default', the id of the built-in last route
            routes: [{id: a}, {id: a}]                | gateway.routes[1].id: is the id of an earlier route too
            routes: [{id: a, match: {pth: /}}]        | gateway.routes[0].match.pth: unknown key; did you mean "path"?
            routes: [{id: a, match: {path: []}}]      | gateway.routes[0].match.path: must have a pattern
            routes: [{id: a, client: "{adress}"}]     | gateway.routes[0].client: unknown part 'adress'; did you mean "address"?
            routes: [{id: a, client: header.x-user}]  | gateway.routes[0].client: has no placeholder, so it is 'header.x-user' for all requests; write "{header.x-user}" for a part of the request, or "{'header.x-user'}" if one value for all is meant
            routes: [{id: a, request-id: x-id}]       | gateway.routes[0].request-id: has no placeholder, so it is 'x-id' for all requests; write "{address}" for a part of the request, or "{'x-id'}" if one value for all is meant
            routes: [{id: a, cost: x}]                | gateway.routes[0].cost: must be a whole number or have a placeholder, is 'x'
            routes: [{id: a, attributes: {p: "{"}}]   | gateway.routes[0].attributes.p: has a { without a } behind it
            routes: [{id: a, timeout: 11s}]           | gateway.routes[0].timeout: must be 1ms to 10s, is 11s
            routes: [{id: a, on-timeout: fail}]       | gateway.routes[0].on-timeout: must be one of allow, deny, is 'fail'
            """)
    void a_fault_names_the_line_the_key_and_what_is_valid(String section, String fault) {
        assertThatThrownBy(() -> GatewayFile.read("gateway.yaml", "threads: 1\ngateway:\n  " + section + "\n"))
                .isInstanceOfSatisfying(FaultsException.class, failure -> assertThat(failure.faults())
                        .extracting(Object::toString)
                        .contains("gateway.yaml:3: " + fault));
    }

    @Test
    void a_client_for_all_requests_is_written_as_a_text_in_quotes() throws Exception {
        GatewayConfig config = GatewayFile.read(
                        "gateway.yaml", "gateway: {routes: [{id: a, client: \"{'all'}\", tier: free, cost: 3}]}")
                .gateway();
        Request made = config.routes().get(0).templates().toRequest(request("GET", "/", Map.of()), RULES, () -> "new");
        assertThat(made.client()).isEqualTo("all");
        assertThat(made.tier()).isEqualTo("free");
    }

    @Test
    void a_route_makes_the_request_of_its_templates() throws Exception {
        GatewayConfig config = GatewayFile.read("gateway.yaml", FILE).gateway();
        ProxiedRequest proxied =
                request("PUT", "/uploads/1", Map.of("x-user", "alice", "x-cost", "7", "x-request-id", "r-1"));
        AuthorizeRoute route = config.route(proxied);
        assertThat(route.id()).isEqualTo("uploads");
        Request made = route.templates().toRequest(proxied, RULES, () -> "new");
        assertThat(made.client()).isEqualTo("alice");
        assertThat(made.tier()).isEqualTo("free");
        assertThat(made.cost()).isEqualTo(7);
        assertThat(made.requestId()).isEqualTo("r-1");
        assertThat(made.attributes()).isEqualTo(Map.of("endpoint", "/uploads/1", "long", "0123456789"));
    }

    @Test
    void the_first_matching_route_applies_and_the_default_route_to_all_others() throws Exception {
        GatewayConfig config = GatewayFile.read("gateway.yaml", FILE).gateway();
        assertThat(config.route(request("GET", "/uploads/1", Map.of())).id()).isEqualTo("rest");
        AuthorizeRoute other = GatewayConfig.DEFAULTS.route(request("GET", "/", Map.of()));
        assertThat(other.id()).isEqualTo("default");
        Request keyed =
                other.templates().toRequest(request("GET", "/a?b", Map.of("x-api-key", "key")), RULES, () -> "new");
        assertThat(keyed.client()).isEqualTo("key");
        assertThat(keyed.requestId()).isEqualTo("new");
        assertThat(keyed.tier()).isNull();
        assertThat(keyed.cost()).isEqualTo(1);
        assertThat(keyed.attributes()).isEqualTo(Map.of("method", "GET", "path", "/a", "host", "files.exam"));
        assertThat(other.templates()
                        .toRequest(request("GET", "/", Map.of()), RULES, () -> "new")
                        .client())
                .isEqualTo("192.0.2.1");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
            x-cost: 1        | 401 | the request has no client: {header.x-user} has no value
            x-user: bob;x-cost: -1 | 400 | the cost must be a whole number, is '-1'
            x-user: bob;x-cost: 1e3 | 400 | the cost must be a whole number, is '1e3'
            """)
    void a_request_that_cannot_be_made_is_refused(String headers, int status, String message) throws Exception {
        Map<String, String> values = new HashMap<>();
        for (String header : headers.split(";", -1)) {
            values.put(header.split(": ", 2)[0], header.split(": ", 2)[1]);
        }
        ProxiedRequest proxied = request("PUT", "/uploads/1", values);
        AuthorizeRoute route = GatewayFile.read("gateway.yaml", FILE).gateway().route(proxied);
        assertThatThrownBy(() -> route.templates().toRequest(proxied, RULES, () -> "new"))
                .isInstanceOfSatisfying(InvalidCallException.class, failure -> {
                    assertThat(failure.status()).isEqualTo(status);
                    assertThat(failure).hasMessage(message);
                });
    }
}
