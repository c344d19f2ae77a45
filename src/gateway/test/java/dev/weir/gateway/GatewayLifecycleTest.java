package dev.weir.gateway;

import static dev.weir.testing.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.weir.api.Caller;
import dev.weir.api.Reply;
import dev.weir.client.WeirClient;
import dev.weir.config.BadSettingException;
import dev.weir.config.WeirConfig;
import dev.weir.kafka.PemFiles;
import dev.weir.kafka.UnreachableException;
import dev.weir.testing.CapturedLog;
import dev.weir.testing.TestCertificate;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import javax.net.ssl.SSLContext;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ClusterResource;
import org.apache.kafka.common.ClusterResourceListener;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The start of a gateway, with and without brokers, and its end. */
@Tag("full")
class GatewayLifecycleTest {

    private static final String ROUTES = """
            gateway:
              drain: 1s
              routes:
                - {id: open, match: {path: /three/open}, timeout: 100ms, on-timeout: allow}
                - {id: closed, match: {path: /three/closed}, timeout: 100ms, on-timeout: deny}
                - {id: patient, match: {path: "/**"}, timeout: 10s}
            """;

    private static GatewayConfig routes() throws Exception {
        return GatewayFile.read("gateway.yaml", ROUTES).gateway().withHttpPort(0);
    }

    @Test
    void without_brokers_the_fallback_of_each_route_decides_until_they_respond() throws Exception {
        WeirConfig real = SharedWeir.get().config();
        int port = ProxyProcess.freePort();
        WeirConfig away = real.withKafka("bootstrap.servers", "127.0.0.1:" + port);
        try (CapturedLog log = new CapturedLog(WeirClient.class);
                Gateway gateway = Gateway.open(away, routes(), Map.of())) {
            Caller caller = Caller.unchecked(gateway.httpPort());
            assertThat(gateway.isConnected()).isFalse();
            Reply open = caller.get("/v1/authorize/three/open", "X-Api-Key: away");
            assertThat(open.status()).isEqualTo(200);
            assertThat(open.header("X-Weir-Fallback")).isNotEmpty();
            Reply closed = caller.get("/v1/authorize/three/closed", "X-Api-Key: away");
            assertThat(closed.status()).isEqualTo(503);
            assertThat(closed.header("X-Weir-Fallback")).isNotEmpty();
            await("the gateway waits for brokers no longer", SharedWeir.PATIENCE, () -> {
                Reply ready = caller.get("/health/ready");
                assertThat(ready.json().get("missing").toString())
                        .isEqualTo("[\"a connection to the brokers; until then, the fallbacks decide\"]");
                return ready.status() == 200
                        && ready.json().get("status").asText().equals("NO_BROKERS");
            });
            assertThat(gateway.awaitReady(Duration.ZERO)).isTrue();
            assertThat(caller.get("/metrics").text())
                    .contains("weir_gateway_connected 0.0")
                    .contains("weir_authorize_requests_total{result=\"FALLBACK_ALLOWED\",route=\"open\"} 1.0")
                    .contains("weir_authorize_requests_total{result=\"FALLBACK_DENIED\",route=\"closed\"} 1.0");
            try (Relay relay = Relay.start(port, real.kafka().get("bootstrap.servers"))) {
                await("the gateway has reached the broker", SharedWeir.PATIENCE, gateway::isConnected);
                Reply decided = caller.get("/v1/authorize/three/patient", "X-Api-Key: away");
                assertThat(decided.status()).isEqualTo(200);
                assertThat(decided.header("X-Weir-Fallback")).isNull();
                assertThat(decided.header("RateLimit")).startsWith("\"three\";r=2;");
                assertThat(caller.get("/health/ready").json().get("status").asText())
                        .isEqualTo("RUNNING");
                await(
                        "the connection is logged",
                        SharedWeir.PATIENCE,
                        () -> log.lines().size() == 2);
                assertThat(log.lines()).allMatch(line -> line.level().equals("WARN"));
                assertThat(log.lines())
                        .extracting(CapturedLog.Line::text)
                        .satisfiesExactly(
                                before -> assertThat(before).startsWith("Requests cannot be decided: "),
                                after ->
                                        assertThat(after).startsWith("The client has connected to the brokers after "));
            }
        }
    }

    /** Throws an error when a consumer has reached a broker. */
    public static final class ErrorAtContact implements ConsumerInterceptor<byte[], byte[]>, ClusterResourceListener {

