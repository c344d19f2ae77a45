package dev.weir.server.http;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.api.Caller;
import dev.weir.api.Reply;
import dev.weir.api.WeirService;
import dev.weir.config.BadSettingException;
import dev.weir.config.WeirConfig;
import dev.weir.config.WeirConfig.Service;
import dev.weir.kafka.UnreachableException;
import dev.weir.runtime.Health;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Permissions, on a service whose enforcer is starting: permitted requests get 503. */
class AccessControlTest {

    private static final String TOKEN = "0123456789abcdef";
    private static final int MAY = 503;

    @TempDir
    Path directory;

    @Test
    void on_loopback_all_can_read_and_the_token_changes() throws IOException {
        try (WeirService service = open("127.0.0.1", Optional.empty(), Map.of("WEIR_TOKEN", " " + TOKEN + "\n"))) {
            Caller anybody = Caller.of(service.port(), null);
            assertThat(anybody.get("/v1/policies").status()).isEqualTo(MAY);
            for (Reply refused : List.of(anybody.put("/v1/policies/a", "{}"), anybody.delete("/v1/queues/a"))) {
                assertThat(refused.status()).isEqualTo(401);
                assertThat(refused.header("WWW-Authenticate")).isEqualTo("Bearer realm=\"weir\"");
            }
            Caller trusted = anybody.withToken(TOKEN);
            assertThat(trusted.get("/v1/policies").status()).isEqualTo(MAY);
            assertThat(trusted.put("/v1/policies/a", "{}").status()).isEqualTo(MAY);
            for (String wrong : List.of(TOKEN + "0", TOKEN.substring(1), "é", "", "0123456789abcdeF")) {
                Reply refused = anybody.withToken(wrong).get("/v1/policies");
                assertThat(refused.status()).as(wrong).isEqualTo(401);
                assertThat(refused.header("WWW-Authenticate")).contains("error=\"invalid_token\"");
                assertThat(refused.text()).doesNotContain(TOKEN);
            }
            assertThat(anybody.get("/v1/policies", "Authorization: bEARER " + TOKEN)
                            .status())
                    .isEqualTo(MAY);
            assertThat(anybody.get("/v1/policies", "Authorization: Basic " + TOKEN)
                            .status())
                    .isEqualTo(401);
        }
    }

    @Test
    void health_accepts_any_host_name_without_a_token() throws IOException {
        Service everywhere = Service.DEFAULTS.withPort(0).withHost("0.0.0.0").withAdvertise("localhost:1");
        try (WeirService service = WeirService.open(
                WeirConfig.DEFAULTS.toBuilder().service(everywhere).build(), Map.of("WEIR_TOKEN", TOKEN))) {
            Caller probe = Caller.of(service.port(), TOKEN).withToken(null);
            assertThat(probe.get("/v1/policies").status()).isEqualTo(401);
            assertThat(probe.get("/health/other").status()).isEqualTo(401);
            assertThat(probe.get("/health/live", "Host: 10.1.2.3:8680")
                            .json()
                            .get("status")
                            .asText())
                    .isEqualTo("STARTING");
            assertThat(probe.get("/health/ready", "Host: 10.1.2.3:8680").detail())
                    .isEqualTo("the enforcer is starting");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "STARTING, 200, 503",
        "RUNNING, 200, 503", // no enforcer is attached yet
        "REBALANCING, 200, 503",
        "STANDSTILL, 200, 503",
        "TOPIC_DELETED, 200, 503",
        "FAILED, 503, 503"
    })
    void liveness_and_readiness_follow_the_health(Health health, int live, int ready) throws IOException {
        try (WeirService service = open("127.0.0.1", Optional.empty(), Map.of())) {
            service.setHealth(() -> health);
            Caller probe = Caller.of(service.port(), null);
            assertThat(probe.get("/health/live").status()).isEqualTo(live);
            assertThat(probe.get("/health/ready").status()).isEqualTo(ready);
        }
    }

