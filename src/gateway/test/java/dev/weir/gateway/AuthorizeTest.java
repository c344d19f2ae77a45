package dev.weir.gateway;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.weir.api.Caller;
import dev.weir.api.Reply;
import dev.weir.config.WeirConfig.Service.TokenRule;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The answers of a gateway to proxies, with a real broker and an enforcer. */
@Tag("full")
class AuthorizeTest {

    private static final String FILE = """
            gateway:
              trusted-proxies: [127.0.0.0/8, 10.0.0.0/8]
              routes:
                - id: user
                  match: {path: [/ten/user, /leased/**]}
                  client: "{header.x-user}"
                  request-id: "{header.x-id}"
                  cost: "{query.cost}"
                  timeout: 10s
                  on-timeout: deny
                - id: slow-machine       # the others, with patience
                  match: {path: "/**"}
                  timeout: 10s
            """;

    /** More connections than there are threads that read from connections. */
    private static final int DEAF_CALLERS = 8;

    /** More than the buffers of a connection hold. */
    private static final long DEAF_BYTES = 64 << 20;

    /** After so many attempts without progress, each with a request of another caller, their connections are blocked. */
    private static final int DEAF_POLLS = 100;

    private static Gateway gateway;
    private static Caller caller;

    @BeforeAll
    static void start() throws Exception {
        gateway = SharedWeir.get().open(GatewayFile.read("gateway.yaml", FILE).gateway());
        caller = Caller.unchecked(gateway.httpPort());
    }

    @AfterAll
    static void stop() {
        gateway.close();
    }

    /** Calls as Traefik and Caddy do. */
    private static Reply ask(String uri, String... headers) throws Exception {
        return askWith("", uri, headers);
    }

    private static Reply askWith(String query, String uri, String... headers) throws Exception {
        List<String> all = new ArrayList<>(List.of(headers));
        Collections.addAll(all, "X-Forwarded-Method: GET", "X-Forwarded-Uri: " + uri, "X-Forwarded-Host: a.example");
        return caller.get("/v1/authorize" + query, all.toArray(String[]::new));
    }

    private static String key(String client) {
        return "X-Api-Key: " + client;
    }

    @Test
    void a_request_beyond_the_limit_gets_429_with_the_fields_of_the_decision() throws Exception {
        for (int left = 2; left >= 0; left--) {
            Reply allowed = ask("/three/a?b=" + left, key("alice"));
            assertThat(allowed.status()).isEqualTo(200);
            assertThat(allowed.text()).isEmpty();
            assertThat(allowed.header("RateLimit")).startsWith("\"three\";r=" + left + ";t=");
            assertThat(allowed.header("RateLimit-Policy")).isEqualTo("\"three\";q=3;w=3600");
            assertThat(allowed.header("X-Weir-Status")).isNull();
        }
        Reply denied = ask("/three/a", key("alice"));
        assertThat(denied.status()).isEqualTo(429);
        assertThat(denied.header("X-Weir-Status")).isNull();
        assertThat(Long.parseLong(denied.header("Retry-After"))).isBetween(3_500L, 3_600L);
        assertThat(denied.contentType()).isEqualTo("application/problem+json");
        assertThat(denied.detail()).isEqualTo("too many requests");
        assertThat(ask("/three/a", key("bob")).status()).isEqualTo(200);
    }

    @ParameterizedTest
    @ValueSource(strings = {"GET", "POST", "HEAD", "DELETE", "OPTIONS", "PROPFIND", "PATCH"})
    void any_method_and_path_suffix_are_answered(String method) throws Exception {
        // As Envoy calls: with the method, the host and the path of the request
        Reply reply =
                caller.send(method, "/v1/authorize//three/%61b;c?deny-status=1&x=%zz", "", key("envoy " + method));
        assertThat(reply.status()).isEqualTo(200);
        assertThat(reply.header("RateLimit")).startsWith("\"three\";r=2;");
    }