        @Override
        public void onUpdate(ClusterResource cluster) {
            throw new OutOfMemoryError("test");
        }

        @Override
        public ConsumerRecords<byte[], byte[]> onConsume(ConsumerRecords<byte[], byte[]> records) {
            return records;
        }

        @Override
        public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {}

        @Override
        public void close() {}

        @Override
        public void configure(Map<String, ?> settings) {}
    }

    @Test
    void a_gateway_whose_client_an_error_has_stopped_is_neither_live_nor_ready() throws Exception {
        WeirConfig broken =
                SharedWeir.get().config().withKafka("consumer.interceptor.classes", ErrorAtContact.class.getName());
        try (Gateway gateway = Gateway.open(broken, routes(), Map.of())) {
            Caller caller = Caller.unchecked(gateway.httpPort());
            await(
                    "it is not live",
                    SharedWeir.PATIENCE,
                    () -> caller.get("/health/live").status() == 503);
            Reply ready = caller.get("/health/ready");
            assertThat(ready.status()).isEqualTo(503);
            assertThat(ready.json().get("detail").asText()).startsWith("an error has ended a thread of the client");
        }
    }

    /** Passes connections on to a broker, which then names its own port. */
    private record Relay(ServerSocket server) implements AutoCloseable {

        static Relay start(int port, String broker) throws IOException {
            ServerSocket server = new ServerSocket();
            server.setReuseAddress(true);
            server.bind(new InetSocketAddress("127.0.0.1", port));
            int colon = broker.lastIndexOf(':');
            daemon(() -> {
                while (true) {
                    Socket from = server.accept();
                    Socket to = new Socket(broker.substring(0, colon), Integer.parseInt(broker.substring(colon + 1)));
                    daemon(() -> pipe(from.getInputStream(), to.getOutputStream()));
                    daemon(() -> pipe(to.getInputStream(), from.getOutputStream()));
                }
            });
            return new Relay(server);
        }

        private interface Task {
            void run() throws IOException;
        }

        private static void daemon(Task task) {
            Thread thread = new Thread(() -> {
                try {
                    task.run();
                } catch (IOException e) {
                    // the test has closed the server, or one side its connection
                }
            });
            thread.setDaemon(true);
            thread.start();
        }

        private static void pipe(InputStream in, OutputStream out) throws IOException {
            try (in;
                    out) {
                byte[] part = new byte[1 << 16];
                for (int length = in.read(part); length >= 0; length = in.read(part)) {
                    out.write(part, 0, length);
                    out.flush();
                }
            }
        }

        @Override
        public void close() throws IOException {
            server.close();
        }
    }

    @Test
    void a_gateway_that_stops_is_not_ready_and_completes_its_requests() throws Exception {
        // On a slow machine the gateway may have stopped before the last call.
        Duration drain = Duration.ofSeconds(1);
        while (!isServedWhileStopping(drain)) {
            drain = drain.multipliedBy(2);
            assertThat(drain).isLessThan(SharedWeir.PATIENCE);
        }
    }

    /** Returns whether all calls were made before a gateway had stopped. */
    private static boolean isServedWhileStopping(Duration drain) throws Exception {
        Gateway gateway = SharedWeir.get()
                .open(GatewayFile.read("gateway.yaml", ROUTES.replace("drain: 1s", "drain: " + drain.toSeconds() + "s"))
                        .gateway());
        Caller caller = Caller.unchecked(gateway.httpPort());
        assertThat(caller.get("/health/ready").status()).isEqualTo(200);
        CompletableFuture<Void> stop = CompletableFuture.runAsync(gateway::close);
        boolean inTime;
        try {
            await("the gateway is not ready", SharedWeir.PATIENCE, () -> {
                Reply ready = caller.get("/health/ready");
                return ready.status() == 503 && ready.detail().equals("the gateway is stopping");
            });
            assertThat(caller.get("/health/live").status()).isEqualTo(200);
            Reply served = caller.get("/v1/authorize/three/patient", "X-Api-Key: drain");
            assertThat(served.status()).isEqualTo(200);
            assertThat(served.header("Connection")).isEqualTo("close");
            inTime = true;
        } catch (IOException e) {
            inTime = false;
        }
        stop.join();
        assertThatThrownBy(() -> caller.get("/health/live")).isInstanceOf(IOException.class);
        gateway.awaitClose();
        return inTime;
    }