    @Test
    void a_cross_origin_page_cannot_read_responses_or_send_a_token() throws IOException {
        try (WeirService service = open("127.0.0.1", Optional.empty(), Map.of("WEIR_TOKEN", TOKEN))) {
            Caller page = Caller.of(service.port(), null);
            for (String path : List.of("/v1/policies", "/v1/live", "/metrics", "/live", "/health/ready")) {
                for (String header : List.of(
                        "Origin: http://elsewhere.example",
                        "Origin: null",
                        "Origin: http://localhost:1",
                        "Sec-Fetch-Site: cross-site")) {
                    Reply read = page.get(path, header);
                    assertThat(read.status()).as(path + " " + header).isEqualTo(403);
                    assertThat(read.header("Access-Control-Allow-Origin")).isNull();
                    assertThat(read.header("X-Content-Type-Options")).isEqualTo("nosniff");
                }
            }
            String own = "127.0.0.1:" + service.port();
            assertThat(page.get("/v1/policies", "Sec-Fetch-Site: same-origin").status())
                    .isEqualTo(MAY);
            assertThat(page.get("/v1/policies", "Host: " + own, "Origin: http://" + own)
                            .status())
                    .isEqualTo(MAY);
            String[] link = {"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"};
            assertThat(page.get("/live", link).status()).isEqualTo(200);
            assertThat(page.get("/v1/policies", link).status()).isEqualTo(403);
            Reply reply = page.send(
                    "OPTIONS",
                    "/v1/policies/a",
                    "",
                    "Origin: http://elsewhere.example",
                    "Access-Control-Request-Method: PUT",
                    "Access-Control-Request-Headers: authorization");
            assertThat(reply.status()).isGreaterThanOrEqualTo(400);
            assertThat(reply.header("Access-Control-Allow-Headers")).isNull();
        }
    }

    @Test
    void forwarded_requests_need_the_token() throws IOException {
        try (WeirService service = open("127.0.0.1", Optional.empty(), Map.of("WEIR_TOKEN", TOKEN))) {
            Caller proxy = Caller.of(service.port(), null);
            for (String header : List.of(
                    "Forwarded: for=10.0.0.1",
                    "Via: 1.1 proxy",
                    "CDN-Loop: cdn.example",
                    "X-Forwarded-For: 10.0.0.1",
                    "X-FORWARDED-PROTO: https",
                    "X-Forwarded: for=10.0.0.1",
                    "Forwarded-For: 10.0.0.1",
                    "X-Real-IP: 10.0.0.1",
                    "x-real-ip:",
                    "X_Real_IP: 10.0.0.1",
                    "X-Client-IP: 10.0.0.1",
                    "X-Cluster-Client-Ip: 10.0.0.1",
                    "Client-IP: 10.0.0.1",
                    "True-Client-IP: 10.0.0.1",
                    "CF-Connecting-IP: 10.0.0.1",
                    "CF-Connecting-IPv6: 2001:db8::1",
                    "CF-Ray: 1",
                    "Fastly-Client-IP: 10.0.0.1",
                    "X-Azure-ClientIP: 10.0.0.1",
                    "X-Remote-Addr: 10.0.0.1",
                    "X-Originating-IP: 10.0.0.1",
                    "X-Original-URL: /v1/policies",
                    "X-Envoy-External-Address: 10.0.0.1")) {
                assertThat(proxy.get("/v1/policies", header).status())
                        .as(header)
                        .isEqualTo(401);
                assertThat(proxy.withToken(TOKEN).get("/v1/policies", header).status())
                        .as(header)
                        .isEqualTo(MAY);
                assertThat(proxy.get("/health/live", header).status())
                        .as(header)
                        .isEqualTo(200);
            }
            for (String header : List.of(
                    "X-Request-Id: 1", "Weir-Forwarded: 1", "X-Ship-To: 1", "Zip: 1", "User-Agent: ip", "Cfx: 1")) {
                assertThat(proxy.get("/v1/policies", header).status())
                        .as(header)
                        .isEqualTo(MAY);
            }
        }
    }