    @ParameterizedTest
    @ValueSource(strings = {"//three//a", "/%74hree/a", "/three;v=1/a", "/three/;v=1"})
    void another_spelling_of_a_path_has_the_same_limit(String path) throws Exception {
        for (Reply reply : List.of(
                caller.get("/v1/authorize" + path, key("spelling of call " + path)),
                ask(path, key("spelling of header " + path)))) {
            assertThat(reply.header("RateLimit")).startsWith("\"three\"");
        }
    }

    @ParameterizedTest
    @CsvSource(textBlock = """
            /three%2Fa             , 'the path has an encoded slash, %2F'
            /x/..;/three/a         , the path has a dot segment
            /three/../free/a       , the path has a dot segment
            /x/%2e%2E/three/a      , the path has a dot segment
            /;v/three/a            , the path has a segment with parameters only
            /three%5Ca             , 'the path has an encoded backslash, %5C'
            /three/a%01            , 'the path has an escaped control character, %01'
            """)
    void a_path_that_applications_understand_in_different_ways_is_refused(String path, String reason) throws Exception {
        for (Reply reply : List.of(caller.get("/v1/authorize" + path, key("unclear")), ask(path, key("unclear")))) {
            assertThat(reply.status()).as(reply.toString()).isEqualTo(400);
            assertThat(reply.detail()).isEqualTo(reason);
        }
        Reply denied = askWith("?deny-status=403", path, key("unclear"));
        assertThat(denied.status()).isEqualTo(403);
        assertThat(denied.header("X-Weir-Status")).isEqualTo("400");
    }

