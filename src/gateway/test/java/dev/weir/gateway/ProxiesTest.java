package dev.weir.gateway;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.net.httpserver.HttpServer;
import dev.weir.api.Caller;
import dev.weir.api.Reply;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The recipes for nginx and Caddy, with Debian's programs. Without them, the tests are skipped. */
@Tag("full")
class ProxiesTest {

    private static final Pattern NON_2XX = Pattern.compile("Non-2xx responses: +([0-9]+)");
    private static final Pattern COMPLETE = Pattern.compile("Complete requests: +([0-9]+)");
    private static final Pattern FAILED = Pattern.compile("Failed requests: +([0-9]+)");

    @TempDir
    static Path directory;

    private static HttpServer application;
    private static Gateway gateway;
    private static Proxy nginx;
    private static Proxy caddy;

    /** A proxy, on a port. */
    private record Proxy(ProxyProcess process, int port) {

        Caller caller() {
            return Caller.unchecked(port);
        }

        void start() throws IOException {
            process.start();
            await(process.name() + " listens", SharedWeir.PATIENCE, () -> {
                process.checkAlive();
                try (Socket socket = new Socket("127.0.0.1", port)) {
                    return socket.isConnected();
                } catch (IOException e) {
                    return false;
                }
            });
        }
    }

    @BeforeAll
    static void start() throws Exception {
        assumeTrue(
                ProxyProcess.find("nginx").isPresent()
                        || ProxyProcess.find("caddy").isPresent(),
                "proxies are not tested: install Debian's nginx-light and caddy");
        application = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        application.setExecutor(Executors.newCachedThreadPool());
        application.createContext("/", exchange -> {
            boolean isForbidden = exchange.getRequestURI().getPath().equals("/free/forbidden");
            byte[] body = "from the application\n".getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(isForbidden ? 403 : 200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        application.start();
        gateway = openGateway(0);
        if (ProxyProcess.find("nginx").isPresent()) {
            int port = ProxyProcess.freePort();
            Path files = Files.createDirectory(directory.resolve("nginx"));
            nginx = new Proxy(
                    ProxyProcess.nginx(
                            files,
                            Map.of(
                                    "listen 80;", "listen 127.0.0.1:" + port + ";",
                                    "127.0.0.1:8690", "127.0.0.1:" + gateway.httpPort(),
                                    "127.0.0.1:8080",
                                            "127.0.0.1:"
                                                    + application.getAddress().getPort())),
                    port);
            nginx.start();
        }
        if (ProxyProcess.find("caddy").isPresent()) {
            int port = ProxyProcess.freePort();
            Path files = Files.createDirectory(directory.resolve("caddy"));
            caddy = new Proxy(
                    ProxyProcess.caddy(
                            files,
                            Map.of(
                                    ":80 {", ":" + port + " {",
                                    "127.0.0.1:8690", "127.0.0.1:" + gateway.httpPort(),
                                    "127.0.0.1:8699", "127.0.0.1:" + ProxyProcess.freePort(),
                                    "127.0.0.1:8080",
                                            "127.0.0.1:"
                                                    + application.getAddress().getPort())),
                    port);
            caddy.start();
        }
    }

    /**
     * Opens a gateway with the recipe, but with patience: beyond a timeout requests pass, and this machine may be busy.
     * The proxies of the recipes wait 21 s.
     */
    private static Gateway openGateway(int port) throws Exception {
        String recipe = Files.readString(Path.of("src", "deploy", "proxies", "gateway.yaml"));
        GatewayConfig config = GatewayFile.read("gateway.yaml", recipe.replace("timeout: 500ms", "timeout: 10s"))
                .gateway();
        return SharedWeir.get().open(config, port);
    }

    @AfterAll
    static void stop() {
        for (Proxy proxy : new Proxy[] {nginx, caddy}) {
            if (proxy != null) {
                proxy.process.close();
            }
        }
        if (application != null) {
            application.stop(0);
        }
        if (gateway != null) {
            gateway.close();
        }
    }

    private static Proxy proxy(String name) {
        Proxy proxy = name.equals("nginx") ? nginx : caddy;
        assumeTrue(proxy != null, name + " is not tested: install Debian's nginx-light and caddy");
        return proxy;
    }

    @ParameterizedTest
    @ValueSource(strings = {"nginx", "caddy"})
    void a_client_is_limited_by_its_key(String name) throws Exception {
        Caller caller = proxy(name).caller();
        String key = "X-Api-Key: key of " + name;
        for (int i = 0; i < 3; i++) {
            Reply passed = caller.get("/three/a?n=" + i, key);
            assertThat(passed.status()).as(passed.toString()).isEqualTo(200);
            assertThat(passed.text()).isEqualTo("from the application\n");
        }
        Reply denied = caller.get("/three/a", key);
        assertThat(denied.status()).isEqualTo(429);
        assertThat(Long.parseLong(denied.header("Retry-After"))).isBetween(3_500L, 3_600L);
        assertThat(denied.header("RateLimit")).startsWith("\"three\";r=0;t=");
        assertThat(denied.text()).doesNotContain("from the application");
        assertThat(caller.get("/three/a", key + " 2").status()).isEqualTo(200);
        assertThat(caller.post("/free/a", "{}", key).status()).isEqualTo(200);
    }

    @ParameterizedTest
    @ValueSource(strings = {"nginx", "caddy"})
    void a_client_without_key_is_limited_by_its_address_even_if_it_forges_headers(String name) throws Exception {
        Caller caller = proxy(name).caller();
        String path = "/three/" + name;
        List<String[]> forged = List.of(
                new String[] {"X-Forwarded-For: 192.0.2.1"},
                new String[] {"X-Forwarded-For: 192.0.2.2, 127.0.0.1", "X-Forwarded-Uri: /free"},
                new String[] {"X-Forwarded-Method: PUT", "X-Forwarded-Host: other.example", "Forwarded: for=192.0.2.3"},
                new String[] {"X-Original-URI: /free", "X-Real-IP: 192.0.2.4", "X-Weir-Request-Id: 1"},
                new String[] {"X-Forwarded-For: 192.0.2.1", "X-Weir-Request-Id: 1"},
                new String[] {"X-Forwarded-For: 192.0.2.9\u0001", "X-Forwarded-For: 192.0.2.8"});
        // nginx and Caddy have the same address here, so the limit of three is that of both tests together
        int passed = 0;
        for (String[] headers : forged) {
            int status = caller.get(path, headers).status();
            assertThat(status).isIn(200, 400, 429);
            passed += status == 200 ? 1 : 0;
        }
        assertThat(passed).isLessThanOrEqualTo(3);
        assertThat(caller.get(path, "X-Forwarded-For: 192.0.2.5").status()).isEqualTo(429);
        for (String spelling : List.of("//three/%61", "/%74hree//a", "/three;v=1/a", "/three/a?b=/../c")) {
            assertThat(caller.get(spelling, "X-Forwarded-For: 192.0.2.7").status())
                    .as(spelling)
                    .isEqualTo(429);
        }
        for (String unclear : List.of("/free/../three/a", "/three%2Fa", "/free/..;/three/a", "/three/%2e%2e/free")) {
            assertThat(caller.get(unclear, "X-Forwarded-For: 192.0.2.6").status())
                    .as(unclear)
                    .isEqualTo(400);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"nginx", "caddy"})
    void a_limit_holds_under_concurrent_load(String name) throws Exception {
        Proxy proxy = proxy(name);
        assumeTrue(ProxyProcess.find("ab").isPresent(), "load is not tested: install Debian's apache2-utils");
        Load byKey = ab(proxy, "/leased/a", 300, "X-Api-Key: load of " + name);
        assertThat(byKey).isEqualTo(new Load(300, 200));
        Load unlimited = ab(proxy, "/free/a", 300, "X-Api-Key: load of " + name);
        assertThat(unlimited).isEqualTo(new Load(300, 0));
        Load overTopics = ab(proxy, "/ten/a", 100, "X-Api-Key: load of " + name);
        assertThat(overTopics).isEqualTo(new Load(100, 90));
    }

    private record Load(int complete, int refused) {}

    /** Sends requests, 32 at the same time. */
    private static Load ab(Proxy proxy, String path, int requests, String header) throws Exception {
        Process ab = new ProcessBuilder(
                        ProxyProcess.find("ab").orElseThrow().toString(),
                        "-q",
                        "-n",
                        Integer.toString(requests),
                        "-c",
                        "32",
                        "-l",
                        "-H",
                        header,
                        "http://127.0.0.1:" + proxy.port + path)
                .redirectErrorStream(true)
                .start();
        String output = new String(ab.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(ab.waitFor()).as(output).isZero();
        assertThat(number(FAILED, output)).as(output).isZero();
        return new Load(number(COMPLETE, output), number(NON_2XX, output));
    }

    private static int number(Pattern pattern, String output) {
        Matcher found = pattern.matcher(output);
        return found.find() ? Integer.parseInt(found.group(1)) : 0;
    }

    @Test
    void nginx_reports_the_limit_with_each_response() throws Exception {
        Reply passed = proxy("nginx").caller().get("/ten/a", "X-Api-Key: fields");
        assertThat(passed.header("RateLimit")).startsWith("\"ten\";r=9;t=");
        assertThat(passed.header("RateLimit-Policy")).isEqualTo("\"ten\";q=10;w=3600");
        assertThat(proxy("nginx").caller().get("/free/a", "X-Api-Key: fields").header("RateLimit"))
                .isNull();
    }

    /** The third request is delayed by 4 s. With a shorter timeout, nginx would pass it on without an answer. */
    @Test
    void nginx_waits_for_requests_that_a_policy_throttles() throws Exception {
        Caller caller = proxy("nginx").caller();
        List<CompletableFuture<Reply>> all = Stream.of(1, 2, 3)
                .map(i -> CompletableFuture.supplyAsync(() -> {
                    try {
                        return caller.get("/throttled", "X-Api-Key: throttled");
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                }))
                .toList();
        for (CompletableFuture<Reply> one : all) {
            assertThat(one.join().status()).isEqualTo(200);
            assertThat(one.join().header("RateLimit")).startsWith("\"throttled\";");
        }
    }

    @Test
    void nginx_passes_on_each_status() throws Exception {
        Caller caller = proxy("nginx").caller();
        Reply own = caller.get("/free/forbidden", "X-Api-Key: status");
        assertThat(own.status()).isEqualTo(403);
        assertThat(own.text()).isEqualTo("from the application\n");
        assertThat(caller.get("/unavailable", "X-Api-Key: status").status()).isEqualTo(503);
        assertThat(caller.get("/banned", "X-Api-Key: status").text()).isEqualTo("from the application\n");
        Reply banned = caller.get("/banned", "X-Api-Key: status");
        assertThat(banned.status()).isEqualTo(200);
        assertThat(banned.text()).isEmpty();
        assertThat(caller.get("/free/a", "X-Api-Key: " + "k".repeat(257)).status())
                .isEqualTo(400);
        assertThat(caller.get("/_weir", "X-Api-Key: status").status()).isEqualTo(404);
    }

    @Test
    void caddy_does_not_show_the_status_that_the_gateway_names() throws Exception {
        Caller caller = proxy("caddy").caller();
        assertThat(caller.get("/banned", "X-Api-Key: shown").status()).isEqualTo(200);
        Reply banned = caller.get("/banned", "X-Api-Key: shown");
        assertThat(banned.status()).isEqualTo(403);
        assertThat(banned.header("X-Weir-Status")).isNull();
    }

    @ParameterizedTest
    @ValueSource(strings = {"nginx", "caddy"})
    void requests_pass_while_the_gateway_is_down_and_are_limited_when_it_is_back(String name) throws Exception {
        Proxy proxy = proxy(name);
        String key = "X-Api-Key: outage of " + name;
        int port = gateway.httpPort();
        gateway.close();
        try {
            for (int i = 0; i < 5; i++) {
                Reply passed = proxy.caller().get("/three/a", key);
                assertThat(passed.status()).isEqualTo(200);
                assertThat(passed.text()).isEqualTo("from the application\n");
            }
        } finally {
            gateway = openGateway(port);
        }
        await(
                "the limit holds again",
                SharedWeir.PATIENCE,
                () -> proxy.caller().get("/three/a", key).status() == 429);
    }
}