    @Test
    void a_method_cannot_be_overridden() throws IOException {
        try (WeirService service = open("127.0.0.1", Optional.empty(), Map.of())) {
            Caller caller = Caller.of(service.port(), null);
            for (String path :
                    List.of("/v1/usage/a", "/health/live", "/health/ready", "/metrics", "/live", "/v1/openapi.json")) {
                Reply reply = caller.get(path, "X-HTTP-Method-Override: DELETE");
                assertThat(reply.status()).as(path).isEqualTo(400);
                assertThat(reply.detail()).contains("X-HTTP-Method-Override");
            }
        }
    }

    @Test
    void reading_needs_the_token_if_required_or_if_the_host_is_ambiguous() throws IOException {
        Service plain = Service.DEFAULTS.withPort(0);
        for (Service service : List.of(
                plain.withReadToken(Service.TokenRule.REQUIRED),
                plain.withAdvertise("127.0.0.1:1"),
                plain.withHost("localhost"))) {
            WeirConfig config = WeirConfig.DEFAULTS.toBuilder().service(service).build();
            assertThatThrownBy(() -> WeirService.open(config, Map.of()))
                    .isInstanceOf(BadSettingException.class)
                    .hasMessageContaining("service.read-token is required")
                    .hasMessageContaining("WEIR_TOKEN");
            try (WeirService open = WeirService.open(config, Map.of("WEIR_TOKEN", TOKEN))) {
                Caller caller = Caller.of(open.port(), TOKEN);
                assertThat(caller.withToken(null).get("/v1/policies").status()).isEqualTo(401);
                assertThat(caller.get("/v1/policies").status()).isEqualTo(MAY);
                assertThat(caller.withToken(null).get("/health/ready").status()).isEqualTo(503);
            }
        }
        Service beyond = plain.withHost("0.0.0.0").withAdvertise("a:1").withReadToken(Service.TokenRule.LOOPBACK);
        assertThatThrownBy(() -> WeirService.open(
                        WeirConfig.DEFAULTS.toBuilder().service(beyond).build(), Map.of("WEIR_TOKEN", TOKEN)))
                .isInstanceOf(BadSettingException.class)
                .hasMessageContaining("service.read-token: loopback");
    }

    @Test
    void the_read_token_permits_only_reading() throws IOException {
        Service service = Service.DEFAULTS.withPort(0).withReadToken(Service.TokenRule.REQUIRED);
        String toRead = "a-token-that-permits-reading";
        try (WeirService open = WeirService.open(
                WeirConfig.DEFAULTS.toBuilder().service(service).build(),
                Map.of("WEIR_TOKEN", TOKEN, "WEIR_READ_TOKEN", toRead))) {
            Caller reader = Caller.of(open.port(), TOKEN).withToken(toRead);
            assertThat(reader.get("/v1/policies").status()).isEqualTo(MAY);
            Reply refused = reader.put("/v1/policies/a", "{}");
            assertThat(refused.status()).isEqualTo(403);
            assertThat(refused.detail()).contains("reading only");
        }
    }