    /** Jetty reads a header as ISO 8859-1. */
    @Test
    void a_path_in_utf_8_and_an_escaped_one_are_the_same() throws Exception {
        String file = "gateway: {routes: [{id: none, match: {path: /é/**}, client: '{header.x-none}'}]}";
        try (Gateway other =
                SharedWeir.get().open(GatewayFile.read("gateway.yaml", file).gateway())) {
            Caller proxy = Caller.unchecked(other.httpPort());
            for (String path : List.of("/é/a", "/%C3%A9/a", "/%c3%a9/a")) {
                assertThat(proxy.get("/v1/authorize", "X-Forwarded-Uri: " + path)
                                .status())
                        .as(path)
                        .isEqualTo(401);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "'encoded-slash: decode', /three%2Fa, three",
        "'encoded-slash: keep', /three%2Fa,",
        "'fold-case: true', /THREE/a, three",
        "'fold-case: false', /THREE/a,"
    })
    void settings_say_what_the_application_does(String setting, String path, String policy) throws Exception {
        GatewayConfig config = GatewayFile.read(
                        "gateway.yaml", FILE.replace("routes:", "paths: {" + setting + "}\n  routes:"))
                .gateway();
        try (Gateway other = SharedWeir.get().open(config)) {
            Reply reply = Caller.unchecked(other.httpPort())
                    .get("/v1/authorize", key("setting " + setting), "X-Forwarded-Uri: " + path);
            assertThat(reply.status()).isEqualTo(200);
            assertThat(reply.header("X-Weir-Policy")).isEqualTo(policy == null ? "none" : null);
            assertThat(
                            reply.header("RateLimit") == null
                                    ? null
                                    : reply.header("RateLimit").split("\"")[1])
                    .isEqualTo(policy);
        }
    }

    @Test
    void headers_of_the_client_do_not_matter() throws Exception {
        Reply reply = ask(
                "/three/a",
                key("browser"),
                "Origin: https://other.example",
                "Sec-Fetch-Site: cross-site",
                "Sec-Fetch-Mode: cors",
                "Authorization: Bearer that-of-the-client",
                "Content-Type: application/json; charset=utf-7",
                "Expect: 100-continue",
                "Accept: ;;q=x",
                "X-HTTP-Method-Override: DELETE",
                "Cookie: " + "c".repeat(30_000));
        assertThat(reply.status()).isEqualTo(200);
    }

    @Test
    void a_denial_can_have_a_status_that_nginx_understands() throws Exception {
        for (int i = 0; i < 3; i++) {
            assertThat(askWith("?deny-status=403", "/three/a", key("nginx")).status())
                    .isEqualTo(200);
        }
        Reply denied = askWith("?deny-status=403", "/three/a", key("nginx"));
        assertThat(denied.status()).isEqualTo(403);
        assertThat(denied.header("X-Weir-Status")).isEqualTo("429");
        assertThat(denied.header("Retry-After")).isNotNull();
        assertThat(denied.json().get("status").asInt()).isEqualTo(429);
        Reply unavailable = askWith("?deny-status=403", "/unavailable", key("nginx"));
        assertThat(unavailable.status()).isEqualTo(403);
        assertThat(unavailable.header("X-Weir-Status")).isEqualTo("503");
        Reply invalid = askWith("?deny-status=403", "/ten/user");
        assertThat(invalid.status()).isEqualTo(403);
        assertThat(invalid.header("X-Weir-Status")).isEqualTo("401");
    }

    /** Caddy adds the query of the request, so a client can send any. */
    @ParameterizedTest
    @ValueSource(strings = {"?deny-status=200", "?deny-status=4030", "?a=b", "?deny-status=403&x", "?%zz"})
    void another_query_of_the_call_itself_is_ignored(String query) throws Exception {
        Reply reply = askWith(query, "/unavailable", key("parameters"));
        assertThat(reply.status()).isEqualTo(503);
    }

    @Test
    void a_request_that_may_not_pass_never_gets_2xx() throws Exception {
        assertThat(ask("/banned", key("banned")).status()).isEqualTo(200);
        Reply banned = ask("/banned", key("banned"));
        assertThat(banned.status()).isEqualTo(403);
        assertThat(banned.header("X-Weir-Status")).as("it would reveal the ban").isNull();
        assertThat(askWith("?deny-status=403", "/banned", key("banned")).header("X-Weir-Status"))
                .isEqualTo("200");
        assertThat(banned.header("Retry-After")).isNull();
        assertThat(banned.text()).doesNotContain("ban");
        Reply queued = ask("/queued", key("queued"));
        assertThat(queued.status()).isEqualTo(403);
        assertThat(queued.header("X-Weir-Status")).isNull();
        assertThat(askWith("?deny-status=403", "/queued", key("queued")).header("X-Weir-Status"))
                .isEqualTo("202");
    }

    @Test
    void an_observed_request_passes_without_the_fields_of_its_limit() throws Exception {
        for (int i = 0; i < 3; i++) {
            Reply reply = ask("/observed", key("observed"));
            assertThat(reply.status()).isEqualTo(200);
            assertThat(reply.header("Retry-After")).isNull();
        }
        assertThat(ask("/observed", key("observed")).header("RateLimit")).isNull();
    }

    @Test
    void a_throttled_request_is_delayed_if_the_proxy_can_wait() throws Exception {
        assertThat(ask("/throttled", key("throttled")).status()).isEqualTo(200);
        assertThat(ask("/throttled", key("throttled")).status()).isEqualTo(200);
        assertThat(ask("/slow", key("throttled")).status()).isEqualTo(200);
        Reply tooSlow = ask("/slow", key("throttled"));
        assertThat(tooSlow.status()).isEqualTo(429);
        assertThat(Integer.parseInt(tooSlow.header("Retry-After"))).isBetween(50, 60);
    }

    @Test
    void a_route_sets_the_client_the_cost_and_the_request_id() throws Exception {
        assertThat(ask("/ten/user?cost=4", "X-User: carol", "X-Id: 1").header("RateLimit"))
                .startsWith("\"ten\";r=6;");
        assertThat(ask("/ten/user?cost=4", "X-User: carol", "X-Id: 1").header("RateLimit"))
                .startsWith("\"ten\";r=6;"); // charged once, as an internal redirect of nginx needs it
        assertThat(ask("/ten/user?cost=4", "X-User: carol", "X-Id: 2").header("RateLimit"))
                .startsWith("\"ten\";r=2;");
        assertThat(ask("/ten/user?cost=4", "X-User: carol", "X-Id: 3").status()).isEqualTo(429);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            /ten/user          |                                | 401 | the request has no client: {header.x-user} has no value
            /ten/user          | X-User:                        | 401 | the request has no client: {header.x-user} has no value
            /ten/user?cost=x   | X-User: a                      | 400 | the cost must be a whole number, is 'x'
            /ten/user?cost=999999999999999999 | X-User: a       | 400 | cost must be at most 1000000000000, is 999999999999999999
            /ten/user          | X-User: aa0                    | 400 | client has 257 characters; the maximum is 256
            """)
    void an_invalid_request_is_refused(String uri, String header, int status, String detail) throws Exception {
        String sent = header == null ? "X-None: x" : header.replace("aa0", "a".repeat(257));
        Reply reply = ask(uri, sent);
        assertThat(reply.status()).isEqualTo(status);
        assertThat(reply.detail()).isEqualTo(detail);
    }

    @Test
    void a_repeated_header_is_refused() throws Exception {
        Reply reply = ask("/three/a", key("first"), key("second"));
        assertThat(reply.status()).isEqualTo(400);
        assertThat(reply.detail()).isEqualTo("header x-api-key is repeated");
    }

    @ParameterizedTest
    @ValueSource(strings = {"X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Host"})
    void a_repeated_header_of_the_original_request_is_refused(String name) throws Exception {
        Reply reply = ask("/three/a", key("any"), name + ": /three/b");
        assertThat(reply.status()).isEqualTo(400);
        assertThat(reply.detail()).isEqualTo("header " + name.toLowerCase(Locale.ROOT) + " is repeated");
    }

    @Test
    void a_forged_address_is_not_believed() throws Exception {
        for (int i = 0; i < 3; i++) {
            assertThat(ask("/three/a", "X-Forwarded-For: 192.0.2." + i + ", 203.0.113.5, 10.0.0.7")
                            .status())
                    .isEqualTo(200);
        }
        assertThat(ask("/three/a", "X-Forwarded-For: 192.0.2.77, 203.0.113.5, 10.0.0.8")
                        .status())
                .isEqualTo(429);
        assertThat(ask("/three/a", "X-Forwarded-For: 203.0.113.6").status()).isEqualTo(200);
    }

    /** They send requests until the gateway reads no more of them, since their responses cannot be sent. */
    @Test
    void callers_that_do_not_read_their_responses_delay_no_other() throws Exception {
        byte[] request = "GET /v1/authorize/leased/a HTTP/1.1\r\nHost: a.example\r\nX-User: deaf\r\n\r\n"
                .getBytes(StandardCharsets.US_ASCII);
        Map<SocketChannel, ByteBuffer> deaf = new LinkedHashMap<>();
        try {
            for (int i = 0; i < DEAF_CALLERS; i++) {
                SocketChannel channel =
                        SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), gateway.httpPort()));
                deaf.put(channel, ByteBuffer.allocate(0));
                channel.configureBlocking(false);
            }
            int blocked = 0;
            for (long sent = 0; blocked < DEAF_POLLS; ) {
                assertThat(sent).isLessThan(DEAF_CALLERS * DEAF_BYTES);
                int written = 0;
                for (Map.Entry<SocketChannel, ByteBuffer> each : deaf.entrySet()) {
                    if (!each.getValue().hasRemaining()) {
                        each.setValue(ByteBuffer.wrap(request));
                    }
                    written += each.getKey().write(each.getValue());
                }
                sent += written;
                blocked = written == 0 ? blocked + 1 : 0;
                if (written == 0) {
                    assertThat(ask("/leased/a", "X-User: deaf").status()).isIn(200, 429);
                }
            }
        } finally {
            for (SocketChannel channel : deaf.keySet()) {
                channel.close();
            }
        }
    }

    @Test
    void concurrent_requests_never_exceed_a_leased_limit() {
        List<CompletableFuture<Integer>> replies = IntStream.range(0, 150)
                .mapToObj(i -> CompletableFuture.supplyAsync(() -> {
                    try {
                        return ask("/leased/a", "X-User: leased").status();
                    } catch (Exception e) {
                        throw new AssertionError(e);
                    }
                }))
                .toList();
        assertThat(replies.stream().map(CompletableFuture::join).filter(status -> status == 200))
                .hasSize(100);
        assertThat(replies.stream().map(CompletableFuture::join).filter(status -> status == 429))
                .hasSize(50);
    }

    /** The policy in the answer shows from where the path was taken, and the route from where method and host were. */
    @ParameterizedTest
    @CsvSource({"x-forwarded, three", "x-original, ten", "call, banned"})
    void only_the_request_line_or_headers_that_the_proxy_overwrites_are_believed(String mode, String policy)
            throws Exception {
        String file = "gateway: {original-request: " + mode + ", routes: [{id: all, timeout: 10s,"
                + " match: {path: '/**', method: PUT, host: a.example}, cost: '{query.cost}'}]}";
        GatewayConfig config = GatewayFile.read("gateway.yaml", file).gateway();
        try (Gateway other = SharedWeir.get().open(config)) {
            boolean isForwarded = mode.equals("x-forwarded");
            Reply reply = Caller.unchecked(other.httpPort())
                    .send(
                            mode.equals("call") ? "PUT" : "GET",
                            "/v1/authorize/banned?cost=" + (mode.equals("call") ? "1" : "x"),
                            "",
                            key("mode " + mode),
                            "Host: " + (isForwarded ? "b.example" : "a.example"),
                            "X-Forwarded-Host: " + (isForwarded ? "a.example" : "b.example"),
                            "X-Forwarded-Uri: /three/a?cost=" + (isForwarded ? "1" : "x"),
                            "X-Forwarded-Method: " + (isForwarded ? "PUT" : "GET"),
                            "X-Original-URI: /ten/a?cost=" + (mode.equals("x-original") ? "1" : "x"),
                            "X-Original-Method: " + (mode.equals("x-original") ? "PUT" : "GET"));
            assertThat(reply.status()).isEqualTo(200);
            assertThat(reply.header("RateLimit")).startsWith("\"" + policy + "\";");
            assertThat(Caller.unchecked(other.httpPort()).get("/metrics").text())
                    .contains("weir_authorize_requests_total{result=\"ALLOWED\",route=\"all\"} 1.0");
        }
    }

    @Test
    void a_caller_that_is_no_trusted_proxy_is_refused() throws Exception {
        GatewayConfig strict = GatewayFile.read("gateway.yaml", "gateway: {trusted-proxies: [192.0.2.0/24]}")
                .gateway();
        try (Gateway other = SharedWeir.get().open(strict)) {
            Reply reply = Caller.unchecked(other.httpPort()).get("/v1/authorize/three/a", key("dave"));
            assertThat(reply.status()).isEqualTo(403);
            assertThat(reply.detail()).isEqualTo("only proxies in gateway.trusted-proxies may call /v1/authorize");
            assertThat(Caller.unchecked(other.httpPort()).get("/metrics").text())
                    .contains("weir_authorize_untrusted_total 1.0");
        }
    }

    @Test
    void other_paths_are_not_part_of_the_endpoint() throws Exception {
        assertThat(caller.get("/v1/authorized").status()).isEqualTo(404);
        assertThat(caller.get("/v1/%61uthorize").status()).isEqualTo(404);
        assertThat(caller.get("/v1/policies").status()).isEqualTo(404);
        assertThat(caller.get("/v1/a%2Fb").status()).isIn(400, 404);
    }

    @Test
    void decisions_are_available_in_detail_too() throws Exception {
        String body = "{\"client\":\"erin\",\"attributes\":{\"path\":\"/three/a\"}}";
        assertThat(caller.post("/v1/decide", body).status()).isEqualTo(403);
        var open = SharedWeir.get().config();
        var service = open.service().withDecideToken(TokenRule.LOOPBACK);
        try (Gateway other = Gateway.open(
                open.toBuilder().service(service).build(), GatewayConfig.DEFAULTS.withHttpPort(0), Map.of())) {
            Reply reply = Caller.unchecked(other.httpPort()).post("/v1/decide?timeout=10s", body);
            assertThat(reply.status()).isEqualTo(200);
            assertThat(reply.json().get("remaining").asInt()).isEqualTo(2);
        }
        // A header in UTF-8 names the same client as a body.
        assertThat(ask("/three/a", key("żółw")).header("RateLimit")).startsWith("\"three\";r=2;");
        assertThat(ask("/three/a", key("żółw")).header("RateLimit")).startsWith("\"three\";r=1;");
        try (Gateway other = Gateway.open(
                open, GatewayConfig.DEFAULTS.withHttpPort(0), Map.of("WEIR_DECIDE_TOKEN", "token-of-deciders"))) {
            Caller without = Caller.unchecked(other.httpPort());
            assertThat(without.post("/v1/decide", body).status()).isEqualTo(401);
            assertThat(without.withToken("token-of-deciders")
                            .post("/v1/decide?timeout=10s", body.replace("erin", "żółw"))
                            .json()
                            .get("remaining")
                            .asInt())
                    .isZero();
        }
    }

    @Test
    void a_request_without_a_policy_passes_and_says_so() throws Exception {
        Reply passed = ask("/unlimited/a", key("nobody"));
        assertThat(passed.status()).isEqualTo(200);
        assertThat(passed.header("X-Weir-Policy")).isEqualTo("none");
        assertThat(ask("/three/a", key("known")).header("X-Weir-Policy")).isNull();
        assertThat(caller.get("/metrics").text())
                .containsPattern("weir_authorize_requests_total\\{result=\"NO_POLICY\",route=\"slow-machine\"} [1-9]");
    }

    @Test
    void a_path_that_does_not_exist_names_those_of_the_gateway() throws Exception {
        Reply missing = caller.get("/v1/policies");
        assertThat(missing.status()).isEqualTo(404);
        assertThat(missing.detail())
                .isEqualTo(
                        "there is no such path; those of gateway.http-port are /health/live, /health/ready, /metrics,"
                                + " /v1/authorize, /v1/complete, /v1/decide, /v1/extend, /v1/gateway");
    }

    @Test
    void health_and_metrics_are_served_without_a_token_on_loopback() throws Exception {
        assertThat(caller.get("/health/live").status()).isEqualTo(200);
        assertThat(caller.get("/health/ready").json().get("status").asText()).isEqualTo("RUNNING");
        ask("/three/a", key("metrics"));
        ask("/ten/user");
        String text = caller.get("/metrics").text();
        assertThat(text)
                .contains("weir_gateway_connected 1.0")
                .contains("weir_authorize_requests_total{result=\"FALLBACK_ALLOWED\",route=\"default\"} 0.0")
                .containsPattern("weir_authorize_requests_total\\{result=\"INVALID\",route=\"user\"} [1-9]")
                .containsPattern("weir_authorize_requests_total\\{result=\"ALLOWED\",route=\"slow-machine\"} [1-9]")
                .contains("weir_client_requests_total{result=\"ANSWERED\"}")
                .contains("weir_authorize_duration_seconds_bucket")
                .contains("jvm_memory_used_bytes")
                .doesNotContain("alice");
        await("no call is counted as waiting", SharedWeir.PATIENCE, () -> caller.get("/metrics")
                .text()
                .contains("weir_authorize_in_flight 0.0"));
    }
}