    @Test
    void requests_in_progress_end_before_the_gateway_does() throws Exception {
        GatewayConfig config = GatewayFile.read("gateway.yaml", ROUTES.replace("drain: 1s", "drain: 0s"))
                .gateway();
        Gateway gateway = SharedWeir.get().open(config);
        Caller caller = Caller.unchecked(gateway.httpPort());
        for (int i = 0; i < 2; i++) {
            assertThat(caller.get("/v1/authorize/throttled", "X-Api-Key: progress")
                            .status())
                    .isEqualTo(200);
        }
        // Each further request of the client is delayed by 200 ms more.
        CompletableFuture<Integer> waits = CompletableFuture.supplyAsync(() -> {
            try {
                return caller.get("/v1/authorize/throttled", "X-Api-Key: progress")
                        .status();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        await("the request is decided and delayed", SharedWeir.PATIENCE, () -> caller.get("/metrics")
                .text()
                .contains("weir_authorize_requests_total{result=\"ALLOWED\",route=\"patient\"} 2.0"));
        gateway.close();
        assertThat(waits.join()).isEqualTo(200);
    }

    @Test
    void a_used_port_is_named_with_its_setting_and_option() throws Exception {
        WeirConfig away = WeirConfig.DEFAULTS.withKafka("bootstrap.servers", "127.0.0.1:1");
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            GatewayConfig config = GatewayConfig.DEFAULTS.withHttpPort(taken.getLocalPort());
            assertThatThrownBy(() -> Gateway.open(away, config, Map.of()))
                    .isInstanceOf(UnreachableException.class)
                    .hasMessage("gateway.http-port: cannot listen at 127.0.0.1:" + taken.getLocalPort()
                            + ": Address already in use (another instance may be running; set another port with"
                            + " --http-port)");
        }
    }

    @Test
    void the_port_can_use_tls(@TempDir Path directory) throws Exception {
        TestCertificate files = TestCertificate.make(directory, "gateway", "EC");
        WeirConfig weir = WeirConfig.builder()
                .service(WeirConfig.DEFAULTS
                        .service()
                        .withTls(new WeirConfig.Service.Tls(files.certificate(), files.key(), Optional.empty())))
                .kafka("bootstrap.servers", "127.0.0.1:1")
                .build();
        SSLContext trust = PemFiles.trusting(files.certificate());
        try (Gateway gateway = Gateway.open(weir, routes(), Map.of())) {
            assertThat(gateway.url()).isEqualTo("https://127.0.0.1:" + gateway.httpPort());
            HttpResponse<Void> answer = HttpClient.newBuilder()
                    .sslContext(trust)
                    .build()
                    .send(
                            HttpRequest.newBuilder(URI.create(gateway.url() + "/v1/authorize/three/closed"))
                                    .build(),
                            HttpResponse.BodyHandlers.discarding());
            assertThat(answer.statusCode()).isEqualTo(503);
            assertThat(answer.headers().firstValue("X-Weir-Fallback")).isPresent();
        }
    }

    @Test
    void an_unknown_host_is_named_with_its_setting() {
        WeirConfig weir = WeirConfig.builder()
                .service(WeirConfig.DEFAULTS.service().withHost("no-such-host.invalid"))
                .build();
        assertThatThrownBy(() -> Gateway.open(weir, GatewayConfig.DEFAULTS, Map.of()))
                .isInstanceOf(BadSettingException.class)
                .hasMessage("service.host: unknown host no-such-host.invalid");
    }

    @Test
    void all_addresses_can_be_listened_on() throws Exception {
        WeirConfig weir = WeirConfig.builder()
                .service(WeirConfig.DEFAULTS.service().withHost("0.0.0.0"))
                .kafka("bootstrap.servers", "127.0.0.1:1")
                .build();
        try (Gateway gateway = Gateway.open(weir, routes(), Map.of("WEIR_READ_TOKEN", "token-of-a-reader"))) {
            Caller caller = Caller.unchecked(gateway.httpPort());
            assertThat(caller.get("/v1/authorize/three/open").status()).isEqualTo(200);
            await(
                    "the gateway waits for brokers no longer",
                    SharedWeir.PATIENCE,
                    () -> caller.get("/health/ready").status() == 200);
            assertThat(caller.get("/metrics").status()).isEqualTo(401);
            assertThat(caller.withToken("token-of-a-reader").get("/metrics").status())
                    .isEqualTo(200);
        }
    }
}