    @Test
    void deciding_needs_a_token_that_permits_it() throws IOException {
        Service service = Service.DEFAULTS.withPort(0);
        String toRead = "a-token-that-permits-reading";
        try (WeirService open = WeirService.open(
                WeirConfig.DEFAULTS.toBuilder().service(service).build(),
                Map.of("WEIR_TOKEN", TOKEN, "WEIR_READ_TOKEN", toRead))) {
            Caller anybody = Caller.of(open.port(), null);
            assertThat(anybody.post("/v1/decide", "[]").detail()).isEqualTo("deciding needs a token");
            assertThat(anybody.withToken(toRead).post("/v1/decide", "[]").status())
                    .isEqualTo(403);
            assertThat(anybody.withToken(TOKEN).post("/v1/decide", "[]").status())
                    .isEqualTo(200);
        }
        try (WeirService open = WeirService.open(
                WeirConfig.DEFAULTS.toBuilder().service(service).build(), Map.of())) {
            Reply refused = Caller.of(open.port(), null).post("/v1/decide", "[]");
            assertThat(refused.status()).isEqualTo(403);
            assertThat(refused.detail()).contains("WEIR_DECIDE_TOKEN", "service.decide-token: loopback");
        }
        Service dev = service.withDecideToken(Service.TokenRule.LOOPBACK);
        try (WeirService open =
                WeirService.open(WeirConfig.DEFAULTS.toBuilder().service(dev).build(), Map.of("WEIR_TOKEN", TOKEN))) {
            Caller anybody = Caller.of(open.port(), null);
            assertThat(anybody.post("/v1/decide", "[]").status()).isEqualTo(200);
            assertThat(anybody.post("/v1/decide", "[]", "Host: elsewhere.example")
                            .status())
                    .isEqualTo(421);
            assertThat(anybody.post("/v1/decide", "[]", "Forwarded: for=10.0.0.1")
                            .status())
                    .isEqualTo(401);
        }
        assertThatThrownBy(() -> WeirService.open(
                        WeirConfig.DEFAULTS.toBuilder()
                                .service(dev.withHost("0.0.0.0").withAdvertise("a:1"))
                                .build(),
                        Map.of("WEIR_TOKEN", TOKEN)))
                .hasMessageStartingWith("service.decide-token: loopback requires a loopback address");
    }

    @Test
    void the_decide_token_permits_only_deciding_and_peeking() throws IOException {
        Service service = Service.DEFAULTS.withPort(0).withReadToken(Service.TokenRule.REQUIRED);
        String toDecide = "a-token-that-permits-deciding";
        try (WeirService open = WeirService.open(
                WeirConfig.DEFAULTS.toBuilder().service(service).build(),
                Map.of("WEIR_TOKEN", TOKEN, "WEIR_DECIDE_TOKEN", toDecide))) {
            Caller gateway = Caller.of(open.port(), TOKEN).withToken(toDecide);
            assertThat(gateway.post("/v1/peek", "{\"client\":\"c\"}").status()).isEqualTo(MAY);
            for (String path : List.of("/v1/decide", "/v1/complete", "/v1/extend")) {
                assertThat(gateway.post(path, "[]").status()).as(path).isEqualTo(200);
            }
            for (String path : List.of("/v1/policies", "/v1/decisions/a", "/metrics", "/v1/nowhere")) {
                Reply refused = gateway.get(path);
                assertThat(refused.status()).as(path).isEqualTo(403);
                assertThat(refused.detail()).contains("/v1/decide, /v1/complete, /v1/extend and /v1/peek only");
            }
            assertThat(gateway.put("/v1/policies/a", "{}").status()).isEqualTo(403);
            assertThat(gateway.get("/health/ready").status()).isEqualTo(503);
        }
    }

    @Test
    void a_file_can_have_several_tokens_with_names() throws IOException {
        Path file = directory.resolve("tokens");
        Files.writeString(file, "# of the gateway\nci  first-token-of-the-file\n\nsecond-token-of-the-file\r\n");
        try (WeirService service = open(file, Map.of())) {
            for (String token : List.of("first-token-of-the-file", "second-token-of-the-file")) {
                assertThat(Caller.of(service.port(), token)
                                .put("/v1/policies/a", "{}")
                                .status())
                        .isEqualTo(MAY);
            }
            assertThat(Caller.of(service.port(), null)
                            .withToken("ci")
                            .put("/v1/policies/a", "{}")
                            .status())
                    .isEqualTo(401);
        }
        Files.writeString(file, "first-token-of-the-file\nci short\n");
        assertThatThrownBy(() -> open(file, Map.of()))
                .hasMessage("service.token-file: " + file
                        + ": a token must have at least 16 characters, but the one on line 2 has 5");
    }

    @Test
    void wrong_tokens_are_counted_and_delayed_increasingly() {
        TokenThrottle wrong = new TokenThrottle(1);
        assertThat(wrong.recordFailure("a", 0)).isZero();
        assertThat(wrong.recordFailure("a", 10)).isEqualTo(TokenThrottle.DELAY_MS);
        assertThat(wrong.recordFailure("b", 10)).isZero();
        assertThat(wrong.recordFailure("a", 20)).isEqualTo(2 * TokenThrottle.DELAY_MS);
        for (int i = 0; i < 100; i++) {
            wrong.recordFailure("a", 30);
        }
        assertThat(wrong.recordFailure("a", 40)).isEqualTo(TokenThrottle.MAX_DELAY_MS);
        assertThat(wrong.recordFailure("a", 70_000)).isZero();
        assertThat(wrong.total()).isEqualTo(106);
    }

    @Test
    void wrong_tokens_delay_no_more_threads_than_permitted() throws Exception {
        TokenThrottle wrong = new TokenThrottle(1);
        for (int i = 0; i < 100; i++) {
            wrong.recordFailure("a", TimeUnit.NANOSECONDS.toMillis(System.nanoTime()));
        }
        Thread delayed = new Thread(() -> wrong.recordAndDelay("a"));
        delayed.start();
        await("a response is delayed", Duration.ofMinutes(1), () -> delayed.getState() == Thread.State.TIMED_WAITING);
        wrong.recordAndDelay("a");
        assertThat(delayed.isAlive()).as("the first one is still delayed").isTrue();
        delayed.interrupt();
        delayed.join();
    }

    @Test
    void a_world_readable_token_file_is_reported() throws IOException {
        Path file = Files.writeString(directory.resolve("token"), TOKEN);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
        assertThat(AccessToken.isWorldReadable(file)).isFalse();
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
        assertThat(AccessToken.isWorldReadable(file)).isTrue();
    }

    @Test
    void without_a_token_changes_are_rejected_with_instructions() throws IOException {
        try (WeirService service = open("localhost", Optional.empty(), Map.of())) {
            Caller anybody = Caller.of(service.port(), null);
            Reply refused = anybody.put("/v1/policies/a", "{}");
            assertThat(refused.status()).isEqualTo(403);
            assertThat(refused.detail()).contains("WEIR_TOKEN", "service.token-file");
            assertThat(anybody.withToken("whatever").get("/v1/policies").status())
                    .isEqualTo(MAY);
            assertThat(anybody.post("/v1/peek", "{\"client\":\"a\"}").status()).isEqualTo(MAY);
        }
    }

    @Test
    void a_rebound_host_name_is_rejected() throws IOException {
        try (WeirService service = open("127.0.0.1", Optional.of("weir-1.example:80"), Map.of("WEIR_TOKEN", TOKEN))) {
            assertThat(service.address()).isEqualTo("weir-1.example:80");
        }
        try (WeirService service = open("127.0.0.1", Optional.empty(), Map.of("WEIR_TOKEN", TOKEN))) {
            Caller anybody = Caller.of(service.port(), null);
            for (String host : List.of("localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]", "[::1]:8680")) {
                assertThat(anybody.get("/v1/policies", "Host: " + host).status())
                        .as(host)
                        .isEqualTo(MAY);
            }
            for (String host : List.of("evil.example", "evil.example:8680", "127.0.0.1.evil.example", "[::2]:80")) {
                assertThat(anybody.get("/v1/policies", "Host: " + host).status())
                        .as(host)
                        .isEqualTo(421);
                assertThat(anybody.get("/v1/openapi.yaml", "Host: " + host).status())
                        .as(host)
                        .isEqualTo(421);
                assertThat(anybody.withToken(TOKEN)
                                .get("/v1/policies", "Host: " + host)
                                .status())
                        .as(host)
                        .isEqualTo(MAY);
            }
        }
    }

    @Test
    void outside_loopback_everything_needs_the_token() throws IOException {
        try (WeirService service = open("0.0.0.0", Optional.of("127.0.0.1:1"), Map.of("WEIR_TOKEN", TOKEN))) {
            assertThat(service.address()).isEqualTo("127.0.0.1:1");
            Caller trusted = Caller.at("127.0.0.1:" + service.port(), TOKEN);
            assertThat(trusted.get("/v1/policies", "Host: weir.example").status())
                    .isEqualTo(MAY);
            for (String path : List.of("/v1/policies", "/v1/openapi.json", "/nowhere")) {
                assertThat(trusted.withToken(null).get(path).status()).as(path).isEqualTo(401);
            }
        }
        assertThatThrownBy(() -> open("0.0.0.0", Optional.of("127.0.0.1:1"), Map.of()))
                .isInstanceOf(BadSettingException.class)
                .hasMessageStartingWith("service.host is 0.0.0.0, which is not a loopback address: set a token")
                .hasMessageContaining("WEIR_TOKEN");
    }

    @Test
    void a_wildcard_address_requires_an_advertised_address() {
        for (String host : List.of("0.0.0.0", "::", "[::]")) {
            assertThatThrownBy(() -> open(host, Optional.empty(), Map.of("WEIR_TOKEN", TOKEN)))
                    .isInstanceOf(BadSettingException.class)
                    .hasMessageContaining("set service.advertise to the host:port");
        }
        assertThatThrownBy(() -> open("no-such-host.invalid", Optional.empty(), Map.of()))
                .hasMessage("service.host: unknown host no-such-host.invalid");
    }

    @Test
    void the_token_file_takes_precedence_and_an_invalid_token_is_rejected() throws IOException {
        Path file = Files.writeString(directory.resolve("token"), TOKEN + "\n");
        try (WeirService service = open(file, Map.of("WEIR_TOKEN", "another-token-than-that"))) {
            assertThat(Caller.of(service.port(), TOKEN).get("/v1/policies").status())
                    .isEqualTo(MAY);
        }
        for (String bad :
                List.of("", "  \n", "too-short", "with spaces in between", "with-umlauts-äöüäöü", "a\nb".repeat(9))) {
            Files.writeString(file, bad);
            assertThatThrownBy(() -> open(file, Map.of()))
                    .isInstanceOf(BadSettingException.class)
                    .hasMessageStartingWith("service.token-file: " + file + ": a token ")
                    .hasMessageNotContaining(bad.isBlank() ? "\n" : bad);
        }
        Files.delete(file);
        assertThatThrownBy(() -> open(file, Map.of())).hasMessageEndingWith(": no such file");
        assertThatThrownBy(() -> AccessTokens.read(WeirConfig.DEFAULTS.service(), Map.of("WEIR_TOKEN", "")))
                .hasMessage("the environment variable WEIR_TOKEN: a token must have at least 16 characters, but this"
                        + " one has 0");
        assertThat(AccessToken.fromEnvironment(Map.of("WEIR_TOKEN", TOKEN)).orElseThrow())
                .hasToString("<hidden>");
    }

    @Test
    void a_used_port_is_named() {
        try (WeirService service = open("127.0.0.1", Optional.empty(), Map.of())) {
            Service same = WeirConfig.DEFAULTS.service().withPort(service.port());
            assertThatThrownBy(() -> WeirService.open(
                            WeirConfig.DEFAULTS.toBuilder().service(same).build(), Map.of()))
                    .isInstanceOf(UnreachableException.class)
                    .hasMessage("service.port: cannot listen at " + service.address()
                            + ": Address already in use (another instance may be running; set another port with"
                            + " --service-port)");
        }
    }

    private static WeirService open(String host, Optional<String> advertise, Map<String, String> environment) {
        Service plain = Service.DEFAULTS.withPort(0).withHost(host);
        Service onHost = host.equals("0.0.0.0") ? plain : plain.withReadToken(Service.TokenRule.LOOPBACK);
        Service service = advertise.map(onHost::withAdvertise).orElse(onHost);
        return WeirService.open(WeirConfig.DEFAULTS.toBuilder().service(service).build(), environment);
    }

    private static WeirService open(Path tokenFile, Map<String, String> environment) {
        Service service = Service.DEFAULTS.withPort(0).withTokenFile(tokenFile);
        return WeirService.open(WeirConfig.DEFAULTS.toBuilder().service(service).build(), environment);
    }
}
